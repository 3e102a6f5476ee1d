"""The cloud of a case: one simulator record or several for each item, under ids made from names."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reconciler.cases.model import Item
from reconciler.cases.names import OTHER_PROJECT, id_of
from reconciler.simulator import PROJECT_ID, effects
from reconciler.simulator.catalog import LABELS, image_id, local_images, server_types
from reconciler.simulator.mint import Mint
from reconciler.simulator.records import (
    BlockVolume,
    FlexibleIp,
    IpamIp,
    IpamResource,
    Nic,
    Reference,
    Server,
    Slot,
    Volume,
)
from reconciler.simulator.records_static import BlockSnapshot, PlacementGroup, PrivateNetwork, SecurityGroup, Subnet
from reconciler.simulator.strangers import mutate
from reconciler.simulator.world import World

_SIZE: Final = 10 * 10**9
_DETAIL: Final = {
    "running": "booting kernel",
    "stopped in place": "stopped in place",
    "starting": "allocating node",
    "stopping": "stopping",
}


def add(world: World, mint: Mint, item: Item, *, born_ms: int) -> None:
    """Put one item into the world. What it hangs on must be there already."""
    project = PROJECT_ID if item.ours else OTHER_PROJECT
    match item.kind:
        case "server":
            _server(world, mint, item, project, born_ms)
        case "ip":
            _ip(world, mint, item, project, born_ms)
        case "volume" if item.details.get("type") == "local":
            _local(world, item, project, born_ms)
        case "volume":
            _block(world, mint, item, project, born_ms)
        case "nic":
            _nic(world, mint, item, project, born_ms)
        case "network":
            _network(world, mint, item, project, born_ms)
        case "snapshot":
            _snapshot(world, item, project, born_ms)
        case _:
            _group(world, item, project, born_ms)


def vanish(world: World, mint: Mint, item: Item, *, now_ms: int) -> None:
    """It is gone behind everybody's back; a server leaves its volumes and addresses."""
    operation = {"server": "kill_server", "ip": "delete_ip", "volume": "delete_volume", "nic": "delete_nic"}.get(
        item.kind
    )
    if operation is not None:
        word = operation.rpartition("_")[2]
        mutate(world, mint, {"op": operation, word: id_of(item.name)}, now_ms=now_ms)
        return
    for table in world.tables().values():
        table.remove(id_of(item.name))


def forget(world: World, item: Item) -> None:
    """It was never there."""
    for table in world.tables().values():
        table.remove(id_of(item.name))


def _server(world: World, mint: Mint, item: Item, project: str, born_ms: int) -> None:
    details, zone = item.details, item.zone
    kind = server_types()[details.get("type", "DEV1-S")]
    label, state = details.get("image", "ubuntu_noble"), details.get("state", "running")
    group = details.get("security_group")
    standard = effects.default_security_group(world, mint, zone=zone, project=project, now_ms=born_ms)
    placement = details.get("placement_group")
    text = details.get("user_data")
    world.servers.put(
        Server(
            id=id_of(item.name),
            name=item.name,
            zone=zone,
            project=project,
            commercial_type=kind.name,
            image=image_id(label, zone=zone, arch=kind.arch),
            tags=item.tags,
            state=state,
            state_detail=_DETAIL.get(state, ""),
            located=state != "stopped",
            protected=details.get("protected", False),
            security_group=standard.id if group is None else id_of(group),
            placement_group=None if placement is None else id_of(placement),
            mac_address=mint.mac(world, "de:00"),
            user_data=(("cloud-init", text.encode()),) if text else (),
            created_ms=born_ms,
            updated_ms=born_ms,
        )
    )


def _slot(world: World, item: Item, *, volume_type: str) -> None:
    """Enter a volume into the map of its server: the root under 0, others in order."""
    server = world.servers.get(id_of(item.on)) if item.on is not None else None
    if server is None:
        return
    taken = {slot.key for slot in server.slots}
    key = "0" if item.part == "root" else next(str(n) for n in range(1, 99) if str(n) not in taken)
    slot = Slot(key=key, volume=id_of(item.name), volume_type=volume_type)
    world.servers.put(replace(server, slots=(*server.slots, slot)))


def _local(world: World, item: Item, project: str, born_ms: int) -> None:
    world.volumes.put(
        Volume(
            id=id_of(item.name),
            name=item.name,
            zone=item.zone,
            project=project,
            size=item.details.get("size", _SIZE),
            server=None if item.on is None else id_of(item.on),
            tags=item.tags,
            created_ms=born_ms,
            updated_ms=born_ms,
        )
    )
    _slot(world, item, volume_type="l_ssd")


def _block(world: World, mint: Mint, item: Item, project: str, born_ms: int) -> None:
    held = None
    if item.on is not None:
        held = Reference(id=mint.uuid(), server=id_of(item.on), created_ms=born_ms)
    server = world.servers.get(id_of(item.on)) if item.on is not None else None
    image = local_images().get(server.image or "") if server is not None and item.part == "root" else None
    world.block_volumes.put(
        BlockVolume(
            id=id_of(item.name),
            name=item.name if image is None else f"{LABELS[image.label][0]}_sbs_volume_0",
            zone=item.zone,
            project=project,
            size=item.details.get("size", _SIZE),
            status="available" if held is None else "in_use",
            reference=held,
            parent_snapshot=None if image is None else image.snapshot,
            tags=item.tags,
            created_ms=born_ms,
            updated_ms=born_ms,
        )
    )
    _slot(world, item, volume_type="sbs_volume")


def _ip(world: World, mint: Mint, item: Item, project: str, born_ms: int) -> None:
    kind, ip_id = item.details.get("type", "routed_ipv4"), id_of(item.name)
    v6 = kind == "routed_ipv6"
    ip = FlexibleIp(
        id=ip_id,
        zone=item.zone,
        project=project,
        address=None if v6 else mint.public_ipv4(world),
        prefix=mint.public_ipv6(world) if v6 else None,
        type=kind,
        tags=item.tags,
        ipam_id=mint.uuid() if world.options.ipam_id_differs else ip_id,
        created_ms=born_ms,
    )
    world.ips.put(ip)
    world.ipam.put(effects.ipam_entry(ip, region=_region(item.zone), created_ms=born_ms))
    server = world.servers.get(id_of(item.on)) if item.on is not None else None
    if server is not None:
        effects.attach_ip(world, ip, server, state="attached", now_ms=born_ms)


def _nic(world: World, mint: Mint, item: Item, project: str, born_ms: int) -> None:
    assert item.network is not None
    assert item.on is not None
    nic_id, mac = id_of(item.name), mint.mac(world, "02:00")
    network = world.networks.get(id_of(item.network))
    addresses = []
    for subnet in network.subnets if network is not None else ():
        base = subnet.subnet.rpartition(".")[0]
        entry = IpamIp(
            id=mint.uuid(),
            address=f"{base}.{2 + world.ipam.count('subnet', subnet.id)}/16",
            region=_region(item.zone),
            project=project,
            private_network=id_of(item.network),
            subnet=subnet.id,
            resource=IpamResource(type="instance_private_nic", id=nic_id, mac_address=mac.upper(), name=item.on),
            booked=False,
            created_ms=born_ms,
            updated_ms=born_ms,
        )
        addresses.append(world.ipam.put(entry).id)
    world.nics.put(
        Nic(
            id=nic_id,
            private_network=id_of(item.network),
            zone=item.zone,
            project=project,
            server=id_of(item.on),
            mac_address=mac,
            ipam_ips=tuple(addresses),
            tags=item.tags,
            created_ms=born_ms,
            updated_ms=born_ms,
        )
    )


def _network(world: World, mint: Mint, item: Item, project: str, born_ms: int) -> None:
    region = _region(item.zone)
    vpc = effects.default_vpc(world, mint, region=region, project=project, now_ms=born_ms)
    world.networks.put(
        PrivateNetwork(
            id=id_of(item.name),
            name=item.name,
            vpc=vpc.id,
            region=region,
            project=project,
            tags=item.tags,
            subnets=(Subnet(id=mint.uuid(), subnet=f"10.{world.next_number() % 250}.0.0/16"),),
            created_ms=born_ms,
            updated_ms=born_ms,
        )
    )


def _snapshot(world: World, item: Item, project: str, born_ms: int) -> None:
    volume = world.block_volumes.get(id_of(item.of or ""))
    world.block_snapshots.put(
        BlockSnapshot(
            id=id_of(item.name),
            name=item.name,
            zone=item.zone,
            project=project,
            size=volume.size if volume is not None else _SIZE,
            parent_volume=None if volume is None else volume.id,
            tags=item.tags,
            created_ms=born_ms,
            updated_ms=born_ms,
        )
    )


def _group(world: World, item: Item, project: str, born_ms: int) -> None:
    if item.kind == "placement_group":
        world.placement_groups.put(
            PlacementGroup(id=id_of(item.name), name=item.name, zone=item.zone, project=project, tags=item.tags)
        )
        return
    world.security_groups.put(
        SecurityGroup(
            id=id_of(item.name),
            name=item.name,
            zone=item.zone,
            project=project,
            tags=item.tags,
            created_ms=born_ms,
            updated_ms=born_ms,
        )
    )


def _region(zone: str) -> str:
    return zone.rpartition("-")[0]

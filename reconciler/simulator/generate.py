"""Worlds by the thousand: workers with their children, seeded, as fast as records can be made.

`add_worker` makes one machine as an ordinary create leaves it: a server with an SBS root, and as asked a flexible
address and a private interface with its two IPAM addresses. `populate` makes many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.kernel.collector import no_search_for_cycles
from reconciler.kernel.randomness import Randomness, SeededRandomness
from reconciler.simulator import effects
from reconciler.simulator.catalog import LABELS, image_id, local_images
from reconciler.simulator.defaults import PROJECT_ID, ZONE
from reconciler.simulator.mint import Mint
from reconciler.simulator.records import BlockVolume, FlexibleIp, IpamIp, IpamResource, Nic, Reference, Server, Slot
from reconciler.simulator.records_static import PrivateNetwork, Subnet
from reconciler.simulator.world import World

# 1 September 2026: after every recording, before every test.
BORN_MS = 1_788_220_800_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """The ids of one machine and its children; None for what it does not have."""

    server: str
    root: str
    ip: str | None = None
    nic: str | None = None


def add_worker(
    world: World,
    mint: Mint,
    *,
    name: str,
    zone: str = ZONE,
    project: str = PROJECT_ID,
    tags: Sequence[str] = (),
    child_tags: Sequence[str] = (),
    commercial_type: str = "DEV1-S",
    label: str = "ubuntu_noble",
    state: str = "running",
    with_ip: bool = True,
    network: PrivateNetwork | None = None,
    created_ms: int = BORN_MS,
) -> Worker:
    """One running worker. `child_tags` is empty by default, because inline children inherit no tags."""
    image = local_images()[image_id(label, zone=zone)]
    group = effects.default_security_group(world, mint, zone=zone, project=project, now_ms=created_ms)
    server_id, root_id = mint.uuid(), mint.uuid()
    server = world.servers.put(
        Server(
            id=server_id,
            name=name,
            zone=zone,
            project=project,
            commercial_type=commercial_type,
            image=image.id,
            tags=tuple(tags),
            state=state,
            state_detail={"running": "booting kernel", "stopped in place": "stopped in place"}.get(state, ""),
            located=state != "stopped",
            security_group=group.id,
            slots=(Slot(key="0", volume=root_id),),
            mac_address=mint.mac(world, "de:00"),
            created_ms=created_ms,
            updated_ms=created_ms,
        )
    )
    born = _Born(world=world, mint=mint, server=server, tags=tuple(child_tags), created_ms=created_ms)
    _add_root(born, root_id, name=f"{LABELS[label][0]}_sbs_volume_0", snapshot=image.snapshot)
    ip = _add_ip(born) if with_ip else None
    nic = _add_nic(born, network) if network is not None else None
    return Worker(server=server_id, root=root_id, ip=ip, nic=nic)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Born:
    """What the children of one new server have in common."""

    world: World
    mint: Mint
    server: Server
    tags: tuple[str, ...]
    created_ms: int


def _add_root(born: _Born, root_id: str, *, name: str, snapshot: str) -> None:
    reference = Reference(id=born.mint.uuid(), server=born.server.id, created_ms=born.created_ms)
    born.world.block_volumes.put(
        BlockVolume(
            id=root_id,
            name=name,
            zone=born.server.zone,
            project=born.server.project,
            status="in_use",
            reference=reference,
            parent_snapshot=snapshot,
            tags=born.tags,
            created_ms=born.created_ms,
            updated_ms=born.created_ms,
        )
    )


def _add_ip(born: _Born) -> str:
    world, mint, server = born.world, born.mint, born.server
    ip_id = mint.uuid()
    ip = FlexibleIp(
        id=ip_id,
        zone=server.zone,
        project=server.project,
        address=mint.public_ipv4(world),
        server=server.id,
        state="attached",
        tags=born.tags,
        ipam_id=mint.uuid() if world.options.ipam_id_differs else ip_id,
        attach_order=world.next_attachment(),
        created_ms=born.created_ms,
    )
    world.ips.put(ip)
    world.ipam.put(effects.ipam_entry(ip, region=server.zone.rsplit("-", 1)[0], created_ms=born.created_ms))
    return ip_id


def _add_nic(born: _Born, network: PrivateNetwork) -> str:
    world, mint, server = born.world, born.mint, born.server
    nic_id, mac = mint.uuid(), mint.mac(world, "02:00")
    resource = IpamResource(type="instance_private_nic", id=nic_id, mac_address=mac.upper(), name=server.name)
    addresses = []
    for subnet in network.subnets:
        v6 = ":" in subnet.subnet
        entry = IpamIp(
            id=mint.uuid(),
            address=mint.private_ipv6(subnet.subnet) if v6 else _next_address(world, subnet),
            region=network.region,
            project=network.project,
            is_ipv6=v6,
            private_network=network.id,
            subnet=subnet.id,
            resource=resource,
            booked=False,
            created_ms=born.created_ms,
            updated_ms=born.created_ms,
        )
        addresses.append(world.ipam.put(entry).id)
    nic = Nic(
        id=nic_id,
        private_network=network.id,
        zone=server.zone,
        project=network.project,
        server=server.id,
        mac_address=mac,
        ipam_ips=tuple(addresses),
        tags=born.tags,
        created_ms=born.created_ms,
        updated_ms=born.created_ms,
    )
    return world.nics.put(nic).id


def _next_address(world: World, subnet: Subnet) -> str:
    """The next address in order: generated worlds have no holes."""
    base, bits = subnet.subnet.split("/")
    offset = 2 + world.ipam.count("subnet", subnet.id)
    a, b, c, d = (int(part) for part in base.split("."))
    number = ((a << 24) | (b << 16) | (c << 8) | d) + offset
    return ".".join(str((number >> shift) & 0xFF) for shift in (24, 16, 8, 0)) + f"/{bits}"


def add_network(world: World, mint: Mint, *, zone: str = ZONE, project: str = PROJECT_ID) -> PrivateNetwork:
    """A private network big enough for 65,000 interfaces, in the project's default VPC."""
    region = zone.rsplit("-", 1)[0]
    vpc = effects.default_vpc(world, mint, region=region, project=project, now_ms=BORN_MS)
    number = world.next_number()
    return world.networks.put(
        PrivateNetwork(
            id=mint.uuid(),
            name=f"workers-{zone}",
            vpc=vpc.id,
            region=region,
            project=project,
            subnets=(
                Subnet(id=mint.uuid(), subnet=f"10.{number % 256}.0.0/16"),
                Subnet(id=mint.uuid(), subnet=f"fd5f:519c:6d46:{number % 0x10000:x}::/64"),
            ),
            created_ms=BORN_MS,
            updated_ms=BORN_MS,
        )
    )


def populate(
    world: World,
    *,
    servers: int,
    zones: Sequence[str] = (ZONE,),
    with_children: bool = True,
    tags: Sequence[str] = (),
    name: str = "worker",
    project: str = PROJECT_ID,
    randomness: Randomness | None = None,
    created_ms: int = BORN_MS,
    spacing_ms: int = 1000,
) -> list[Worker]:
    """`servers` running workers, spread over `zones` in turn, born `spacing_ms` apart.

    With children each has a flexible IP and a private interface with its two IPAM addresses; a root it has anyway.
    """
    mint = Mint(randomness or SeededRandomness(servers), taken=world.__contains__)
    networks = {zone: add_network(world, mint, zone=zone, project=project) for zone in zones} if with_children else {}
    made = []
    with no_search_for_cycles():
        for number in range(servers):
            zone = zones[number % len(zones)]
            made.append(
                add_worker(
                    world,
                    mint,
                    name=f"{name}-{number:05d}",
                    zone=zone,
                    project=project,
                    tags=tags,
                    with_ip=with_children,
                    network=networks.get(zone),
                    created_ms=created_ms + number * spacing_ms,
                )
            )
    return made

"""What happens to objects when servers and interfaces come and go: the rules that several calls share.

The important ones are about what survives. A server that is terminated takes its local volumes, its dynamic address
and its interfaces with it; its SBS volumes and flexible addresses stay, detached, and are billed on. A server that is
deleted while stopped leaves its local volumes too. An interface takes the addresses that were booked for it, and
leaves those that a person booked.
"""

from __future__ import annotations

from dataclasses import replace

from reconciler.simulator.mint import Mint
from reconciler.simulator.records import BlockVolume, FlexibleIp, IpamIp, IpamResource, Nic, Server
from reconciler.simulator.records_static import PrivateNetwork, SecurityGroup, Vpc
from reconciler.simulator.world import World


def attach_ip(world: World, ip: FlexibleIp, server: Server, *, state: str, now_ms: int) -> FlexibleIp:
    """Give an address to a server; IPAM shows it on the server at once."""
    fresh = replace(ip, server=server.id, state=state, attach_order=world.next_attachment())
    world.ips.put(fresh)
    _ipam_resource(world, fresh, IpamResource(type="instance_server", id=server.id), now_ms)
    return fresh


def detach_ip(world: World, ip: FlexibleIp, *, now_ms: int) -> FlexibleIp | None:
    """Take an address from its server: a dynamic one ceases to exist, a flexible one stays and is billed."""
    if ip.dynamic:
        world.ips.remove(ip.id)
        return None
    fresh = replace(ip, server=None, state="detached", attach_order=0)
    world.ips.put(fresh)
    _ipam_resource(world, fresh, None, now_ms)
    return fresh


def delete_ip(world: World, ip: FlexibleIp) -> None:
    world.ips.remove(ip.id)
    world.ipam.remove(ip.ipam_id or ip.id)


def _ipam_resource(world: World, ip: FlexibleIp, resource: IpamResource | None, now_ms: int) -> None:
    entry = world.ipam.get(ip.ipam_id or ip.id)
    if entry is not None:
        world.ipam.put(replace(entry, resource=resource, updated_ms=now_ms))


def ipam_entry(ip: FlexibleIp, *, region: str, created_ms: int) -> IpamIp:
    """The IPAM side of a public address."""
    return IpamIp(
        id=ip.ipam_id or ip.id,
        address=ip.prefix or f"{ip.address}/32",
        region=region,
        project=ip.project,
        is_ipv6=ip.type == "routed_ipv6",
        zone=ip.zone,
        resource=None if ip.server is None else IpamResource(type="instance_server", id=ip.server),
        created_ms=created_ms,
        updated_ms=created_ms,
    )


def free_block_volume(world: World, volume: BlockVolume, *, now_ms: int) -> BlockVolume:
    """The volume is nobody's now: available, untagged as ever, billed on."""
    return world.block_volumes.put(
        replace(volume, status="available", reference=None, last_detached_ms=now_ms, updated_ms=now_ms)
    )


def delete_nic(world: World, nic: Nic, *, now_ms: int) -> None:
    world.nics.remove(nic.id)
    for address_id in nic.ipam_ips:
        address = world.ipam.get(address_id)
        if address is None:
            continue
        if address.booked:
            world.ipam.put(replace(address, resource=None, updated_ms=now_ms))
        else:
            world.ipam.remove(address.id)


def server_gone(
    world: World,
    server: Server,
    *,
    now_ms: int,
    keep_local: bool,
    keep_nics: bool = False,
    released_ms: int | None = None,
) -> None:
    """The server ceases to exist; what it leaves behind is the point of this whole simulator.

    Until `released_ms` its block volumes are `detaching` from a server that nobody can find any more.
    """
    world.servers.remove(server.id)
    for ip in world.ips.under("server", server.id):
        detach_ip(world, ip, now_ms=now_ms)
    for volume in world.block_volumes.under("server", server.id):
        if released_ms is None or volume.reference is None:
            free_block_volume(world, volume, now_ms=now_ms)
        else:
            world.block_volumes.put(replace(volume, reference=replace(volume.reference, status="detaching")))
            world.schedule(released_ms, "block_detached", volume.id)
    for local in world.volumes.under("server", server.id):
        if keep_local:
            world.volumes.put(replace(local, server=None, state="available", updated_ms=now_ms))
        else:
            world.volumes.remove(local.id)
    for nic in world.nics.under("server", server.id):
        if keep_nics:
            world.nics.put(replace(nic, server=None, updated_ms=now_ms))
        else:
            delete_nic(world, nic, now_ms=now_ms)


def default_security_group(world: World, mint: Mint, *, zone: str, project: str, now_ms: int) -> SecurityGroup:
    """The group that every project has in every zone; it comes into being with its first use."""
    for group in world.security_groups.under("default", zone, project):
        return group
    return world.security_groups.put(
        SecurityGroup(
            id=mint.uuid(),
            name="Default security group",
            zone=zone,
            project=project,
            description="Auto generated security group.",
            project_default=True,
            created_ms=now_ms,
            updated_ms=now_ms,
        )
    )


def default_vpc(world: World, mint: Mint, *, region: str, project: str, now_ms: int) -> Vpc:
    for vpc in world.vpcs.under("default", region, project):
        return vpc
    return world.vpcs.put(
        Vpc(
            id=mint.uuid(),
            name="default",
            region=region,
            project=project,
            tags=("default",),
            is_default=True,
            created_ms=now_ms,
            updated_ms=now_ms,
        )
    )


def book_private(
    world: World,
    mint: Mint,
    network: PrivateNetwork,
    *,
    v6: bool,
    booked: bool,
    now_ms: int,
    address: str | None = None,
    tags: tuple[str, ...] = (),
) -> IpamIp | None:
    """Book an address of a private network: the one asked for, or the next free. None when it is taken or full."""
    subnet = next((item for item in network.subnets if (":" in item.subnet) == v6), None)
    if subnet is None:
        return None
    suffix = subnet.subnet.rsplit("/", 1)[1]
    chosen = f"{address}/{suffix}" if address else _free_address(world, mint, subnet.subnet, v6=v6)
    if chosen is None or any(item.private_network == network.id for item in world.ipam.under("address", chosen)):
        return None
    return world.ipam.put(
        IpamIp(
            id=mint.uuid(),
            address=chosen,
            region=network.region,
            project=network.project,
            is_ipv6=v6,
            private_network=network.id,
            subnet=subnet.id,
            tags=tags,
            booked=booked,
            created_ms=now_ms,
            updated_ms=now_ms,
        )
    )


def _free_address(world: World, mint: Mint, subnet: str, *, v6: bool) -> str | None:
    if v6:
        return mint.private_ipv6(subnet)
    base, bits = subnet.split("/")
    start = _number(base)
    size = 1 << (32 - int(bits))
    # Where addresses are given out in order, the first look succeeds; holes are found by walking on.
    first = 2 + world.ipam.count("subnet", subnet)
    for step in range(size - 3):
        candidate = start + 2 + (first - 2 + step) % (size - 3)
        text = f"{_text(candidate)}/{bits}"
        if world.ipam.count("address", text) == 0:
            return text
    return None


def _number(address: str) -> int:
    a, b, c, d = (int(part) for part in address.split("."))
    return (a << 24) | (b << 16) | (c << 8) | d


def _text(number: int) -> str:
    return ".".join(str((number >> shift) & 0xFF) for shift in (24, 16, 8, 0))

"""What time does to a world: every state that ends by itself ends here.

A handler that starts something schedules what comes of it (`World.schedule`); before each request the simulator lets
everything happen that is due by now, earliest first, so that a world looks the same whoever looks and however often.
Each operation checks that its object still is as it was left: a person may have been there first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from reconciler.simulator import effects
from reconciler.simulator.records import FlexibleIp, Slot
from reconciler.simulator.world import Transition, World

Args = Mapping[str, str | int]


def settle(world: World, now_ms: int) -> int:
    """Let everything happen that is due; returns how much did."""
    done = 0
    while (transition := world.next_due(now_ms)) is not None:
        world.moment_ms = transition.due_ms
        _apply(world, transition)
        done += 1
    world.moment_ms = now_ms
    return done


def _apply(world: World, transition: Transition) -> None:
    OPERATIONS[transition.op](world, transition.target, transition.args, transition.due_ms)


def _server_state(world: World, target: str, args: Args, at_ms: int) -> None:
    """`from` -> `state`, `detail`; `located` says whether it has a place in a data centre."""
    server = world.servers.get(target)
    if server is None or server.state != args["from"]:
        return
    located = bool(args["located"])
    world.servers.put(
        replace(
            server,
            state=str(args["state"]),
            state_detail=str(args["detail"]),
            located=located,
            updated_ms=at_ms,
        )
    )
    if args["state"] == "stopped":
        _dynamic_gone(world, target, {}, at_ms)


def _server_gone(world: World, target: str, args: Args, at_ms: int) -> None:
    """The end of terminate and of stop-and-delete."""
    server = world.servers.get(target)
    if server is None or server.state != "stopping":
        return
    keep_nics = bool(args.get("keep_nics", 0))
    doomed_ips = set(str(args.get("ips", "")).split(",")) - {""}
    doomed_volumes = set(str(args.get("volumes", "")).split(",")) - {""}
    keep_local = bool(args.get("keep_local", 0))
    effects.server_gone(world, server, now_ms=at_ms, keep_local=keep_local, keep_nics=keep_nics)
    for ip_id in doomed_ips:
        ip = world.ips.get(ip_id)
        if ip is not None:
            effects.delete_ip(world, ip)
    for volume_id in doomed_volumes:
        world.volumes.remove(volume_id)
        world.block_volumes.remove(volume_id)


def _block_status(world: World, target: str, args: Args, at_ms: int) -> None:
    """The end of creating, of updating (`size`, `perf_iops`) and of snapshotting."""
    volume = world.block_volumes.get(target)
    if volume is None or volume.status != args["from"]:
        return
    world.block_volumes.put(
        replace(
            volume,
            status="available" if volume.reference is None else "in_use",
            size=int(args.get("size", volume.size)),
            perf_iops=int(args.get("perf_iops", volume.perf_iops)),
            updated_ms=at_ms,
        )
    )


def _block_attached(world: World, target: str, _args: Args, at_ms: int) -> None:
    volume = world.block_volumes.get(target)
    if volume is None or volume.reference is None or volume.reference.status != "attaching":
        return
    world.block_volumes.put(replace(volume, reference=replace(volume.reference, status="attached"), updated_ms=at_ms))
    server = world.servers.get(volume.reference.server)
    if server is not None:
        slots = tuple(_arrived(slot) if slot.volume == target else slot for slot in server.slots)
        world.servers.put(replace(server, slots=slots))


def _arrived(slot: Slot) -> Slot:
    return replace(slot, state="available")


def _block_detached(world: World, target: str, _args: Args, at_ms: int) -> None:
    volume = world.block_volumes.get(target)
    if volume is not None and volume.reference is not None and volume.reference.status == "detaching":
        effects.free_block_volume(world, volume, now_ms=at_ms)


def _volume_state(world: World, target: str, args: Args, at_ms: int) -> None:
    volume = world.volumes.get(target)
    if volume is not None and volume.state == args["from"]:
        world.volumes.put(replace(volume, state="available", updated_ms=at_ms))


def _nic_available(world: World, target: str, _args: Args, at_ms: int) -> None:
    nic = world.nics.get(target)
    if nic is not None and nic.state in {"attaching", "detaching", "syncing"}:
        world.nics.put(replace(nic, state="available", updated_ms=at_ms))


def _ip_attached(world: World, target: str, _args: Args, _at_ms: int) -> None:
    ip = world.ips.get(target)
    if ip is not None and ip.state == "pending":
        world.ips.put(replace(ip, state="attached"))


def _dynamic_ip(world: World, target: str, args: Args, at_ms: int) -> None:
    """A dynamic address (`id`, `address`) for a server that has come up without another; `attached_ms` from then."""
    server = world.servers.get(target)
    if server is None or server.state != "running" or world.ips.count("server", target):
        return
    ip_id = str(args["id"])
    world.ips.put(
        FlexibleIp(
            id=ip_id,
            zone=server.zone,
            project=server.project,
            address=str(args["address"]),
            server=target,
            state="pending",
            dynamic=True,
            attach_order=world.next_attachment(),
            created_ms=at_ms,
        )
    )
    world.schedule(int(args["attached_ms"]), "ip_attached", ip_id)


def _dynamic_gone(world: World, target: str, _args: Args, at_ms: int) -> None:
    server = world.servers.get(target)
    if server is not None and server.state in {"stopping", "stopped"}:
        for ip in world.ips.under("server", target):
            if ip.dynamic:
                effects.detach_ip(world, ip, now_ms=at_ms)


def _snapshot_available(world: World, target: str, _args: Args, at_ms: int) -> None:
    snapshot = world.snapshots.get(target)
    if snapshot is not None and snapshot.state in {"snapshotting", "importing", "exporting"}:
        world.snapshots.put(replace(snapshot, state="available", updated_ms=at_ms))
        if snapshot.base_volume is not None:
            _volume_state(world, snapshot.base_volume, {"from": "snapshotting"}, at_ms)


def _block_snapshot_available(world: World, target: str, _args: Args, at_ms: int) -> None:
    snapshot = world.block_snapshots.get(target)
    if snapshot is not None and snapshot.status in {"creating", "exporting"}:
        world.block_snapshots.put(replace(snapshot, status="available", updated_ms=at_ms))


OPERATIONS: Final[Mapping[str, Callable[[World, str, Args, int], None]]] = {
    "server_state": _server_state,
    "server_gone": _server_gone,
    "block_status": _block_status,
    "block_attached": _block_attached,
    "block_detached": _block_detached,
    "volume_state": _volume_state,
    "nic_available": _nic_available,
    "ip_attached": _ip_attached,
    "dynamic_ip": _dynamic_ip,
    "dynamic_gone": _dynamic_gone,
    "snapshot_available": _snapshot_available,
    "block_snapshot_available": _block_snapshot_available,
}

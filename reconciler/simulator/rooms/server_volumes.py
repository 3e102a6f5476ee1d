"""The volumes of a server: attach, detach, and the whole map of a PATCH.

An SBS volume that leaves a running server is gone from the server at once and stays `in_use` / `detaching` in Block
Storage for up to a minute: two APIs that disagree, which is why one of them alone proves nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reconciler.simulator import effects
from reconciler.simulator.call import Call, text
from reconciler.simulator.records import BlockVolume, Reference, Server, Slot
from reconciler.simulator.rooms.server_common import BASE, answer, fetch
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Response, bad_request, invalid, not_found


def put_slot(call: Call, server: Server, slot: Slot) -> Server:
    slots = (*(item for item in server.slots if item.key != slot.key), slot)
    ordered = tuple(sorted(slots, key=lambda item: int(item.key) if item.key.isdigit() else 999))
    return call.world.servers.put(replace(server, slots=ordered, updated_ms=call.now_ms))


def attach_block(call: Call, server: Server, volume: BlockVolume, *, key: str, boot: bool, at_once: bool) -> Server:
    """`at_once` is the create of a server: there the volume is in use from the first answer on."""
    if volume.reference is not None and volume.reference.server != server.id:
        raise bad_request(f"Volume {volume.id} is already attached to another server")
    status = "attached" if at_once else "attaching"
    reference = Reference(id=call.mint.uuid(), server=server.id, status=status, created_ms=call.now_ms)
    call.world.block_volumes.put(replace(volume, status="in_use", reference=reference, updated_ms=call.now_ms))
    if not at_once:
        call.world.schedule(call.due(call.timings.volume_attach), "block_attached", volume.id)
    state = "available" if at_once else "attaching"
    return put_slot(call, server, Slot(key=key, volume=volume.id, boot=boot, state=state))


def attach_any(call: Call, server: Server, volume_id: str, *, key: str, boot: bool, at_once: bool) -> Server:
    """Attach a volume of either API by its id."""
    block = call.world.block_volumes.get(volume_id)
    if block is not None and block.zone == server.zone:
        return attach_block(call, server, block, key=key, boot=boot, at_once=at_once)
    local = call.world.volumes.get(volume_id)
    if local is None or local.zone != server.zone:
        raise not_found("instance_volume", volume_id)
    if local.server not in (None, server.id):
        raise bad_request(f"Volume {volume_id} is already attached to another server")
    call.world.volumes.put(replace(local, server=server.id, updated_ms=call.now_ms))
    return put_slot(call, server, Slot(key=key, volume=local.id, volume_type=local.volume_type, boot=boot))


def detach_any(call: Call, server: Server, volume_id: str) -> Server:
    block = call.world.block_volumes.get(volume_id)
    if block is not None and block.reference is not None:
        if server.state in {"stopped", "stopped in place"}:
            effects.free_block_volume(call.world, block, now_ms=call.now_ms)
        else:
            reference = replace(block.reference, status="detaching")
            call.world.block_volumes.put(replace(block, reference=reference, updated_ms=call.now_ms))
            call.world.schedule(call.due(call.timings.volume_detach), "block_detached", block.id)
    local = call.world.volumes.get(volume_id)
    if local is not None:
        call.world.volumes.put(replace(local, server=None, updated_ms=call.now_ms))
    slots = tuple(slot for slot in server.slots if slot.volume != volume_id)
    return call.world.servers.put(replace(server, slots=slots, updated_ms=call.now_ms))


def check_volume_map(call: Call, server: Server, wanted: Any) -> None:
    """Refuse a PATCH's `volumes` that could not be applied as a whole."""
    if not isinstance(wanted, dict) or not all(isinstance(item, dict) for item in wanted.values()):
        raise invalid("volumes", "format", "must be a map of volumes")
    for item in wanted.values():
        volume_id = text(item, "id")
        block, local = call.world.block_volumes.get(volume_id), call.world.volumes.get(volume_id)
        holder = block.reference.server if block is not None and block.reference is not None else None
        if local is not None:
            holder = local.server
        if block is None and local is None:
            raise not_found("instance_volume", volume_id)
        if holder not in (None, server.id):
            raise bad_request(f"Volume {volume_id} is already attached to another server")


def apply_volume_map(call: Call, server: Server, wanted: dict[str, dict[str, Any]]) -> Server:
    """A PATCH's `volumes`: keys that are missing are detached, ids that are new attached, names of local ones set."""
    chosen = {str(item["id"]) for item in wanted.values()}
    for slot in server.slots:
        if slot.volume not in chosen:
            server = detach_any(call, server, slot.volume)
    held = {slot.volume: slot for slot in server.slots}
    for key, item in wanted.items():
        volume_id, boot = str(item["id"]), bool(item.get("boot", False))
        slot_held = held.get(volume_id)
        if slot_held is None:
            server = attach_any(call, server, volume_id, key=key, boot=boot, at_once=False)
        elif (slot_held.key, slot_held.boot) != (key, boot):
            kept = tuple(other for other in server.slots if other.volume != volume_id)
            server = put_slot(call, replace(server, slots=kept), replace(slot_held, key=key, boot=boot))
        local = call.world.volumes.get(volume_id)
        if local is not None and item.get("name"):
            call.world.volumes.put(replace(local, name=text(item, "name"), updated_ms=call.now_ms))
    return server


def free_slot(server: Server, volume_id: str) -> str:
    """The lowest key that no volume has. Refuses (400) a volume that is there already."""
    if any(slot.volume == volume_id for slot in server.slots):
        raise bad_request(f"Volume {volume_id} is already attached to this server")
    taken = {slot.key for slot in server.slots}
    return next(str(number) for number in range(len(taken) + 1) if str(number) not in taken)


def attach_volume(call: Call) -> Response:
    server, volume_id = fetch(call), text(call.body, "volume_id")
    key = free_slot(server, volume_id)
    attach_any(call, server, volume_id, key=key, boot=bool(call.body.get("boot", False)), at_once=False)
    return answer(call, server.id)


def detach_volume(call: Call) -> Response:
    server, volume_id = fetch(call), text(call.body, "volume_id")
    if all(slot.volume != volume_id for slot in server.slots):
        raise invalid("volume_id", "constraint", f"Volume {volume_id} is not attached to this server")
    detach_any(call, server, volume_id)
    return answer(call, server.id)


ROUTES = (
    Route("POST", BASE + "/{server}/attach-volume", attach_volume, "server"),
    Route("POST", BASE + "/{server}/detach-volume", detach_volume, "server"),
)

"""Bringing back what was deleted, or what a create that failed had made, without what it pointed at and is gone."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reconciler.simulator.lies.journal import Journal
from reconciler.simulator.records import BlockVolume, FlexibleIp, IpamIp, Nic, Reference, Server, Slot, Volume
from reconciler.simulator.world import KIND_OF, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What one object was before its end was asked for; `also` is what went in the same moment (an IP's entry)."""

    kind: str
    id: str
    record: Any
    also: tuple[Any, ...] = ()


def gather(kind: str, target: str, journal: Journal) -> Remains | None:
    """From the journal of the request that asked; None where it changed nothing of the object."""
    before = journal.before()
    record = before.get((kind, target))
    if record is None:
        return None
    # A server's children that still exist find their way back by themselves; the others are gone with it.
    also = () if kind == "server" else journal.removed()
    return Remains(kind=kind, id=target, record=record, also=tuple(item for item in also if item is not record))


def restore(world: World, remains: Remains, *, now_ms: int) -> None:
    """Nothing that comes back points at what is gone or has another owner by now."""
    back = [item for item in remains.also if item.id not in world.tables()[KIND_OF[type(item)]]]
    put_back(world, [*back, remains.record])
    if isinstance(remains.record, Server):
        _take_volumes(world, remains.record, now_ms=now_ms)


def put_back(world: World, records: Sequence[Any]) -> None:
    """Records that were here before, without what they point at and is not here: all first, then each made whole, for
    they may point at each other."""
    world.add(*records)
    world.add(*(_whole(world, item) for item in records))


def _take_volumes(world: World, server: Server, *, now_ms: int) -> None:
    """The volumes that are still there and nobody's, in their slots; the other slots stay empty."""
    slots: list[Slot] = []
    for slot in server.slots:
        block, local = world.block_volumes.get(slot.volume), world.volumes.get(slot.volume)
        if block is not None and (block.reference is None or block.reference.server == server.id):
            link = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{server.id}/{block.id}"))
            reference = Reference(id=link, server=server.id, created_ms=now_ms)
            world.block_volumes.put(replace(block, status="in_use", reference=reference, updated_ms=now_ms))
            slots.append(slot)
        elif local is not None and local.server in (None, server.id):
            world.volumes.put(replace(local, server=server.id, state="available", updated_ms=now_ms))
            slots.append(slot)
    back = world.servers.get(server.id) or server
    world.servers.put(replace(back, slots=tuple(slots), updated_ms=now_ms))


def _whole(world: World, record: Any) -> Any:
    """The record without what it pointed at and is gone."""
    match record:
        case Server():
            groups, placements = world.security_groups, world.placement_groups
            return replace(
                record,
                slots=tuple(
                    slot for slot in record.slots if slot.volume in world.block_volumes or slot.volume in world.volumes
                ),
                security_group=record.security_group if record.security_group in groups else None,
                placement_group=record.placement_group if record.placement_group in placements else None,
            )
        case FlexibleIp():
            if record.server in world.servers:
                return record
            return replace(record, server=None, state="detached", attach_order=0)
        case Volume():
            return record if record.server in world.servers else replace(record, server=None)
        case BlockVolume():
            held = record.reference is not None and record.reference.server in world.servers
            return record if held else replace(record, reference=None, status="available")
        case Nic():
            addresses = tuple(item for item in record.ipam_ips if item in world.ipam)
            return replace(record, ipam_ips=addresses, server=record.server if record.server in world.servers else None)
        case IpamIp():
            held = record.resource is not None and (
                record.resource.id in world.servers or record.resource.id in world.nics
            )
            return record if held else replace(record, resource=None)
        case _:
            return record

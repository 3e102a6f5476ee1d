"""What must never be destroyed, said a second time: straight from a world's fields, with none of the product's code.

Slow and plain on purpose. Where this page and `reconciler.diff` disagree, one of them is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from reconciler.model.finding import Finding
from reconciler.model.inventory import Presence
from reconciler.model.records import WorkerRow
from reconciler.model.resources import Ip, Kind, Nic, Ref, Resource, Server, Volume
from reconciler.model.world import World

CLUSTER_NAMES = ("pvc-*", "scw-k8s-*", "*_pvc-*", "k8s-*")


def objections(world: World, finding: Finding) -> list[str]:
    """Every reason why this finding must not say `act` and `destroy`."""
    return [
        *_run(world),
        *_rows(world, finding),
        *_target(world, finding),
        *(why for ref in finding.refs for why in _any(world, finding, ref)),
    ]


def live_rows(world: World) -> list[WorkerRow]:
    """Rows that were live in either read."""
    return [row for read in (world.records_before, world.records) for row in read.workers if row.deletion_id is None]


def held_by_a_row(world: World, thing: Resource) -> bool:
    """A live row names it, or what it hangs on or hung on; or it, or what it hangs on, carries the worker's id."""
    line = world.memory.lineage.get(thing.ref)
    owners = {getattr(thing, "server_id", None), line.server_id if line is not None else None, thing.id}
    servers = [item for scan in world.inventory.scans.values() for item in scan.items if isinstance(item, Server)]
    for server in servers:
        if thing.id in {*(slot.id for slot in server.volumes), *server.ip_ids}:
            owners.add(server.id)
    tags = {tag for server in servers if server.id in owners for tag in server.tags} | set(thing.tags)
    for row in live_rows(world):
        if f"reconciler:worker={row.id}" in tags or (row.machine is not None and row.machine.id in owners):
            return True
    return False


def may_go(world: World, row: WorkerRow) -> bool:
    """Whether a row is past what it may be: it failed, or its create or its start took too long."""
    sent, confirmed, now = row.create_sent_ms, row.create_confirmed_ms, world.finished_ms
    longest = 1000 * max(world.scope.create_seconds, world.scope.grace_seconds)
    match row.state.value:
        case "failed":
            return True
        case "provisioning":
            return (row.changed_ms if sent is None else sent) + longest <= now
        case "bootstrapping":
            return sent is not None and confirmed is not None and confirmed + 1_200_000 <= now
        case _:
            return False


def _rows(world: World, finding: Finding) -> Iterator[str]:
    if world.records.unread is not None or world.records_before.unread is not None:
        yield "the rows of workers were not read"
    mine = finding.subjects[0].worker if finding.kind.value == "stale-row" else None
    for row in live_rows(world):
        for ref in finding.refs:
            thing = resource_of(world, ref)
            line = world.memory.lineage.get(ref)
            machine = row.machine.id if row.machine is not None else "none"
            hangs = machine in (ref.id, getattr(thing, "server_id", None), line.server_id if line is not None else None)
            tagged = thing is not None and f"reconciler:worker={row.id}" in thing.tags
            if (hangs or tagged) and row.id != mine:
                yield f"{ref} is held by the row of {row.id}"
        if row.id == mine and not may_go(world, row):
            yield f"the row of {row.id} may stay"


def resource_of(world: World, ref: Ref) -> Resource | None:
    probe = world.inventory.probes.get(ref)
    if probe is not None and probe.presence is Presence.PRESENT:
        return probe.resource
    if probe is not None and probe.presence is Presence.ABSENT:
        return None
    return next((item for scan in world.inventory.scans.values() for item in scan.items if item.ref == ref), None)


def state_ids(world: World) -> set[str]:
    """Last parts of all ids in all states, both reads, any type."""
    reads = (*world.states.values(), *world.states_before.values())
    return {entry.id.split("/")[-1] for state in reads for entry in state.resources if entry.id and entry.custom}


def moving(world: World) -> set[str]:
    """Stacks that somebody writes to."""
    live = set()
    for name, state in world.states.items():
        before = world.states_before.get(name)
        if state.locks or before is None or before.locks or before.serial != state.serial:
            live.add(name)
    return live


def _run(world: World) -> Iterator[str]:
    if world.unread:
        yield "a stack was not read"
    if not world.states:
        yield "no stack was read"
    if moving(world):
        yield "a stack is being written to"


def _target(world: World, finding: Finding) -> Iterator[str]:
    ref = finding.refs[0]
    thing = resource_of(world, ref)
    if thing is None:
        yield "it is not there"
        return
    for kind in (ref.kind, Kind.SERVER):
        scan = world.inventory.scans.get((kind, ref.zone))
        if scan is None or not scan.complete:
            yield f"{kind} was not listed whole"
    if isinstance(thing, Server):
        yield from _server(world, thing, finding)
    if ref in world.memory.doomed:
        return  # decided before, when all of the following held
    if any(state.pending for state in world.states.values()):
        yield "an interrupted operation may have made it"
    since = [
        thing.created_ms or 0,
        world.memory.unowned_since.get(ref, world.finished_ms if _no_date(world, thing) else 0),
    ]
    if isinstance(thing, Volume):
        since.append(thing.last_detached_ms or 0)
    if finding.kind.value != "stale-row" and max(since) + 1000 * world.scope.grace_seconds > world.finished_ms:
        yield "its grace has not passed"
    line = world.memory.lineage.get(ref)
    if line is not None and line.stack is not None and line.stack not in world.states:
        yield "the stack that it came from was not read"
    yield from _proofs(world, thing)


def _no_date(world: World, thing: Resource) -> bool:
    return world.memory.present or thing.created_ms is None


def _server(world: World, server: Server, finding: Finding) -> Iterator[str]:
    if server.protected:
        yield "it is protected"
    if server.state not in ("running", "stopped", "stopped in place"):
        yield "it is in a transient state"
    held = state_ids(world)
    ids = {ref.id for ref in finding.refs}
    for slot in server.volumes:
        part = resource_of(world, Ref(slot.kind, server.zone, slot.id))
        if part is None:
            yield f"its volume {slot.id} was not read"
        elif slot.kind is Kind.INSTANCE_VOLUME and slot.id not in ids:
            yield "its local storage would die with it, and is not in the finding"
    for part in (item for scan in world.inventory.scans.values() for item in scan.items):
        if getattr(part, "server_id", None) == server.id and part.id in held:
            yield f"{part.ref} hangs on it and is in a state"


def _any(world: World, finding: Finding, ref: Ref) -> Iterator[str]:
    thing = resource_of(world, ref)
    if thing is None:
        return
    ids = {one.id for one in finding.refs}
    if ref.id in state_ids(world):
        yield f"{ref} is in a state"
    if thing.project != world.scope.project:
        yield f"{ref} is another project's"
    if any(tag.startswith("reconciler:scope=") and tag != f"reconciler:scope={world.scope.uuid}" for tag in thing.tags):
        yield f"{ref} carries another scope's tag"
    if ref in world.memory.held and ref not in world.memory.doomed:
        yield f"{ref} is held by an adoption"
    yield from _never(world, thing)
    yield from _users(world, thing, ids)


def _never(world: World, thing: Resource) -> Iterator[str]:
    never, name = world.scope.never, getattr(thing, "name", "")
    if thing.id in {listed.split("/")[-1] for listed in never.ids}:
        yield f"{thing.ref} is in the never list by id"
    if set(thing.tags) & set(never.tags) or any(tag.startswith("kapsule") for tag in thing.tags):
        yield f"{thing.ref} is never touched, by tag"
    if name and any(fnmatchcase(name, pattern) for pattern in (*never.names, *CLUSTER_NAMES)):
        yield f"{thing.ref} is never touched, by name"


def _users(world: World, thing: Resource, ids: set[str]) -> Iterator[str]:
    if isinstance(thing, (Ip, Volume, Nic)) and thing.server_id and thing.server_id not in ids:
        yield f"{thing.ref} is attached to {thing.server_id}"
    if isinstance(thing, Volume) and set(thing.reference_ids) - ids:
        yield f"{thing.ref} is referenced"
    if isinstance(thing, Volume) and thing.status == "in_use" and thing.server_id not in ids:
        yield f"{thing.ref} is in use"
    if isinstance(thing, Ip) and thing.state == "attached" and thing.server_id not in ids:
        yield f"{thing.ref} is attached"
    for server in (item for scan in world.inventory.scans.values() for item in scan.items if isinstance(item, Server)):
        listed = {*(slot.id for slot in server.volumes), *server.ip_ids}
        if thing.id in listed and server.id not in ids:
            yield f"{server.id} lists {thing.ref}"


def _proofs(world: World, thing: Resource) -> Iterator[str]:
    """Two independent signals, one of them recorded by ourselves; or exact owner tags where the scope says so."""
    tagged = "reconciler" in thing.tags and f"reconciler:scope={world.scope.uuid}" in thing.tags
    if world.scope.ownership.value == "tags" and tagged:
        return
    rows = (*world.records_before.workers, *world.records.workers)
    recorded = thing.ref in world.memory.lineage or any(row.machine == thing.ref for row in rows)
    mapped = any(_maps(rule, thing) for rule in world.scope.fleets)
    if not (recorded and (tagged or mapped)):
        yield "it is not proved ours"


def _maps(rule: object, thing: Resource) -> bool:
    """An upper bound: something of the mapping that is not our own memory holds."""
    tags, names = getattr(rule, "tags", ()), getattr(rule, "names", ())
    name = getattr(thing, "name", "")
    groups = getattr(rule, "security_groups", ())
    return (
        bool(set(tags) & set(thing.tags))
        or any(fnmatchcase(name, pattern) for pattern in names)
        or getattr(thing, "security_group_id", None) in groups
    )

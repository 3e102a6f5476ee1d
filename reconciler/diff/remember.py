"""What a sweep adds to the memory: lineage and sightings that are new, and nothing else (rule 14).

Lineage is learnt from what is managed now: a resource in a stack's state, the volumes that the create of a server of
that state made, and what hangs on the machine of a worker's row and was made for it. What a person attached to it is
not of its lineage. Sightings are learnt from the leftovers, and only while every stack and row was read and no stack
was being written to: without an authority nothing is known to be unowned. An incomplete sweep teaches what it saw, and
forgets only what it saw owned or used. A sweep whose clock is wrong is none of the complete ones and dates nothing: a
time that it wrote would be in the memory after the clock was set right, and a grace would seem to be over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from reconciler.diff.authority import Entry
from reconciler.diff.context import Context
from reconciler.diff.ownership import in_use, inline, of_worker
from reconciler.kernel.collector import no_search_for_cycles
from reconciler.model.desired import FLEET_TAG, tag_value
from reconciler.model.finding import Finding, FindingKind
from reconciler.model.memory import Lineage, SweepRecord
from reconciler.model.resources import Ip, Kind, Ref, Resource, Server, Volume
from reconciler.model.world import World

_LEFTOVER = frozenset({FindingKind.ORPHAN, FindingKind.DETACHED, FindingKind.DUPLICATE, FindingKind.UNRECORDED})


def is_complete(world: World) -> bool:
    """Every offered scan complete, every stack and row read, no stack being written to."""
    scans = all(scan.complete for scan in world.inventory.scans.values() if scan.offered)
    read = not world.unread and world.unread_records is None
    return scans and read and not world.live_stacks and not world.desired.problems


def sweep_record(world: World, findings: tuple[Finding, ...], *, trigger: str) -> SweepRecord:
    context = Context(world)
    complete = is_complete(world) and _clock_is_right(world)
    counts: dict[Kind, int] = {}
    for scan in world.inventory.scans.values():
        counts[scan.kind] = counts.get(scan.kind, 0) + len(scan.items)
    unowned = {ref for finding in findings if finding.kind in _LEFTOVER for ref in finding.refs[:1]}
    unowned |= {ref for finding in findings if finding.kind is FindingKind.ORPHAN for ref in finding.refs}
    known = world.memory.unowned_since
    with no_search_for_cycles():
        lineage = (*_lineage(context), *_of_workers(context))
    return SweepRecord(
        sweep_id=world.sweep_id,
        scope=world.scope.uuid,
        trigger=trigger,
        started_ms=world.started_ms,
        finished_ms=world.finished_ms,
        complete=complete,
        scans=tuple(_scan_rows(world)),
        counts=counts,
        serials={name: state.serial for name, state in sorted(world.states.items())},
        summary=_summary(findings),
        findings=tuple(finding for finding in findings if finding.kind is not FindingKind.UNMANAGED),
        closable=_closable(world, complete=complete),
        new_lineage=lineage,
        newly_unowned=(
            {ref: world.finished_ms for ref in sorted(unowned) if ref not in known}
            if _authorities_spoke(world) and _clock_is_right(world)
            else {}
        ),
        managed_again=tuple(_managed_again(context)),
        owned_again=tuple(sorted(_owned_again(context, known, unowned=unowned, complete=complete))),
    )


def _closable(world: World, *, complete: bool) -> frozenset[str] | None:
    """The episodes that may end. What only a program shows is not over because nobody asked the program."""
    if not complete:
        return frozenset()
    episodes = world.memory.episodes
    from_program = {key for key, episode in episodes.items() if episode.from_program}
    if not from_program or world.programs.keys() >= world.states.keys():
        return None
    return frozenset(episodes.keys() - from_program)


def _authorities_spoke(world: World) -> bool:
    return bool(world.states) and not world.unread and world.unread_records is None and not world.live_stacks


def _clock_is_right(world: World) -> bool:
    """As far as the API's own clock tells, by the measure of the rail."""
    skew = world.health.skew_seconds
    return skew is None or abs(skew) <= world.scope.limits.clock_skew_seconds


def _managed_again(context: Context) -> Iterator[Ref]:
    """Released once, and now in a state again, itself or the machine that it is a part of.

    Only a release that was finished before this sweep began: one that is under way still finds its resource in the
    state, and means it.
    """
    for ref, release in sorted(context.memory.released.items()):
        over = release.done_ms is not None and release.done_ms < context.world.started_ms
        if over and (ref.id in context.held or release.with_id in context.held):
            yield ref


def _owned_again(context: Context, known: Iterable[Ref], *, unowned: set[Ref], complete: bool) -> Iterator[Ref]:
    """Sightings that end. To be held or used is seen even where other things were not read; to be gone is not."""
    for ref in known:
        found = context.index.get(ref)
        used = found is not None and in_use(found) and ref not in unowned
        if ref.id in context.held or used or (complete and ref not in unowned):
            yield ref


def _summary(findings: tuple[Finding, ...]) -> dict[str, int]:
    summary: dict[str, int] = {}
    for finding in findings:
        summary[finding.kind.value] = summary.get(finding.kind.value, 0) + 1
    return summary


def _scan_rows(world: World) -> Iterator[dict[str, Any]]:
    for (kind, zone), scan in sorted(world.inventory.scans.items()):
        yield {
            "kind": kind.value,
            "zone": zone,
            "complete": scan.complete,
            "offered": scan.offered,
            "right": scan.right.value,
            "seen": len(scan.items),
            "calls": scan.calls,
            "reason": scan.reason,
        }


def _lineage(context: Context) -> Iterator[Lineage]:
    known, index = context.memory.lineage, context.index
    for entry in context.entries:
        found = index.by_kind[entry.kind].get(entry.id)
        if found is None:
            continue
        ref = entry.ref
        # Of two entries that hold it one speaks, always the same.
        if not _is_known(known.get(ref), entry) and context.held[entry.id] == (entry.stack, entry.resource):
            yield _line(ref, "state", context, entry=entry, server_id=None)
        if isinstance(found, Server):
            for slot in found.volumes:
                child = index.volume(slot.kind, slot.id)
                if child is not None and child.ref not in known and _made_with(child, found, context):
                    yield _line(child.ref, "attached", context, entry=entry, server_id=found.id)


def _of_workers(context: Context) -> Iterator[Lineage]:
    """What hangs on the machines that rows record: made by the create, or for the worker by its tag."""
    if context.world.unread_records is not None:
        return
    for row in context.world.records.workers:
        server = context.index.get(row.machine) if row.live and row.machine is not None else None
        if not isinstance(server, Server) or server.id in context.held:
            continue
        for child in context.usage.children(server):
            if child.ref not in context.memory.lineage and _made_for(child, server, context):
                yield Lineage(
                    ref=child.ref,
                    source="attached",
                    fleet=row.fleet,
                    stack=None,
                    urn=None,
                    worker=row.id,
                    server_id=server.id,
                    first_seen_ms=context.now_ms,
                )


def _made_for(child: Resource, server: Server, context: Context) -> bool:
    if not isinstance(child, Ip | Volume) or child.id in context.held or child.project != context.scope.project:
        return False
    return inline(child, server) or of_worker(child, server, scope=context.scope, memory=context.memory)


def _made_with(child: Volume, server: Server, context: Context) -> bool:
    return child.id not in context.held and child.project == context.scope.project and inline(child, server)


def _is_known(line: Lineage | None, entry: Entry) -> bool:
    """Whether the memory says of an entry what would be written now. Tags are looked at until they told the worker."""
    if line is None or line.source != "state" or line.stack != entry.stack or line.urn != entry.resource.urn:
        return False
    return line.worker is not None or not entry.tags or tag_value(entry.tags, FLEET_TAG) == line.fleet


def _line(ref: Ref, source: str, context: Context, *, entry: Entry, server_id: str | None) -> Lineage:
    """The tags are the declared ones, because those in the cloud may be lost, and memory should not lose them too."""
    return Lineage(
        ref=ref,
        source=source,
        fleet=tag_value(entry.tags, FLEET_TAG),
        stack=entry.stack,
        urn=entry.resource.urn,
        worker=context.worker_of(entry.tags),
        server_id=server_id,
        first_seen_ms=context.now_ms,
    )

"""What is wrong with the rows of workers: a machine that is gone, one that is not known, a row that must not stay.

`missing`: the machine of a row is proved absent (rule 2). `unresolved-create`: a row without a machine; after the
longest create the machine is looked up by the worker's id in a complete list, and never created again (rule 4).
`stale-row`: a row that failed or is overdue, or one that is left after its deletion. A row that was written while the
inventory was read waits for the next sweep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from reconciler.diff.context import Context, subject
from reconciler.diff.judge import Judgement, judge_recorded
from reconciler.diff.machines import goes_along
from reconciler.diff.ownership import foreign_scope, released_reason
from reconciler.diff.recorded import create_ends_ms, not_made_by, overdue
from reconciler.model.finding import ROW, ActionKind, Evidence, Finding, FindingKind, Ledger, Subject, Verdict
from reconciler.model.inventory import Presence, Probe, Right
from reconciler.model.records import WorkerRow, WorkerState
from reconciler.model.resources import Kind, Ref, Resource, Server

_MOVED = "its row was written while the inventory was read"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ruling:
    """`resources` are subjects beside the row; `found` says what the inventory has."""

    kind: FindingKind
    judgement: Judgement
    action: ActionKind
    found: str
    resources: tuple[Resource, ...] = ()
    evidence: tuple[Evidence, ...] = field(default=())
    witness: str | None = None


def row_findings(context: Context) -> Iterator[Finding]:
    """One at most for each row. Rows that were not read have none: that is a finding of its own."""
    if context.world.unread_records is not None:
        return
    for row in sorted(context.world.records.workers, key=lambda row: row.id):
        ruling = _ruling(row, context)
        if ruling is not None:
            yield _finding(row, ruling, context)


def _ruling(row: WorkerRow, context: Context) -> _Ruling | None:
    if not row.live:
        return _left_over(row) if row.deletion_finished else None
    if row.machine is None:
        return _without_machine(row, context)
    return _with_machine(row, row.machine, context)


def _left_over(row: WorkerRow) -> _Ruling:
    return _Ruling(
        kind=FindingKind.STALE_ROW,
        judgement=Judgement(Verdict.ACT, "its deletion is finished, and the row is left"),
        action=ActionKind.PURGE,
        found="settled",
        witness=f"deletion {row.deletion_id}",
    )


# -- rows without a machine


def _without_machine(row: WorkerRow, context: Context) -> _Ruling:
    found = context.bearers.get(row.id, ())
    judgement, action = _look_up(row, found, context)
    failed = row.state is WorkerState.FAILED
    return _Ruling(
        kind=FindingKind.STALE_ROW if failed else FindingKind.UNRESOLVED_CREATE,
        judgement=judgement,
        action=action,
        found=f"{len(found)} with its id",
        resources=found if action is ActionKind.ATTACH else (),
        evidence=tuple(context.seen(f"{one.ref} carries the id of the worker") for one in found),
        witness=_LISTED if judgement.verdict is Verdict.ACT else None,
    )


_LISTED = "a complete list of the servers of its zone"


def _look_up(row: WorkerRow, found: tuple[Server, ...], context: Context) -> tuple[Judgement, ActionKind]:
    due = create_ends_ms(row, scope=context.scope)
    if context.rows.moved(row):
        return Judgement(Verdict.WAIT, _MOVED), ActionKind.NONE
    if context.now_ms < due:
        sent = "its create may still be carried out" if row.create_sent_ms else "its create may still be sent"
        return Judgement(Verdict.WAIT, sent, due), ActionKind.NONE
    if len(found) > 1:
        several = ", ".join(str(one.ref) for one in found[:3])
        return Judgement(Verdict.ASK, f"{len(found)} machines carry its id ({several}): keep one"), ActionKind.NONE
    unproved = not_listed(row.zone, context)
    if unproved is not None:
        return unproved, ActionKind.NONE
    if not found:
        return Judgement(Verdict.ACT, "no machine carries its id: the row ends"), ActionKind.PURGE
    barred = _barred(row, found[0], context)
    return barred or Judgement(Verdict.ACT, f"its create made {found[0].ref}"), ActionKind.ATTACH


def not_listed(zone: str, context: Context) -> Judgement | None:
    """Why the list of a zone's servers proves nothing about what is not in it, or not alone in it."""
    if zone not in context.scope.zones:
        return Judgement(Verdict.ASK, f"{zone}, where it was to be made, is not among the zones of the scope")
    why = context.why_incomplete(Kind.SERVER, zone)
    if why is not None:
        return Judgement(Verdict.UNKNOWN, why)
    scan = context.world.inventory.scans[Kind.SERVER, zone]
    if scan.right is not Right.PROVED and not (scan.right is Right.ASSUMED and scan.items):
        return Judgement(Verdict.ASK, f"nothing proves that the key may see servers of {zone}: the list is empty")
    return None


def _barred(row: WorkerRow, server: Server, context: Context) -> Judgement | None:
    """Why the one machine with the worker's id is not attached."""
    ref, memory = server.ref, context.memory
    if context.unread is not None:
        return Judgement(Verdict.UNKNOWN, f"{context.unread} may own {ref} and could not be read")
    why: str | None = None
    made = not_made_by(row, server, scope=context.scope)
    if made is not None:
        why = made
    elif server.zone != row.zone:
        why = f"it is in {server.zone}, and the create was for {row.zone}"
    elif server.id in context.held:
        why = f"it is {context.authority.holder(server.id)}"
    elif foreign_scope(server.tags, scope=context.scope) is not None:
        why = f"it carries the owner tag of scope {foreign_scope(server.tags, scope=context.scope)}"
    elif ref in memory.doomed:
        why = "its deletion is decided"
    elif ref in memory.released:
        why = released_reason(memory.released[ref])
    elif ref in memory.recorded and memory.recorded[ref].worker != row.id:
        why = f"the row of worker {memory.recorded[ref].worker} records it"
    if why is not None:
        return Judgement(Verdict.ASK, f"{ref} carries its id, but {why}")
    never = context.never(server)
    if never is not None:
        return Judgement(Verdict.ASK, f"{ref} carries its id, but it is never touched ({never})")
    live = context.live_anywhere
    return Judgement(Verdict.WAIT, f"{live}; it may be taking {ref} into its state") if live is not None else None


# -- rows with a machine


def _with_machine(row: WorkerRow, machine: Ref, context: Context) -> _Ruling | None:
    if machine.zone not in context.scope.zones:
        return None  # not looked at: nothing is known, and the row holds
    late = overdue(row, scope=context.scope, now_ms=context.now_ms)
    probe = context.index.probed[Kind.SERVER].get(machine.id)
    if probe is not None and probe.presence is Presence.ABSENT:
        return _gone(row, probe, late, context)
    server = context.index.get(machine)
    if isinstance(server, Server):
        return _must_go(row, server, late, context) if late is not None else None
    if probe is not None:
        reason = f"not in the list, but not proved absent: {probe.reason or probe.status}"
    elif late is not None:
        why = context.why_incomplete(Kind.SERVER, machine.zone)
        reason = f"{late}, and its machine was not read: {why or 'it is in no list, and nobody asked for it'}"
    else:
        return None  # what an incomplete list lacks is no finding
    return _Ruling(
        kind=_kind(late),
        judgement=Judgement(Verdict.UNKNOWN, reason),
        action=ActionKind.NONE,
        found="unknown",
    )


def _kind(late: str | None) -> FindingKind:
    return FindingKind.MISSING if late is None else FindingKind.STALE_ROW


def _gone(row: WorkerRow, probe: Probe, late: str | None, context: Context) -> _Ruling:
    others = [one for one in context.bearers.get(row.id, ()) if one.id != probe.ref.id]
    if context.rows.moved(row):
        judgement = Judgement(Verdict.WAIT, _MOVED)
    elif others:
        judgement = Judgement(Verdict.ASK, f"its machine is gone, and {others[0].ref} carries its id: which is it?")
    else:
        what = "a row records it; it is proved absent" if late is None else f"{late}, and its machine is proved absent"
        judgement = Judgement(Verdict.ACT, what)
    return _Ruling(
        kind=_kind(late),
        judgement=judgement,
        action=ActionKind.PURGE,
        found="absent",
        evidence=(Evidence(at_ms=probe.at_ms, source="inventory", text=f"GET by id: {probe.status or probe.reason}"),),
        witness="a typed 404 by id, and a complete list begun after it",
    )


def _must_go(row: WorkerRow, server: Server, late: str, context: Context) -> _Ruling:
    children = context.usage.children(server)
    goes = tuple(child for child in children if goes_along(child, server, context))
    spared = [child for child in children if child not in goes]
    claim, barred = context.claim(server), _not_ours(server, context)
    if context.rows.moved(row):
        judgement = Judgement(Verdict.WAIT, _MOVED)
    elif barred is not None:
        judgement = Judgement(Verdict.ASK, f"{late}; {barred}")
    else:
        judged = judge_recorded(server, claim, spared=spared, context=context)
        judgement = Judgement(judged.verdict, f"{late}; {judged.reason}", judged.wait_until_ms)
    return _Ruling(
        kind=FindingKind.STALE_ROW,
        judgement=judgement,
        action=ActionKind.DESTROY,
        found=server.state,
        resources=(server, *goes),
        evidence=tuple(context.seen(signal.text, source=signal.name) for signal in claim.signals),
        witness=claim.why if claim.proved else None,
    )


def _not_ours(server: Server, context: Context) -> str | None:
    never = context.never(server)
    if never is not None:
        return f"its machine is never touched ({never})"
    if server.project != context.scope.project:
        return f"its machine belongs to project {server.project}"
    other = foreign_scope(server.tags, scope=context.scope)
    return f"its machine carries the owner tag of scope {other}" if other is not None else None


# -- the finding


def _finding(row: WorkerRow, ruling: _Ruling, context: Context) -> Finding:
    judgement = ruling.judgement
    priced = ruling.resources if ruling.action is ActionKind.DESTROY else ()
    return Finding(
        kind=ruling.kind,
        subjects=_subjects(row, ruling),
        fleet=row.fleet,
        stack=_stack_of(row, context),
        ledgers={Ledger.INVENTORY: ruling.found, Ledger.RECORDS: row.state.value if row.live else "doomed"},
        verdict=judgement.verdict,
        action=ruling.action if judgement.verdict is not Verdict.UNKNOWN else ActionKind.NONE,
        reason=judgement.reason,
        rule="rules 1 to 4" if ruling.action is not ActionKind.DESTROY else "rules 5 to 9",
        wait_until_ms=judgement.wait_until_ms,
        age_seconds=max(0, (context.now_ms - row.changed_ms) // 1000),
        cost=context.cost(*priced),
        evidence=(Evidence(at_ms=row.changed_ms, source="records", text=_said(row)), *ruling.evidence),
        witness=ruling.witness,
    )


def _subjects(row: WorkerRow, ruling: _Ruling) -> tuple[Subject, ...]:
    """The row is first, so that the episode is the same whatever becomes of its machine."""
    mine = Subject(kind=ROW, zone=row.zone, id=row.id, worker=row.id, name=row.fleet)
    if ruling.resources:
        return mine, *(subject(one, worker=row.id) for one in ruling.resources)
    if row.machine is None:
        return (mine,)
    machine = row.machine
    return mine, Subject(kind=machine.kind.value, zone=machine.zone, id=machine.id, worker=row.id)


def _stack_of(row: WorkerRow, context: Context) -> str | None:
    return next((fleet.stack for fleet in context.world.records.fleets if fleet.id == row.fleet_id), None)


def _said(row: WorkerRow) -> str:
    machine = f"machine {row.machine}" if row.machine is not None else "no machine"
    return f"row of worker {row.id}: {row.state.value}, {machine}"

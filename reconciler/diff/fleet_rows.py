"""Fleets that have rows and that no stack declares any more.

Their rows hold as before: what is to become of the workers is a person's to say. Nothing is said of a fleet while any
stack that might declare it was not read, or is being written to.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.diff.context import Context
from reconciler.model.finding import ActionKind, Evidence, Finding, FindingKind, Ledger, Subject, Verdict
from reconciler.model.records import FleetRow


def undeclared_fleets(context: Context) -> Iterator[Finding]:
    """`undeclared`, for each active fleet row whose uid is in no stack's output."""
    if context.world.unread_records is not None:
        return
    declared = {fleet.uid for fleet in context.world.desired.fleets}
    for fleet in sorted(context.world.records.fleets, key=lambda fleet: fleet.id):
        if fleet.retired_ms is None and fleet.id not in declared:
            yield _undeclared(fleet, context)


def _undeclared(fleet: FleetRow, context: Context) -> Finding:
    verdict, reason = _verdict(fleet, context)
    workers = sum(row.fleet_id == fleet.id and row.live for row in context.world.records.workers)
    return Finding(
        kind=FindingKind.UNDECLARED,
        subjects=(Subject(kind="fleet", id=fleet.id, name=fleet.name),),
        fleet=fleet.name,
        stack=fleet.stack,
        ledgers={Ledger.DESIRED: "not declared", Ledger.RECORDS: f"{workers} live worker(s)"},
        verdict=verdict,
        action=ActionKind.NONE,
        reason=reason,
        rule="rule 3",
        evidence=(Evidence(at_ms=fleet.declared_ms, source="records", text=f"first written for {fleet.stack}"),),
    )


def _verdict(fleet: FleetRow, context: Context) -> tuple[Verdict, str]:
    if context.unread is not None:
        return Verdict.UNKNOWN, f"{context.unread} may declare it and could not be read"
    problems = sorted(context.world.desired.problems)
    if problems:
        return Verdict.UNKNOWN, f"it may be declared: {problems[0]}"
    if not context.world.states:
        return Verdict.UNKNOWN, "no stack was read that could declare it"
    if fleet.stack not in context.world.states:
        return Verdict.ASK, f"{fleet.stack}, which declared it, is not among the stacks that are read"
    if context.live_anywhere is not None:
        return Verdict.WAIT, context.live_anywhere
    stale = sorted(context.world.desired.stale_stacks)
    if stale:
        return Verdict.WAIT, f"the outputs of {stale[0]} may be old"
    return Verdict.ASK, "no stack declares it any more; its rows go on holding their machines"

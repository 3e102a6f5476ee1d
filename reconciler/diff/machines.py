"""Machines of elastic workers, as the inventory shows them: which one is a row's, which one is one too many, and which
one has no row at all.

The worker's id in the tags was drawn for one row and one machine. Two machines with one id are a copied tag or a create
that was carried out twice, and a person says which stays: none is kept silently.
"""

from __future__ import annotations

from typing import Final

from reconciler.diff.context import Context, subject
from reconciler.diff.judge import Judgement, judge_unrecorded
from reconciler.diff.ownership import goes_with, has_owner_tags
from reconciler.diff.recorded import workers_of
from reconciler.model.desired import FLEET_TAG, REVISION_TAG, WORKER_TAG, FleetSpec, tag_value
from reconciler.model.finding import ROW, ActionKind, Finding, FindingKind, Ledger, Subject, Verdict
from reconciler.model.resources import Resource, Server

ELASTIC: Final = "elastic"
_RUNNING: Final = frozenset({"running", "starting"})


def goes_along(child: Resource, server: Server, context: Context) -> bool:
    """Whether the child is destroyed with its server: nothing else holds it, by anybody's word."""
    if child.id in context.held or any(other.id != server.id for other in context.usage.listed_by(child.id)):
        return False
    return goes_with(child, server, scope=context.scope, memory=context.memory)


def of_worker(server: Server, context: Context) -> Finding | None:
    """`duplicate` or `unrecorded`, of a machine that says that it is a worker's; None where neither is so."""
    double = _double_of(server, context)
    if double is not None or context.rows.holder(server, context.memory) is not None:
        return double
    return _unrecorded(server, context)


def _double_of(server: Server, context: Context) -> Finding | None:
    """`duplicate`: it carries the id of a worker whose row records another machine, or of one that several carry."""
    if server.id in context.rows.by_machine or context.world.unread_records is not None:
        return None  # the machine of a row is never the one too many
    for worker in workers_of(server.tags):
        row = context.rows.live.get(worker)
        others = [one for one in context.bearers.get(worker, ()) if one.id != server.id]
        if row is not None and row.machine is not None:
            return _double(server, worker, f"its row records {row.machine}", context)
        # Of a worker whose row has ended nothing is kept, so there is nothing to choose.
        wanted = row is not None or (context.rows.ended(worker) is None and _expected(server, context) is not None)
        if others and wanted:
            return _double(server, worker, f"{others[0].ref} carries the same id", context)
    return None


def _unrecorded(server: Server, context: Context) -> Finding | None:
    """`unrecorded`: a running machine of an elastic fleet of ours without a row. None for every other machine."""
    fleet, worker = _expected(server, context), tag_value(server.tags, WORKER_TAG)
    if fleet is None or not worker or server.state not in _RUNNING:
        return None
    if context.rows.ended(worker) is not None or server.ref in context.memory.doomed:
        return None  # a late create, or what a decision left: never written down again
    if context.never(server) is not None or server.ref in context.memory.released:
        return None
    judgement = _revision(server) or judge_unrecorded(server, context)
    children = [child for child in context.usage.children(server) if child.id not in context.held]
    return Finding(
        kind=FindingKind.UNRECORDED,
        subjects=(
            subject(server, worker=worker),
            Subject(kind=ROW, zone=server.zone, id=worker, worker=worker),
            *(subject(child) for child in children),
        ),
        fleet=fleet.name,
        stack=fleet.stack,
        ledgers={Ledger.DESIRED: "elastic fleet", Ledger.INVENTORY: server.state, Ledger.RECORDS: "no row"},
        verdict=judgement.verdict,
        action=ActionKind.RECORD,
        reason=judgement.reason,
        rule="rules 3 and 9",
        wait_until_ms=judgement.wait_until_ms,
        cost=context.cost(server, *children),
        evidence=(context.seen(f"it carries the id of worker {worker} and the owner tags of fleet {fleet.name}"),),
        witness=f"the output of {fleet.stack} declares the fleet",
    )


def _expected(server: Server, context: Context) -> FleetSpec | None:
    """The elastic fleet that it says it is a worker of, where rows are kept."""
    if not context.world.records.expected or context.world.unread_records is not None:
        return None
    if not has_owner_tags(server.tags, scope=context.scope):
        return None
    fleet = context.fleets.get(tag_value(server.tags, FLEET_TAG) or "")
    return fleet if fleet is not None and fleet.controller == ELASTIC else None


def _revision(server: Server) -> Judgement | None:
    if tag_value(server.tags, REVISION_TAG):
        return None
    return Judgement(Verdict.ASK, "it does not say of which revision it is, so its row would be a guess")


def _double(server: Server, worker: str, why: str, context: Context) -> Finding:
    children = [child for child in context.usage.children(server) if child.id not in context.held]
    return Finding(
        kind=FindingKind.DUPLICATE,
        subjects=(subject(server, worker=worker), *(subject(child) for child in children)),
        fleet=tag_value(server.tags, FLEET_TAG),
        ledgers={Ledger.INVENTORY: "holds both", Ledger.RECORDS: "one worker"},
        verdict=Verdict.WAIT if context.live_anywhere is not None else Verdict.ASK,
        action=ActionKind.NONE,
        reason=context.live_anywhere or f"two machines for one worker; {why}",
        rule="rule 4",
        cost=context.cost(server, *children),
        evidence=(context.seen(f"it carries the id of worker {worker}"),),
    )

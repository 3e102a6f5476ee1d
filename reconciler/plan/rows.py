"""Actions about the rows of workers: write one, give one its machine, end one.

A row is named by the mark that it had when it was judged: a row that anybody wrote since is another one, and its action
is skipped. What a row does not say (which fleet, which declaration) is read again from the stacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reconciler.diff.index import Index
from reconciler.model.finding import ActionKind, Finding
from reconciler.model.plan import Action, Condition
from reconciler.model.records import is_live
from reconciler.model.world import World
from reconciler.plan.fingerprint import unchanged

ROW: Final = "row"
UNRECORDED: Final = "unrecorded"
FLEET: Final = "fleet"


def write(world: World, index: Index, finding: Finding) -> Action:
    """RECORD, ATTACH or PURGE. A machine that is proved gone is a condition, which the limits count."""
    worker, row = finding.row or "", world.records.row(finding.row or "")
    # Of a doomed row nothing is to be proved but that its deletion is finished, which the store does.
    refs = finding.refs[:1] if row is None or row.live else ()
    conditions = list(as_judged(world, finding))
    if finding.action is ActionKind.RECORD:
        uids = [fleet.uid for fleet in world.desired.fleets if fleet.name == finding.fleet]
        conditions += [Condition(kind=UNRECORDED, subject=f"worker {worker}")]
        conditions += [Condition(kind=FLEET, subject=finding.fleet or "", value=uid) for uid in uids[:1]]
    if finding.action is ActionKind.PURGE:
        conditions += [Condition(kind="absent", subject=str(ref)) for ref in refs]
    else:
        conditions += unchanged(index, refs)
    return Action(
        id="",
        kind=finding.action,
        finding_id=finding.id,
        finding_kind=finding.kind,
        refs=refs,
        fleet=finding.fleet,
        stack=finding.stack,
        urns=(),
        conditions=tuple(conditions),
        reason=finding.reason,
        rule=finding.rule,
        worker=worker,
    )


def as_judged(world: World, finding: Finding) -> Iterator[Condition]:
    """The row that a finding is about, by its mark."""
    row = world.records.row(finding.row) if finding.row is not None else None
    if row is not None:
        yield Condition(kind=ROW, subject=f"worker {row.id}", value=row.mark)


def mark_of(action: Action) -> str | None:
    """The mark of the row that an action was planned for; None for one that writes a new row."""
    return next((condition.value for condition in action.conditions if condition.kind == ROW), None)


def ends_live_row(action: Action) -> bool:
    """A row that ends by a proof of absence, and not by a deletion that is finished."""
    return action.kind is ActionKind.PURGE and is_live(mark_of(action) or "")


def fleet_of(action: Action) -> str | None:
    """The uid of the declaration that an action writes a row for."""
    return next((condition.value for condition in action.conditions if condition.kind == FLEET), None)

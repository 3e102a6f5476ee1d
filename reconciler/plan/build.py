"""From findings to actions: only what is `act`, only what the mode allows, in an order that cannot hurt.

Tags and rows first (they make what follows findable), then refreshes, one per stack so that the engine starts once,
then deletions: servers with their children, then what hangs on nothing. Conditions are written down here and checked
again, live, before each action.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from reconciler.diff.index import Index
from reconciler.kernel.ids import Ids
from reconciler.model.finding import ActionKind, Finding, FindingKind, Verdict
from reconciler.model.money import total
from reconciler.model.plan import Action, Condition, Mode, Plan
from reconciler.model.resources import Kind
from reconciler.model.world import World
from reconciler.plan import pending, rows
from reconciler.plan.canonical import action_id
from reconciler.plan.fingerprint import ENTRY, of_entry, unchanged
from reconciler.plan.rails import check_rails

# Pending operations that are no creates are cleared before an adoption, which would lose them, and creates after it:
# the engine drops those all at once, so each must be adopted or proved absent by then.
_ORDER: Final = {
    ActionKind.TAG: 0,
    ActionKind.RECORD: 0,
    ActionKind.ATTACH: 0,
    ActionKind.PURGE: 0,
    ActionKind.REFRESH: 1,
    ActionKind.CLEAR: 2,
    ActionKind.ADOPT: 3,
    ActionKind.DESTROY: 5,
}
_CREATES_CLEARED: Final = 4


def build_plan(world: World, findings: Iterable[Finding], *, mode: Mode, ids: Ids) -> Plan:
    """The plan for one sweep. Its rails say whether it may be applied at all."""
    chosen: list[Finding] = []
    held: dict[str, int] = {}
    for finding in findings:
        why = _held_back(finding, mode)
        if why is None:
            chosen.append(finding)
        else:
            held[why] = held.get(why, 0) + 1
    actions = tuple(sorted(_actions(world, chosen), key=_key))
    return Plan(
        id=ids.new(),
        scope=world.scope.uuid,
        scope_name=world.scope.name,
        mode=mode,
        created_ms=world.finished_ms,
        expires_ms=world.finished_ms + world.scope.limits.plan_ttl_seconds * 1000,
        sweep_id=world.sweep_id,
        serials={name: state.serial for name, state in sorted(world.states.items())},
        actions=actions,
        rails=check_rails(world, actions),
        held_back=held,
        saves=total(tuple(action.cost for action in actions if action.kind is ActionKind.DESTROY)),
    )


def _held_back(finding: Finding, mode: Mode) -> str | None:
    """Why a finding is in no action; None when it is in one."""
    if finding.verdict is not Verdict.ACT:
        return finding.verdict.value
    if not mode.allows(finding.action):
        return f"act, not in mode {mode.value}"
    return None if _can_be_written(finding) else "act, but its text is not Unicode"


def _can_be_written(finding: Finding) -> bool:
    """Half a surrogate pair can come out of a checkpoint and into no file: one such name must not cost the plan."""
    subjects = (text for one in finding.subjects for text in (one.id, one.zone, one.urn, one.name))
    texts = (*subjects, finding.reason, finding.fleet, finding.stack, *(finding.tags_after or ()))
    try:
        "".join(text for text in texts if text).encode()
    except UnicodeEncodeError:
        return False
    return True


def _key(action: Action) -> tuple[int, int, str]:
    server_first = 0 if action.refs and action.refs[0].kind is Kind.SERVER else 1
    return _CREATES_CLEARED if pending.clears_creates(action) else _ORDER[action.kind], server_first, action.id


def _actions(world: World, findings: Iterable[Finding]) -> Iterator[Action]:
    index = Index(world.inventory)
    refreshes: dict[tuple[str, FindingKind], list[Finding]] = {}
    clears: list[Finding] = []
    for finding in findings:
        match finding.action:
            case ActionKind.REFRESH:
                refreshes.setdefault((finding.stack or "", finding.kind), []).append(finding)
            case ActionKind.TAG:
                yield _tag(index, finding)
            case ActionKind.DESTROY:
                yield _destroy(world, index, finding)
            case ActionKind.ADOPT:
                yield _named(pending.adopt(finding))
            case ActionKind.RECORD | ActionKind.ATTACH | ActionKind.PURGE:
                yield _named(rows.write(world, index, finding))
            case ActionKind.CLEAR:
                clears.append(finding)
            case _:
                pass
    yield from map(_named, pending.clear(world, clears))
    for stack, kind in sorted(refreshes):
        # Sorted, so that an action is the same whatever order its findings came in.
        yield _refresh(world, index, stack, sorted(refreshes[stack, kind], key=lambda finding: finding.id))


def _named(action: Action) -> Action:
    return replace(action, id=action_id(action))


def _tag(index: Index, finding: Finding) -> Action:
    ref = finding.refs[0]
    found = index.get(ref)
    before = found.tags if found is not None else ()
    return _named(
        Action(
            id="",
            kind=ActionKind.TAG,
            finding_id=finding.id,
            finding_kind=finding.kind,
            refs=(ref,),
            fleet=finding.fleet,
            stack=finding.stack,
            urns=(),
            tags_before=before,
            tags_after=finding.tags_after or (),
            conditions=(
                Condition(kind="tags", subject=str(ref), value=json.dumps(before)),
                *unchanged(index, (ref,)),
            ),
            reason=finding.reason,
            rule=finding.rule,
        )
    )


def _entries(world: World, stack: str, urns: Iterable[str]) -> Iterator[Condition]:
    entries = world.states[stack].by_urn
    for urn in urns:
        if urn in entries:
            yield Condition(kind=ENTRY, subject=urn, value=of_entry(entries[urn]))


def _refresh(world: World, index: Index, stack: str, group: list[Finding]) -> Action:
    urns = tuple(sorted({subject.urn for finding in group for subject in finding.subjects[:1] if subject.urn}))
    gone = group[0].kind is FindingKind.MISSING
    conditions = [Condition(kind="serial", subject=stack, value=world.states[stack].serial)]
    if gone:
        conditions += [Condition(kind="absent", subject=str(ref)) for finding in group for ref in finding.refs[:1]]
    else:
        conditions += unchanged(index, sorted({ref for finding in group for ref in finding.refs[:1]}))
    conditions += _entries(world, stack, urns)
    return _named(
        Action(
            id="",
            kind=ActionKind.REFRESH,
            finding_id=group[0].id,
            finding_kind=group[0].kind,
            refs=tuple(sorted(ref for finding in group for ref in finding.refs[:1])),
            fleet=group[0].fleet,
            stack=stack,
            urns=urns,
            conditions=tuple(conditions),
            reason=f"{len(urns)} {'gone' if gone else 'changed'}: {group[0].reason}",
            rule=group[0].rule,
        )
    )


def _destroy(world: World, index: Index, finding: Finding) -> Action:
    target = finding.refs[0]
    conditions = [Condition(kind="unowned", subject=str(target)), *rows.as_judged(world, finding)]
    if target.kind is not Kind.SERVER:
        conditions.append(Condition(kind="unattached", subject=str(target)))
    conditions += unchanged(index, finding.refs)
    return _named(
        Action(
            id="",
            kind=ActionKind.DESTROY,
            finding_id=finding.id,
            finding_kind=finding.kind,
            refs=finding.refs,
            fleet=finding.fleet,
            stack=finding.stack,
            urns=(),
            conditions=tuple(conditions),
            cost=finding.cost,
            reason=finding.reason,
            rule=finding.rule,
            worker=finding.row,
        )
    )

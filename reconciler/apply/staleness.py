"""Is a reviewed plan still about the world that was reviewed? Asked of its subjects and of nothing else.

A plan file may be an hour old. Each action carries the fingerprint of what it is about; one GET per subject, and one
read of the stacks that may own them, say whether that still holds. What changed elsewhere makes no plan stale. What
the plan itself has done in an earlier run is no change either.

*Unknown is not unchanged*: a subject that cannot be read refuses the plan as well, under a code of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from reconciler.apply.effects import Effects
from reconciler.apply.setting import holder_of
from reconciler.kernel.errors import RefusedError
from reconciler.kernel.executor import Executor
from reconciler.model.finding import ActionKind
from reconciler.model.inventory import Presence, Probe
from reconciler.model.plan import Action, Plan
from reconciler.model.records import RecordsView
from reconciler.model.resources import Ref
from reconciler.model.state import StackState
from reconciler.observe.authorities import name_stacks, read_stacks
from reconciler.plan.fingerprint import ENTRY, UNCHANGED, differences, of_entry, of_resource
from reconciler.plan.rows import mark_of
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import Engine

_REMAKE: Final = "Nothing was touched. Look at the world again: `reconciler plan`."
_SHOWN: Final = 5
_WRITES_STATE: Final = frozenset({ActionKind.REFRESH, ActionKind.ADOPT, ActionKind.CLEAR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What is needed to look. `patterns` name the stacks that may own something."""

    cloud: Cloud
    engine: Engine
    executor: Executor
    patterns: tuple[str, ...]
    records: Callable[[], RecordsView]


def refuse_moved_stacks(plan: Plan, *, engine: Engine, effects: Effects) -> None:
    """Of a stack that an action writes, another serial than the plan's, and not of our own making, is RC0608."""
    serials = {one.subject for action in plan.actions for one in action.conditions if one.kind == "serial"}
    written = {action.stack for action in plan.actions if action.kind in _WRITES_STATE and action.stack}
    for stack in sorted(serials | written):
        state = engine.read(stack)
        if state.serial != plan.serials.get(stack) and not effects.wrote(stack, state.serial):
            moved = list(_entries_changed(plan, state, effects))
            what = "; ".join(moved[:_SHOWN]) if moved else "in other entries than the plan's"
            raise RefusedError(
                f"the plan is stale: the state of {stack} has changed: {what}", code="RC0608", hint=_REMAKE
            )


def refuse_changed_subjects(plan: Plan, *, doors: Doors, effects: Effects) -> None:
    """Raises RefusedError RC0608 (a subject changed) or RC0632 (one cannot be read), naming each action and what."""
    exempt = effects.exempt(plan.actions)
    wanted = sorted({ref for action in plan.actions for ref in _looked_at(action) if str(ref) not in exempt})
    outcomes = doors.executor.map(doors.cloud.probe, wanted)
    probes = {ref: outcome.unwrap() for ref, outcome in zip(wanted, outcomes, strict=True)}
    stale: list[str] = []
    unread: list[str] = []
    for number, action in enumerate(plan.actions, start=1):
        name = f"action {number} ({action.kind.value} {_target(action)})"
        stale += [f"{name}: {what}" for what in _changed(action, probes)]
        unread += [f"{name}: {what}" for what in _unread(action, probes)]
    stale += _rows_now(plan, doors=doors, effects=effects)
    stale += _owned_now(plan, doors=doors, exempt=exempt)
    if stale:
        raise RefusedError(f"the plan is stale: {_some(stale)}", code="RC0608", hint=_REMAKE)
    if unread:
        raise RefusedError(
            f"it is not known whether the plan is stale: {_some(unread)}",
            code="RC0632",
            hint="Nothing was touched. Run it again when that can be read; a plan of now leaves out what cannot.",
        )


def _some(parts: list[str]) -> str:
    more = f"; and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return "; ".join(parts[:_SHOWN]) + more


def _target(action: Action) -> str:
    if action.refs and action.kind not in _WRITES_STATE:
        return str(action.refs[0])
    return f"worker {action.worker}" if action.worker is not None else action.stack or action.id


def _fingerprints(action: Action) -> Mapping[str, str]:
    return {condition.subject: condition.value for condition in action.conditions if condition.kind == UNCHANGED}


def _absent(action: Action) -> frozenset[str]:
    return frozenset(condition.subject for condition in action.conditions if condition.kind == "absent")


def _looked_at(action: Action) -> Iterator[Ref]:
    named = _fingerprints(action).keys() | _absent(action)
    return (ref for ref in action.refs if str(ref) in named)


def _changed(action: Action, probes: Mapping[Ref, Probe]) -> Iterator[str]:
    before, gone = _fingerprints(action), _absent(action)
    for ref in action.refs:
        probe = probes.get(ref)
        if probe is None:
            continue
        if str(ref) in gone:
            if probe.presence is Presence.PRESENT:
                yield f"{ref} is there again"
        elif probe.presence is Presence.ABSENT:
            yield f"{ref} is gone"
        elif probe.resource is not None:
            fields = differences(before[str(ref)], of_resource(probe.resource))
            if fields:
                yield f"{ref} has another {', '.join(fields)}"


def _unread(action: Action, probes: Mapping[Ref, Probe]) -> Iterator[str]:
    """What was there and cannot be read now. Absence is proved when the action's turn comes, by more than one GET."""
    known = _fingerprints(action)
    for ref in action.refs:
        probe = probes.get(ref)
        if probe is not None and str(ref) in known and probe.presence is Presence.UNKNOWN:
            yield f"{ref} cannot be read: {probe.reason or probe.status}"


def _owned_now(plan: Plan, *, doors: Doors, exempt: frozenset[str]) -> list[str]:
    """What a stack holds by now, though the plan destroys it. A stack that cannot be read stops each action later."""
    destroys = [(n, a) for n, a in enumerate(plan.actions, start=1) if a.kind is ActionKind.DESTROY]
    if not destroys:
        return []
    names, _ = name_stacks(doors.engine, doors.patterns)
    states = read_stacks(doors.engine, names, executor=doors.executor).states
    found = []
    for number, action in destroys:
        holder = holder_of(states, tuple(ref for ref in action.refs if str(ref) not in exempt))
        if holder is not None:
            found.append(f"action {number} ({action.kind.value} {_target(action)}): {holder}")
    return found


def _rows_now(plan: Plan, *, doors: Doors, effects: Effects) -> list[str]:
    """Rows that somebody wrote since. Raises what reading the rows raises: unknown is not unchanged."""
    planned = [(n, a) for n, a in enumerate(plan.actions, start=1) if mark_of(a) is not None]
    planned = [(number, action) for number, action in planned if action.id not in effects.begun]
    if not planned:
        return []
    rows = {row.id: row for row in doors.records().workers}
    found = []
    for number, action in planned:
        row = rows.get(action.worker or "")
        if row is None or row.mark != mark_of(action):
            what = "is gone" if row is None else "is another one"
            found.append(f"action {number} ({action.kind.value}): the row of worker {action.worker} {what}")
    return found


def _entries_changed(plan: Plan, state: StackState, effects: Effects) -> Iterator[str]:
    exempt = effects.exempt(plan.actions)
    for number, action in enumerate(plan.actions, start=1):
        for condition in action.conditions:
            if condition.kind != ENTRY or action.stack != state.stack or condition.subject in exempt:
                continue
            entry = state.by_urn.get(condition.subject)
            if entry is None:
                yield f"action {number}: {condition.subject} is no longer in it"
                continue
            fields = differences(condition.value, of_entry(entry))
            if fields:
                yield f"action {number}: {condition.subject} has another {', '.join(fields)}"

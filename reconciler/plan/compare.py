"""Two plans side by side: which actions came, went and changed, and how cost and limits moved. Pure.

An action is the same in both when it does the same kind of thing to the same thing; its id is no help, because it
covers the children and the tags, whose change is what one wants to see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reconciler.model.money import Cost
from reconciler.model.plan import Action, Condition, Plan, RailCheck
from reconciler.plan.fingerprint import ENTRY, UNCHANGED, differences


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedAction:
    """The same action with other details; `what` says which, one sentence each."""

    before: Action
    after: Action
    what: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RailChange:
    """None where a plan has no such limit."""

    name: str
    before: RailCheck | None
    after: RailCheck | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDiff:
    heads: tuple[str, ...]  # scope, mode: what makes the two plans different things
    added: tuple[Action, ...]
    removed: tuple[Action, ...]
    changed: tuple[ChangedAction, ...]
    rails: tuple[RailChange, ...]
    saves_before: Cost
    saves_after: Cost

    @property
    def same(self) -> bool:
        """They would do the same, at the same price, within the same limits."""
        moved = self.heads or self.added or self.removed or self.changed or self.rails
        return not moved and self.saves_before == self.saves_after


def compare(before: Plan, after: Plan) -> PlanDiff:
    """From `before` to `after`; ids, times and serials of the plans themselves are no difference."""
    old, new = _by_key(before), _by_key(after)
    return PlanDiff(
        heads=tuple(_heads(before, after)),
        added=tuple(action for key, action in new.items() if key not in old),
        removed=tuple(action for key, action in old.items() if key not in new),
        changed=tuple(_changes(old, new)),
        rails=tuple(_rails(before, after)),
        saves_before=before.saves,
        saves_after=after.saves,
    )


def _key(action: Action) -> tuple[Any, ...]:
    if action.urns and not action.tags_after:
        return action.kind, action.stack, action.finding_kind
    return action.kind, str(action.refs[0]) if action.refs else action.id


def _by_key(plan: Plan) -> dict[tuple[Any, ...], Action]:
    return {_key(action): action for action in plan.actions}


def _heads(before: Plan, after: Plan) -> Iterator[str]:
    if before.scope != after.scope:
        yield f"scope: {before.scope_name} -> {after.scope_name}"
    if before.mode is not after.mode:
        yield f"mode: {before.mode.value} -> {after.mode.value}"


def _changes(old: dict[tuple[Any, ...], Action], new: dict[tuple[Any, ...], Action]) -> Iterator[ChangedAction]:
    for key, before in old.items():
        after = new.get(key)
        if after is not None:
            what = tuple(_what(before, after))
            if what:
                yield ChangedAction(before=before, after=after, what=what)


def _what(before: Action, after: Action) -> Iterator[str]:
    yield from _members("with", tuple(map(str, before.refs)), tuple(map(str, after.refs)))
    yield from _members("urn", before.urns, after.urns)
    yield from _members("tag", before.tags_after, after.tags_after)
    if before.cost != after.cost:
        yield f"costs {before.cost.month:.2f} -> {after.cost.month:.2f} {after.cost.currency}/month"
    for name in ("finding_kind", "fleet", "stack", "rule", "reason"):
        if getattr(before, name) != getattr(after, name):
            yield f"{name.replace('_', ' ')}: {getattr(before, name)} -> {getattr(after, name)}"
    yield from _conditions(before, after)


def _members(word: str, old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[str]:
    yield from (f"- {word} {one}" for one in old if one not in new)
    yield from (f"+ {word} {one}" for one in new if one not in old)


def _conditions(before: Action, after: Action) -> Iterator[str]:
    old, new = _conditions_of(before), _conditions_of(after)
    for key in sorted(old.keys() | new.keys()):
        kind, subject = key
        was, now = old.get(key), new.get(key)
        if was == now:
            continue
        if kind not in (ENTRY, UNCHANGED):
            yield f"only if {kind} {subject}: {_said(was)} -> {_said(now)}"
        elif was is not None and now is not None:
            yield f"{subject} has another {', '.join(differences(was.value, now.value))}"


def _conditions_of(action: Action) -> dict[tuple[str, str], Condition]:
    return {(condition.kind, condition.subject): condition for condition in action.conditions}


def _said(condition: Condition | None) -> str:
    return "not asked" if condition is None else condition.value or "yes"


def _rails(before: Plan, after: Plan) -> Iterator[RailChange]:
    old, new = ({rail.name: rail for rail in plan.rails} for plan in (before, after))
    for name in (*old, *(name for name in new if name not in old)):
        if old.get(name) != new.get(name):
            yield RailChange(name=name, before=old.get(name), after=new.get(name))

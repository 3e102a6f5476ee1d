"""What is true of a whole world at once, and what it does to the verdicts of its scenes.

A condition holds during the first round and is lifted then, so that every world can come to rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.model.resources import Kind
from tests.worlds.truth import Expected, Rank

UNREAD_STACK: Final = "ci/not-readable"
_LEFT: Final = frozenset({FindingKind.ORPHAN, FindingKind.DETACHED})
_OF_STACK: Final = frozenset(
    {
        FindingKind.MISSING,
        FindingKind.CHANGED,
        FindingKind.UNTAGGED_CHILD,
        FindingKind.VACANT,
        FindingKind.UNDECLARED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """`unread`: a listed stack cannot be read. `locked`: the stack that somebody writes to. `broken`: the list that
    answers 503, by kind and zone."""

    unread: bool = False
    locked: str | None = None
    broken: tuple[Kind, str] | None = None

    @property
    def blocks(self) -> bool:
        """Whether nothing may be decided to be destroyed while it holds."""
        return self.unread or self.locked is not None

    def __str__(self) -> str:
        said = ["unread stack"] if self.unread else []
        said += [f"locked {self.locked}"] if self.locked else []
        said += [f"broken list {self.broken[0].value} {self.broken[1]}"] if self.broken else []
        return ", ".join(said) or "calm"


CALM: Final = Condition()


def under(condition: Condition, expected: Iterable[Expected], *, pending: Collection[str]) -> tuple[Expected, ...]:
    """The findings of the first sweep under a condition. `pending`: the stacks with interrupted operations."""
    found = [made for one in expected if (made := _one(one, condition, pending)) is not None]
    return (*found, *_incomplete(condition))


def _one(one: Expected, condition: Condition, pending: Collection[str]) -> Expected | None:
    if condition.broken is not None:
        start = f"{condition.broken[0].value} {condition.broken[1]}/"
        seen = tuple(text for text in one.subjects if not text.startswith(start))
        if one.subjects[0].startswith(start):
            return None
        unseen = len(seen) < len(one.subjects) or any(text.startswith(start) for text in one.beside)
        one = replace(one, subjects=seen)
        if unseen and one.kind in _LEFT:
            return _kept(one, Verdict.UNKNOWN)
    if one.kind in _LEFT:
        return _left(one, condition, pending)
    if one.kind in _OF_STACK and one.stack is not None and one.stack in {condition.locked, *pending}:
        return replace(one, verdict=Verdict.WAIT)
    if one.kind is FindingKind.DUPLICATE and condition.locked is not None:
        return replace(one, verdict=Verdict.WAIT)
    return one


def _left(one: Expected, condition: Condition, pending: Collection[str]) -> Expected:
    if condition.unread:
        return _kept(one, Verdict.UNKNOWN)
    if condition.locked is not None and one.rank > Rank.LIVE:
        return _kept(one, Verdict.WAIT)
    if pending and one.rank > Rank.HELD:
        return _kept(one, Verdict.ASK)
    return one


def _kept(one: Expected, verdict: Verdict) -> Expected:
    """Not acted on: nothing is adopted either."""
    return replace(one, verdict=verdict, action=ActionKind.DESTROY)


def _incomplete(condition: Condition) -> Iterable[Expected]:
    texts = [f"urn {UNREAD_STACK}"] if condition.unread else []
    texts += [f"list {condition.broken[0].value} {condition.broken[1]}"] if condition.broken else []
    for text in texts:
        yield Expected(
            kind=FindingKind.INCOMPLETE,
            subjects=(text,),
            verdict=Verdict.UNKNOWN,
            action=ActionKind.NONE,
            rank=Rank.READ,
            scene="condition",
        )

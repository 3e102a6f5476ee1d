"""What is true of a world, as its scenes say it: whose each thing is, and what must be found.

`Rank` is the published order of doubt, by which a condition of the whole world decides a verdict: what was not read
comes before what is moving, that before what somebody may mean to keep, then the grace, then the proof of ownership. A
condition changes a verdict only where its own question is asked earlier than the one that decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from reconciler.model.finding import ROW, ActionKind, Finding, FindingKind, Subject, Verdict


class Whose(StrEnum):
    HELD = "held by a state"
    IN_USE = "ours, and somebody uses it"
    LEFTOVER = "a leftover of ours"
    STRANGER = "a stranger's"
    PROTECTED = "protected"
    NEVER = "never touched"


class Rank(IntEnum):
    """Which question decided about a leftover, in the order in which they are asked."""

    READ = 0
    LIVE = 1
    MOVING = 2
    FITS = 3
    PROTECTED = 4
    DECIDED = 5
    HELD = 6
    ELSEWHERE = 7
    GRACE = 8
    ASKS = 9
    PROOF = 10
    ACT = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """One object of the cloud. `destroy`: to destroy it is right, from `from_ms` on. `decided`: an earlier run has
    committed to it. `retag`: to write tags on it is right."""

    id: str
    whose: Whose
    destroy: bool = False
    from_ms: int = 0
    decided: bool = False
    retag: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A finding that must be there. `subjects` are texts, see `subject_text`; the first one names it. `beside`: what
    hangs on it and is no subject."""

    kind: FindingKind
    subjects: tuple[str, ...]
    verdict: Verdict
    action: ActionKind
    rank: Rank = Rank.ACT
    stack: str | None = None
    beside: tuple[str, ...] = ()
    scene: str = ""

    @property
    def said(self) -> Said:
        return Said(self.kind, self.subjects[0], frozenset(self.subjects), self.verdict, self.action)


@dataclass(frozen=True, slots=True)
class Said:
    """What of a finding is compared: all that is acted on, and none of the words."""

    kind: FindingKind
    first: str
    subjects: frozenset[str]
    verdict: Verdict
    action: ActionKind

    def __str__(self) -> str:
        rest = sorted(self.subjects - {self.first})
        return f"{self.kind.value} {self.first} {rest}: {self.verdict.value}, {self.action.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """A pending operation. `made`: ids that it has made; `may_clear`, `may_adopt`: what is right to do with it."""

    stack: str
    urn: str
    made: tuple[str, ...] = ()
    may_clear: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """`first`: the findings of the first sweep. `last`: those that are left when everything right has been done.

    `adoptable`: (stack, URN) -> the id that may enter that state under it. `workers`: worker -> its true machine.
    """

    things: Mapping[str, Thing]
    first: tuple[Expected, ...]
    last: tuple[Expected, ...]
    interrupted: tuple[Interrupted, ...] = ()
    adoptable: Mapping[tuple[str, str], str] = field(default_factory=dict)
    workers: Mapping[str, str] = field(default_factory=dict)


def subject_text(subject: Subject) -> str:
    """`server fr-par-1/ID`, `slot FLEET/N`, `row WORKER`, `urn URN`, `list KIND PLACE`."""
    if subject.ref is not None:
        return str(subject.ref)
    if subject.kind == ROW:
        return f"row {subject.id}"
    if subject.kind == "slot":
        return f"slot {subject.worker}"
    if subject.urn is not None:
        return f"urn {subject.urn}"
    return f"list {subject.kind} {subject.zone}"


def said(findings: Iterable[Finding]) -> list[Said]:
    """The findings as they are compared."""
    found = []
    for one in findings:
        texts = [subject_text(subject) for subject in one.subjects]
        found.append(Said(one.kind, texts[0], frozenset(texts), one.verdict, one.action))
    return found


def compare(findings: Iterable[Finding], expected: Iterable[Expected]) -> list[str]:
    """Each difference in words; none when both say the same."""
    found, wanted = said(findings), {one.said: one for one in expected}
    reasons = {one: finding.reason for one, finding in zip(found, findings, strict=True)}
    doubled = sorted(str(one) for one in set(found) if found.count(one) > 1)
    extra = [f"not expected: {one} ({reasons[one]})" for one in found if one not in wanted]
    lacking = [f"missing: {one} (scene {wanted[one].scene})" for one in wanted if one not in found]
    return [*extra, *lacking, *(f"twice: {one}" for one in doubled)]

"""What a review tool shows, apart from its format: remarks with a rule, a level, a place in a file and a fingerprint.

Drift and policy violations have no source line. A remark points at the file that declares the stack (and at the line
that names the fleet, where there is one); its fingerprint, and not its place, is what makes it the same remark in the
next run. SARIF, JUnit, GitHub annotations and GitLab's code quality are written from the same remarks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from reconciler.kernel.ids import fingerprint
from reconciler.kernel.text import visible
from reconciler.model.finding import Finding, FindingKind, Verdict
from reconciler.policy.verdict import Evaluation, Violation
from reconciler.report import phrases
from reconciler.report.document import ScopeFailure, ScopeResult

_LIMIT: Final = 2000

# What each finding means, as a review tool shows it beside the remark.
MEANINGS: Final = {
    FindingKind.MISSING: "A state or a row holds it; the provider does not.",
    FindingKind.VACANT: "A declared slot has no machine.",
    FindingKind.CHANGED: "A property differs between state and cloud.",
    FindingKind.UNDECLARED: "In the state, and no longer in the program.",
    FindingKind.ORPHAN: "A server of ours that no ledger holds.",
    FindingKind.DETACHED: "An IP or a volume of ours that nothing uses.",
    FindingKind.UNTAGGED_CHILD: "A part of a machine without owner tags.",
    FindingKind.UNRECORDED: "A machine of an elastic fleet that runs without a row.",
    FindingKind.UNRESOLVED_CREATE: "A row whose create was never answered.",
    FindingKind.STALE_ROW: "A row past its deadline.",
    FindingKind.DUPLICATE: "Several machines for one slot.",
    FindingKind.INTERRUPTED: "A pending operation in a state.",
    FindingKind.POLICY: "A rule of the policy is violated.",
    FindingKind.UNMANAGED: "In the project, and not ours.",
    FindingKind.INCOMPLETE: "Something was not read.",
}


class Level(IntEnum):
    """In the order of reports: the worst first."""

    ERROR = 0
    WARNING = 1
    NOTE = 2


@dataclass(frozen=True, slots=True)
class Place:
    """A file, relative to the root of the repository and without `./`, and a line from 1 on."""

    path: str
    line: int = 1


Locate: TypeAlias = Callable[[str | None, str | None], Place]  # (stack, fleet)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """`rule`: stable, `drift/orphan` or `policy/<id>`. `weight`: what comes first among equals (nano-EUR an hour).
    `waived`: why it is let through, None where it is not."""

    rule: str
    meaning: str
    level: Level
    subject: str
    message: str
    place: Place
    fingerprint: str
    weight: int = 0
    waived: str | None = None

    @property
    def key(self) -> tuple[Level, int, str, str]:
        return self.level, -self.weight, self.rule, self.fingerprint


def of_results(results: Iterable[ScopeResult], locate: Locate) -> tuple[Remark, ...]:
    """The findings of a run, the worst first, and every scope that could not be swept. What is not ours is counted by
    reports and no remark."""
    remarks: list[Remark] = []
    for result in results:
        if isinstance(result, ScopeFailure):
            remarks.append(_of_failure(result, locate))
        else:
            found = (finding for finding in result.findings if finding.kind is not FindingKind.UNMANAGED)
            remarks += [_of_finding(finding, locate) for finding in found]
    return ordered(remarks)


def _of_failure(failure: ScopeFailure, locate: Locate) -> Remark:
    return Remark(
        rule="drift/not-swept",
        meaning="A scope that could not be swept.",
        level=Level.ERROR,
        subject=safe(f"scope {failure.name}"),
        message=safe(f"scope {failure.name} was not swept: {failure.code}: {failure.message}"),
        place=locate(None, None),
        fingerprint=fingerprint("not-swept", failure.name),
    )


def of_evaluation(evaluation: Evaluation, locate: Locate) -> tuple[Remark, ...]:
    """Violations, and those that are let through, the worst first."""
    remarks = [_of_violation(one, locate) for one in evaluation.violations]
    for one in evaluation.excepted:
        why = "in the baseline"
        if one.exception is not None:
            why = f"exception of {one.exception.owner}: {one.exception.reason}"
        remarks.append(_of_violation(one.violation, locate, waived=why))
    return ordered(remarks)


def ordered(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    return tuple(sorted(remarks, key=lambda remark: remark.key))


def worst(remarks: Sequence[Remark], most: int) -> tuple[Sequence[Remark], int]:
    """The first `most`, and how many are left out."""
    return remarks[:most], max(0, len(remarks) - most)


def counted(remarks: Iterable[Remark]) -> Iterator[Remark]:
    """Without those that are let through."""
    return (remark for remark in remarks if remark.waived is None)


def _of_finding(finding: Finding, locate: Locate) -> Remark:
    price = f" ({phrases.bill(finding.cost)})" if finding.cost.hour_nanos else ""
    subject = phrases.subjects(finding, full=True)
    return Remark(
        rule=f"drift/{finding.kind.value}",
        meaning=MEANINGS[finding.kind],
        level=_level(finding),
        subject=safe(subject),
        message=safe(f"{finding.verdict.value}: {subject}: {finding.reason}{price}"),
        place=locate(finding.stack, finding.fleet),
        fingerprint=finding.id,
        weight=finding.cost.hour_nanos,
    )


def _level(finding: Finding) -> Level:
    if finding.counts_as_drift:
        return Level.ERROR
    return Level.NOTE if finding.verdict is Verdict.NONE else Level.WARNING


def _of_violation(violation: Violation, locate: Locate, *, waived: str | None = None) -> Remark:
    item, hint = violation.item, violation.rule.hint
    tail = f" ({hint})" if hint else ""
    return Remark(
        rule=f"policy/{violation.rule.id}",
        meaning=safe(violation.rule.message or f"The rule {violation.rule.id} ({violation.rule.check_name})."),
        level=Level.ERROR if violation.severity.blocks else Level.WARNING,
        subject=safe(item.label),
        message=safe(f"{item.label}: {violation.message}{tail}"),
        place=locate(item.stack, item.fleet),
        fingerprint=violation.fingerprint,
        weight=item.hour_nanos if isinstance(item.hour_nanos, int) else 0,
        waived=safe(waived) if waived is not None else None,
    )


def safe(text: str) -> str:
    """One line that steers nothing and is legal in XML, JSON and a workflow command."""
    return visible(text, limit=_LIMIT).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")

"""What a run did not read, one value for each gap, with what a person can do about it.

A gap is why "in sync" cannot be claimed and why a run ends with 7. Nothing was touched because of it (rule 1). Each has
a code of docs/errors.md: that of the error where there was one, else the one of its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from reconciler.model.finding import Finding, FindingKind, Subject, Verdict
from reconciler.model.inventory import Right, Scan
from reconciler.model.world import Sweep

DENIED: Final = ("RC0710", "Give the key the right to read this kind in this project, or leave the zone out.")
NOT_LISTED: Final = ("RC0711", "Run again; nothing is concluded about this kind here until it was read to the end.")
LIVE: Final = (
    "RC0712",
    "Wait until the update ends; `reconciler unlock STACK` shows whether whoever holds the lock is alive.",
)
NOT_UNDERSTOOD: Final = ("RC0713", "Bring the program's reconciler_fleet and this command to the same version.")
UNPROVED: Final = ("RC0714", "Run again; `reconciler explain FINDING` shows what was asked and what was answered.")
NO_MEMORY: Final = ("RC0715", "Name a database that lasts in RECONCILER_DATABASE_URL; `reconciler db check` tries it.")
_READ_FAILED: Final = "`reconciler doctor` tries each of the sources by itself."


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One thing that was not read, moved while it was read, or could not be decided."""

    scope: str
    ledger: str  # scope | desired | state | inventory | records | memory
    reason: str
    code: str
    hint: str
    zone: str | None = None
    kind: str | None = None
    stack: str | None = None

    @property
    def place(self) -> str:
        """`inventory ip fr-par-1`, `state ci/prod`."""
        return " ".join(part for part in (self.ledger, self.kind, self.zone, self.stack) if part)

    def document(self) -> dict[str, Any]:
        return asdict(self)


def gaps_of(sweep: Sweep) -> tuple[Gap, ...]:
    """Everything that one sweep did not read, or that moved while it was read."""
    world, name = sweep.world, sweep.world.scope.name
    found = [_scan(name, scan) for scan in world.inventory.incomplete() if scan.offered]
    found += [_unproved(name, finding) for finding in sweep.findings if _not_proved(finding)]
    found += [
        Gap(scope=name, ledger="state", stack=one.stack, reason=one.reason, code=one.code, hint=one.hint)
        for one in world.unread
    ]
    found += [
        Gap(scope=name, ledger="state", stack=stack, reason=why, code=LIVE[0], hint=LIVE[1])
        for stack, why in sorted(world.live_stacks.items())
    ]
    rows = world.unread_records
    if rows is not None:
        adapter = world.records.adapter
        found.append(
            Gap(scope=name, ledger="records", kind=adapter, reason=rows.reason, code=rows.code, hint=_READ_FAILED)
        )
    found += [
        Gap(scope=name, ledger="desired", reason=problem, code=NOT_UNDERSTOOD[0], hint=NOT_UNDERSTOOD[1])
        for problem in world.desired.problems
    ]
    found += [
        Gap(
            scope=name,
            ledger="desired",
            kind="program",
            stack=one.stack,
            reason=one.reason,
            code=one.code,
            hint=one.hint or _READ_FAILED,
        )
        for one in world.failed_programs
    ]
    if not world.memory.present:
        reason = world.memory.reason or "no database"
        found.append(Gap(scope=name, ledger="memory", reason=reason, code=NO_MEMORY[0], hint=NO_MEMORY[1]))
    return tuple(found)


def by_code(gaps: Sequence[Gap]) -> dict[str, list[Gap]]:
    """Gaps of one code together, in the order of their first: a key without a right fails in every zone at once."""
    grouped: dict[str, list[Gap]] = {}
    for gap in gaps:
        grouped.setdefault(gap.code, []).append(gap)
    return grouped


def _scan(scope: str, scan: Scan) -> Gap:
    code, hint = DENIED if scan.right is Right.DENIED else NOT_LISTED
    if scan.code:
        code, hint = scan.code, scan.hint or _READ_FAILED
    return Gap(
        scope=scope,
        ledger="inventory",
        zone=scan.zone,
        kind=scan.kind.value,
        reason=scan.reason or "not complete",
        code=code,
        hint=hint,
    )


def _not_proved(finding: Finding) -> bool:
    """A difference that could not be decided; an `incomplete` finding says what another gap says."""
    return finding.verdict is Verdict.UNKNOWN and finding.kind is not FindingKind.INCOMPLETE


def _unproved(scope: str, finding: Finding) -> Gap:
    subject = finding.subjects[0] if finding.subjects else Subject(kind=finding.kind.value)
    return Gap(
        scope=scope,
        ledger="inventory",
        zone=subject.zone,
        kind=subject.kind,
        stack=finding.stack,
        reason=f"{finding.kind.value} {finding.id}: {finding.reason}",
        code=UNPROVED[0],
        hint=UNPROVED[1],
    )

"""The one document of a run, from which every machine-readable report is made.

A run looks at one scope or several; a scope that could not be swept at all is in the document beside the others, with
its error, because one bad scope must not blind the rest. The document is plain JSON values and carries a
`schema_version`; `drift.schema.json` beside this module describes it and a test holds the two equal.

What the figures mean:

* `complete` is false as soon as one zone, kind, stack or the memory was not read, a stack was being written to
  meanwhile, or a difference could not be decided: "in sync" cannot be claimed then. `incomplete` names each gap.
* `cost` is waste: the sum over findings whose resource runs although no ledger wants it (`orphan`, `detached`,
  `duplicate`, `interrupted`, `stale-row`), whatever the verdict, except `unknown`, which proves nothing. A `changed` or
  `untagged-child` resource is wanted and costs nothing extra; a `missing` one bills nothing.
* `unmanaged_cost` is what the resources cost that are in the project and in no ledger: theirs may be a good reason.
* A month is 730 hours. What has no price is counted in `unpriced`, never taken as zero.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reconciler.kernel.clock import iso
from reconciler.model.finding import Finding, FindingKind, Subject, Verdict
from reconciler.model.inventory import Right
from reconciler.model.money import Cost, total
from reconciler.model.world import Sweep, World
from reconciler.report.gaps import Gap, gaps_of

SCHEMA_VERSION: Final = 1

WASTE: Final = frozenset(
    {
        *(FindingKind.ORPHAN, FindingKind.DETACHED, FindingKind.DUPLICATE, FindingKind.INTERRUPTED),
        FindingKind.STALE_ROW,
    },
)
COVERED: Final = frozenset({"list", "targeted read"})

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeFailure:
    """A scope that could not be swept, and why. `exit_status` is what it adds to the status of the run."""

    name: str
    code: str
    message: str
    hint: str
    exit_status: int


ScopeResult = Sweep | ScopeFailure


def build(results: Sequence[ScopeResult], *, exit_code: int, notes: Sequence[str] = ()) -> Json:
    """The document of one run. `notes` are sentences about the run as a whole (no memory, a narrowed scope)."""
    sweeps = [result for result in results if isinstance(result, Sweep)]
    findings = [finding for sweep in sweeps for finding in sweep.findings]
    gaps = [gap for result in results for gap in incomplete(result)]
    return {
        "schema_version": SCHEMA_VERSION,
        "exit_code": exit_code,
        "complete": not gaps,
        "incomplete": gaps,
        "coverage": coverage([sweep.world for sweep in sweeps]),
        "summary": summary(findings),
        "cost": money(waste(findings)),
        "unmanaged_cost": money(unmanaged(findings)),
        "notes": list(notes),
        "scopes": [scope_entry(result) for result in results],
        "findings": [
            finding_entry(finding, scope=sweep.world.scope.name) for sweep in sweeps for finding in sweep.findings
        ],
    }


def waste(findings: Sequence[Finding]) -> Cost:
    """What runs although no ledger wants it; the module says which findings count."""
    return total(tuple(f.cost for f in findings if f.kind in WASTE and f.verdict is not Verdict.UNKNOWN))


def unmanaged(findings: Sequence[Finding]) -> Cost:
    return total(tuple(f.cost for f in findings if f.kind is FindingKind.UNMANAGED))


def money(cost: Cost) -> Json:
    return {
        "currency": cost.currency,
        "hour": round(cost.hour, 6),
        "month": round(cost.month, 4),
        "unpriced": cost.unpriced,
    }


def summary(findings: Sequence[Finding]) -> dict[str, int]:
    """Findings per kind; every kind is there, so that a reader never meets a missing key."""
    counted = Counter(finding.kind for finding in findings)
    return {kind.value: counted[kind] for kind in FindingKind}


def coverage(worlds: Sequence[World]) -> Json:
    """The share of state entries that a listing or a targeted read observes; None without any entry."""
    lines = [line for world in worlds for line in world.coverage]
    entries: Counter[tuple[str, str]] = Counter()
    for line in lines:
        entries[line.type, line.how] += line.entries
    every = sum(entries.values())
    covered = sum(count for (_, how), count in entries.items() if how in COVERED)
    return {
        "share": round(covered / every, 4) if every else None,
        "entries": every,
        "covered": covered,
        "types": [{"type": name, "how": how, "entries": count} for (name, how), count in sorted(entries.items())],
    }


def incomplete(result: ScopeResult) -> list[Json]:
    """Everything that was not read, or moved while it was read."""
    if isinstance(result, ScopeFailure):
        failed = Gap(scope=result.name, ledger="scope", reason=result.message, code=result.code, hint=result.hint)
        return [failed.document()]
    return [gap.document() for gap in gaps_of(result)]


def scope_entry(result: ScopeResult) -> Json:
    if isinstance(result, ScopeFailure):
        error = {"code": result.code, "message": result.message, "hint": result.hint}
        return {"name": result.name, "exit_code": result.exit_status, "error": error}
    world, scope = result.world, result.world.scope
    return {
        "name": scope.name,
        "exit_code": result.exit_status,
        "error": None,
        "uuid": scope.uuid,
        "project": scope.project,
        "zones": list(scope.zones),
        "stacks": sorted({*world.states, *(unread.stack for unread in world.unread)}),
        "ownership": scope.ownership.value,
        "sweep_id": world.sweep_id,
        "started_at": iso(world.started_ms),
        "finished_at": iso(world.finished_ms),
        "memory": {"present": world.memory.present, "reason": world.memory.reason},
        "api": {
            "calls": world.health.calls,
            "failed": world.health.failed,
            "throttled": world.health.throttled,
            "skew_seconds": world.health.skew_seconds,
        },
        "notes": scope_notes(world),
    }


def scope_notes(world: World) -> list[str]:
    """What a reader must know to weigh the findings: assumed rights, no memory, outputs that may be old."""
    notes = list(_assumed_rights(world))
    if not world.memory.present:
        notes.append(f"no memory ({world.memory.reason or 'no database'}): ages come from the provider alone")
    elif world.memory.first_complete_ms is None:
        notes.append("this is the first sweep that is remembered: ages begin now")
    notes += [f"{stack}: its outputs may be old" for stack in world.desired.stale_stacks]
    return notes


def _assumed_rights(world: World) -> Iterator[str]:
    """One note for all kinds whose right is assumed in the same places."""
    places: dict[str, set[str]] = {}
    for scan in world.inventory.scans.values():
        if scan.complete and scan.offered and scan.right is Right.ASSUMED:
            places.setdefault(scan.kind.value, set()).add(scan.zone)
    kinds: dict[tuple[str, ...], list[str]] = {}
    for kind, zones in sorted(places.items()):
        kinds.setdefault(tuple(sorted(zones)), []).append(kind)
    for where, names in kinds.items():
        listed, at = ", ".join(names), ", ".join(where)
        yield f"the right to list {listed} is assumed in {at}: no known id could be tried"


def finding_entry(finding: Finding, *, scope: str) -> Json:
    return {
        "id": finding.id,
        "scope": scope,
        "kind": finding.kind.value,
        "subjects": [subject_entry(subject) for subject in finding.subjects],
        "fleet": finding.fleet,
        "stack": finding.stack,
        "ledgers": dict(finding.ledgers),
        "verdict": finding.verdict.value,
        "wait_until": iso(finding.wait_until_ms) if finding.wait_until_ms is not None else None,
        "action": finding.action.value,
        "reason": finding.reason,
        "rule": finding.rule,
        "age_seconds": finding.age_seconds,
        "cost": {**money(finding.cost), "sources": list(finding.cost.sources)},
        "evidence": [{"at": iso(fact.at_ms), "source": fact.source, "text": fact.text} for fact in finding.evidence],
        "witness": finding.witness,
        "differences": [
            {"path": diff.path, "state": plain(diff.state), "cloud": plain(diff.cloud)} for diff in finding.differences
        ],
        "tags_after": list(finding.tags_after) if finding.tags_after is not None else None,
    }


def subject_entry(subject: Subject) -> Json:
    return {
        "kind": subject.kind,
        "zone": subject.zone,
        "id": subject.id,
        "urn": subject.urn,
        "worker": subject.worker,
        "name": subject.name,
    }


def plain(value: Any) -> Any:
    """A JSON value; whatever is none (the mark of a secret) is shown as it prints."""
    match value:
        case float() if not math.isfinite(value):
            return repr(value)  # JSON has no NaN
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
        case _:
            return repr(value)

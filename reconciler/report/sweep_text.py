"""A run of `drift` for people: per scope what was looked at, one line a finding, what was not read, and the totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from reconciler.model.finding import Finding, FindingKind, Verdict
from reconciler.model.world import Sweep
from reconciler.report import phrases
from reconciler.report.document import COVERED, ScopeFailure, ScopeResult, scope_notes, unmanaged, waste
from reconciler.report.gaps import UNPROVED, by_code, gaps_of
from reconciler.report.layout import BLANK, Block, Span, Table, line

_ORDER: Final = (Verdict.ACT, Verdict.ASK, Verdict.WAIT, Verdict.UNKNOWN, Verdict.NONE)
_APART: Final = frozenset({FindingKind.UNMANAGED, FindingKind.INCOMPLETE})  # a total and a list of their own
_HEADER: Final = ("VERDICT", "FINDING", "KIND", "SUBJECT", "OWNER", "EUR/MONTH", "REASON")


def render(results: Sequence[ScopeResult], *, now_ms: int, full: bool = False) -> list[Block]:
    """All scopes of a run. `full`: ids in full length, and unmanaged resources one by one."""
    blocks: list[Block] = []
    for result in results:
        blocks += _failed(result) if isinstance(result, ScopeFailure) else _sweep(result, now_ms=now_ms, full=full)
        blocks.append(BLANK)
    return blocks[:-1]


def _failed(failure: ScopeFailure) -> list[Block]:
    return [
        line(Span("scope ", "dim"), Span(failure.name, "bold"), Span(" was not swept", "magenta")),
        line(f"{failure.code}: {failure.message}", indent=2),
        line(Span(f"hint: {failure.hint}", "dim"), indent=2),
    ]


def _sweep(sweep: Sweep, *, now_ms: int, full: bool) -> list[Block]:
    blocks: list[Block] = [_head(sweep)]
    listed = [f for f in sweep.findings if f.kind not in _APART or (full and f.kind is FindingKind.UNMANAGED)]
    if listed:
        blocks += [BLANK, findings_table(listed, now_ms=now_ms, full=full)]
    blocks.append(BLANK)
    blocks += _not_read(sweep)
    blocks += [line(Span(f"note: {note}", "dim")) for note in scope_notes(sweep.world)]
    blocks += _unmanaged(sweep.findings)
    blocks += [_coverage(sweep), _total(sweep)]
    blocks += _next(sweep.findings)
    return blocks


def _head(sweep: Sweep) -> Block:
    world = sweep.world
    facts = [
        f"project {phrases.short(world.scope.project)}",
        phrases.count(len({zone for _, zone in world.inventory.scans}), "locality").replace("localitys", "localities"),
        phrases.count(len(world.states), "stack"),
        f"{phrases.count(world.health.calls, 'call')} in {(world.finished_ms - world.started_ms) / 1000:.1f} s",
    ]
    return line(Span("scope ", "dim"), Span(world.scope.name, "bold"), Span(f"  {' · '.join(facts)}", "dim"))


def findings_table(findings: Sequence[Finding], *, now_ms: int, full: bool) -> Table:
    """One line a finding: what needs somebody first, then what costs most."""
    ordered = sorted(findings, key=lambda f: (_ORDER.index(f.verdict), -f.cost.hour_nanos, f.kind.value, f.id))
    rows = tuple(
        (
            phrases.verdict(finding, now_ms=now_ms),
            Span(finding.id if full else phrases.short(finding.id), "dim"),
            Span(finding.kind.value),
            Span(phrases.subjects(finding, full=full), "bold"),
            Span(phrases.owner(fleet=finding.fleet, stack=finding.stack)),
            Span(phrases.euros(finding.cost)),
            Span(finding.reason),
        )
        for finding in ordered
    )
    return Table(_HEADER, rows, right=frozenset({5}))


def _not_read(sweep: Sweep) -> list[Block]:
    blocks: list[Block] = []
    for code, gaps in by_code(gaps_of(sweep)).items():
        for gap in gaps:
            name = "not decided: " if code == UNPROVED[0] else "not read: "
            blocks.append(line(Span(name, "magenta"), Span(gap.place, "bold"), f": {gap.reason} [{code}]"))
        blocks.append(line(Span(f"hint: {gaps[0].hint}", "dim"), indent=2))
    return blocks


def _unmanaged(findings: Sequence[Finding]) -> list[Block]:
    number = sum(1 for f in findings if f.kind is FindingKind.UNMANAGED)
    if not number:
        return []
    text = f"unmanaged: {phrases.count(number, 'resource')} in no ledger, {phrases.bill(unmanaged(findings))}"
    return [line(f"{text}; never touched")]


def _coverage(sweep: Sweep) -> Block:
    lines = sweep.world.coverage
    every = sum(item.entries for item in lines)
    covered = sum(item.entries for item in lines if item.how in COVERED)
    if not every:
        return line("coverage: no state entries")
    text = f"coverage: {100 * covered / every:.0f} % of {every} state entries observed"
    missing = [f"{item.type} ({item.entries})" for item in lines if item.how not in COVERED and item.entries]
    return line(text + (f"; not covered: {', '.join(missing)}" if missing else ""))


def _total(sweep: Sweep) -> Block:
    counted = Counter(f.verdict for f in sweep.findings if f.kind not in _APART)
    parts = [f"{counted[verdict]} {verdict.value}" for verdict in _ORDER if counted[verdict]]
    if not parts:
        found = "in sync" if sweep.exit_status == 0 else "no difference found in what was read"
    else:
        found = f"{phrases.count(sum(counted.values()), 'finding')} ({', '.join(parts)})"
    return line(Span("total: ", "dim"), Span(found, "bold"), f"; waste {phrases.bill(waste(sweep.findings))}")


def _next(findings: Sequence[Finding]) -> list[Block]:
    verdicts = {f.verdict for f in findings}
    if Verdict.ACT in verdicts:
        return [line(Span("next: `reconciler plan` shows the repair, `reconciler explain FINDING` the proof", "dim"))]
    if Verdict.ASK in verdicts:
        return [line(Span("next: `reconciler explain FINDING` shows why a person decides", "dim"))]
    return []

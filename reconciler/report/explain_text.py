"""One finding with everything behind it: the ledgers side by side, the evidence, the history, the rule."""

from __future__ import annotations

import json
from typing import Final

from reconciler.model.finding import Difference, Finding, Ledger, Subject, Verdict
from reconciler.model.memory import Memory
from reconciler.model.world import World
from reconciler.report import phrases
from reconciler.report.document import plain
from reconciler.report.layout import BLANK, Block, Span, Table, line

_WHY: Final = {
    Verdict.ACT: "safe to repair now: `reconciler plan` shows how",
    Verdict.WAIT: "not yet",
    Verdict.ASK: "a person decides",
    Verdict.UNKNOWN: "not proved, so nothing is done",
    Verdict.NONE: "shown only; nothing is ever done about it",
}


def render(finding: Finding, *, world: World, now_ms: int) -> list[Block]:
    blocks: list[Block] = [
        line(Span(finding.kind.value, "bold"), f" {phrases.subjects(finding)}"),
        line(Span(f"finding {finding.id}  scope {world.scope.name}", "dim")),
        BLANK,
        line("verdict: ", phrases.verdict(finding, now_ms=now_ms), f" ({_why(finding, now_ms=now_ms)})"),
        line(f"why: {finding.reason}"),
        line(f"rule: {finding.rule or '-'}"),
        line(f"action: {finding.action.value}"),
        line(f"owner: {phrases.owner(fleet=finding.fleet, stack=finding.stack)}"),
        line(f"cost: {phrases.bill(finding.cost)}{_sources(finding)}"),
    ]
    if finding.age_seconds is not None:
        blocks.append(line(f"age: {phrases.span(finding.age_seconds)}"))
    blocks += [BLANK, *_ledgers(finding), *_subjects(finding), *_differences(finding.differences)]
    blocks += [*_evidence(finding, now_ms=now_ms), *_history(finding, memory=world.memory, now_ms=now_ms)]
    return blocks


def _why(finding: Finding, *, now_ms: int) -> str:
    if finding.verdict is Verdict.WAIT and finding.wait_until_ms is not None:
        return f"until {phrases.clock_text(finding.wait_until_ms, now_ms=now_ms)}"
    return _WHY[finding.verdict]


def _sources(finding: Finding) -> str:
    return f", by {'; '.join(finding.cost.sources)}" if finding.cost.sources else ""


def _ledgers(finding: Finding) -> list[Block]:
    rows = tuple((Span(ledger.value, "bold"), Span(finding.ledgers.get(ledger.value, "-"))) for ledger in Ledger)
    return [Table(("LEDGER", "SAYS"), rows)]


def _subjects(finding: Finding) -> list[Block]:
    blocks: list[Block] = [BLANK, line(Span("subjects", "bold"))]
    for subject in finding.subjects:
        blocks.append(line(phrases.subject(subject, full=True), indent=2))
        if subject.urn:
            blocks.append(line(Span(subject.urn, "dim"), indent=4))
    return blocks


def _differences(differences: tuple[Difference, ...]) -> list[Block]:
    if not differences:
        return []
    rows = tuple((Span(d.path, "bold"), Span(_value(d.state)), Span(_value(d.cloud))) for d in differences)
    return [BLANK, Table(("PROPERTY", "STATE", "CLOUD"), rows)]


def _value(value: object) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def _evidence(finding: Finding, *, now_ms: int) -> list[Block]:
    blocks: list[Block] = [BLANK, line(Span("evidence", "bold"))]
    for fact in finding.evidence:
        when = phrases.clock_text(fact.at_ms, now_ms=now_ms)
        blocks.append(line(Span(f"{when}  ", "dim"), f"{fact.source}: {fact.text}", indent=2))
    blocks.append(line(f"witness: {finding.witness or 'none'}", indent=2))
    return blocks


def _history(finding: Finding, *, memory: Memory, now_ms: int) -> list[Block]:
    facts: list[str] = []
    if not memory.present:
        facts.append(f"no memory: {memory.reason or 'no database'}")
    episode = memory.episodes.get(finding.id)
    if episode is not None:
        facts.append(f"open since {phrases.clock_text(episode.opened_ms, now_ms=now_ms)}, last as {episode.verdict}")
    for subject in finding.subjects:
        facts += subject_history(subject, memory=memory, now_ms=now_ms)
    if not facts:
        facts.append("first seen by this sweep")
    return [BLANK, line(Span("history", "bold")), *(line(fact, indent=2) for fact in facts)]


def subject_history(subject: Subject, *, memory: Memory, now_ms: int) -> list[str]:
    """What the store remembers of one resource."""
    ref = subject.ref
    facts: list[str] = []
    if ref is None:
        return facts
    name = phrases.ref_text(ref)
    since = memory.unowned_since.get(ref)
    if since is not None:
        facts.append(f"{name}: without an owner since {phrases.clock_text(since, now_ms=now_ms)}")
    lineage = memory.lineage.get(ref)
    if lineage is not None:
        seen = "in the state of" if lineage.source == "state" else "attached to a worker of"
        whose = phrases.owner(fleet=lineage.fleet, stack=lineage.stack)
        worker = f" ({lineage.worker})" if lineage.worker else ""
        at = phrases.clock_text(lineage.first_seen_ms, now_ms=now_ms)
        facts.append(f"{name}: seen {seen} {whose}{worker}, first {at}")
    if ref in memory.held:
        facts.append(f"{name}: held by an adoption")
    if ref in memory.recorded:
        recorded = memory.recorded[ref]
        what = "held by" if recorded.holds else "was the machine of"
        facts.append(f"{name}: {what} the row of worker {recorded.worker}")
    if ref in memory.released:
        release = memory.released[ref]
        facts.append(f"{name}: released from {release.stack}, where it was {release.urn}")
    if ref in memory.doomed:
        facts.append(f"{name}: its deletion is decided")
    return facts


def no_finding(name: str, *, world: World, known: list[str]) -> list[Block]:
    """For a resource that is known and differs in nothing."""
    head = line(Span(name, "bold"), f" in scope {world.scope.name}: no finding")
    return [head, *(line(fact, indent=2) for fact in known)]

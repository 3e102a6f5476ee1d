"""What people read: one line a finding, the totals, and no character from outside that steers the terminal."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.model.finding import Finding, FindingKind, Subject, Verdict
from reconciler.model.memory import Memory
from reconciler.model.money import Cost
from reconciler.model.world import CoverageLine, Sweep
from reconciler.report import explain_text, sweep_text
from reconciler.report.document import ScopeFailure
from reconciler.report.layout import Block, Span, Table, line
from reconciler.report.plain import to_text
from reconciler.report.terminal import emit
from tests.report.builders import EVIL, NOW, finding, findings, sweep, sweeps, texts, worlds

UNSAFE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def shown(*results: Sweep | ScopeFailure, full: bool = False) -> str:
    return to_text(sweep_text.render(results, now_ms=NOW, full=full))


def colored(blocks: Sequence[Block]) -> str:
    stream = io.StringIO()
    emit(blocks, stream=stream, color=True)
    return stream.getvalue()


def harmless(text: str) -> bool:
    return all(char == "\n" or unicodedata.category(char) not in UNSAFE for char in text)


@settings(deadline=None)
@given(st.lists(sweeps, max_size=2), st.booleans())
def test_no_text_from_outside_steers_a_terminal(drawn: list[Sweep], full: bool) -> None:
    assert harmless(shown(*drawn, full=full))


@settings(deadline=None)
@given(st.lists(sweeps, max_size=1))
def test_on_a_terminal_only_our_own_colours_are_escapes(drawn: list[Sweep]) -> None:
    assert harmless(ANSI.sub("", colored(sweep_text.render(drawn, now_ms=NOW))))


@settings(deadline=None)
@given(findings, worlds())
def test_an_explanation_is_harmless_too(drawn: Finding, world: object) -> None:
    assert harmless(to_text(explain_text.render(drawn, world=world, now_ms=NOW)))  # type: ignore[arg-type]


@settings(deadline=None)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_a_row_is_one_line_whatever_it_holds(rows: list[tuple[str, str]]) -> None:
    table = Table(("A", "B"), tuple((Span(left), Span(right)) for left, right in rows))
    assert to_text([table]).count("\n") == len(rows) + 1


def test_markup_in_a_name_is_shown_and_not_obeyed() -> None:
    assert "[bold]x[/bold] :smile:" in ANSI.sub("", colored([line(EVIL)]))


def test_a_finding_is_one_line_with_kind_verdict_subject_owner_price_and_reason() -> None:
    row = next(text for text in shown(sweep(finding(), exit_status=2)).splitlines() if text.startswith("act"))
    assert row.split() == [
        "act", finding().id[:8], "orphan", "server", "fr-par-1/0f9d3b1c", "ci-1", "ci/prod/linux", "7.30",
        *["running,", "ours", "by", "two", "proofs,", "in", "no", "ledger"],
    ]  # fmt: skip


def test_full_ids_are_shown_on_request() -> None:
    assert "fr-par-1/0f9d3b1c-0000-4000-8000-000000000001" in shown(sweep(finding()), full=True)


def test_a_wait_says_how_long() -> None:
    waiting = finding(verdict=Verdict.WAIT, wait_until_ms=NOW + 14 * 60_000)
    assert "wait 14 min" in shown(sweep(waiting))


def test_what_needs_somebody_comes_first_and_then_what_costs_most() -> None:
    def named(name: str, verdict: Verdict, nanos: int) -> Finding:
        return finding(subjects=(Subject(kind="ip", zone="z", id=name),), verdict=verdict, cost=Cost(hour_nanos=nanos))

    text = shown(sweep(named("waits", Verdict.WAIT, 9), named("cheap", Verdict.ACT, 1), named("dear", Verdict.ACT, 5)))
    assert text.index("z/dear") < text.index("z/cheap") < text.index("z/waits")


def test_unmanaged_resources_are_counted_and_priced_in_one_line() -> None:
    theirs = finding(kind=FindingKind.UNMANAGED, verdict=Verdict.NONE)
    text = shown(sweep(theirs))
    assert "unmanaged: 1 resource in no ledger, 7.30 EUR/month; never touched" in text
    assert "0f9d3b1c" not in text


def test_the_totals_name_verdicts_and_waste() -> None:
    asks = finding(verdict=Verdict.ASK, subjects=())
    assert "total: 2 findings (1 act, 1 ask); waste 14.60 EUR/month" in shown(sweep(finding(), asks, exit_status=2))


def test_a_missing_price_is_not_hidden_in_the_total() -> None:
    assert "and 1 resource without a known price" in shown(sweep(finding(cost=Cost(unpriced=1)), exit_status=2))


def test_a_quiet_world_is_in_sync() -> None:
    assert "total: in sync; waste 0.00 EUR/month" in shown(sweep())


def test_an_incomplete_quiet_world_is_not_called_in_sync() -> None:
    assert "in sync" not in shown(sweep(exit_status=7))


def test_coverage_names_the_share_and_what_is_missing() -> None:
    lines = (CoverageLine(type="a:S", how="list", entries=3), CoverageLine(type="b:T", how="not covered", entries=1))
    assert "coverage: 75 % of 4 state entries observed; not covered: b:T (1)" in shown(sweep(coverage=lines))


def test_a_failed_scope_is_shown_with_its_hint() -> None:
    text = shown(ScopeFailure(name="gpu", code="RC0300", message="401", hint="check the key", exit_status=3))
    assert text == "scope gpu was not swept\n  RC0300: 401\n  hint: check the key\n"


def test_an_explanation_shows_all_ledgers_the_evidence_and_the_rule() -> None:
    memory = Memory(unowned_since={finding().refs[0]: NOW - 3_600_000})
    subject = finding(ledgers={"state": "no entry", "inventory": "running"}, witness="a GET by id")
    text = to_text(explain_text.render(subject, world=sweep(memory=memory).world, now_ms=NOW))
    for part in ("inventory  running", "state      no entry", "records    -", "rule 9", "witness: a GET by id"):
        assert part in text
    assert "without an owner since 2026-09-21T13:13:20Z, 1 h ago" in text


@pytest.mark.parametrize("color", [True, False])
def test_columns_line_up(color: bool) -> None:
    table = Table(
        ("KEY", "N", "TEXT"), ((Span("a"), Span("7"), Span("x")), (Span("long"), Span("42"), Span("y"))), frozenset({1})
    )
    text = colored([table]) if color else to_text([table])
    assert [row.rstrip() for row in ANSI.sub("", text).splitlines()] == ["KEY    N  TEXT", "a      7  x", "long  42  y"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", ["20", "60", "200"])
def test_no_terminal_is_too_narrow_to_show_everything(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    sentence = "one two three four five six seven eight nine ten"
    table = Table(("KEY", "TEXT"), ((Span("some-key"), Span(sentence)),))
    stream = Terminal()
    emit([table], stream=stream, color=True)
    words = ANSI.sub("", stream.getvalue()).split()
    assert words == [
        "KEY",
        "TEXT",
        "some-key",
        *["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"],
    ]


def test_the_last_column_folds_under_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "42")
    stream = Terminal()
    emit([Table(("KEY", "TEXT"), ((Span("key"), Span("word " * 12)),))], stream=stream, color=True)
    lines = ANSI.sub("", stream.getvalue()).splitlines()
    assert lines[1].startswith("key  word")
    assert all(row.startswith("     word") for row in lines[2:])
    assert len(lines) == 3

"""The drift document: its schema, its figures, and that nothing in it can harm a reader."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.model.desired import Desired
from reconciler.model.finding import Difference, Finding, FindingKind, Verdict
from reconciler.model.inventory import Inventory, Right
from reconciler.model.memory import NO_MEMORY
from reconciler.model.money import Cost
from reconciler.model.resources import Kind
from reconciler.model.state import SECRET, Lock, StackState, UnreadStack
from reconciler.model.world import CoverageLine, Sweep
from reconciler.report.document import ScopeFailure, ScopeResult, build
from reconciler.report.jsontext import dumps
from reconciler.report.schema import drift_schema
from tests.report.builders import EVIL, finding, findings, scan, sweep, sweeps, texts

VALIDATOR = jsonschema.Draft202012Validator(json.loads(drift_schema()))
FAILURE = ScopeFailure(name="gpu", code="RC0300", message="401", hint="check the key", exit_status=3)


def test_the_packaged_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(drift_schema()))


def test_the_published_schema_is_the_packaged_one() -> None:
    published = Path(__file__).parents[2] / "docs" / "schemas" / "drift.schema.json"
    assert published.read_text(encoding="utf-8") == drift_schema()


@settings(deadline=None)
@given(st.lists(sweeps, max_size=2), st.lists(texts, max_size=1), st.booleans())
def test_every_document_satisfies_the_schema(drawn: list[Sweep], notes: list[str], failing: bool) -> None:
    results: list[ScopeResult] = [*drawn, *([FAILURE] if failing else [])]
    VALIDATOR.validate(json.loads(dumps(build(results, exit_code=2, notes=notes))))


def test_the_schema_refuses_a_key_that_it_does_not_know() -> None:
    document = build([sweep()], exit_code=0) | {"surprise": 1}
    with pytest.raises(jsonschema.ValidationError, match="surprise"):
        VALIDATOR.validate(document)


@settings(deadline=None)
@given(sweeps)
def test_json_is_ascii_without_control_characters(drawn: Sweep) -> None:
    text = dumps(build([drawn], exit_code=0))
    assert all(char == "\n" or " " <= char <= "~" for char in text)


def test_json_gives_a_hostile_text_back_as_it_was() -> None:
    document = json.loads(dumps(build([sweep(finding(reason=EVIL))], exit_code=2)))
    assert document["findings"][0]["reason"] == EVIL


def test_a_secret_is_a_mark_in_the_document() -> None:
    secret = finding(differences=(Difference(path="userData", state=SECRET, cloud={"a": [SECRET]}),))
    entry = build([sweep(secret)], exit_code=2)["findings"][0]["differences"][0]
    assert (entry["state"], entry["cloud"]) == ("[secret]", {"a": ["[secret]"]})


@pytest.mark.parametrize("kind", ["orphan", "detached", "duplicate", "interrupted"])
def test_a_resource_that_no_ledger_wants_is_waste(kind: str) -> None:
    document = build([sweep(finding(kind=FindingKind(kind)))], exit_code=2)
    assert document["cost"] == {"currency": "EUR", "hour": 0.01, "month": 7.3, "unpriced": 0}


@pytest.mark.parametrize("kind", ["changed", "untagged-child", "missing", "vacant", "unmanaged"])
def test_a_wanted_or_foreign_resource_is_no_waste(kind: str) -> None:
    document = build([sweep(finding(kind=FindingKind(kind)))], exit_code=2)
    assert document["cost"]["hour"] == 0


@pytest.mark.parametrize("verdict", [Verdict.ACT, Verdict.ASK, Verdict.WAIT, Verdict.NONE])
def test_waste_counts_whatever_is_to_be_done_about_it(verdict: Verdict) -> None:
    assert build([sweep(finding(verdict=verdict))], exit_code=0)["cost"]["hour"] == 0.01


def test_what_is_not_proved_is_no_waste() -> None:
    assert build([sweep(finding(verdict=Verdict.UNKNOWN))], exit_code=7)["cost"]["hour"] == 0


def test_unmanaged_resources_have_a_figure_of_their_own() -> None:
    theirs = finding(kind=FindingKind.UNMANAGED, verdict=Verdict.NONE)
    document = build([sweep(theirs, finding())], exit_code=2)
    assert (document["unmanaged_cost"]["month"], document["cost"]["month"]) == (7.3, 7.3)


def test_a_price_that_is_not_known_is_counted_and_not_taken_as_zero() -> None:
    assert build([sweep(finding(cost=Cost(unpriced=2)))], exit_code=2)["cost"]["unpriced"] == 2


@settings(deadline=None)
@given(st.lists(findings, max_size=6))
def test_the_summary_counts_every_finding_once(drawn: list[Finding]) -> None:
    document = build([sweep(*drawn)], exit_code=0)
    assert sum(document["summary"].values()) == len(drawn)
    assert set(document["summary"]) == {kind.value for kind in FindingKind}


def test_a_whole_reading_is_complete() -> None:
    document = build([sweep()], exit_code=0)
    assert (document["complete"], document["incomplete"]) == (True, [])


@pytest.mark.parametrize(
    ("gap", "named"),
    [
        (
            sweep(
                inventory=Inventory({(Kind.IP, "fr-par-2"): scan(Kind.IP, "fr-par-2", complete=False, reason="503")})
            ),
            {"ledger": "inventory", "zone": "fr-par-2", "kind": "ip", "stack": None, "reason": "503", "code": "RC0711"},
        ),
        (
            sweep(unread=(UnreadStack(stack="ci/prod", code="RC0510", reason="no such stack"),)),
            {
                "ledger": "state",
                "zone": None,
                "kind": None,
                "stack": "ci/prod",
                "reason": "no such stack",
                "code": "RC0510",
            },
        ),
        (
            sweep(states={"ci/prod": StackState("ci/prod", "a", 0, locks=(Lock(created_by="eve@host", pid=7),))}),
            {
                "ledger": "state",
                "zone": None,
                "kind": None,
                "stack": "ci/prod",
                "reason": "locked by eve@host (pid 7)",
                "code": "RC0712",
            },
        ),
        (
            sweep(desired=Desired(problems=("ci/prod: output of version 9",))),
            {
                "ledger": "desired",
                "zone": None,
                "kind": None,
                "stack": None,
                "reason": "ci/prod: output of version 9",
                "code": "RC0713",
            },
        ),
        (
            sweep(memory=NO_MEMORY),
            {"ledger": "memory", "zone": None, "kind": None, "stack": None, "reason": "no database", "code": "RC0715"},
        ),
    ],
    ids=["a zone", "a stack", "a stack that somebody writes to", "an output", "the memory"],
)
def test_what_was_not_read_is_named(gap: Sweep, named: dict[str, object]) -> None:
    document = build([gap], exit_code=7)
    assert not document["complete"]
    assert [{key: value for key, value in one.items() if key != "hint"} for one in document["incomplete"]] == [
        {"scope": "ci", **named}
    ]


def test_a_zone_where_a_kind_is_not_offered_is_no_gap() -> None:
    elsewhere = scan(Kind.IP, "pl-waw-3", complete=False, offered=False)
    assert build([sweep(inventory=Inventory({(Kind.IP, "pl-waw-3"): elsewhere}))], exit_code=0)["complete"]


def test_a_difference_that_could_not_be_decided_is_a_gap() -> None:
    undecided = finding(verdict=Verdict.UNKNOWN, reason="the GET answered 403")
    gap = build([sweep(undecided)], exit_code=7)["incomplete"][0]
    assert (gap["kind"], gap["zone"], gap["reason"]) == (
        "server",
        "fr-par-1",
        f"orphan {undecided.id}: the GET answered 403",
    )


def test_an_incomplete_finding_is_not_named_twice() -> None:
    broken = sweep(
        finding(kind=FindingKind.INCOMPLETE, verdict=Verdict.UNKNOWN),
        inventory=Inventory({(Kind.IP, "fr-par-2"): scan(Kind.IP, "fr-par-2", complete=False)}),
    )
    assert len(build([broken], exit_code=7)["incomplete"]) == 1


def test_a_scope_that_failed_stands_beside_the_one_that_did_not() -> None:
    document = build([sweep(finding()), FAILURE], exit_code=3)
    assert [entry["name"] for entry in document["scopes"]] == ["ci", "gpu"]
    assert document["scopes"][1]["error"] == {"code": "RC0300", "message": "401", "hint": "check the key"}
    assert not document["complete"]
    assert len(document["findings"]) == 1


def test_coverage_is_the_share_of_entries_that_are_observed() -> None:
    lines = (
        CoverageLine(type="scaleway:instance/server:Server", how="list", entries=6),
        CoverageLine(type="scaleway:network/privateNetwork:PrivateNetwork", how="targeted read", entries=1),
        CoverageLine(type="random:index/id:Id", how="not covered", entries=3),
    )
    coverage = build([sweep(coverage=lines)], exit_code=0)["coverage"]
    assert (coverage["share"], coverage["covered"], coverage["entries"]) == (0.7, 7, 10)


def test_coverage_of_nothing_is_not_a_share() -> None:
    assert build([sweep()], exit_code=0)["coverage"]["share"] is None


def test_an_assumed_right_is_noted() -> None:
    assumed = sweep(inventory=Inventory({(Kind.IP, "fr-par-1"): scan(Kind.IP, right=Right.ASSUMED)}))
    notes = build([assumed], exit_code=0)["scopes"][0]["notes"]
    assert notes == ["the right to list ip is assumed in fr-par-1: no known id could be tried"]


def test_a_right_that_is_assumed_in_many_places_is_noted_with_their_number() -> None:
    zones = ("fr-par-1", "fr-par-2", "nl-ams-1", "pl-waw-1")
    scans = {(Kind.IP, zone): replace(scan(Kind.IP, right=Right.ASSUMED), zone=zone) for zone in zones}
    notes = build([sweep(inventory=Inventory(scans))], exit_code=0)["scopes"][0]["notes"]
    assert notes == ["the right to list ip is assumed in 4 localities: no known id could be tried"]


def test_times_are_instants_in_utc() -> None:
    waiting = finding(verdict=Verdict.WAIT, wait_until_ms=1_790_000_600_000)
    assert build([sweep(waiting)], exit_code=0)["findings"][0]["wait_until"] == "2026-09-21T14:23:20.000Z"

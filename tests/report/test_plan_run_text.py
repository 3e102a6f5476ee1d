"""Plans and runs as people read them."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.model.finding import ActionKind, FindingKind
from reconciler.model.money import Cost
from reconciler.model.plan import (
    Action,
    ActionOutcome,
    ActionStatus,
    Condition,
    Mode,
    Plan,
    RailCheck,
    RunOutcome,
)
from reconciler.model.resources import Kind, Ref
from reconciler.report import plan_text, run_text
from reconciler.report.jsontext import dumps
from reconciler.report.plain import to_text
from tests.report.builders import NOW, costs, maybe_texts, texts

UNSAFE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
IP = Ref(Kind.IP, "fr-par-1", "0f9d3b1c-0000-4000-8000-000000000001")

refs = st.builds(Ref, st.sampled_from(Kind), texts, texts)
tuples = st.lists(texts, max_size=2).map(tuple)
actions = st.builds(
    Action,
    id=texts,
    kind=st.sampled_from(ActionKind),
    finding_id=texts,
    finding_kind=st.sampled_from(FindingKind),
    refs=st.lists(refs, max_size=3).map(tuple),
    fleet=maybe_texts,
    stack=maybe_texts,
    urns=tuples,
    tags_before=tuples,
    tags_after=tuples,
    conditions=st.lists(st.builds(Condition, kind=texts, subject=texts, value=texts), max_size=2).map(tuple),
    cost=costs,
    reason=texts,
    rule=texts,
)
rails = st.builds(RailCheck, name=texts, limit=st.floats(0, 9), value=st.floats(0, 9), ok=st.booleans(), text=texts)
plans = st.builds(
    Plan,
    id=texts,
    scope=texts,
    scope_name=texts,
    mode=st.sampled_from(Mode),
    created_ms=st.just(NOW),
    expires_ms=st.integers(NOW - 10**7, NOW + 10**7),
    sweep_id=texts,
    serials=st.just({}),
    actions=st.lists(actions, max_size=3).map(tuple),
    rails=st.lists(rails, max_size=2).map(tuple),
    held_back=st.dictionaries(texts, st.integers(0, 9), max_size=2),
    saves=costs,
)
outcomes = st.builds(
    ActionOutcome,
    action=actions,
    status=st.sampled_from(ActionStatus),
    text=texts,
    code=maybe_texts,
    refs_gone=st.lists(refs, max_size=2).map(tuple),
    struck=st.lists(refs, max_size=2).map(tuple),
    saves=costs,
)
runs = st.builds(
    RunOutcome,
    run_id=texts,
    plan=plans,
    outcomes=st.lists(outcomes, max_size=3).map(tuple),
    saves=costs,
    interrupted=st.booleans(),
    lock_seconds=st.floats(0, 99),
)


def action(**changes: Any) -> Action:
    given: dict[str, Any] = {
        "id": "a1",
        "kind": ActionKind.DESTROY,
        "finding_id": "f" * 32,
        "finding_kind": FindingKind.DETACHED,
        "refs": (IP,),
        "fleet": "linux",
        "stack": "ci/prod",
        "urns": (),
        "cost": Cost(hour_nanos=10_000_000),
        "reason": "in no ledger",
        "rule": "rule 9",
    }
    return Action(**(given | changes))


def plan(*actions: Action, **changes: Any) -> Plan:
    given: dict[str, Any] = {
        "id": "p1",
        "scope": "s",
        "scope_name": "ci",
        "mode": Mode.PRUNE,
        "created_ms": NOW,
        "expires_ms": NOW + 3_600_000,
        "sweep_id": "w",
        "serials": {},
        "rails": (),
    }
    return Plan(actions=actions, **(given | changes))


def shown(value: Plan) -> str:
    return to_text(plan_text.render(value, now_ms=NOW))


def ran(*outcomes: ActionOutcome, **changes: Any) -> RunOutcome:
    return RunOutcome(run_id="r1", plan=plan(), outcomes=outcomes, saves=Cost(), **changes)


def harmless(text: str) -> bool:
    return all(char == "\n" or unicodedata.category(char) not in UNSAFE for char in text)


@settings(deadline=None)
@given(plans)
def test_no_plan_steers_a_terminal(drawn: Plan) -> None:
    assert harmless(shown(drawn))


@settings(deadline=None)
@given(runs)
def test_no_run_steers_a_terminal(drawn: RunOutcome) -> None:
    assert harmless(to_text(run_text.render(drawn)))


@settings(deadline=None)
@given(runs)
def test_a_run_is_json(drawn: RunOutcome) -> None:
    assert json.loads(dumps(run_text.document(drawn, exit_code=4)))["exit_code"] == 4


def test_actions_are_numbered_in_their_order() -> None:
    text = shown(plan(action(kind=ActionKind.TAG), action()))
    assert text.index("1. tag ip fr-par-1/0f9d3b1c") < text.index("2. destroy ip fr-par-1/0f9d3b1c  7.30 EUR/month")


def test_a_condition_is_shown_with_its_value() -> None:
    tags = Condition(kind="tags", subject=str(IP), value="a\nb")
    assert f"only if tags: {IP} = a, b" in shown(plan(action(conditions=(tags,))))


def test_tags_are_shown_as_a_difference() -> None:
    text = shown(plan(action(kind=ActionKind.TAG, tags_before=("old", "kept"), tags_after=("kept", "new"))))
    assert "+ new" in text
    assert "- old" in text
    assert "kept" not in text


def test_a_rail_that_blocks_is_named_with_value_and_limit() -> None:
    rail = RailCheck(name="count", limit=20, value=21, ok=False, text="deletions in this run")
    assert "BLOCKS  count     21     20  deletions in this run" in shown(plan(rails=(rail,)))


def test_what_is_held_back_is_counted_with_the_reason() -> None:
    text = shown(plan(held_back={"wait": 2, "ask": 0, "none": 3}))
    assert "held back: 2 findings with verdict wait (not yet: their time has not come)" in text
    assert "ask" not in text
    assert "none" not in text


def test_an_empty_plan_says_so() -> None:
    assert "nothing to do" in shown(plan())


def test_what_was_left_alone_is_named() -> None:
    outcome = ActionOutcome(action=action(), status=ActionStatus.DONE, text="1 proved gone", struck=(IP,))
    assert "1 proved gone; left alone: ip fr-par-1/0f9d3b1c" in to_text(run_text.render(ran(outcome)))


def test_a_failure_carries_its_code() -> None:
    outcome = ActionOutcome(action=action(), status=ActionStatus.FAILED, text="refused", code="RC0610")
    text = to_text(run_text.render(ran(outcome)))
    assert "RC0610: refused" in text
    assert "total: 1 failed" in text


def test_an_interrupted_run_says_how_to_go_on() -> None:
    assert "`reconciler apply` goes on with it" in to_text(run_text.render(ran(interrupted=True)))

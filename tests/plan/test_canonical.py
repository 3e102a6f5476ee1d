"""The plan file: one text for one plan, and nothing but that text is accepted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from reconciler.kernel.errors import RefusedError
from reconciler.model.finding import ActionKind, FindingKind
from reconciler.model.money import Cost
from reconciler.model.plan import Action, Condition, Mode, Plan, RailCheck
from reconciler.model.resources import Kind, Ref
from reconciler.model.world import World
from reconciler.plan import canonical, digest, load
from tests.builders import HOSTILE, STACK
from tests.diff.worlds import worlds
from tests.plan.test_build import everything, plan_of

TEXT = canonical(plan_of(everything()))


def code_of(text: str) -> str:
    with pytest.raises(RefusedError) as caught:
        load(text)
    return caught.value.code


def test_a_plan_comes_back_as_it_was_written() -> None:
    plan = plan_of(everything())
    assert load(canonical(plan)) == plan
    assert canonical(load(TEXT)) == TEXT


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(worlds(), st.sampled_from(Mode))
def test_the_plan_of_any_world_comes_back_as_it_was_written(in_world: World, mode: Mode) -> None:
    plan = plan_of(in_world, mode=mode)
    assert load(canonical(plan)) == plan


TEXTS = st.text(max_size=6) | st.sampled_from([HOSTILE, "", "\x00", '"', "\\u0041"])
REFS = st.builds(Ref, st.sampled_from(Kind), TEXTS, TEXTS)
ACTIONS = st.builds(
    Action,
    id=TEXTS,
    kind=st.sampled_from(ActionKind),
    finding_id=TEXTS,
    finding_kind=st.sampled_from(FindingKind),
    refs=st.lists(REFS, max_size=2).map(tuple),
    fleet=st.none() | TEXTS,
    stack=st.none() | TEXTS,
    urns=st.lists(TEXTS, max_size=2).map(tuple),
    tags_before=st.lists(TEXTS, max_size=2).map(tuple),
    tags_after=st.lists(TEXTS, max_size=2).map(tuple),
    conditions=st.lists(st.builds(Condition, kind=TEXTS, subject=TEXTS, value=TEXTS), max_size=2).map(tuple),
    cost=st.builds(Cost, hour_nanos=st.integers(0, 10**15), sources=st.lists(TEXTS, max_size=1).map(tuple)),
    reason=TEXTS,
    rule=TEXTS,
)
RAILS = st.builds(
    RailCheck,
    name=TEXTS,
    limit=st.integers(0, 99) | st.floats(0, 1e9),
    value=st.integers(0, 99) | st.floats(0, 1e9),
    ok=st.booleans(),
    text=TEXTS,
)
PLANS = st.builds(
    Plan,
    id=TEXTS,
    scope=TEXTS,
    scope_name=TEXTS,
    mode=st.sampled_from(Mode),
    created_ms=st.integers(0, 2**53),
    expires_ms=st.integers(0, 2**53),
    sweep_id=TEXTS,
    serials=st.dictionaries(TEXTS, TEXTS, max_size=2),
    actions=st.lists(ACTIONS, max_size=2).map(tuple),
    rails=st.lists(RAILS, max_size=2).map(tuple),
    held_back=st.dictionaries(TEXTS, st.integers(0, 99), max_size=2),
    schema_version=st.just(1),
)


@settings(deadline=None)
@given(PLANS)
def test_whatever_a_plan_says_it_comes_back_so(plan: Plan) -> None:
    assert load(canonical(plan)) == plan
    assert digest(load(canonical(plan))) == digest(plan)


@settings(deadline=None, max_examples=300)
@given(st.integers(0, len(TEXT) - 1), st.characters(exclude_categories=()))
@example(len(TEXT) - 1, " ")
def test_one_character_changed_is_refused_or_changes_nothing(place: int, char: str) -> None:
    edited = TEXT[:place] + char + TEXT[place + 1 :]
    if edited == TEXT:
        assert canonical(load(edited)) == TEXT
    else:
        assert code_of(edited) in ("RC0601", "RC0602")


@settings(deadline=None, max_examples=200)
@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)), st.text(max_size=3))
def test_anything_cut_or_put_in_is_refused(start: int, end: int, more: str) -> None:
    edited = TEXT[: min(start, end)] + more + TEXT[max(start, end) :]
    if edited != TEXT:
        assert code_of(edited) in ("RC0601", "RC0602")


def test_every_byte_of_a_plan_file_counts() -> None:
    """Each byte of the file flipped in its lowest bit, one after the other."""
    raw = TEXT.encode()
    for place in range(len(raw)):
        edited = (raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]).decode()
        assert code_of(edited) in ("RC0601", "RC0602")


def edited_plan(**changes: Any) -> str:
    file = json.loads(TEXT)
    file["plan"] |= changes
    return json.dumps(file, sort_keys=True, separators=(",", ":")) + "\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "RC0601"),
        ("null", "RC0601"),
        ("[]", "RC0601"),
        ("{}", "RC0601"),
        ("[" * 100_000, "RC0601"),
        ('{"digest":"x","plan":{}}', "RC0602"),
        (edited_plan(schema_version=2), "RC0602"),
        (edited_plan(expires_ms=2**60), "RC0602"),
        (edited_plan(mode="observe"), "RC0602"),
        (edited_plan(mode="everything"), "RC0601"),
        (edited_plan(actions=[]), "RC0602"),
        (edited_plan(more=1), "RC0602"),
        (TEXT.replace(",", ", ", 1), "RC0602"),
        (TEXT + "\n", "RC0602"),
        (json.dumps(json.loads(TEXT), indent=1), "RC0602"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else value,
)
def test_what_is_no_plan_or_was_edited_is_refused(text: str, code: str) -> None:
    assert code_of(text) == code


def test_an_edit_with_a_digest_that_fits_is_a_plan_that_no_store_knows() -> None:
    """The file proves that it is whole; that it was made here is the registered digest's to prove."""
    plan = replace(plan_of(everything()), expires_ms=2**50)
    assert load(canonical(plan)).expires_ms == 2**50
    assert digest(plan) != digest(plan_of(everything()))


def test_the_same_action_has_the_same_id_whatever_its_cost_or_reason() -> None:
    first, again = plan_of(everything()), plan_of(everything())
    assert [one.id for one in first.actions] == [one.id for one in again.actions]
    assert len({one.id for one in first.actions}) == len(first.actions)


def test_a_plan_file_is_one_line_of_ascii() -> None:
    assert TEXT.isascii()
    assert TEXT.count("\n") == 1
    assert STACK in TEXT

"""Fleets, read from a stack's output: text from outside, which is a problem by name and never an exception."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.diff.declared import MOST_REPLICAS, parse_desired
from reconciler.model.state import SECRET, Lock
from tests.builders import FLEET, HOSTILE, OTHER_SCOPE, SCOPE, STACK, ZONE, pending, scope, state

FLEET_OUTPUT: dict[str, Any] = {
    "uid": "u",
    "name": FLEET,
    "controller": "static",
    "zone": ZONE,
    "revision": "0123456789ab",
    "replicas": 3.0,
    "minimum": None,
    "maximum": None,
    "commercial_type": "DEV1-S",
    "component_urn": "urn:x",
}


def output(*fleets: Any, **changes: Any) -> dict[str, Any]:
    return {"reconciler": {"schema_version": 1, "scope": SCOPE, "fleets": list(fleets)} | changes}


def parse(outputs: Any, **changes: Any) -> Any:
    return parse_desired([state(outputs=outputs, **changes)], scope=scope())


def test_a_fleet_is_read_with_whole_numbers() -> None:
    desired = parse(output(FLEET_OUTPUT))
    assert [(one.name, one.replicas, one.stack, one.component_urn) for one in desired.fleets] == [
        (FLEET, 3, STACK, "urn:x")
    ]
    assert desired.problems == ()


def test_a_stack_without_the_output_declares_no_fleet() -> None:
    assert parse({}).fleets == ()
    assert parse({}).problems == ()


def test_another_scopes_fleets_are_somebody_elses_to_judge() -> None:
    desired = parse(output(FLEET_OUTPUT, scope=OTHER_SCOPE))
    assert (desired.fleets, desired.problems) == ((), ())


@pytest.mark.parametrize("changes", [{"locks": (Lock(created_by="a"),)}, {"pending": (pending(),)}])
def test_outputs_of_a_stack_that_is_not_settled_are_stale(changes: dict[str, Any]) -> None:
    assert parse(output(FLEET_OUTPUT), **changes).stale_stacks == (STACK,)


@pytest.mark.parametrize(
    "bad",
    [
        {"replicas": None},
        {"replicas": -1},
        {"replicas": 1.5},
        {"replicas": float("inf")},
        {"replicas": float("nan")},
        {"replicas": True},
        {"replicas": "3"},
        {"replicas": MOST_REPLICAS + 1},
        {"maximum": float("-inf")},
        {"name": ""},
        {"name": 7},
        {"zone": None},
        {"component_urn": 5},
        {"commercial_type": ["x"]},
        {"uid": SECRET},
    ],
    ids=str,
)
def test_what_does_not_fit_is_a_problem_of_that_stack_alone(bad: dict[str, Any]) -> None:
    good = state(outputs=output(FLEET_OUTPUT), stack="ci/good")
    broken = state(outputs=output(FLEET_OUTPUT | bad), stack="ci/broken")
    desired = parse_desired([broken, good], scope=scope())
    assert [one.stack for one in desired.fleets] == ["ci/good"]
    assert len(desired.problems) == 1
    assert "ci/broken" in desired.problems[0]


@pytest.mark.parametrize(
    "whole",
    [None, 7, "x", [], SECRET, {}, {"schema_version": 2}, {"schema_version": 1, "scope": SCOPE}]
    + [{"schema_version": 1, "scope": SCOPE, "fleets": value} for value in (None, 7, "ab", [7], ["ab"], {"a": 1})],
    ids=str,
)
def test_an_output_of_any_shape_is_read_or_a_problem(whole: Any) -> None:
    desired = parse({"reconciler": whole})
    assert desired.fleets == ()
    assert len(desired.problems) == (0 if whole is None else 1)


def test_two_fleets_of_one_name_are_a_problem() -> None:
    first = state(outputs=output(FLEET_OUTPUT), stack="ci/a")
    second = state(outputs=output(FLEET_OUTPUT | {"uid": "v"}), stack="ci/b")
    desired = parse_desired([first, second], scope=scope())
    assert desired.problems == (f"fleet '{FLEET}' is declared by ci/a and by ci/b",)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([HOSTILE, "", "static", SCOPE, SECRET]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FLEET_OUTPUT, "fleets", "scope"]), inner)
    ),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(list(FLEET_OUTPUT)), JUNK), JUNK)
def test_no_output_breaks_a_sweep(entry: dict[str, Any], whole: Any) -> None:
    parse({"reconciler": whole})
    parse(output(FLEET_OUTPUT | entry))

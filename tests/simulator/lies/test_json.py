"""Lies as JSON: what is read, what is refused, and random ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.kernel.errors import ConfigError
from reconciler.kernel.randomness import SeededRandomness
from reconciler.simulator import LIES, lie_from_json, lie_to_json, sample_lie
from reconciler.simulator.lies import MATCH, LieKind, step_from_json


@given(kind=st.sampled_from(sorted(LIES)), seed=st.integers(0, 2**32))
def test_a_random_lie_is_valid_and_survives_json(kind: str, seed: int) -> None:
    lie = sample_lie(kind, SeededRandomness(seed))
    assert lie_from_json(lie_to_json(lie)) == lie
    assert sample_lie(kind, SeededRandomness(seed)) == lie


@pytest.mark.parametrize("kind", sorted(LIES))
def test_random_lies_of_a_kind_differ(kind: str) -> None:
    randomness = SeededRandomness(5)
    assert len({repr(sample_lie(kind, randomness)) for _ in range(60)}) > 3


@pytest.mark.parametrize("kind", sorted(LIES.keys() - {"date_skew"}))
def test_a_lie_needs_no_more_than_its_kind(kind: str) -> None:
    assert set(lie_from_json({"lie": kind}).args) == set(LIES[kind].keys)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("empty_list", "object"),
        ({}, "lie is one of"),
        ({"lie": "no_such"}, "no_such"),
        ({"lie": ["empty_list"]}, "lie is one of"),
        ({"lie": "empty_list", "kind": ["server"]}, "'kind'"),
        ({"lie": "empty_list", "lag_ms": 5}, "'lag_ms'"),
        ({"lie": "empty_list", "kinds": ["servers"]}, "'servers'"),
        ({"lie": "empty_list", "kinds": "server"}, "kinds is a list"),
        ({"lie": "empty_list", "zones": ["fr-par-9"]}, "'fr-par-9'"),
        ({"lie": "empty_list", "methods": ["get"]}, "'get'"),
        ({"lie": "empty_list", "ids": [1]}, "ids is a list"),
        ({"lie": "empty_list", "every": -1}, "every"),
        ({"lie": "empty_list", "every": True}, "every"),
        ({"lie": "empty_list", "nth": [0]}, "nth"),
        ({"lie": "empty_list", "nth": [1], "every": 2}, "exclude each other"),
        ({"lie": "empty_list", "probability": 0}, "probability"),
        ({"lie": "empty_list", "probability": 1.5}, "probability"),
        ({"lie": "empty_list", "after_ms": 5, "until_ms": 5}, "never told"),
        ({"lie": "empty_list", "until_ms": "5"}, "until_ms"),
        ({"lie": "empty_list", "path": "re:("}, "path"),
        ({"lie": "empty_list", "name": 5}, "name"),
        ({"lie": "list_lag", "lag_ms": 0}, "lag_ms"),
        ({"lie": "list_lag", "lag_ms": 1.5}, "lag_ms"),
        ({"lie": "list_lag", "changes": []}, "nothing lags"),
        ({"lie": "list_lag", "changes": ["rename"]}, "changes"),
        ({"lie": "list_lag", "reads": "all"}, "reads"),
        ({"lie": "shrunk_list", "share": 2}, "share"),
        ({"lie": "wrong_total", "by": 0}, "by 0"),
        ({"lie": "date_skew"}, "skew of 0"),
        ({"lie": "cut_body", "share": 1}, "whole body"),
        ({"lie": "server_error", "status": 404}, "status"),
        ({"lie": "server_error", "effect": 1}, "effect"),
        ({"lie": "create_fails", "step": "nic", "leaves": ["server"]}, "makes no server"),
        ({"lie": "create_fails", "step": "user_data", "leaves": ["ip"]}, "makes no ip"),
    ],
)
def test_what_is_wrong_with_a_lie_is_named(value: Any, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        lie_from_json(value)
    assert caught.value.code == "RC7040"
    assert named in caught.value.message


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (5, "object"),
        ({"at": 5}, "'at'"),
        ({"at_ms": -1, "clear": "x"}, "at_ms"),
        ({"at_ms": 1.5, "clear": "x"}, "at_ms"),
        ({"at_ms": 5}, "does something"),
        ({"at_ms": 5, "mutate": {"op": "no_such"}}, "mutate"),
        ({"at_ms": 5, "mutate": "kill_server"}, "mutate"),
        ({"at_ms": 5, "clear": [5]}, "clear"),
    ],
)
def test_what_is_wrong_with_a_step_is_named(value: Any, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        step_from_json(value)
    assert caught.value.code == "RC7045"
    assert named in caught.value.message


def test_a_wrong_lie_in_a_step_is_refused_as_a_lie() -> None:
    with pytest.raises(ConfigError) as caught:
        step_from_json({"at_ms": 0, "add": {"lie": "no_such"}})
    assert caught.value.code == "RC7040"


def test_no_kind_has_a_key_that_every_kind_has() -> None:
    assert [(name, key) for name, kind in LIES.items() for key in kind.keys if key in MATCH or key == "lie"] == []


@pytest.mark.parametrize("kind", LIES.values(), ids=lambda kind: kind.name)
def test_every_default_is_valid(kind: LieKind) -> None:
    assert [name for name, key in kind.keys.items() if not key.fits(key.default)] == []

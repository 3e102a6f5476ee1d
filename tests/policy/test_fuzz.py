"""Whatever a text says, it is a policy (a preview, a baseline) or a named mistake, and nothing else."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.kernel.errors import ConfigError
from reconciler.policy.adapters.inputs import TYPES, items_of_inputs
from reconciler.policy.adapters.lookups import Lookups
from reconciler.policy.adapters.preview import items_of_preview
from reconciler.policy.baseline import load_baseline
from reconciler.policy.decode import InvalidPolicy, decode_value, parse_policy
from reconciler.policy.document import rule_tables
from reconciler.policy.evaluate import evaluate
from reconciler.policy.examples import run_text
from reconciler.policy.item import UNKNOWN, Facts
from tests.policy.samples import NOW, policies

KEYS = st.sampled_from(
    ["version", "name", "rules", "id", "check", "tags", "keys", "key", "kinds", "severity", "patterns", "exceptions",
     "expires", "mappings", "pattern", "write", "gb", "age", "defaults", "steps", "newState", "inputs", "type", "urn",
     "rootVolume", "sizeInGb", "resourcePlans", "goal", "inputDiff", "adds", "cases", "policy", "resource"]
)  # fmt: skip
WORDS = st.sampled_from([*rule_tables(), *TYPES, "a", "(", "1d", "2027-01-01", "server", "mandatory", "remediate"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), WORDS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.one_of(KEYS, WORDS), inner, max_size=4)),
    max_leaves=12,
)
FUZZ = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@FUZZ
@given(st.one_of(st.text(), VALUES.map(lambda value: json.dumps(value))), st.booleans())
def test_a_text_is_a_policy_or_a_named_mistake(text: str, is_toml: bool) -> None:
    with contextlib.suppress(InvalidPolicy):
        parse_policy(text, source="x", is_toml=is_toml)


@FUZZ
@given(st.dictionaries(KEYS, VALUES), st.sampled_from(sorted(rule_tables())))
def test_a_rule_is_one_or_a_named_mistake(rule: dict[str, Any], check: str) -> None:
    with contextlib.suppress(InvalidPolicy):
        decode_value({"version": 1, "rules": [{"id": "a", **rule, "check": check}]}, source="x")


@FUZZ
@given(VALUES)
def test_a_preview_is_read_or_refused(value: Any) -> None:
    with contextlib.suppress(ConfigError):
        items_of_preview(json.dumps(value), Lookups())


@FUZZ
@given(VALUES)
def test_examples_run_or_are_refused(value: Any) -> None:
    with contextlib.suppress(ConfigError):
        run_text(json.dumps(value), source="x", directory=Path("/nowhere"))


@pytest.mark.parametrize("text", ["", "[]", "{", "\ud800", '{"schema_version": 1}', "[" * 100_000])
def test_what_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "b").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ConfigError):
        load_baseline(tmp_path / "b")


INPUTS = st.dictionaries(
    st.sampled_from(["tags", "zone", "type", "ipId", "ipIds", "protected", "image", "rootVolume", "sizeInGb", "name"]),
    st.one_of(VALUES, st.just(UNKNOWN), st.lists(st.one_of(LEAVES, st.just(UNKNOWN)), max_size=3)),
)


@FUZZ
@given(st.sampled_from(sorted(TYPES)), INPUTS, policies(), st.booleans())
def test_any_inputs_can_be_judged(token: str, inputs: dict[str, Any], policy: Any, partial: bool) -> None:
    items = list(items_of_inputs(token, inputs, Lookups(), urn="urn:pulumi:s::p::t::n", partial=partial))
    for violation in evaluate(policy, items, Facts(now_ms=NOW)).violations:
        assert violation.message
        assert len(violation.fingerprint) == 32

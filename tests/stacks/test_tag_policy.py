"""The policy that a stack declares: checked before anything is registered, and read back by the sweep."""

from __future__ import annotations

from datetime import date
from typing import Any

import jsonschema
import pulumi
import pytest

from reconciler.diff.declared import parse_desired, parse_policies
from reconciler.model.policy import RequiredTags
from reconciler.model.scope import Scope
from reconciler.model.state import StackState
from reconciler_fleet import TagPolicy, export_fleets
from tests.stacks.engine import run
from tests.stacks.test_fleet_output import OTHER_SCOPE, published
from tests.stacks.test_stack_config import FLEET, SCOPE, program, wrong

RULE: dict[str, Any] = {"id": "role", "check": "required-tags", "tags": ["role=ci"]}
EXCEPTION: dict[str, Any] = {"rules": ["role"], "names": ["x"], "reason": "r", "owner": "o", "expires": "2030-01-01"}


def exported(policy: TagPolicy | None) -> Any:
    return run(lambda: export_fleets(SCOPE, [], policy=policy)).outputs["reconciler"]


def read(output: Any, scope: str = SCOPE) -> Any:
    state = StackState(stack="ci/prod", serial="1", read_ms=0, outputs={"reconciler": output})
    given = Scope(name="ci", uuid=scope, project="p", zones=("fr-par-1",))
    assert parse_desired([state], scope=given).problems == ()
    return parse_policies([state], scope=given)


def test_a_policy_goes_through_the_output_to_the_sweep() -> None:
    dated = {**EXCEPTION, "expires": date(2030, 1, 1)}
    output = exported(TagPolicy(rules=[RULE], exceptions=[dated], name="ours"))
    jsonschema.validate(output, published())
    ((stack, policy),), problems = read(output)
    assert (stack, policy.name, problems) == ("ci/prod", "ours", ())
    assert policy.rules[0].check == RequiredTags(tags=("role=ci",))
    assert policy.exceptions[0].expires_ms == 1_893_456_000_000


def test_an_output_without_a_policy_has_no_such_key() -> None:
    assert "policy" not in exported(None)


def test_another_scopes_policy_is_not_ours() -> None:
    assert read(exported(TagPolicy(rules=[RULE])), scope=OTHER_SCOPE) == ((), ())


def test_mistakes_stop_the_program_with_their_key_paths() -> None:
    with pytest.raises(pulumi.RunError) as raised:
        TagPolicy(rules=[{**RULE, "tagz": []}, {"id": "x", "check": "no"}])
    assert "rules[0].tagz: unknown key. Did you mean `tags`?" in str(raised.value)
    assert "rules[1].check: there is no such check." in str(raised.value)


def test_the_stacks_configuration_declares_one_without_code() -> None:
    policy = {"version": 1, "rules": [RULE], "exceptions": [EXCEPTION]}
    ran = program({"scope": SCOPE, "fleets": [FLEET], "policy": policy})
    assert ran.outputs["reconciler"]["policy"] == policy


def test_a_mistake_in_the_configuration_is_named_beside_the_others() -> None:
    lines = wrong(fleet={"replica": 3}, policy={"version": 1, "rules": [{**RULE, "severity": "must"}]})
    assert lines[0] == "reconciler:fleets[0].replica: unknown key; did you mean `replicas`?"
    assert lines[1].startswith("reconciler:policy.rules[0].severity: ")


def test_a_policy_that_is_a_secret_is_refused() -> None:
    with pytest.raises(pulumi.RunError, match="reconciler:policy: it is a secret"):
        program({"scope": SCOPE, "fleets": [], "policy": {"version": 1}}, secret=("reconciler:policy",))


def test_a_policy_needs_a_scope() -> None:
    with pytest.raises(pulumi.RunError, match="`reconciler:scope` is missing"):
        program({"policy": {"version": 1}})

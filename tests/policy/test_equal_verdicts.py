"""Equal input, equal verdict, in whichever ledger a resource is seen.

RECONCILER_POLICY_EXAMPLES says how many examples: a few hundred here, `RECONCILER_POLICY_EXAMPLES=10000 pytest -n 0
tests/policy/test_equal_verdicts.py` for the long run.
"""

from __future__ import annotations

import os
from typing import TypeAlias

from hypothesis import HealthCheck, given, settings

from reconciler.model.policy import Policy
from reconciler.model.resources import Kind
from reconciler.policy.evaluate import evaluate
from reconciler.policy.item import Facts, Item
from tests.builders import SCOPE
from tests.policy.samples import NOW, Sample, in_pack, in_row, in_state, live, named, policies, samples

EXAMPLES = int(os.environ.get("RECONCILER_POLICY_EXAMPLES", "300"))
FACTS = Facts(now_ms=NOW, scope=SCOPE, revisions={"linux": "0123456789ab"})
Verdicts: TypeAlias = list[tuple[object, ...]]


def verdicts(policy: Policy, item: Item) -> tuple[Verdicts, Verdicts, Verdicts]:
    """What is violated and how, what is let through and by whom, what is not evaluated and why."""
    found = evaluate(policy, [named(item)], FACTS)
    violated: Verdicts = [(one.rule.id, one.severity, one.message, one.facet, one.add) for one in found.violations]
    excepted: Verdicts = [(one.violation.rule.id, one.exception) for one in found.excepted]
    left_out: Verdicts = [(one.rule.id, one.reason) for one in found.not_evaluated]
    return violated, excepted, left_out


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(samples(), policies())
def test_every_ledger_gives_the_same_verdicts(sample: Sample, policy: Policy) -> None:
    expected = verdicts(policy, live(sample))
    assert verdicts(policy, in_state(sample)) == expected
    assert verdicts(policy, in_pack(sample)) == expected
    if sample.kind is Kind.SERVER:
        assert verdicts(policy, in_row(sample)) == expected


@settings(max_examples=EXAMPLES, deadline=None)
@given(samples(), policies())
def test_adding_what_a_violation_says_settles_it_and_makes_no_missing_tag_worse(sample: Sample, policy: Policy) -> None:
    from dataclasses import replace

    item = live(sample)
    for violation in evaluate(policy, [item], FACTS).violations:
        if not violation.add:
            continue
        mended = replace(item, tags=(*(item.tags or ()), *violation.add))
        again = {one.rule.id: one for one in evaluate(policy, [mended], FACTS).violations}
        left = again.get(violation.rule.id)
        assert left is None or set(left.add) < set(violation.add) or left.add == ()

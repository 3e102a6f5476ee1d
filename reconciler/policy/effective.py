"""Which policies count for a resource: the configured one, and what its own stack declares beside it.

Where both have a rule of one id, the configured one counts: whoever runs the check can be stricter, or less strict,
than a program says of itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from reconciler.model.policy import Policies, Policy
from reconciler.policy.evaluate import evaluate
from reconciler.policy.item import Facts, Item
from reconciler.policy.verdict import Evaluation


def policies_for(policies: Policies, stack: str | None) -> tuple[Policy, ...]:
    configured = policies.configured
    declared = [policy for name, policy in policies.declared if name == stack]
    known = {rule.id for rule in configured.rules} if configured is not None else set()
    own = [replace(one, rules=tuple(rule for rule in one.rules if rule.id not in known)) for one in declared]
    return (*((configured,) if configured is not None else ()), *own)


def evaluate_all(policies: Policies, items: Iterable[Item], facts: Facts) -> Evaluation:
    """Every item against what counts for it, in the order of the items."""
    baseline: Mapping[str, int] = dict(policies.baseline)
    by_stack: dict[str | None, tuple[Policy, ...]] = {}
    parts: list[Evaluation] = []
    for item in items:
        if item.stack not in by_stack:
            by_stack[item.stack] = policies_for(policies, item.stack)
        parts += [evaluate(policy, (item,), facts, baseline=baseline) for policy in by_stack[item.stack]]
    return Evaluation(
        violations=tuple(one for part in parts for one in part.violations),
        excepted=tuple(one for part in parts for one in part.excepted),
        not_evaluated=tuple(one for part in parts for one in part.not_evaluated),
        judged=sum(part.judged for part in parts),
    )

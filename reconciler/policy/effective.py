"""Which policies count for a resource: the configured one, and what its own stack declares beside it.

Where both have a rule of one id, the configured one counts: whoever runs the check can be stricter, or less strict,
than a program says of itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


class Judge:
    """Evaluates item after item; what counts for a stack is found out once."""

    def __init__(self, policies: Policies, facts: Facts) -> None:
        self._policies, self._facts = policies, facts
        self._baseline: Mapping[str, int] = dict(policies.baseline)
        self._by_stack: dict[str | None, tuple[Policy, ...]] = {}

    def of(self, item: Item) -> Evaluation:
        """The item against every policy that counts for it."""
        chosen = self._by_stack.get(item.stack)
        if chosen is None:
            chosen = self._by_stack[item.stack] = policies_for(self._policies, item.stack)
        parts = [evaluate(policy, (item,), self._facts, baseline=self._baseline) for policy in chosen]
        return parts[0] if len(parts) == 1 else together(parts)


def evaluate_all(policies: Policies, items: Iterable[Item], facts: Facts) -> Evaluation:
    """Every item against what counts for it, in the order of the items."""
    judge = Judge(policies, facts)
    return together([judge.of(item) for item in items])


def together(parts: Sequence[Evaluation]) -> Evaluation:
    return Evaluation(
        violations=tuple(one for part in parts for one in part.violations),
        excepted=tuple(one for part in parts for one in part.excepted),
        not_evaluated=tuple(one for part in parts for one in part.not_evaluated),
        judged=sum(part.judged for part in parts),
    )

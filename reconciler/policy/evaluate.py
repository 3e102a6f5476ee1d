"""The one evaluation: every rule against every item that it is about. Pure, and the same wherever items come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reconciler.model.policy import Policy, PolicyException, Rule
from reconciler.policy.fact_checks import fact_check
from reconciler.policy.item import Facts, Item
from reconciler.policy.patterns import glob
from reconciler.policy.tag_checks import OF_TAGS, tag_check
from reconciler.policy.tags import fleet_of
from reconciler.policy.verdict import Evaluation, Excepted, Failing, NotEvaluated, NotTold, Violation


def evaluate(
    policy: Policy, items: Iterable[Item], facts: Facts, *, baseline: Mapping[str, int] | None = None
) -> Evaluation:
    """`baseline`: fingerprint of a violation that was there before -> the moment at which it counts again."""
    violations: list[Violation] = []
    excepted: list[Excepted] = []
    left_out: list[NotEvaluated] = []
    judged = 0
    for item in items:
        for rule in policy.rules:
            about = _is_about(rule, item, policy)
            if about is False:
                continue
            result = about if isinstance(about, NotTold) else _judge(rule, item, policy, facts)
            if isinstance(result, NotTold):
                left_out.append(NotEvaluated(rule=rule, item=item, reason=result.reason))
                continue
            judged += 1
            if result is None:
                continue
            violation, allowed = _weighed(rule, item, result, policy, facts)
            if allowed is None and (baseline or {}).get(violation.fingerprint, 0) > facts.now_ms:
                excepted.append(Excepted(violation=violation, exception=None))
            elif allowed is None:
                violations.append(violation)
            else:
                excepted.append(Excepted(violation=violation, exception=allowed))
    return Evaluation(
        violations=tuple(violations), excepted=tuple(excepted), not_evaluated=tuple(left_out), judged=judged
    )


def _is_about(rule: Rule, item: Item, policy: Policy) -> bool | NotTold:
    if item.kind.value not in rule.kinds:
        return False
    if not rule.fleets:
        return True
    fleet = item.fleet or fleet_of(item.tags or (), policy)
    if fleet is None and (item.tags is None or item.tags_open):
        return NotTold("its fleet is not told here")
    return fleet is not None and glob(rule.fleets, fleet)


def _judge(rule: Rule, item: Item, policy: Policy, facts: Facts) -> Failing | NotTold | None:
    check = rule.check
    if isinstance(check, OF_TAGS):
        return tag_check(check, item, policy, facts)
    return fact_check(check, item, facts)


def _weighed(
    rule: Rule, item: Item, failing: Failing, policy: Policy, facts: Facts
) -> tuple[Violation, PolicyException | None]:
    """The violation, and the exception that lets it through now; one that is over is named in the violation."""
    fitting = [one for one in policy.exceptions if _fits(one, rule, item, policy)]
    current = next((one for one in fitting if facts.now_ms < one.expires_ms), None)
    violation = Violation(
        policy=policy,
        rule=rule,
        item=item,
        text=failing.text,
        facet=failing.facet,
        add=failing.add,
        doubtful=failing.doubtful,
        expired=fitting[0] if fitting and current is None else None,
    )
    return violation, current


def _fits(exception: PolicyException, rule: Rule, item: Item, policy: Policy) -> bool:
    """Everything that the exception names must fit."""
    if not glob(exception.rules, rule.id):
        return False
    tags = item.tags or ()
    fleet = item.fleet or fleet_of(tags, policy) or ""
    name = item.name or (item.urn.rsplit("::", 1)[-1] if item.urn else "")
    return (
        (not exception.names or glob(exception.names, name))
        and (not exception.ids or glob(exception.ids, item.id or ""))
        and (not exception.urns or glob(exception.urns, item.urn or ""))
        and (not exception.fleets or glob(exception.fleets, fleet))
        and (not exception.tags or any(glob(exception.tags, tag) for tag in tags))
    )

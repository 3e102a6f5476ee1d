"""Findings of a policy: one a resource, with all the rules that it breaks.

A resource is judged as it will be when its more specific finding is settled, so that one difference is one finding:
with the tags that `untagged-child` and `changed` write, or with the declared ones that a refresh and the next `up`
bring back; and what `changed` says of a size or a type, a policy does not say again.

Repair adds tags and does nothing else. To a resource that a program manages it adds none, unless the program ignores
changes of the tags: the next `up` after a refresh would take them off. For those the reason is the line to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reconciler.diff.context import Context, entry_subject, subject
from reconciler.diff.judged import Judged, facts_of, judged
from reconciler.model.desired import FLEET_TAG, tag_value
from reconciler.model.finding import ActionKind, Finding, FindingKind, Ledger, Verdict
from reconciler.model.policy import Ownership
from reconciler.model.resources import Ref
from reconciler.policy.effective import Judge
from reconciler.policy.item import Item
from reconciler.policy.tags import is_own
from reconciler.policy.verdict import Violation

# A property that `changed` speaks of -> the facet of a policy that it covers.
_FACETS: Final[Mapping[str, str]] = {
    "type": "type",
    "sizeInGb": "size",
    "protected": "protected",
    "publicIps": "public-ip",
    "ipId": "public-ip",
    "ipIds": "public-ip",
    "enableDynamicIp": "public-ip",
    "image": "image",
}
_SPECIFIC: Final = frozenset({FindingKind.UNTAGGED_CHILD, FindingKind.CHANGED})


def with_policy(found: Sequence[Finding], context: Context) -> list[Finding]:
    """The findings, and those of the policies. Tags that a policy wants on a child whose owner tags are written anyway
    go with them, in one write."""
    if not context.world.policies:
        return list(found)
    specific = {finding.refs[0]: finding for finding in found if finding.kind in _SPECIFIC and finding.refs}
    extended: dict[Ref, Finding] = {}
    made: list[Finding] = []
    judge = Judge(context.world.policies, facts_of(context))
    for one in judged(context):
        violations = judge.of(_settled(one, specific)).violations
        left = [violation for violation in violations if violation.facet not in _covered(one, specific)]
        other = specific.get(one.resource.ref)
        if left and other is not None and other.kind is FindingKind.UNTAGGED_CHILD:
            extended[one.resource.ref] = _extended(other, left)
            left = [violation for violation in left if not _is_added(violation)]
        if left:
            finding = _finding(one, left, context)
            made.append(finding if other is None or other.kind is not FindingKind.CHANGED else _later(finding))
    return [*(extended.get(f.refs[0], f) if f.kind in _SPECIFIC and f.refs else f for f in found), *made]


def _settled(one: Judged, specific: Mapping[Ref, Finding]) -> Item:
    """The resource with the tags that it will have."""
    other = specific.get(one.resource.ref)
    if other is None:
        return one.item
    if other.tags_after is not None:
        return replace(one.item, tags=other.tags_after)
    if any(difference.path == "tags" for difference in other.differences):
        return replace(one.item, tags=one.entry.tags)
    return one.item


def _covered(one: Judged, specific: Mapping[Ref, Finding]) -> frozenset[str]:
    """The facets of which `changed` has spoken, on the resource or, for a root volume, on its server."""
    own, of_server = specific.get(one.resource.ref), specific.get(one.entry.ref) if one.child else None
    paths = [difference.path for difference in (own.differences if own is not None else ())]
    paths += [
        difference.path.removeprefix("rootVolume.")
        for difference in (of_server.differences if of_server is not None else ())
        if difference.path.startswith("rootVolume.")
    ]
    return frozenset(_FACETS[path] for path in paths if path in _FACETS)


def _later(finding: Finding) -> Finding:
    """Two writes to one resource in one run: the second would find that it had changed."""
    if finding.verdict is not Verdict.ACT:
        return finding
    return replace(finding, verdict=Verdict.WAIT, reason=f"{finding.reason}, once its other difference is settled")


def _is_added(violation: Violation) -> bool:
    return violation.severity.blocks and bool(violation.add)


def _additions(violations: Iterable[Violation], tags: Sequence[str]) -> tuple[str, ...]:
    wanted = (tag for one in violations if _is_added(one) for tag in one.add)
    return tuple(dict.fromkeys(tag for tag in wanted if tag not in tags))


def _in_full(violation: Violation, one: Judged) -> Violation:
    """A child gets all owner tags that its machine declares, slot and revision among them, as its root does."""
    declared = tuple(tag for tag in one.entry.tags if is_own(tag))
    whole = one.child and isinstance(violation.rule.check, Ownership) and set(violation.add) <= set(declared)
    return replace(violation, add=declared) if whole and violation.add else violation


def _extended(finding: Finding, violations: Sequence[Violation]) -> Finding:
    tags = finding.tags_after or ()
    added = _additions(violations, tags)
    if not added:
        return finding
    reason = f"{finding.reason}; and {len(added)} tag(s) that the policy wants"
    return replace(finding, tags_after=(*tags, *added), reason=reason)


def _finding(one: Judged, violations: Sequence[Violation], context: Context) -> Finding:
    resource, entry = one.resource, one.entry
    added = _additions([_in_full(violation, one) for violation in violations], resource.tags)
    verdict, action, reason = _judge(one, violations, added, context)
    worker = context.worker_of(entry.tags)
    first = subject(resource, worker=worker) if one.child else entry_subject(entry, worker=worker)
    return Finding(
        kind=FindingKind.POLICY,
        subjects=(first, entry_subject(entry, worker=worker)) if one.child else (first,),
        fleet=one.item.fleet or tag_value(entry.tags, FLEET_TAG),
        stack=entry.stack,
        ledgers={Ledger.STATE: "present (its server)" if one.child else "present", Ledger.INVENTORY: "violates"},
        verdict=verdict,
        action=action,
        reason=reason,
        rule=f"policy {', '.join(dict.fromkeys(violation.rule.id for violation in violations))}",
        cost=context.cost(resource),
        evidence=tuple(
            context.seen(f"{violation.rule.id} ({violation.severity.value}): {violation.message}", source="policy")
            for violation in violations
        ),
        witness="the server that holds it is in the state" if one.child else None,
        tags_after=(*resource.tags, *added) if action is ActionKind.TAG else None,
    )


def _judge(
    one: Judged, violations: Sequence[Violation], added: tuple[str, ...], context: Context
) -> tuple[Verdict, ActionKind, str]:
    said = _said(violations)
    if not any(violation.severity.blocks for violation in violations):
        return Verdict.NONE, ActionKind.NONE, said
    hold = context.hold_for(one.entry.stack)
    action = ActionKind.TAG if added and _may_be_tagged(one, context) else ActionKind.NONE
    if hold is not None:
        return Verdict.WAIT, action, hold
    if action is ActionKind.TAG:
        return Verdict.ACT, action, f"{said}: {_list(added)} added"
    if added and not one.child:
        return Verdict.ASK, action, f"{said}; declare {_list(added)} in the tags of {one.entry.resource.name}"
    hints = dict.fromkeys(violation.rule.hint for violation in violations if violation.rule.hint)
    return Verdict.ASK, action, f"{said}{'; ' if hints else ''}{' '.join(hints)}"


def _may_be_tagged(one: Judged, context: Context) -> bool:
    """A child that no program can tag, or a resource whose tags its program ignores; nothing that is never touched."""
    if context.never(one.resource) is not None or one.resource.ref in context.memory.released:
        return False
    ignored = one.entry.resource.ignore_changes
    return one.child or "tags" in ignored or "*" in ignored


def _said(violations: Sequence[Violation]) -> str:
    """The first that blocks speaks for all."""
    first = next((one for one in violations if one.severity.blocks), violations[0])
    more = len(violations) - 1
    return f"{first.rule.id}: {first.message}" + (f" (and {more} more)" if more else "")


def _list(tags: Iterable[str]) -> str:
    return ", ".join(f"`{tag}`" for tag in tags)

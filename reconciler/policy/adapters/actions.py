"""What an action of a plan leaves behind, as an item: the resource with the tags that the plan writes.

A plan says nothing else of a resource, so the rules about anything else are not evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.model.finding import ActionKind
from reconciler.model.plan import Plan
from reconciler.policy.item import Item


def items_of_plan(plan: Plan) -> Iterator[Item]:
    for action in plan.actions:
        if action.kind is ActionKind.TAG and action.refs:
            ref = action.refs[0]
            yield Item(
                kind=ref.kind, id=ref.id, zone=ref.zone, stack=action.stack, fleet=action.fleet, tags=action.tags_after
            )

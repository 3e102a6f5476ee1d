"""What a rehearsal came to, as differences: the state before and after, the plan before and after, a refresh."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final

from reconciler.engine.adoption.comparison import shown
from reconciler.engine.adoption.digest import Plan
from reconciler.engine.checkpoint import Checkpoint
from reconciler.engine.refresh import type_of
from reconciler.model.resources import Ref
from reconciler.model.state import StateResource
from reconciler.ports.engine import Difference

_INTERNAL: Final = "pulumi:"


def entries(state: Checkpoint) -> dict[str, StateResource]:
    return {item.urn: item for item in state.resources if not item.pending_delete}


def same_entry(one: StateResource, other: StateResource) -> bool:
    """Whether two entries say the same. Secrets are equal to nothing, but print alike."""
    return _text(one) == _text(other)


def _text(item: StateResource) -> str:
    parts = (item.id, item.type, item.custom, item.parent, item.provider, item.protect, item.external, item.init_errors)
    return json.dumps([parts, item.inputs, item.outputs], sort_keys=True, default=repr)


def of_targets(state: Checkpoint, targets: Mapping[str, Ref]) -> Iterator[Difference]:
    """Each target is in the state, whole, and is what it was said to be."""
    present = entries(state)
    for urn, ref in targets.items():
        item = present.get(urn)
        if item is None:
            yield Difference(urn=urn, path="", program="declared", cloud=f"{ref}, and it did not enter the state")
        elif item.ref != ref:
            yield Difference(urn=urn, path="", program=shown(item.id), cloud=str(ref))
        elif item.init_errors:
            yield Difference(urn=urn, path="", program="created", cloud=f"{ref}, created in part only")


def of_others(before: Checkpoint, after: Checkpoint, *, ours: Collection[str]) -> Iterator[Difference]:
    """Everything else in the state is as it was. What the engine keeps for itself (the stack, providers) may change."""
    old, new = entries(before), entries(after)
    for urn in sorted((old.keys() | new.keys()) - set(ours)):
        was, now = old.get(urn), new.get(urn)
        if type_of(urn).startswith(_INTERNAL):
            continue
        if was is None:
            yield _touched(urn, "it enters the state")
        elif now is None:
            yield _touched(urn, "it leaves the state")
        elif not same_entry(_lasting(was), _lasting(now)):
            yield _touched(urn, "its entry in the state changes")
    for urn in sorted(_creating(before) - _creating(after)):
        if urn not in ours:  # a pending create is all that tells of an interrupted run
            yield _touched(urn, "its pending create leaves the state")


def _lasting(item: StateResource) -> StateResource:
    """An entry without what its program writes into it in any run: the outputs of a component."""
    return item if item.custom else replace(item, outputs={})


def _touched(urn: str, how: str) -> Difference:
    return Difference(urn=urn, path="", program="no part of this adoption", cloud=how)


def _creating(state: Checkpoint) -> Counter[str]:
    return Counter(item.resource.urn for item in state.pending if item.operation == "creating")


def of_plans(before: Plan, after: Plan, *, targets: Collection[str]) -> Iterator[Difference]:
    """An `up` wants nothing for the targets, and for the rest what it wanted before, or less."""
    for urn, operation in after.operations.items():
        expected = operation == "same" or (urn not in targets and before.operations.get(urn) == operation)
        if expected or type_of(urn).startswith(_INTERNAL):
            continue
        changes = after.changes.get(urn, ())
        for change in changes:
            yield Difference(urn=urn, path=change.path, program=shown(change.new), cloud=shown(change.old))
        if not changes:
            yield Difference(urn=urn, path="", program="declared", cloud=f"an `up` would {operation} it")
    for urn in targets:
        if urn not in after.operations:
            yield Difference(urn=urn, path="", program="declared", cloud="an `up` does not mention it")


def of_refresh(
    operations: Mapping[str, str], failed: Mapping[str, str], *, targets: Collection[str]
) -> Iterator[Difference]:
    for urn in targets:
        operation = operations.get(urn)
        if operation != "same":
            what = (
                f"a refresh would {operation} it" if operation else f"it was not read: {failed.get(urn, 'no result')}"
            )
            yield Difference(urn=urn, path="", program="created", cloud=what)

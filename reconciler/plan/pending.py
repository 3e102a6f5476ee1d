"""Actions about interrupted operations: take what a create made into the state, clear what came to nothing.

Clearing is one action for a stack and a flavour, because the engine has no finer way: every pending create at once, or
everything that is no create. Its conditions name each operation that goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from reconciler.model.finding import ActionKind, Finding
from reconciler.model.plan import Action, Condition
from reconciler.model.world import World

_PENDING: Final = "pending"
_CREATING: Final = "creating"


def adopt(finding: Finding) -> Action:
    """Every subject with an id and a URN is taken into the state under that URN."""
    targets = [(ref, subject.urn) for subject in finding.subjects if (ref := subject.ref) is not None and subject.urn]
    conditions = [Condition(kind="present", subject=str(ref)) for ref, _ in targets]
    conditions += [Condition(kind="unowned", subject=str(ref)) for ref, _ in targets]
    return Action(
        id="",
        kind=ActionKind.ADOPT,
        finding_id=finding.id,
        finding_kind=finding.kind,
        refs=tuple(ref for ref, _ in targets),
        fleet=finding.fleet,
        stack=finding.stack,
        urns=tuple(urn for _, urn in targets),
        conditions=tuple(conditions),
        reason=finding.reason,
        rule=finding.rule,
    )


def clear(world: World, findings: Iterable[Finding]) -> Iterator[Action]:
    """One action for each stack and flavour."""
    groups: dict[tuple[str, bool], list[Finding]] = {}
    for finding in findings:
        creates = any(operation == _CREATING for operation, _ in _operations(world, finding))
        groups.setdefault((finding.stack or "", creates), []).append(finding)
    for stack, creates in sorted(groups):
        group = sorted(groups[stack, creates], key=lambda finding: finding.id)
        yield _clear(world, stack, group)


def _clear(world: World, stack: str, group: Sequence[Finding]) -> Action:
    operations = sorted({item for finding in group for item in _operations(world, finding)})
    return Action(
        id="",
        kind=ActionKind.CLEAR,
        finding_id=group[0].id,
        finding_kind=group[0].kind,
        refs=(),
        fleet=group[0].fleet,
        stack=stack,
        urns=tuple(sorted({urn for _, urn in operations})),
        conditions=tuple(condition(stack, operation) for operation in operations),
        reason=group[0].reason if len(group) == 1 else f"{len(group)} pending operations: {group[0].reason}",
        rule=group[0].rule,
    )


def _operations(world: World, finding: Finding) -> set[tuple[str, str]]:
    """(operation, URN) of everything that is pending about the finding's entry."""
    state, urn = world.states[finding.stack or ""], finding.subjects[0].urn
    return {(one.operation, one.resource.urn) for one in state.pending if one.resource.urn == urn}


def condition(stack: str, operation: tuple[str, str]) -> Condition:
    return Condition(kind=_PENDING, subject=stack, value=" ".join(operation))


def operations_of(action: Action) -> set[tuple[str, str]]:
    """(operation, URN) of what an action clears."""
    return {
        (operation, urn)
        for condition in action.conditions
        if condition.kind == _PENDING
        for operation, _, urn in (condition.value.partition(" "),)
    }


def clears_creates(action: Action) -> bool:
    return any(operation == _CREATING for operation, _ in operations_of(action))

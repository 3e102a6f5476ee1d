"""Which creates to run, with what else, and in which runs.

`up --target` creates what it is told to and nothing else, so a target needs its parents and dependencies: in state,
targets themselves, or things that exist in the state only (components, stashes), which come along. Whatever else is
missing would have to be created in earnest, so it refuses the adoption.

Targets go through the gate in as few runs as can be. Two go in separate runs when their creates could be taken for
each other (two IPs with the same tags), or when both need their name told through the one setting there is for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.engine.adoption.digest import Plan, Planned
from reconciler.engine.adoption.expectation import ADOPTABLE, holds_secret
from reconciler.engine.checkpoint import Checkpoint
from reconciler.kernel.errors import RefusedError
from reconciler.kernel.text import visible
from reconciler.model.resources import Ref
from reconciler.ports.engine import UNKNOWN

# What a body shows and a plan knows. A value that is not known could be any.
_TELLING: Final = ("name", "tags", "zone", "region", "type", "sizeInGb", "iops", "serverId", "privateNetworkId")
_ANY: Final = "*"
# Each target is an argument of the CLI, and the argument list of a process is bounded.
_MOST: Final = 500


@dataclass(frozen=True, slots=True)
class Batch:
    """One run of the program: its targets, and what comes along in the state only."""

    targets: tuple[str, ...]
    along: tuple[str, ...] = ()


@dataclass(slots=True)
class _Run:
    targets: list[str] = field(default_factory=list)


def batches(plan: Plan, targets: Mapping[str, Ref], state: Checkpoint) -> tuple[Batch, ...]:
    """The runs, in order. Raises RefusedError RC0641 (what is no create), RC0642 (a dependency is missing)."""
    present = {item.urn for item in state.resources if not item.pending_delete}
    along = {urn: _needed(plan, urn, targets=targets, present=present) for urn in targets}
    for urn, ref in targets.items():
        _require_adoptable(plan, urn, ref)
    runs = _assign(plan, targets)
    done: set[str] = set()
    found = []
    for run in runs:
        extra = sorted({urn for target in run.targets for urn in along[target]} - done)
        done |= set(extra)
        found.append(Batch(tuple(sorted(run.targets)), tuple(extra)))
    return tuple(found)


def _require_adoptable(plan: Plan, urn: str, ref: Ref) -> None:
    planned = plan.creates.get(urn)
    if planned is None:
        operation = plan.operations.get(urn)
        why = f"the program would {operation} it" if operation else "the program does not declare it"
        raise _refused(f"{_name(urn)} cannot be adopted: {why}")
    kind = ADOPTABLE.get(planned.create.type)
    if kind is not ref.kind:
        what = "no proof covers this type" if kind is None else f"it is no {ref.kind.value}"
        raise _refused(f"{_name(urn)} of type {planned.create.type} cannot be adopted: {what}")


def _needed(plan: Plan, urn: str, *, targets: Mapping[str, Ref], present: set[str]) -> set[str]:
    """What a target needs in the state beside itself and other targets. Raises RefusedError RC0642."""
    found: set[str] = set()
    waiting = [urn]
    while waiting:
        planned = plan.creates.get(waiting.pop())
        for needed in planned.create.dependencies if planned is not None else ():
            if needed in present or needed in targets or needed in found:
                continue
            other = plan.creates.get(needed)
            if other is None:  # the stack itself and providers, which the engine brings along
                continue
            if not _of_state_only(other):
                raise RefusedError(
                    f"{_name(urn)} cannot be adopted alone: it needs {visible(needed)}, which is not in the state",
                    code="RC0642",
                    hint="Adopt it in the same go; if it does not exist, create it first with `pulumi up --target`.",
                )
            found.add(needed)
            waiting.append(needed)
    return {item for item in found if not plan.creates[item].create.type.startswith("pulumi:providers:")}


def _of_state_only(planned: Planned) -> bool:
    """Components, providers, stashes: nothing outside the state comes into being with them."""
    return not planned.create.custom or planned.create.type.startswith("pulumi:")


def _assign(plan: Plan, targets: Mapping[str, Ref]) -> list[_Run]:
    """Greedy: each target in the first run that is not before those of its dependencies and holds nothing like it."""
    runs: list[_Run] = []
    place: dict[str, int] = {}
    for urn in _by_dependency(plan, targets):
        needs = _reach(plan, urn)
        first = max((place[other] for other in place if other in needs), default=0)
        for index in range(first, len(runs) + 1):
            if index == len(runs):
                runs.append(_Run())
            others = runs[index].targets
            if len(others) < _MOST and not any(_confusable(plan.creates[urn], plan.creates[one]) for one in others):
                others.append(urn)
                place[urn] = index
                break
    return runs


def _reach(plan: Plan, urn: str) -> set[str]:
    """Everything that a create needs, directly or not."""
    found: set[str] = set()
    waiting = [urn]
    while waiting:
        planned = plan.creates.get(waiting.pop())
        fresh = set(planned.create.dependencies) - found if planned is not None else set()
        found |= fresh
        waiting.extend(fresh)
    return found


def _by_dependency(plan: Plan, targets: Mapping[str, Ref]) -> Sequence[str]:
    """Dependencies first; ties in the order of URNs, so that a second try makes the same runs."""
    reach = {urn: _reach(plan, urn) & targets.keys() for urn in targets}
    return sorted(targets, key=lambda urn: (len(reach[urn]), urn))


def _confusable(one: Planned, other: Planned) -> bool:
    """Whether a create of one could equal a create of the other, as far as the plan knows."""
    if one.create.type != other.create.type:
        return False
    if one.auto_named and other.auto_named:
        return True
    pairs = ((_telling(one, name), _telling(other, name)) for name in _TELLING)
    return all(_ANY in pair or pair[0] == pair[1] for pair in pairs)


def _telling(planned: Planned, name: str) -> str:
    value = planned.create.inputs.get(name)
    if holds_secret(value) or (name == "name" and (value is None or planned.auto_named)):
        return _ANY
    if _holds_unknown(value):
        # Ids of different resources are different ids.
        return json.dumps(sorted(planned.property_dependencies.get(name, ()))) if value == UNKNOWN else _ANY
    return json.dumps(value, sort_keys=True, default=repr)


def _holds_unknown(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_unknown, value.values()))
    if isinstance(value, list):
        return any(map(_holds_unknown, value))
    return bool(value == UNKNOWN)


def _refused(message: str) -> RefusedError:
    return RefusedError(
        message,
        code="RC0641",
        hint="Only what the program declares and the state lacks can be adopted; `pulumi preview` shows what that is.",
    )


def _name(urn: str) -> str:
    return visible(urn.rpartition("::")[2] or urn)


def along(found: Iterable[Batch]) -> frozenset[str]:
    """Everything that enters the state without being a target."""
    return frozenset(urn for batch in found for urn in batch.along)

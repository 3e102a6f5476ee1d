"""The declared fleets, read from the stack output that `WorkerFleet` programs export.

The output is text from outside: whatever does not fit the schema is a named problem of that stack and never an
exception, because one bad stack must not blind the others. A stack without the output declares no fleet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from reconciler.model.desired import OUTPUT_NAME, OUTPUT_SCHEMA_VERSION, Desired, FleetSpec
from reconciler.model.policy import Policy
from reconciler.model.scope import Scope
from reconciler.model.state import StackState
from reconciler.policy.declared import declared_policy

# More than any project holds. A typing error must not become a million findings.
MOST_REPLICAS: Final = 200_000


def parse_desired(states: Iterable[StackState], *, scope: Scope) -> Desired:
    """All fleets of this scope in the outputs of `states`.

    Outputs are stale while an operation is pending or a lock is held: those stacks are named in `stale_stacks`.
    """
    fleets: list[FleetSpec] = []
    problems: list[str] = []
    stale: list[str] = []
    for state in states:
        if state.pending or state.locks:
            stale.append(state.stack)
        output = state.outputs.get(OUTPUT_NAME)
        if output is None:
            continue
        try:
            fleets.extend(_fleets_of(output, stack=state.stack, scope=scope))
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            problems.append(f"stack {state.stack}: output {OUTPUT_NAME!r} cannot be read: {_said(error)}")
    problems.extend(_name_clashes(fleets))
    return Desired(fleets=tuple(fleets), problems=tuple(problems), stale_stacks=tuple(stale))


def parse_policies(
    states: Iterable[StackState], *, scope: Scope
) -> tuple[tuple[tuple[str, Policy], ...], tuple[str, ...]]:
    """(stack, policy) of every stack of this scope that declares one, and what could not be understood."""
    found: list[tuple[str, Policy]] = []
    problems: list[str] = []
    for state in states:
        output = state.outputs.get(OUTPUT_NAME)
        if not isinstance(output, Mapping) or output.get("scope") != scope.uuid:
            continue
        try:
            policy = declared_policy(output, stack=state.stack)
        except ValueError as error:
            problems.append(f"stack {state.stack}: {error}")
            continue
        if policy is not None:
            found.append((state.stack, policy))
    return tuple(found), tuple(problems)


def _fleets_of(output: Any, *, stack: str, scope: Scope) -> list[FleetSpec]:
    if not isinstance(output, Mapping):
        raise TypeError("it is not an object")
    version = output.get("schema_version")
    if version != OUTPUT_SCHEMA_VERSION:
        raise ValueError(f"schema_version is {version!r}; this version reads {OUTPUT_SCHEMA_VERSION}")
    if output.get("scope") != scope.uuid:
        return []  # another scope's fleets, which are somebody else's to judge
    return [_fleet(entry, stack=stack) for entry in output["fleets"]]


def _fleet(entry: Any, *, stack: str) -> FleetSpec:
    if not isinstance(entry, Mapping):
        raise TypeError("a fleet is not an object")
    controller = _text(entry, "controller")
    replicas = _whole(entry, "replicas")
    if controller == "static" and replicas is None:
        raise ValueError(f"fleet {entry.get('name')!r}: replicas is missing")
    return FleetSpec(
        uid=_text(entry, "uid"),
        name=_text(entry, "name"),
        stack=stack,
        controller=controller,
        zone=_text(entry, "zone"),
        revision=_text(entry, "revision"),
        replicas=replicas,
        minimum=_whole(entry, "minimum"),
        maximum=_whole(entry, "maximum"),
        commercial_type=_maybe_text(entry, "commercial_type") or "",
        component_urn=_maybe_text(entry, "component_urn"),
    )


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry[key]
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key} is {value!r}")
    return value


def _maybe_text(entry: Mapping[str, Any], key: str) -> str | None:
    return _text(entry, key) if entry.get(key) else None


def _whole(entry: Mapping[str, Any], key: str) -> int | None:
    """A count. Checkpoints hold numbers as floats; `true` is a number to Python alone."""
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise ValueError(f"fleet {entry.get('name')!r}: {key} is {value!r}")
    if not 0 <= value <= MOST_REPLICAS:
        raise ValueError(f"fleet {entry.get('name')!r}: {key} is {value!r}, and {MOST_REPLICAS} is the most")
    return int(value)


def _said(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, LookupError) and error.args else str(error)


def _name_clashes(fleets: list[FleetSpec]) -> list[str]:
    seen: dict[str, FleetSpec] = {}
    clashes = []
    for fleet in fleets:
        other = seen.setdefault(fleet.name, fleet)
        if other is not fleet:
            clashes.append(f"fleet {fleet.name!r} is declared by {other.stack} and by {fleet.stack}")
    return clashes

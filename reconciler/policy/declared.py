"""The policy that a stack declares for itself, in the output that its program exports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reconciler.model.policy import Policy

POLICY_KEY: Final = "policy"


def declared_policy(output: Any, *, stack: str) -> Policy | None:
    """None for an output without a policy. Raises ValueError, in one line, for one that cannot be read: it is text
    from outside, and one bad stack must not blind the others."""
    value = output.get(POLICY_KEY) if isinstance(output, Mapping) else None
    if value is None:
        return None
    from reconciler.policy.decode import InvalidPolicy, decode_value

    try:
        return decode_value(_whole_numbers(value), source=f"stack {stack}")
    except InvalidPolicy as error:
        raise ValueError(f"its policy cannot be read: {error.problems[0]}") from None


def declared_revisions(output: Any) -> dict[str, str]:
    """Fleet -> the revision that it declares, as far as the output says it."""
    fleets = output.get("fleets") if isinstance(output, Mapping) else None
    listed = [fleet for fleet in fleets if isinstance(fleet, Mapping)] if isinstance(fleets, list | tuple) else []
    pairs = [(fleet.get("name"), fleet.get("revision")) for fleet in listed]
    return {name: revision for name, revision in pairs if isinstance(name, str) and isinstance(revision, str)}


def _whole_numbers(value: Any) -> Any:
    """Checkpoints hold numbers as floats."""
    if isinstance(value, Mapping):
        return {str(key): _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value

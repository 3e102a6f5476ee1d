"""The coverage table: for each Pulumi type in the states, how it is observed. Published in docs/coverage.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from reconciler.model.resources import Kind
from reconciler.model.state import KIND_OF_TYPE, StackState
from reconciler.model.world import CoverageLine

LISTED: Final = (Kind.SERVER, Kind.IP, Kind.VOLUME, Kind.INSTANCE_VOLUME, Kind.NIC)
LISTED_REGIONAL: Final = (Kind.IPAM,)
TARGETED: Final = (Kind.PRIVATE_NETWORK, Kind.SECURITY_GROUP, Kind.PLACEMENT_GROUP)


def how(type_token: str) -> str:
    """`list`, `targeted read` or `not covered`."""
    kind = KIND_OF_TYPE.get(type_token)
    if kind in LISTED or kind in LISTED_REGIONAL:
        return "list"
    return "targeted read" if kind in TARGETED else "not covered"


def coverage(states: Iterable[StackState]) -> tuple[CoverageLine, ...]:
    """One line a type. Components, providers and the stack itself are no machines and are left out."""
    counts: Counter[str] = Counter()
    for state in states:
        counts.update(
            resource.type for resource in state.resources if resource.custom and not resource.type.startswith("pulumi:")
        )
    return tuple(CoverageLine(type=token, how=how(token), entries=count) for token, count in sorted(counts.items()))

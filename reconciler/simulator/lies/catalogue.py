"""Every kind of lie there is: `LIES`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reconciler.simulator.lies import bodies, capacity, deletions, pages, reads, refusals
from reconciler.simulator.lies.behaviour import LieKind

LIES: Final[Mapping[str, LieKind]] = MappingProxyType(
    {kind.name: kind for room in (reads, pages, refusals, deletions, capacity, bodies) for kind in room.KINDS}
)

"""What a stack declares, as its output says.

A program that uses `WorkerFleet` exports one output, `reconciler`, with a schema version of its own. `parse_desired`
reads it from the stack outputs that a state export holds; a stack without it declares no fleet, which is no error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OUTPUT_NAME: Final = "reconciler"
OUTPUT_SCHEMA_VERSION: Final = 1

OWNER_TAG: Final = "reconciler"
SCOPE_TAG: Final = "reconciler:scope="
FLEET_TAG: Final = "reconciler:fleet="
SLOT_TAG: Final = "reconciler:slot="
WORKER_TAG: Final = "reconciler:worker="
REVISION_TAG: Final = "reconciler:revision="
UNTIL_TAG: Final = "reconciler:until="


def tag_value(tags: tuple[str, ...], prefix: str) -> str | None:
    """The value of the one tag with this prefix; None when there is none or more than one."""
    values = {tag[len(prefix) :] for tag in tags if tag.startswith(prefix)}
    return values.pop() if len(values) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSpec:
    """One declared fleet. `replicas` is None for an elastic fleet, whose bounds are `minimum` and `maximum`."""

    uid: str
    name: str
    stack: str
    controller: str  # static | elastic
    zone: str
    revision: str  # 12 hex digits
    replicas: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    commercial_type: str = ""
    component_urn: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """All fleets that the readable stacks declare, and what could not be understood."""

    fleets: tuple[FleetSpec, ...] = ()
    problems: tuple[str, ...] = ()
    stale_stacks: tuple[str, ...] = ()  # pending operations or a lock: outputs may be old

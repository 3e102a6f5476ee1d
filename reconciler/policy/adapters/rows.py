"""A row of a records table as an item.

A table knows its workers in its own words, and some of what a rule asks for is in no column. So every field but the
identity may be None, which is *not told*: the rule is then not evaluated, and the report says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from reconciler.model.desired import FLEET_TAG, OWNER_TAG, REVISION_TAG, SCOPE_TAG, WORKER_TAG
from reconciler.model.resources import Kind
from reconciler.policy.adapters.lookups import Lookups
from reconciler.policy.item import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class RowValue:
    """What a records adapter tells of one worker. `tags`: those that its machine is to carry."""

    id: str
    name: str | None = None
    fleet: str | None = None
    zone: str | None = None
    tags: tuple[str, ...] | None = None
    commercial_type: str | None = None
    image_id: str | None = None
    public_ip: bool | None = None
    protected: bool | None = None
    created_ms: int | None = None


class WorkerLike(Protocol):
    """A row of a worker in our own tables."""

    @property
    def id(self) -> str: ...

    @property
    def fleet(self) -> str: ...

    @property
    def zone(self) -> str: ...

    @property
    def revision(self) -> str: ...


def value_of_worker(row: WorkerLike, *, scope: str) -> RowValue:
    """A row of ours, with the owner tags that its machine is created with; of more such a row knows nothing."""
    tags = (
        OWNER_TAG,
        SCOPE_TAG + scope,
        FLEET_TAG + row.fleet,
        WORKER_TAG + row.id,
        REVISION_TAG + row.revision,
    )
    return RowValue(id=row.id, fleet=row.fleet, zone=row.zone, tags=tags)


def item_of_row(row: RowValue, lookups: Lookups) -> Item:
    return Item(
        kind=Kind.SERVER,
        name=row.name,
        id=row.id,
        fleet=row.fleet,
        zone=row.zone,
        tags=row.tags,
        commercial_type=row.commercial_type,
        public_ip=row.public_ip,
        protected=row.protected,
        created_ms=row.created_ms,
        hour_nanos=lookups.hour_nanos(Kind.SERVER, zone=row.zone, commercial_type=row.commercial_type),
        image_created_ms=lookups.images.get(row.image_id) if row.image_id is not None else None,
    )

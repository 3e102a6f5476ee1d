"""A row of a records table as an item.

A table knows its workers in its own words, and some of what a rule asks for is in no column. So every field but the
identity may be None, which is *not told*: the rule is then not evaluated, and the report says so.
"""

from __future__ import annotations

from dataclasses import dataclass

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

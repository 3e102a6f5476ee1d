"""Snapshots live in two APIs, as volumes do; the kind holds both, and `details` say which API (`api`), the `size`, the
`status` and the volume it was taken of (`volume`).
"""

from __future__ import annotations

from typing import Final

from reconciler.cloud.wire import (
    Dialect,
    GetSource,
    KindSpec,
    ListSource,
    Named,
    Page,
    Total,
    block,
    millis,
    parse,
    shape,
    tag_tuple,
    v1,
)
from reconciler.model.resources import Kind, Other


@shape
class _BlockReference:
    product_resource_id: str
    status: str = "attached"


@shape
class _BlockSnapshot:
    id: str
    name: str
    project_id: str
    status: str
    created_at: str
    size: int | None = None
    zone: str | None = None
    parent_volume: Named | None = None
    references: list[_BlockReference]
    tags: list[str] | None = None


@shape
class _BlockMany:
    snapshots: list[_BlockSnapshot]
    total_count: Total = None


@shape
class _Base:
    id: str | None = None


@shape
class _InstanceSnapshot:
    id: str
    name: str
    project: str
    state: str
    creation_date: str
    volume_type: str = "l_ssd"
    size: int | None = None
    zone: str | None = None
    base_volume: _Base | None = None
    tags: list[str] | None = None


@shape
class _InstanceOne:
    snapshot: _InstanceSnapshot


@shape
class _InstanceMany:
    snapshots: list[_InstanceSnapshot]
    total_count: Total = None


def _details(**known: str | int | None) -> tuple[tuple[str, str], ...]:
    return tuple((key, str(value)) for key, value in known.items() if value is not None)


def _block_value(wire: _BlockSnapshot, zone: str) -> Other:
    holders = [reference.product_resource_id for reference in wire.references if reference.status != "detached"]
    return Other(
        kind=Kind.SNAPSHOT,
        id=wire.id,
        zone=wire.zone or zone,
        project=wire.project_id,
        tags=tag_tuple(wire.tags),
        created_ms=millis(wire.created_at),
        name=wire.name,
        details=(
            *_details(
                api="block",
                type="sbs_snapshot",
                size=wire.size,
                status=wire.status,
                volume=wire.parent_volume.id if wire.parent_volume else None,
            ),
            *(("reference", holder) for holder in holders),
        ),
    )


def _block_page(body: bytes, zone: str) -> Page:
    wire = parse(_BlockMany, body)
    return Page(items=tuple(_block_value(item, zone) for item in wire.snapshots), total=wire.total_count)


def _instance_value(wire: _InstanceSnapshot, zone: str) -> Other:
    return Other(
        kind=Kind.SNAPSHOT,
        id=wire.id,
        zone=wire.zone or zone,
        project=wire.project,
        tags=tag_tuple(wire.tags),
        created_ms=millis(wire.creation_date),
        name=wire.name,
        details=_details(
            api="instance",
            type=wire.volume_type,
            size=wire.size,
            status=wire.state,
            volume=wire.base_volume.id if wire.base_volume else None,
        ),
    )


def _instance_page(body: bytes, zone: str) -> Page:
    wire = parse(_InstanceMany, body)
    return Page(items=tuple(_instance_value(item, zone) for item in wire.snapshots), total=wire.total_count)


SPEC: Final = KindSpec(
    lists=(
        ListSource(
            path=lambda zone: block(zone, "snapshots"),
            dialect=Dialect.PAGED,
            decode=_block_page,
            order=("order_by", "created_at_desc"),
        ),
        ListSource(path=lambda zone: v1(zone, "snapshots"), dialect=Dialect.V1, decode=_instance_page),
    ),
    gets=(
        GetSource(
            path=lambda zone, snapshot_id: block(zone, f"snapshots/{snapshot_id}"),
            words=frozenset({"snapshot"}),
            decode=lambda body, zone: _block_value(parse(_BlockSnapshot, body), zone),
        ),
        GetSource(
            path=lambda zone, snapshot_id: v1(zone, f"snapshots/{snapshot_id}"),
            words=frozenset({"instance_snapshot", "snapshot"}),
            decode=lambda body, zone: _instance_value(parse(_InstanceOne, body).snapshot, zone),
        ),
    ),
)

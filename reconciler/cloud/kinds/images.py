"""Images: only metadata over snapshots. `details` name each snapshot under an image (`snapshot`), because a snapshot
that looks free may be one that an image boots from.
"""

from __future__ import annotations

from typing import Final

from reconciler.cloud.wire import (
    Dialect,
    GetSource,
    KindSpec,
    ListSource,
    Page,
    Total,
    millis,
    parse,
    shape,
    tag_tuple,
    v1,
)
from reconciler.model.resources import Kind, Other


@shape
class _Volume:
    id: str
    volume_type: str = ""


@shape
class _Image:
    id: str
    name: str
    project: str
    creation_date: str | None = None
    state: str = "available"
    public: bool = False
    from_server: str | None = None
    root_volume: _Volume | None
    extra_volumes: dict[str, _Volume] | None = None
    zone: str | None = None
    tags: list[str] | None = None


@shape
class _One:
    image: _Image


@shape
class _Many:
    images: list[_Image]
    total_count: Total = None


def _value(wire: _Image, zone: str) -> Other:
    volumes = [wire.root_volume] if wire.root_volume else []
    volumes += (wire.extra_volumes or {}).values()
    details = [("status", wire.state), ("public", str(wire.public).lower())]
    if wire.from_server:
        details.append(("server", wire.from_server))
    details += [("snapshot", volume.id) for volume in volumes]
    return Other(
        kind=Kind.IMAGE,
        id=wire.id,
        zone=wire.zone or zone,
        project=wire.project,
        tags=tag_tuple(wire.tags),
        created_ms=millis(wire.creation_date),
        name=wire.name,
        details=tuple(details),
    )


def _page(body: bytes, zone: str) -> Page:
    wire = parse(_Many, body)
    return Page(items=tuple(_value(item, zone) for item in wire.images), total=wire.total_count)


SPEC: Final = KindSpec(
    lists=(ListSource(path=lambda zone: v1(zone, "images"), dialect=Dialect.V1, decode=_page),),
    gets=(
        GetSource(
            path=lambda zone, image_id: v1(zone, f"images/{image_id}"),
            words=frozenset({"instance_image", "image"}),
            decode=lambda body, zone: _value(parse(_One, body).image, zone),
        ),
    ),
)

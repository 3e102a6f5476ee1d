"""Snapshots of block volumes, and what holds them: an image that stands on one, or their own making.

An image is only metadata over a snapshot: deleting the image leaves the snapshot, and deleting the snapshot breaks the
image. Root snapshots of public images belong to the provider, and a GET of one answers 403.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator.ages import SNAPSHOT_REFERENCE_SINCE
from reconciler.simulator.call import Call, nothing, number, reply, text
from reconciler.simulator.catalog import public_snapshots
from reconciler.simulator.paging import Order, Selection, page_number, page_size
from reconciler.simulator.records import BlockVolume
from reconciler.simulator.records_static import BlockSnapshot, Image
from reconciler.simulator.rooms.snapshots import IMPORTED_SIZE
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Json, Response, denied, invalid, precondition, time_z, transient
from reconciler.simulator.world import World

BASE = "/block/v1/zones/{zone}/snapshots"


def new_snapshot(call: Call, volume: BlockVolume, *, name: str, project: str, tags: tuple[str, ...]) -> BlockSnapshot:
    snapshot = BlockSnapshot(
        id=call.mint.uuid(),
        name=name,
        zone=volume.zone,
        project=project,
        size=volume.size,
        status="creating",
        parent_volume=volume.id,
        tags=tags,
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    call.world.schedule(call.due(call.timings.snapshot), "block_snapshot_available", snapshot.id)
    return call.world.block_snapshots.put(snapshot)


def block_snapshot(world: World, item: BlockSnapshot, *, fresh: bool = False) -> Json:
    """While an image uses it, it is `in_use` and says by which. `fresh`: the answer to its creation."""
    images = world.images.under("snapshot", item.id)
    parent = world.block_volumes.get(item.parent_volume)
    shown = None
    if parent is not None:
        kind = f"sbs_{parent.perf_iops // 1000}k"
        shown = {"id": parent.id, "name": parent.name, "status": parent.status, "type": kind}
    return {
        "class": "sbs",
        "created_at": time_z(item.created_ms),
        "id": item.id,
        "name": item.name,
        "parent_volume": shown,
        "project_id": item.project,
        "public": item.public,
        "references": [
            *([] if fresh else _internal_reference(world, item, parent)),
            *(_image_reference(item, image) for image in images),
        ],
        "size": item.size,
        "status": "in_use" if images and item.status == "available" else item.status,
        "tags": list(item.tags),
        "updated_at": time_z(item.updated_ms),
        "zone": item.zone,
    }


def _internal_reference(world: World, item: BlockSnapshot, parent: BlockVolume | None) -> list[Json]:
    """While it is being made of a volume in use, something of the provider's own holds it."""
    date = world.options.api_date
    if item.status != "creating" or parent is None or parent.reference is None:
        return []
    if date and date < SNAPSHOT_REFERENCE_SINCE:
        return []
    return [
        {
            "id": str(uuid.uuid5(uuid.UUID(item.id), "internal")),
            "product_resource_type": "internal",
            "product_resource_id": "00000000-0000-0000-0000-000000000000",
            "created_at": time_z(item.created_ms),
            "type": "unknown_type",
            "status": "attached",
        }
    ]


def _image_reference(item: BlockSnapshot, image: Image) -> Json:
    return {
        "id": str(uuid.uuid5(uuid.UUID(image.id), item.id)),
        "product_resource_type": "instance_image",
        "product_resource_id": image.id,
        "created_at": time_z(image.created_ms),
        "type": "link",
        "status": "attached",
    }


def _fetch(call: Call) -> BlockSnapshot:
    if call.params["snapshot"] in public_snapshots():
        raise denied("read", "snapshot")
    return call.fetch(call.world.block_snapshots, call.params["snapshot"], place=call.zone, resource="snapshot")


def list_snapshots(call: Call) -> Response:
    query = call.query
    size, page = page_size(query, "page_size"), page_number(query)
    wanted = query.first("order_by") or "created_at_asc"
    orders = {
        "created_at_asc": Order[BlockSnapshot](False),
        "created_at_desc": Order[BlockSnapshot](True),
        "name_asc": Order[BlockSnapshot](False, lambda item: item.name),
        "name_desc": Order[BlockSnapshot](True, lambda item: item.name),
    }
    if wanted not in orders:
        raise invalid("order_by", "constraint", "not a valid value")
    name, tags, parent = query.first("name"), set(query.all("tags")), query.first("volume_id")
    accept: Callable[[BlockSnapshot], bool] | None = None
    if name is not None or tags or parent is not None:
        accept = lambda item: (  # noqa: E731
            (name or "") in item.name
            and (not tags or bool(tags & set(item.tags)))
            and parent in (None, item.parent_volume)
        )
    keys = call.keys_in(call.zone, "project_id")
    total, part = Selection(call.world.block_snapshots, keys, orders[wanted], accept).cut(
        offset=(page - 1) * size, limit=size
    )
    return reply({"snapshots": [block_snapshot(call.world, item) for item in part], "total_count": total})


def create(call: Call) -> Response:
    project = call.project_of_body("project_id")
    volume = call.fetch(call.world.block_volumes, text(call.body, "volume_id"), place=call.zone, resource="volume")
    made = new_snapshot(
        call, volume, name=text(call.body, "name", "snapshot"), project=project, tags=call.tags_of_body() or ()
    )
    return reply(block_snapshot(call.world, made, fresh=True))


def import_one(call: Call) -> Response:
    """From an object in a bucket; what is in it is not simulated."""
    text(call.body, "bucket"), text(call.body, "key")
    snapshot = BlockSnapshot(
        id=call.mint.uuid(),
        name=text(call.body, "name", "snapshot"),
        zone=call.zone,
        project=call.project_of_body("project_id"),
        size=number(call.body, "size", 0) or IMPORTED_SIZE,
        status="creating",
        tags=call.tags_of_body() or (),
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    call.world.schedule(call.due(call.timings.snapshot), "block_snapshot_available", snapshot.id)
    return reply(block_snapshot(call.world, call.world.block_snapshots.put(snapshot), fresh=True))


def export(call: Call) -> Response:
    """`exporting` for as long as a snapshot takes."""
    item = _fetch(call)
    text(call.body, "bucket"), text(call.body, "key")
    if item.status != "available":
        raise transient("snapshot", item.id, item.status)
    fresh = call.world.block_snapshots.put(replace(item, status="exporting", updated_ms=call.now_ms))
    call.world.schedule(call.due(call.timings.snapshot), "block_snapshot_available", item.id)
    return reply(block_snapshot(call.world, fresh))


def get(call: Call) -> Response:
    return reply(block_snapshot(call.world, _fetch(call)))


def update(call: Call) -> Response:
    item = _fetch(call)
    changes: dict[str, Any] = {"name": text(call.body, "name", item.name)}
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    return reply(block_snapshot(call.world, call.world.block_snapshots.put(replace(item, **changes))))


def delete(call: Call) -> Response:
    item = _fetch(call)
    if item.status != "available":
        raise precondition("resource_not_usable", "snapshot is not available")
    call.world.block_snapshots.remove(item.id)
    return nothing()


ROUTES = (
    Route("GET", BASE, list_snapshots, "block_snapshot", listing=True),
    Route("POST", BASE, create, "block_snapshot"),
    Route("POST", BASE + "/import-from-object-storage", import_one, "block_snapshot"),
    Route("POST", BASE + "/{snapshot}/export-to-object-storage", export, "block_snapshot"),
    Route("GET", BASE + "/{snapshot}", get, "block_snapshot"),
    Route("PATCH", BASE + "/{snapshot}", update, "block_snapshot"),
    Route("DELETE", BASE + "/{snapshot}", delete, "block_snapshot"),
)

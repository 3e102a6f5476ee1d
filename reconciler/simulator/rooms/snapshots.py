"""Snapshots of both kinds: local ones in the Instance API v1, SBS ones in Block Storage.

An image is only metadata over a snapshot: deleting the image leaves the snapshot, and deleting the snapshot breaks the
image. Root snapshots of public images belong to the provider, and a GET of one answers 403.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator.ages import SNAPSHOT_REFERENCE_SINCE
from reconciler.simulator.call import Call, nothing, number, reply, reply_v1, text
from reconciler.simulator.catalog import public_snapshots
from reconciler.simulator.paging import Order, Selection, links, page_number, page_size
from reconciler.simulator.records import BlockVolume, Volume
from reconciler.simulator.records_static import BlockSnapshot, Image, Snapshot
from reconciler.simulator.rooms.server_common import task
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import (
    Json,
    Response,
    bad_request,
    denied,
    invalid,
    precondition,
    time_v1,
    time_z,
    transient,
)
from reconciler.simulator.world import World

V1 = "/instance/v1/zones/{zone}/snapshots"
BLOCK = "/block/v1/zones/{zone}/snapshots"
_BUSY = {"snapshotting", "importing", "exporting"}
# What is in a bucket is not simulated; this is the size of the recorded image.
_IMPORTED_SIZE = 1_073_741_824


def new_snapshot(call: Call, volume: Volume, *, name: str, project: str, tags: tuple[str, ...]) -> Snapshot:
    """Of a volume whose server runs it takes its time, and the volume is `snapshotting`; of any other it is there."""
    server = call.world.servers.get(volume.server)
    waiting = server is not None and server.state != "stopped"
    snapshot = Snapshot(
        id=call.mint.uuid(),
        name=name,
        zone=volume.zone,
        project=project,
        volume_type=volume.volume_type,
        size=volume.size,
        state="snapshotting" if waiting else "available",
        base_volume=volume.id,
        base_volume_name=volume.name,
        tags=tags,
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    if waiting:
        call.world.volumes.put(replace(volume, state="snapshotting", updated_ms=call.now_ms))
        call.world.schedule(call.due(call.timings.snapshot_local), "snapshot_available", snapshot.id)
    return call.world.snapshots.put(snapshot)


def new_block_snapshot(
    call: Call, volume: BlockVolume, *, name: str, project: str, tags: tuple[str, ...]
) -> BlockSnapshot:
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


def snapshot_v1(world: World, item: Snapshot) -> Json:
    base = None if item.base_volume is None else {"id": item.base_volume, "name": item.base_volume_name}
    return {
        "id": item.id,
        "name": item.name,
        "volume_type": item.volume_type,
        "creation_date": time_v1(item.created_ms),
        "modification_date": time_v1(item.updated_ms),
        "organization": world.organization,
        "project": item.project,
        "size": item.size,
        "state": item.state,
        "base_volume": base,
        "tags": list(item.tags),
        "zone": item.zone,
        "error_details": None,
    }


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


def _fetch_v1(call: Call) -> Snapshot:
    if call.params["snapshot"] in public_snapshots():
        raise denied("read", "snapshot")
    return call.fetch(call.world.snapshots, call.params["snapshot"], place=call.zone, resource="instance_snapshot")


def _fetch_block(call: Call) -> BlockSnapshot:
    if call.params["snapshot"] in public_snapshots():
        raise denied("read", "snapshot")
    return call.fetch(call.world.block_snapshots, call.params["snapshot"], place=call.zone, resource="snapshot")


def list_v1(call: Call) -> Response:
    """Newest first."""
    query = call.query
    size, page = page_size(query, "per_page"), page_number(query)
    accept: Callable[[Snapshot], bool] | None = None
    name, tags = query.first("name"), set((query.first("tags") or "").split(",")) - {""}
    base = query.first("base_volume_id")
    if name is not None or tags or base is not None:
        accept = lambda item: (  # noqa: E731
            (name or "") in item.name and tags <= set(item.tags) and base in (None, item.base_volume)
        )
    selection = Selection(call.world.snapshots, call.keys_in(call.zone, "project"), Order(True), accept)
    total, part = selection.cut(offset=(page - 1) * size, limit=size)
    body = {"snapshots": [snapshot_v1(call.world, item) for item in part]}
    return reply_v1(body, headers=links(query, path="/snapshots", page=page, size=size, total=total))


def create_v1(call: Call) -> Response:
    """Of a volume, or from an object in a bucket (`importing` for as long as a snapshot takes)."""
    project = call.project_of_body("project", "organization")
    if call.body.get("bucket"):
        return _created_v1(call, _imported(call, project))
    volume = call.fetch(call.world.volumes, text(call.body, "volume_id"), place=call.zone, resource="instance_volume")
    made = new_snapshot(
        call, volume, name=text(call.body, "name", "snapshot"), project=project, tags=call.tags_of_body() or ()
    )
    return _created_v1(call, made)


def _imported(call: Call, project: str) -> Snapshot:
    text(call.body, "key")
    snapshot = Snapshot(
        id=call.mint.uuid(),
        name=text(call.body, "name", "snapshot"),
        zone=call.zone,
        project=project,
        volume_type=text(call.body, "volume_type", "l_ssd"),
        size=number(call.body, "size", 0) or _IMPORTED_SIZE,
        state="importing",
        tags=call.tags_of_body() or (),
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    call.world.schedule(call.due(call.timings.snapshot), "snapshot_available", snapshot.id)
    return call.world.snapshots.put(snapshot)


def _created_v1(call: Call, made: Snapshot) -> Response:
    job = task(call, "/snapshots", f"snapshots/{made.id}")
    return reply_v1({"snapshot": snapshot_v1(call.world, made), "task": job}, 201)


def get_v1(call: Call) -> Response:
    return reply_v1({"snapshot": snapshot_v1(call.world, _fetch_v1(call))})


def update_v1(call: Call) -> Response:
    item = _fetch_v1(call)
    changes: dict[str, Any] = {"name": text(call.body, "name", item.name)}
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    fresh = call.world.snapshots.put(replace(item, **changes, updated_ms=call.now_ms))
    return reply_v1({"snapshot": snapshot_v1(call.world, fresh)})


def delete_v1(call: Call) -> Response:
    item = _fetch_v1(call)
    if item.state in _BUSY:
        raise bad_request("snapshot is not available")
    call.world.snapshots.remove(item.id)
    return nothing()


def list_block(call: Call) -> Response:
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


def create_block(call: Call) -> Response:
    project = call.project_of_body("project_id")
    volume = call.fetch(call.world.block_volumes, text(call.body, "volume_id"), place=call.zone, resource="volume")
    made = new_block_snapshot(
        call, volume, name=text(call.body, "name", "snapshot"), project=project, tags=call.tags_of_body() or ()
    )
    return reply(block_snapshot(call.world, made, fresh=True))


def import_block(call: Call) -> Response:
    """From an object in a bucket; what is in it is not simulated."""
    text(call.body, "bucket"), text(call.body, "key")
    snapshot = BlockSnapshot(
        id=call.mint.uuid(),
        name=text(call.body, "name", "snapshot"),
        zone=call.zone,
        project=call.project_of_body("project_id"),
        size=number(call.body, "size", 0) or _IMPORTED_SIZE,
        status="creating",
        tags=call.tags_of_body() or (),
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    call.world.schedule(call.due(call.timings.snapshot), "block_snapshot_available", snapshot.id)
    return reply(block_snapshot(call.world, call.world.block_snapshots.put(snapshot), fresh=True))


def export_block(call: Call) -> Response:
    """`exporting` for as long as a snapshot takes."""
    item = _fetch_block(call)
    text(call.body, "bucket"), text(call.body, "key")
    if item.status != "available":
        raise transient("snapshot", item.id, item.status)
    fresh = call.world.block_snapshots.put(replace(item, status="exporting", updated_ms=call.now_ms))
    call.world.schedule(call.due(call.timings.snapshot), "block_snapshot_available", item.id)
    return reply(block_snapshot(call.world, fresh))


def export_v1(call: Call) -> Response:
    item = _fetch_v1(call)
    text(call.body, "bucket"), text(call.body, "key")
    if item.state != "available":
        raise transient("instance_snapshot", item.id, item.state)
    call.world.snapshots.put(replace(item, state="exporting", updated_ms=call.now_ms))
    call.world.schedule(call.due(call.timings.snapshot), "snapshot_available", item.id)
    return reply_v1({"task": task(call, f"/snapshots/{item.id}/export", f"/snapshots/{item.id}")}, 202)


def get_block(call: Call) -> Response:
    return reply(block_snapshot(call.world, _fetch_block(call)))


def update_block(call: Call) -> Response:
    item = _fetch_block(call)
    changes: dict[str, Any] = {"name": text(call.body, "name", item.name)}
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    return reply(block_snapshot(call.world, call.world.block_snapshots.put(replace(item, **changes))))


def delete_block(call: Call) -> Response:
    item = _fetch_block(call)
    if item.status != "available":
        raise precondition("resource_not_usable", "snapshot is not available")
    call.world.block_snapshots.remove(item.id)
    return nothing()


ROUTES = (
    Route("GET", V1, list_v1, "snapshot", listing=True),
    Route("POST", V1, create_v1, "snapshot"),
    Route("GET", V1 + "/{snapshot}", get_v1, "snapshot"),
    Route("PATCH", V1 + "/{snapshot}", update_v1, "snapshot"),
    Route("DELETE", V1 + "/{snapshot}", delete_v1, "snapshot"),
    Route("GET", BLOCK, list_block, "block_snapshot", listing=True),
    Route("POST", BLOCK, create_block, "block_snapshot"),
    Route("POST", BLOCK + "/import-from-object-storage", import_block, "block_snapshot"),
    Route("POST", BLOCK + "/{snapshot}/export-to-object-storage", export_block, "block_snapshot"),
    Route("POST", V1 + "/{snapshot}/export", export_v1, "snapshot"),
    Route("GET", BLOCK + "/{snapshot}", get_block, "block_snapshot"),
    Route("PATCH", BLOCK + "/{snapshot}", update_block, "block_snapshot"),
    Route("DELETE", BLOCK + "/{snapshot}", delete_block, "block_snapshot"),
)

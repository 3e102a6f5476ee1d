"""Snapshots of local volumes, in the Instance API v1. Those of block volumes are in `block_snapshots`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator.call import Call, nothing, number, reply_v1, text
from reconciler.simulator.catalog import public_snapshots
from reconciler.simulator.paging import Order, Selection, links, page_number, page_size
from reconciler.simulator.records import Volume
from reconciler.simulator.records_static import Snapshot
from reconciler.simulator.rooms.server_common import task
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Json, Response, bad_request, denied, time_v1, transient
from reconciler.simulator.world import World

V1 = "/instance/v1/zones/{zone}/snapshots"
_BUSY = {"snapshotting", "importing", "exporting"}
# What is in a bucket is not simulated; this is the size of the recorded image.
IMPORTED_SIZE = 1_073_741_824


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


def _fetch_v1(call: Call) -> Snapshot:
    if call.params["snapshot"] in public_snapshots():
        raise denied("read", "snapshot")
    return call.fetch(call.world.snapshots, call.params["snapshot"], place=call.zone, resource="instance_snapshot")


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
        size=number(call.body, "size", 0) or IMPORTED_SIZE,
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


def export_v1(call: Call) -> Response:
    item = _fetch_v1(call)
    text(call.body, "bucket"), text(call.body, "key")
    if item.state != "available":
        raise transient("instance_snapshot", item.id, item.state)
    call.world.snapshots.put(replace(item, state="exporting", updated_ms=call.now_ms))
    call.world.schedule(call.due(call.timings.snapshot), "snapshot_available", item.id)
    return reply_v1({"task": task(call, f"/snapshots/{item.id}/export", f"/snapshots/{item.id}")}, 202)


ROUTES = (
    Route("GET", V1, list_v1, "snapshot", listing=True),
    Route("POST", V1, create_v1, "snapshot"),
    Route("POST", V1 + "/{snapshot}/export", export_v1, "snapshot"),
    Route("GET", V1 + "/{snapshot}", get_v1, "snapshot"),
    Route("PATCH", V1 + "/{snapshot}", update_v1, "snapshot"),
    Route("DELETE", V1 + "/{snapshot}", delete_v1, "snapshot"),
)

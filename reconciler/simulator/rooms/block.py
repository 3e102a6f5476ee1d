"""Block volumes and their prices. `/block/v1` is what the provider calls, `/block/v1alpha1` what the CLI does.

A volume's only link to a server is its `references`; when that is gone, nothing on the volume says whose it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator.call import Call, nothing, number, optional_number, reply, text
from reconciler.simulator.catalog import SBS_PRICES, SBS_SNAPSHOT_NANOS
from reconciler.simulator.paging import Order, Selection, page_number, page_size
from reconciler.simulator.records import BlockVolume
from reconciler.simulator.rooms import block_snapshots
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Json, Query, Response, invalid, not_found, precondition, time_z, transient

BASE = "/block/v1/zones/{zone}/volumes"
RESOURCE = "volume"


def block_volume(volume: BlockVolume) -> Json:
    reference = volume.reference
    shown = []
    if reference is not None:
        shown.append(
            {
                "id": reference.id,
                "product_resource_type": "instance_server",
                "product_resource_id": reference.server,
                "created_at": time_z(reference.created_ms),
                "type": "exclusive",
                "status": reference.status,
            }
        )
    return {
        "id": volume.id,
        "name": volume.name,
        "type": f"sbs_{volume.perf_iops // 1000}k",
        "size": volume.size,
        "project_id": volume.project,
        "created_at": time_z(volume.created_ms),
        "updated_at": time_z(volume.updated_ms),
        "references": shown,
        "parent_snapshot_id": volume.parent_snapshot,
        "status": volume.status,
        "tags": list(volume.tags),
        "specs": {"perf_iops": volume.perf_iops, "class": "sbs"},
        "last_detached_at": time_z(volume.last_detached_ms),
        "kms_key_id": None,
        "zone": volume.zone,
    }


def _fetch(call: Call) -> BlockVolume:
    return call.fetch(call.world.block_volumes, call.params["volume"], place=call.zone, resource=RESOURCE)


def list_volumes(call: Call) -> Response:
    query = call.query
    size, page = page_size(query, "page_size"), page_number(query)
    tags = set(query.all("tags"))
    keys, projects = call.narrow(call.keys_in(call.zone, "project_id"), place=call.zone, tags=tags, any_of=True)
    total, part = Selection(call.world.block_volumes, keys, _order(query), _filter(query, tags, projects)).cut(
        offset=(page - 1) * size, limit=size
    )
    return reply({"total_count": total, "volumes": [block_volume(volume) for volume in part]})


def _order(query: Query) -> Order[BlockVolume]:
    wanted = query.first("order_by") or "created_at_asc"
    orders = {
        "created_at_asc": Order[BlockVolume](False),
        "created_at_desc": Order[BlockVolume](True),
        "name_asc": Order[BlockVolume](False, lambda volume: volume.name),
        "name_desc": Order[BlockVolume](True, lambda volume: volume.name),
    }
    if wanted not in orders:
        raise invalid("order_by", "constraint", "not a valid value")
    return orders[wanted]


def _filter(query: Query, tags: set[str], projects: frozenset[str] | None) -> Callable[[BlockVolume], bool] | None:
    """Several tags mean one or more of them here; in the Instance API v1 they mean all."""
    tests = list[Callable[[BlockVolume], bool]]()
    if (name := query.first("name")) is not None:
        tests.append(lambda volume: name in volume.name)
    if tags:
        tests.append(lambda volume: bool(tags & set(volume.tags)))
    if projects is not None:
        tests.append(lambda volume: volume.project in projects)
    if (server := query.first("product_resource_id")) is not None:
        tests.append(lambda volume: volume.reference is not None and volume.reference.server == server)
    return (lambda volume: all(test(volume) for test in tests)) if tests else None


def create_volume(call: Call) -> Response:
    body = call.body
    project = call.project_of_body("project_id")
    call.respect_quota(call.world.block_volumes, place=call.zone, project=project)
    iops = number(body, "perf_iops", 5000)
    if iops not in SBS_PRICES:
        raise invalid("perf_iops", "constraint", "must be one of 5000, 15000")
    parent, size = _source(call)
    volume = BlockVolume(
        id=call.mint.uuid(),
        name=text(body, "name", "volume"),
        zone=call.zone,
        project=project,
        size=size,
        perf_iops=iops,
        status="creating",
        parent_snapshot=parent,
        tags=call.tags_of_body() or (),
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    call.world.block_volumes.put(volume)
    call.world.schedule(call.due(call.timings.volume_create), "block_status", volume.id, **{"from": "creating"})
    return reply(block_volume(volume))


def _source(call: Call) -> tuple[str | None, int]:
    """(parent snapshot, size): a volume comes from nothing, or from a snapshot and is at least as big."""
    empty, origin = call.body.get("from_empty"), call.body.get("from_snapshot")
    if isinstance(empty, dict):
        return None, number(empty, "size")
    if not isinstance(origin, dict):
        raise invalid("from_empty", "required", "from_empty or from_snapshot is needed")
    snapshot = call.world.block_snapshots.get(text(origin, "snapshot_id"))
    if snapshot is None:
        raise not_found("snapshot", str(origin["snapshot_id"]))
    return snapshot.id, optional_number(origin, "size") or snapshot.size


def get_volume(call: Call) -> Response:
    return reply(block_volume(_fetch(call)))


def update_volume(call: Call) -> Response:
    """Name and tags change at once; size and performance pass through `updating`."""
    volume, body = _fetch(call), call.body
    changes: dict[str, Any] = {"name": text(body, "name", volume.name)}
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    size = number(body, "size", volume.size) if body.get("size") is not None else volume.size
    iops = number(body, "perf_iops", volume.perf_iops) if body.get("perf_iops") is not None else volume.perf_iops
    if size < volume.size:
        raise invalid("size", "constraint", "a volume cannot shrink")
    if iops not in SBS_PRICES:
        raise invalid("perf_iops", "constraint", "must be one of 5000, 15000")
    if (size, iops) != (volume.size, volume.perf_iops):
        if volume.status not in {"available", "in_use"}:
            raise transient(RESOURCE, volume.id, volume.status)
        changes["status"] = "updating"
        args: dict[str, str | int] = {"from": "updating", "size": size, "perf_iops": iops}
        call.world.schedule(call.due(call.timings.volume_update), "block_status", volume.id, **args)
    fresh = call.world.block_volumes.put(replace(volume, **changes, updated_ms=call.now_ms))
    return reply(block_volume(fresh))


def delete_volume(call: Call) -> Response:
    """Refused while a server uses it, which during a detach is longer than the server says."""
    volume = _fetch(call)
    if volume.reference is not None or volume.status == "in_use":
        raise precondition("resource_still_in_use", "Volume must be detached to be deleted")
    if volume.status != "available":
        raise transient(RESOURCE, volume.id, volume.status)
    call.world.block_volumes.remove(volume.id)
    return nothing()


def list_types(call: Call) -> Response:
    types = [
        {
            "type": f"sbs_{iops // 1000}k",
            "pricing": {"currency_code": "EUR", "units": 0, "nanos": nanos},
            "snapshot_pricing": {"currency_code": "EUR", "units": 0, "nanos": SBS_SNAPSHOT_NANOS},
            "specs": {"perf_iops": iops, "class": "sbs"},
            "zone": call.zone,
        }
        for iops, nanos in SBS_PRICES.items()
    ]
    return reply({"volume_types": types, "total_count": len(types)})


_V1 = (
    Route("GET", BASE, list_volumes, "block_volume", listing=True),
    Route("POST", BASE, create_volume, "block_volume"),
    Route("GET", BASE + "/{volume}", get_volume, "block_volume"),
    Route("PATCH", BASE + "/{volume}", update_volume, "block_volume"),
    Route("DELETE", BASE + "/{volume}", delete_volume, "block_volume"),
    Route("GET", "/block/v1/zones/{zone}/volume-types", list_types, "block_volume"),
)
_ALL = (*_V1, *block_snapshots.ROUTES)
ROUTES = (*_ALL, *(replace(route, template=route.template.replace("/v1/", "/v1alpha1/", 1)) for route in _ALL))

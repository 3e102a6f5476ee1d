"""Local volumes (`l_ssd`, `scratch`) of the Instance API v1. SBS volumes are unknown here: 404."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator.call import Call, nothing, number, reply_v1, text
from reconciler.simulator.paging import MAX_PAGE, Order, Selection, links, page_number, page_size
from reconciler.simulator.records import Volume
from reconciler.simulator.render import volume_v1
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Response, bad_request, invalid

BASE = "/instance/v1/zones/{zone}/volumes"
RESOURCE = "instance_volume"


def _fetch(call: Call) -> Volume:
    return call.fetch(call.world.volumes, call.params["volume"], place=call.zone, resource=RESOURCE)


def list_volumes(call: Call) -> Response:
    """Pages of 100 by default here, as its own links show."""
    query = call.query
    size, page = page_size(query, "per_page", MAX_PAGE), page_number(query)
    selection = Selection(call.world.volumes, call.keys_in(call.zone, "project"), Order(True), _filter(call))
    total, part = selection.cut(offset=(page - 1) * size, limit=size)
    body = {"volumes": [volume_v1(call.world, volume) for volume in part]}
    return reply_v1(body, headers=links(query, path="/volumes", page=page, size=size, total=total))


def _filter(call: Call) -> Callable[[Volume], bool] | None:
    query = call.query
    tags = set((query.first("tags") or "").split(",")) - {""}
    kind, name = query.first("volume_type"), query.first("name")
    if not tags and kind is None and name is None:
        return None
    return lambda item: tags <= set(item.tags) and kind in (None, item.volume_type) and (name or "") in item.name


def create_volume(call: Call) -> Response:
    project = call.project_of_body("project", "organization")
    kind = text(call.body, "volume_type", "l_ssd")
    if kind not in {"l_ssd", "scratch"}:
        raise invalid("volume_type", "constraint", "not a valid value")
    call.respect_quota(call.world.volumes, place=call.zone, project=project)
    volume = Volume(
        id=call.mint.uuid(),
        name=text(call.body, "name", "volume"),
        zone=call.zone,
        project=project,
        volume_type=kind,
        size=number(call.body, "size"),
        tags=call.tags_of_body() or (),
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    call.world.volumes.put(volume)
    location = f"https://api.scaleway.com{call.request.path}/{volume.id}"
    return reply_v1({"volume": volume_v1(call.world, volume)}, 201, {"Location": location})


def get_volume(call: Call) -> Response:
    return reply_v1({"volume": volume_v1(call.world, _fetch(call))})


def update_volume(call: Call) -> Response:
    volume, body = _fetch(call), call.body
    changes: dict[str, Any] = {"name": text(body, "name", volume.name)}
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    if body.get("size"):
        changes["size"] = number(body, "size")
    fresh = call.world.volumes.put(replace(volume, **changes, updated_ms=call.now_ms))
    return reply_v1({"volume": volume_v1(call.world, fresh)})


def delete_volume(call: Call) -> Response:
    volume = _fetch(call)
    if volume.server is not None:
        raise bad_request("a server is attached to this volume")
    call.world.volumes.remove(volume.id)
    return nothing()


ROUTES = (
    Route("GET", BASE, list_volumes, "volume", listing=True),
    Route("POST", BASE, create_volume, "volume"),
    Route("GET", BASE + "/{volume}", get_volume, "volume"),
    Route("PATCH", BASE + "/{volume}", update_volume, "volume"),
    Route("DELETE", BASE + "/{volume}", delete_volume, "volume"),
)

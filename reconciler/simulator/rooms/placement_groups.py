"""Placement groups, in v1 (`policy_mode`) and v2alpha1 (without it)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator.call import Call, nothing, reply, reply_v1, text
from reconciler.simulator.paging import Order, Selection, links, next_token, page_number, page_size, token_offset
from reconciler.simulator.records_static import PlacementGroup
from reconciler.simulator.render import placement_group_v1
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Json, Response, invalid, time_z

V1 = "/instance/v1/zones/{zone}/placement_groups"
V2 = "/instance/v2alpha1/zones/{zone}/placement-groups"
RESOURCE = "instance_placement_group"


def group_v2(group: PlacementGroup) -> Json:
    return {
        "project_id": group.project,
        "name": group.name,
        "id": group.id,
        "policy_type": group.policy_type,
        "tags": list(group.tags),
        "created_at": time_z(group.created_ms),
        "updated_at": time_z(group.updated_ms),
        "zone": group.zone,
    }


def _fetch(call: Call) -> PlacementGroup:
    return call.fetch(call.world.placement_groups, call.params["group"], place=call.zone, resource=RESOURCE)


def _filter(call: Call, tags: set[str]) -> Callable[[PlacementGroup], bool] | None:
    name = call.query.first("name")
    if name is None and not tags:
        return None
    return lambda group: (name or "") in group.name and tags <= set(group.tags)


def list_v1(call: Call) -> Response:
    query = call.query
    size, page = page_size(query, "per_page"), page_number(query)
    accept = _filter(call, set((query.first("tags") or "").split(",")) - {""})
    keys = call.keys_in(call.zone, "project")
    total, part = Selection(call.world.placement_groups, keys, Order(True), accept).cut(
        offset=(page - 1) * size, limit=size
    )
    body = {"placement_groups": [placement_group_v1(call.world, group) for group in part]}
    return reply_v1(body, headers=links(query, path="/placement_groups", page=page, size=size, total=total))


def list_v2(call: Call) -> Response:
    query = call.query
    size, offset = page_size(query, "page_size"), token_offset(query)
    wanted = query.first("order_by") or "created_at_desc"
    if wanted not in {f"{key}_at_{way}" for key in ("created", "updated") for way in ("asc", "desc")}:
        raise invalid("order_by", "constraint", "not a valid value")
    order = Order[PlacementGroup](
        wanted.endswith("_desc"), (lambda group: group.updated_ms) if wanted.startswith("updated") else None
    )
    keys = call.keys_in(call.zone, "project_id")
    total, part = Selection(call.world.placement_groups, keys, order, _filter(call, set(query.all("tags")))).cut(
        offset=offset, limit=size
    )
    body = {"placement_groups": [group_v2(group) for group in part], "total_count": total}
    return reply({**body, **next_token(offset, size, total)})


def _create(call: Call, project: str) -> PlacementGroup:
    return call.world.placement_groups.put(
        PlacementGroup(
            id=call.mint.uuid(),
            name=text(call.body, "name", "placement-group"),
            zone=call.zone,
            project=project,
            policy_type=_policy_type(call.body, "max_availability"),
            policy_mode=text(call.body, "policy_mode", "optional"),
            tags=call.tags_of_body() or (),
            created_ms=call.now_ms,
            updated_ms=call.now_ms,
        )
    )


def _policy_type(body: Json, default: str) -> str:
    """The Go SDK writes what was not chosen as `unknown_policy_type`, and the API takes it for that."""
    value = text(body, "policy_type", default)
    if value == "unknown_policy_type":
        return default
    if value not in {"max_availability", "low_latency"}:
        raise invalid("policy_type", "constraint", "not a valid value")
    return value


def create_v1(call: Call) -> Response:
    group = _create(call, call.project_of_body("project", "organization"))
    location = f"https://api.scaleway.com{call.request.path}/{group.id}"
    return reply_v1({"placement_group": placement_group_v1(call.world, group)}, 201, {"Location": location})


def create_v2(call: Call) -> Response:
    return reply(group_v2(_create(call, call.project_of_body("project_id"))))


def get_v1(call: Call) -> Response:
    return reply_v1({"placement_group": placement_group_v1(call.world, _fetch(call))})


def get_v2(call: Call) -> Response:
    return reply(group_v2(_fetch(call)))


def _update(call: Call) -> PlacementGroup:
    group, body = _fetch(call), call.body
    changes: dict[str, Any] = {
        "name": text(body, "name", group.name),
        "policy_type": _policy_type(body, group.policy_type),
        "policy_mode": text(body, "policy_mode", group.policy_mode),
    }
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    return call.world.placement_groups.put(replace(group, **changes, updated_ms=call.now_ms))


def update_v1(call: Call) -> Response:
    return reply_v1({"placement_group": placement_group_v1(call.world, _update(call))})


def update_v2(call: Call) -> Response:
    return reply(group_v2(_update(call)))


def delete_group(call: Call) -> Response:
    """Its servers stay and are in no group from then on."""
    group = _fetch(call)
    for server in call.world.servers.under("placement", group.id):
        call.world.servers.put(replace(server, placement_group=None))
    call.world.placement_groups.remove(group.id)
    return nothing()


def list_servers(call: Call) -> Response:
    group, query = _fetch(call), call.query
    servers = call.world.servers.under("placement", group.id)
    size, page = page_size(query, "per_page"), page_number(query)
    part = servers[(page - 1) * size : page * size]
    path = f"/placement_groups/{group.id}/servers"
    headers = links(query, path=path, page=page, size=size, total=len(servers))
    body = {"servers": [{"id": item.id, "name": item.name, "policy_respected": True} for item in part]}
    return reply_v1(body, headers=headers)


ROUTES = (
    Route("GET", V1, list_v1, "placement_group", listing=True),
    Route("POST", V1, create_v1, "placement_group"),
    Route("GET", V1 + "/{group}", get_v1, "placement_group"),
    Route("PATCH", V1 + "/{group}", update_v1, "placement_group"),
    Route("DELETE", V1 + "/{group}", delete_group, "placement_group"),
    Route("GET", V1 + "/{group}/servers", list_servers, "placement_group"),
    Route("GET", V2, list_v2, "placement_group", listing=True),
    Route("POST", V2, create_v2, "placement_group"),
    Route("GET", V2 + "/{group}", get_v2, "placement_group"),
    Route("PATCH", V2 + "/{group}", update_v2, "placement_group"),
    Route("DELETE", V2 + "/{group}", delete_group, "placement_group"),
)

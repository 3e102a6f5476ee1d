"""Servers of the Instance API v1: list, read, change, delete, user data. Creating them is in `server_create`,
switching them on and off in `server_actions`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator import effects
from reconciler.simulator.call import Call, nothing, optional_text, reply_v1, text
from reconciler.simulator.catalog import server_types
from reconciler.simulator.paging import Order, Selection, links, page_number, page_size
from reconciler.simulator.records import FlexibleIp, Server
from reconciler.simulator.render import attached_ips, server_v1
from reconciler.simulator.rooms.server_common import BASE, RESOURCE, answer, attach_ip, fetch, locked
from reconciler.simulator.rooms.server_volumes import apply_volume_map, check_volume_map
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Query, Response, bad_request, invalid, not_found, precondition, transient


def list_servers(call: Call) -> Response:
    query = call.query
    size, page = page_size(query, "per_page"), page_number(query)
    wanted = set((query.first("tags") or "").split(",")) - {""}
    keys, projects = call.narrow(call.keys_in(call.zone, "project"), place=call.zone, tags=wanted, any_of=False)
    selection = Selection(call.world.servers, keys, _order(query), _filter(call, wanted, projects))
    total, part = selection.cut(offset=(page - 1) * size, limit=size)
    body = {"servers": [server_v1(call.world, server) for server in part]}
    return reply_v1(body, headers=links(query, path="/servers", page=page, size=size, total=total))


def _order(query: Query) -> Order[Server]:
    wanted = query.first("order") or "creation_date_desc"
    if wanted not in {f"{key}_date_{way}" for key in ("creation", "modification") for way in ("asc", "desc")}:
        raise invalid("order", "constraint", "not a valid value")
    by: Callable[[Server], str | int] | None = None
    if wanted.startswith("modification"):
        by = lambda server: server.updated_ms  # noqa: E731
    return Order(wanted.endswith("_desc"), by)


def _filter(call: Call, tags: set[str], projects: frozenset[str] | None) -> Callable[[Server], bool] | None:
    """Names match as substrings; several tags in one comma-joined parameter must all be there."""
    query, world, tests = call.query, call.world, list[Callable[[Server], bool]]()
    if (name := query.first("name")) is not None:
        tests.append(lambda server: name in server.name)
    if tags:
        tests.append(lambda server: tags <= set(server.tags))
    if projects is not None:
        tests.append(lambda server: server.project in projects)
    if (state := query.first("state")) is not None:
        tests.append(lambda server: server.state == state)
    if (kind := query.first("commercial_type")) is not None:
        tests.append(lambda server: server.commercial_type == kind)
    if ids := query.first("servers"):
        chosen = set(ids.split(","))
        tests.append(lambda server: server.id in chosen)
    networks = {*(query.first("private_networks") or "").split(","), query.first("private_network") or ""} - {""}
    if networks:
        inside = {nic.server for network in networks for nic in world.nics.under("network", network)}
        tests.append(lambda server: server.id in inside)
    if (mac := query.first("private_nic_mac_address")) is not None:
        tests.append(
            lambda server: any(nic.mac_address == mac.lower() for nic in world.nics.under("server", server.id))
        )
    if (address := query.first("with_ip")) is not None:
        tests.append(lambda server: any(address in (ip.address or "") for ip in world.ips.under("server", server.id)))
    if (without := query.flag("without_ip")) is not None:
        tests.append(lambda server: (world.ips.count("server", server.id) == 0) == without)
    if not tests:
        return None
    return lambda server: all(test(server) for test in tests)


def get_server(call: Call) -> Response:
    return answer(call, fetch(call).id)


def update_server(call: Call) -> Response:
    """Only the keys sent change. `volumes` is the whole map: what is missing from it is detached."""
    server, body = fetch(call), call.body
    changes = {**_plain_changes(call), **_linked_changes(call, server)}
    # Everything is checked before anything is changed: a refused PATCH leaves no half of itself.
    ips = _wanted_ips(call, body["public_ips"]) if "public_ips" in body else None
    if "volumes" in body:
        check_volume_map(call, server, body["volumes"])
    server = call.world.servers.put(replace(server, **changes, updated_ms=call.now_ms))
    if "volumes" in body:
        server = apply_volume_map(call, server, body["volumes"])
    if ips is not None:
        _replace_ips(call, server, ips)
    return answer(call, server.id)


def _plain_changes(call: Call) -> dict[str, Any]:
    body = call.body
    changes: dict[str, Any] = {name: text(body, name) for name in ("name", "boot_type") if body.get(name)}
    for name in ("protected", "dynamic_ip_required"):
        if isinstance(body.get(name), bool):
            changes[name] = body[name]
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    if "admin_password_encryption_ssh_key_id" in body:
        changes["admin_key"] = optional_text(body, "admin_password_encryption_ssh_key_id")
    return changes


def _linked_changes(call: Call, server: Server) -> dict[str, Any]:
    """What points at something else, and the type, which only a stopped server can change."""
    body, changes = call.body, dict[str, Any]()
    if "placement_group" in body:
        changes["placement_group"] = _placement(call, body["placement_group"])
    if isinstance(body.get("security_group"), dict):
        group = call.world.security_groups.get(body["security_group"].get("id"))
        if group is None:
            raise not_found("instance_security_group", str(body["security_group"].get("id")))
        changes["security_group"] = group.id
    if body.get("commercial_type") and body["commercial_type"] != server.commercial_type:
        changes["commercial_type"] = _new_type(server, text(body, "commercial_type"))
    return changes


def _placement(call: Call, wanted: Any) -> str | None:
    if wanted is None:
        return None
    if not isinstance(wanted, str) or len(wanted) != 36:
        raise invalid("placement_group", "constraint", "not a valid value")
    if wanted not in call.world.placement_groups:
        raise not_found("instance_placement_group", wanted)
    return wanted


def _new_type(server: Server, wanted: str) -> str:
    if server.state != "stopped":
        raise bad_request("server should be stopped")
    if wanted not in server_types():
        raise invalid("commercial_type", "constraint", "not a valid value")
    return wanted


def _wanted_ips(call: Call, wanted: Any) -> list[FlexibleIp]:
    if not isinstance(wanted, list):
        raise invalid("public_ips", "format", "must be a list of ids")
    ips = []
    for item in wanted:
        ip_id = item.get("id") if isinstance(item, dict) else item
        ip = call.world.ips.get(str(ip_id))
        if ip is None:
            raise not_found("instance_ip", str(ip_id))
        ips.append(ip)
    return ips


def _replace_ips(call: Call, server: Server, wanted: list[FlexibleIp]) -> None:
    """The list sent is the whole list: others are detached (and kept), new ones attached in this order."""
    chosen = {ip.id for ip in wanted}
    for ip in attached_ips(call.world, server.id):
        if ip.id not in chosen and not ip.dynamic:
            effects.detach_ip(call.world, ip, now_ms=call.now_ms)
    for ip in wanted:
        if ip.server != server.id:
            attach_ip(call, ip, server)


def delete_server(call: Call) -> Response:
    """Only when stopped; `protected` does not stop it (terminate, it does). Everything that it had stays."""
    server = fetch(call)
    if server.state == "locked":
        raise locked(server)
    if server.state != "stopped":
        raise transient(RESOURCE, server.id, server.state)
    released_ms = call.due(call.timings.volume_release)
    effects.server_gone(call.world, server, now_ms=call.now_ms, keep_local=True, released_ms=released_ms)
    return nothing()


def list_user_data(call: Call) -> Response:
    return reply_v1({"user_data": sorted(key for key, _ in fetch(call).user_data)})


def get_user_data(call: Call) -> Response:
    """The raw bytes; a key that is missing is a 404 with an empty body and no JSON."""
    value = dict(fetch(call).user_data).get(call.params["key"])
    if value is None:
        return Response(status=404, headers={"Content-Type": "text/plain"})
    return Response(status=200, headers={"Content-Type": "text/plain"}, body=value)


def set_user_data(call: Call) -> Response:
    server = fetch(call)
    values = {**dict(server.user_data), call.params["key"]: call.request.body}
    if len(call.request.body) > 128 * 1024:
        raise precondition("user_data_too_big", "user data is limited to 128 KiB", status=400)
    call.world.servers.put(replace(server, user_data=tuple(sorted(values.items())), updated_ms=call.now_ms))
    return nothing()


def delete_user_data(call: Call) -> Response:
    server = fetch(call)
    values = dict(server.user_data)
    if values.pop(call.params["key"], None) is None:
        return Response(status=404, headers={"Content-Type": "text/plain"})
    call.world.servers.put(replace(server, user_data=tuple(sorted(values.items())), updated_ms=call.now_ms))
    return nothing()


def compatible_types(call: Call) -> Response:
    fetch(call)
    return reply_v1({"compatible_types": [], "total_count": 0})


ROUTES = (
    Route("GET", BASE, list_servers, "server", listing=True),
    Route("GET", BASE + "/{server}", get_server, "server"),
    Route("PATCH", BASE + "/{server}", update_server, "server"),
    Route("DELETE", BASE + "/{server}", delete_server, "server"),
    Route("GET", BASE + "/{server}/user_data", list_user_data, "server"),
    Route("GET", BASE + "/{server}/user_data/{key}", get_user_data, "server"),
    Route("PATCH", BASE + "/{server}/user_data/{key}", set_user_data, "server"),
    Route("PUT", BASE + "/{server}/user_data/{key}", set_user_data, "server"),
    Route("DELETE", BASE + "/{server}/user_data/{key}", delete_user_data, "server"),
    Route("GET", BASE + "/{server}/compatible-types", compatible_types, "server"),
)

"""Flexible IPs of the Instance API v1.

They have no creation date here and no order that a caller could choose; they outlive their server and are billed
while detached; releasing one to IPAM takes it out of this API and leaves it reserved, and billed, in IPAM.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator import effects
from reconciler.simulator.call import Call, nothing, optional_text, reply_v1, text
from reconciler.simulator.paging import Order, Selection, links, page_number, page_size
from reconciler.simulator.records import FlexibleIp
from reconciler.simulator.render import ip_v1
from reconciler.simulator.rooms.server_common import attach_ip
from reconciler.simulator.rooms.server_common import fetch as fetch_server
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Response, denied, invalid, not_found

BASE = "/instance/v1/zones/{zone}/ips"
RESOURCE = "instance_ip"
_TYPES = {"routed_ipv4", "routed_ipv6"}


def new_ip(call: Call, *, project: str, kind: str, tags: tuple[str, ...]) -> FlexibleIp:
    """A new address, with its entry in IPAM: the same id, except in worlds of before 2026."""
    ip_id = call.mint.uuid()
    v6 = kind == "routed_ipv6"
    ip = FlexibleIp(
        id=ip_id,
        zone=call.zone,
        project=project,
        address=None if v6 else call.mint.public_ipv4(call.world),
        prefix=call.mint.public_ipv6(call.world) if v6 else None,
        type=kind,
        tags=tags,
        ipam_id=call.mint.uuid() if call.world.options.ipam_id_differs else ip_id,
        created_ms=call.now_ms,
    )
    call.world.ips.put(ip)
    call.world.ipam.put(effects.ipam_entry(ip, region=call.zone.rsplit("-", 1)[0], created_ms=call.now_ms))
    return ip


def _fetch(call: Call) -> FlexibleIp:
    """By id or by address. What a deleted one answers differs: 404 as recorded, 403 as reported."""
    wanted = call.params["ip"]
    by_address = call.world.ips.under("address", wanted)
    ip_id = by_address[0].id if by_address else wanted
    ip = call.world.ips.get(ip_id)
    if ip is None or ip.dynamic:
        if call.world.options.deleted_ip_status == 403:
            raise denied("read", RESOURCE)
        raise not_found(RESOURCE, wanted)
    return call.fetch(call.world.ips, ip_id, place=call.zone, resource=RESOURCE)


def list_ips(call: Call) -> Response:
    query = call.query
    size, page = page_size(query, "per_page"), page_number(query)
    tags = set((query.first("tags") or "").split(",")) - {""}
    keys, projects = call.narrow(call.keys_in(call.zone, "project"), place=call.zone, tags=tags, any_of=False)
    selection = Selection(call.world.ips, keys, Order(True), _filter(call, tags, projects))
    total, part = selection.cut(offset=(page - 1) * size, limit=size)
    body = {"ips": [ip_v1(call.world, ip) for ip in part]}
    return reply_v1(body, headers=links(query, path="/ips", page=page, size=size, total=total))


def _filter(call: Call, tags: set[str], projects: frozenset[str] | None) -> Callable[[FlexibleIp], bool] | None:
    kind, name = call.query.first("type"), call.query.first("name")
    if not tags and kind is None and name is None:
        return None
    return lambda ip: (
        tags <= set(ip.tags)
        and (projects is None or ip.project in projects)
        and kind in (None, ip.type)
        and (name or "") in (ip.reverse or "")
    )


def create_ip(call: Call) -> Response:
    project = call.project_of_body("project", "organization")
    kind = text(call.body, "type", "routed_ipv4")
    if kind not in _TYPES:
        raise invalid("type", "constraint", "not a valid value")
    call.respect_quota(call.world.ips, place=call.zone, project=project)
    server = fetch_server(call, call.body["server"]) if call.body.get("server") else None
    ip = new_ip(call, project=project, kind=kind, tags=call.tags_of_body() or ())
    if server is not None:
        ip = attach_ip(call, ip, server)
    location = f"https://api.scaleway.com{call.request.path}/{ip.id}"
    return reply_v1({"ip": ip_v1(call.world, ip)}, 201, {"Location": location})


def get_ip(call: Call) -> Response:
    return reply_v1({"ip": ip_v1(call.world, _fetch(call))})


def update_ip(call: Call) -> Response:
    """`server` null detaches; a server's id attaches, and takes it from another one that has it."""
    ip, body = _fetch(call), call.body
    server = fetch_server(call, body["server"]) if body.get("server") else None
    changes: dict[str, Any] = {}
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    if "reverse" in body:
        changes["reverse"] = optional_text(body, "reverse")
    ip = call.world.ips.put(replace(ip, **changes))
    if server is not None and ip.server != server.id:
        ip = attach_ip(call, ip, server)
    elif "server" in body and not body["server"] and ip.server is not None:
        ip = effects.detach_ip(call.world, ip, now_ms=call.now_ms) or ip
    return reply_v1({"ip": ip_v1(call.world, ip)})


def delete_ip(call: Call) -> Response:
    """Accepted while attached, and while its server is being terminated."""
    effects.delete_ip(call.world, _fetch(call))
    return nothing()


def release_to_ipam(call: Call) -> Response:
    """Gone from here; still reserved and billed in IPAM."""
    ip = _fetch(call)
    if ip.server is not None:
        effects.detach_ip(call.world, ip, now_ms=call.now_ms)
    call.world.ips.remove(ip.id)
    return nothing()


ROUTES = (
    Route("GET", BASE, list_ips, "ip", listing=True),
    Route("POST", BASE, create_ip, "ip"),
    Route("GET", BASE + "/{ip}", get_ip, "ip"),
    Route("PATCH", BASE + "/{ip}", update_ip, "ip"),
    Route("DELETE", BASE + "/{ip}", delete_ip, "ip"),
    Route("POST", BASE + "/{ip}/release-to-ipam", release_to_ipam, "ip"),
)

"""Servers of v2alpha1: list, read, change, power, and the two deletions with selectors.

Assumptions throughout (no recording holds these calls), after the published documentation: addresses and volumes are
kept unless a selector names them, interfaces are deleted unless kept; `delete_all_x` excludes `delete_x_ids`; and both
`delete_all_ips` and `delete_all_volumes` in one request are refused with 400, with nothing done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reconciler.simulator import effects
from reconciler.simulator.call import Call, nothing, reply, strings, text
from reconciler.simulator.paging import Order, Selection, next_token, page_size, token_offset
from reconciler.simulator.records import Server
from reconciler.simulator.rooms.server_actions import begin_end, check, power_off, power_on, reboot
from reconciler.simulator.rooms.server_common import RESOURCE, fetch, locked, macs_of
from reconciler.simulator.rooms.server_v2_view import show, summary_v2
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Response, invalid, not_found, transient

BASE = "/instance/v2alpha1/zones/{zone}/servers"


def list_servers(call: Call) -> Response:
    query = call.query
    size, offset = page_size(query, "page_size"), token_offset(query)
    wanted = query.first("order_by") or "created_at_desc"
    orders = {
        "created_at_desc": Order[Server](True),
        "created_at_asc": Order[Server](False),
        "updated_at_desc": Order[Server](True, lambda server: server.updated_ms),
        "updated_at_asc": Order[Server](False, lambda server: server.updated_ms),
    }
    if wanted not in orders:
        raise invalid("order_by", "constraint", "not a valid value")
    tags = set(query.all("tags"))
    keys, projects = call.narrow(call.keys_in(call.zone, "project_id"), place=call.zone, tags=tags, any_of=True)
    accept = _filter(call, tags, projects)
    total, part = Selection(call.world.servers, keys, orders[wanted], accept).cut(offset=offset, limit=size)
    body = {"servers": [summary_v2(call.world, server) for server in part], "total_count": total}
    return reply({**body, **next_token(offset, size, total)})


def _filter(call: Call, tags: set[str], projects: frozenset[str] | None) -> Callable[[Server], bool] | None:
    query, world, tests = call.query, call.world, list[Callable[[Server], bool]]()
    if (name := query.first("name")) is not None:
        tests.append(lambda server: name in server.name)
    if tags:
        tests.append(lambda server: bool(tags & set(server.tags)))
    if projects is not None:
        tests.append(lambda server: server.project in projects)
    if ids := set(query.all("server_ids")):
        tests.append(lambda server: server.id in ids)
    if (kind := query.first("server_type")) is not None:
        tests.append(lambda server: server.commercial_type == kind)
    if groups := set(query.all("security_group_ids")):
        tests.append(lambda server: server.security_group in groups)
    if placements := set(query.all("placement_group_ids")):
        tests.append(lambda server: server.placement_group in placements)
    if networks := set(query.all("private_network_ids")):
        tests.append(
            lambda server: any(nic.private_network in networks for nic in world.nics.under("server", server.id))
        )
    if macs := {value.lower() for value in query.all("mac_addresses")}:
        tests.append(lambda server: bool(macs & macs_of(world, server)))
    return (lambda server: all(test(server) for test in tests)) if tests else None


def get_server(call: Call) -> Response:
    return show(call, fetch(call).id)


def update_server(call: Call) -> Response:
    server, body = fetch(call), call.body
    changes: dict[str, Any] = {"name": text(body, "name", server.name)}
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    if isinstance(body.get("protected"), bool):
        changes["protected"] = body["protected"]
    call.world.servers.put(replace(server, **changes, updated_ms=call.now_ms))
    return show(call, server.id)


def _power(action: str, do: Callable[[Call, Server], None]) -> Callable[[Call], Response]:
    def handler(call: Call) -> Response:
        server = fetch(call)
        check(server, action)
        do(call, server)
        return show(call, server.id)

    return handler


@dataclass(frozen=True, slots=True, kw_only=True)
class Selectors:
    """Which children go with the server. NICs go unless kept, or unless others are named."""

    ips: tuple[str, ...]
    volumes: tuple[str, ...]
    keep_nics: bool
    nics: tuple[str, ...]


def _selectors(call: Call, server: Server, given: Mapping[str, Any]) -> Selectors:
    """Raises 400 before anything is done."""
    all_ips, all_volumes = bool(given.get("delete_all_ips")), bool(given.get("delete_all_volumes"))
    ip_ids = strings(given.get("delete_ip_ids") or [], "delete_ip_ids")
    volume_ids = strings(given.get("delete_volume_ids") or [], "delete_volume_ids")
    keep_nics = bool(given.get("keep_all_private_nics"))
    nic_ids = strings(given.get("delete_private_nic_ids") or [], "delete_private_nic_ids")
    if all_ips and all_volumes:
        raise invalid("delete_all_volumes", "constraint", "cannot be set together with delete_all_ips")
    for both, name in (
        (all_ips and ip_ids, "delete_ip_ids"),
        (all_volumes and volume_ids, "delete_volume_ids"),
        (keep_nics and nic_ids, "delete_private_nic_ids"),
    ):
        if both:
            raise invalid(name, "constraint", "at most one of the pair can be set")
    attached = [ip.id for ip in call.world.ips.under("server", server.id) if not ip.dynamic]
    slots = [slot.volume for slot in server.slots]
    for name, wanted, held in (("delete_ip_ids", ip_ids, attached), ("delete_volume_ids", volume_ids, slots)):
        if strange := [item for item in wanted if item not in held]:
            raise invalid(name, "constraint", f"{strange[0]} is not attached to this server")
    return Selectors(
        ips=tuple(attached) if all_ips else ip_ids,
        volumes=tuple(slots) if all_volumes else volume_ids,
        keep_nics=keep_nics,
        nics=nic_ids,
    )


def stop_and_delete(call: Call) -> Response:
    """From running or paused. The answer is the server, on its way out."""
    server = fetch(call)
    chosen = _selectors(call, server, call.body)
    check(server, "terminate")
    _drop_nics(call, chosen)
    begin_end(
        call,
        server,
        keep_local=1,
        keep_nics=int(chosen.keep_nics or bool(chosen.nics)),
        ips=",".join(chosen.ips),
        volumes=",".join(chosen.volumes),
    )
    return show(call, server.id)


def delete_server(call: Call) -> Response:
    """Only when stopped. SBS volumes stay whatever the selectors say, unless the world's options say otherwise."""
    server, query = fetch(call), call.query
    flags = ("delete_all_ips", "delete_all_volumes", "keep_all_private_nics")
    lists = ("delete_ip_ids", "delete_volume_ids", "delete_private_nic_ids")
    given = {**{name: query.flag(name) for name in flags}, **{name: query.all(name) for name in lists}}
    chosen = _selectors(call, server, given)
    if server.state == "locked":
        raise locked(server)
    if server.state != "stopped":
        raise transient(RESOURCE, server.id, server.state)
    _drop_nics(call, chosen)
    keep_nics = chosen.keep_nics or bool(chosen.nics)
    effects.server_gone(
        call.world,
        server,
        now_ms=call.now_ms,
        keep_local=True,
        keep_nics=keep_nics,
        released_ms=call.due(call.timings.volume_release),
    )
    for ip_id in chosen.ips:
        ip = call.world.ips.get(ip_id)
        if ip is not None:
            effects.delete_ip(call.world, ip)
    for volume_id in chosen.volumes:
        call.world.volumes.remove(volume_id)
        if not call.world.options.v2_delete_keeps_sbs:
            call.world.block_volumes.remove(volume_id)
    return nothing()


def _drop_nics(call: Call, chosen: Selectors) -> None:
    for nic_id in chosen.nics:
        nic = call.world.nics.get(nic_id)
        if nic is None:
            raise not_found("instance_private_nic", nic_id)
        effects.delete_nic(call.world, nic, now_ms=call.now_ms)


ROUTES = (
    Route("GET", BASE, list_servers, "server", listing=True),
    Route("GET", BASE + "/{server}", get_server, "server"),
    Route("PATCH", BASE + "/{server}", update_server, "server"),
    Route("DELETE", BASE + "/{server}", delete_server, "server"),
    Route("POST", BASE + "/{server}/stop-and-delete", stop_and_delete, "server"),
    Route("POST", BASE + "/{server}/start", _power("poweron", power_on), "server"),
    Route("POST", BASE + "/{server}/stop", _power("poweroff", lambda c, s: power_off(c, s, in_place=False)), "server"),
    Route(
        "POST", BASE + "/{server}/pause", _power("stop_in_place", lambda c, s: power_off(c, s, in_place=True)), "server"
    ),
    Route("POST", BASE + "/{server}/reboot", _power("reboot", reboot), "server"),
)

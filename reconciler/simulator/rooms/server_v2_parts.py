"""What v2alpha1 hangs on a server besides interfaces: user data, volumes, addresses.

User data travels as base64 in JSON, as recorded for templates; for servers it is an assumption that nothing differs.
The volumes and addresses are those of v1, with the same transitions.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace

from reconciler.simulator import effects
from reconciler.simulator.call import Call, nothing, reply, text
from reconciler.simulator.paging import next_token, page_size, token_offset
from reconciler.simulator.records import FlexibleIp, Server
from reconciler.simulator.rooms.server_common import attach_ip as give_ip
from reconciler.simulator.rooms.server_common import fetch
from reconciler.simulator.rooms.server_v2_view import show
from reconciler.simulator.rooms.server_volumes import attach_any, detach_any, free_slot
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Response, bad_request, invalid, not_found, precondition

BASE = "/instance/v2alpha1/zones/{zone}/servers/{server}"
_MAX_DATA = 128 * 1024


def list_keys(call: Call) -> Response:
    query, keys = call.query, sorted(key for key, _ in fetch(call).user_data)
    size, offset = page_size(query, "page_size"), token_offset(query)
    body = {"keys": keys[offset : offset + size], "total_count": len(keys)}
    return reply({**body, **next_token(offset, size, len(keys))})


def get_data(call: Call) -> Response:
    key = call.params["key"]
    value = dict(fetch(call).user_data).get(key)
    if value is None:
        raise not_found("user_data", key)
    return reply({"key": key, "content": base64.b64encode(value).decode()})


def set_data(call: Call) -> Response:
    server = fetch(call)
    try:
        value = base64.b64decode(text(call.body, "content", ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid("content", "format", "must be base64") from error
    if len(value) > _MAX_DATA:
        raise precondition("user_data_too_big", "user data is limited to 128 KiB", status=400)
    _put_data(call, server, {**dict(server.user_data), call.params["key"]: value})
    return nothing()


def delete_data(call: Call) -> Response:
    server = fetch(call)
    values = dict(server.user_data)
    if values.pop(call.params["key"], None) is None:
        raise not_found("user_data", call.params["key"])
    _put_data(call, server, values)
    return nothing()


def _put_data(call: Call, server: Server, values: dict[str, bytes]) -> None:
    call.world.servers.put(replace(server, user_data=tuple(sorted(values.items())), updated_ms=call.now_ms))


def attach_volume(call: Call) -> Response:
    server, volume_id = fetch(call), text(call.body, "volume_id")
    attach_any(call, server, volume_id, key=free_slot(server, volume_id), boot=False, at_once=False)
    return show(call, server.id)


def detach_volume(call: Call) -> Response:
    server, volume_id = fetch(call), text(call.body, "volume_id")
    if all(slot.volume != volume_id for slot in server.slots):
        raise invalid("volume_id", "constraint", f"Volume {volume_id} is not attached to this server")
    detach_any(call, server, volume_id)
    return show(call, server.id)


def _ip(call: Call) -> FlexibleIp:
    return call.fetch(call.world.ips, text(call.body, "ip_id"), place=call.zone, resource="instance_ip")


def attach_ip(call: Call) -> Response:
    """`move_allowed`: also from another server that has it."""
    server, ip = fetch(call), _ip(call)
    if ip.server == server.id:
        return show(call, server.id)
    if ip.server is not None and not call.body.get("move_allowed"):
        raise bad_request(f"IP {ip.id} is already attached to a server")
    give_ip(call, ip, server)
    return show(call, server.id)


def detach_ip(call: Call) -> Response:
    server, ip = fetch(call), _ip(call)
    if ip.server != server.id:
        raise invalid("ip_id", "constraint", f"{ip.id} is not attached to this server")
    effects.detach_ip(call.world, ip, now_ms=call.now_ms)
    return show(call, server.id)


ROUTES = (
    Route("GET", BASE + "/user-data", list_keys, "server"),
    Route("GET", BASE + "/user-data/{key}", get_data, "server"),
    Route("PUT", BASE + "/user-data/{key}", set_data, "server"),
    Route("DELETE", BASE + "/user-data/{key}", delete_data, "server"),
    Route("POST", BASE + "/attach-volume", attach_volume, "server"),
    Route("POST", BASE + "/detach-volume", detach_volume, "server"),
    Route("POST", BASE + "/attach-ip", attach_ip, "server"),
    Route("POST", BASE + "/detach-ip", detach_ip, "server"),
)

"""Power: the Instance API v1's actions.

`terminate` needs a running server (or one stopped in place) and a stopped one refuses it; `DELETE` needs a stopped
one. A protected server refuses power actions, with 400 and not 412. Tasks are fakes: id zeros, "pending" for ever.
"""

from __future__ import annotations

from dataclasses import replace

from reconciler.simulator import effects
from reconciler.simulator.call import Call, reply_v1, text
from reconciler.simulator.records import Server
from reconciler.simulator.records_static import Image
from reconciler.simulator.rooms import block_snapshots
from reconciler.simulator.rooms.server_common import BASE, RESOURCE, fetch, locked, task
from reconciler.simulator.rooms.snapshots import new_snapshot
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Response, bad_request, invalid, out_of_stock, precondition, time_v1, transient

_FROM = {
    "poweron": {"stopped", "stopped in place"},
    "poweroff": {"running", "stopped in place"},
    "stop_in_place": {"running"},
    "reboot": {"running", "stopped in place"},
    "terminate": {"running", "stopped in place"},
    "backup": {"running", "stopped", "stopped in place"},
}


def act(call: Call) -> Response:
    server, action = fetch(call), text(call.body, "action")
    if action not in _FROM:
        raise invalid("action", "constraint", "not a valid value")
    check(server, action)
    result = f"/servers/{server.id}"
    if action == "poweron":
        power_on(call, server)
    elif action == "backup":
        result = f"/images/{_backup(call, server).id}"
    elif action == "reboot":
        reboot(call, server)
    elif action == "terminate":
        begin_end(call, server)
    else:
        power_off(call, server, in_place=action == "stop_in_place")
    return reply_v1({"task": task(call, f"/servers/{server.id}/action", result)}, 202)


def check(server: Server, action: str) -> None:
    """Raise what the API refuses with: locked, transient, protected, wrong state. In this order."""
    if server.state == "locked":
        raise locked(server)
    if server.state in {"starting", "stopping"}:
        raise transient(RESOURCE, server.id, server.state)
    if server.protected and action in {"poweroff", "stop_in_place", "reboot", "terminate"}:
        raise precondition("protected_resource", "server is protected", status=400)
    if server.state not in _FROM[action]:
        needed = "stopped" if action == "poweron" else "running"
        raise bad_request(f"server should be {needed}")


def power_on(call: Call, server: Server) -> None:
    _respect_stock(call, server)
    local = any(slot.volume_type == "l_ssd" for slot in server.slots)
    seconds = call.timings.poweron_local if local else call.timings.poweron
    if server.state == "stopped in place":
        put(call, server, "starting", "stopped in place")
    else:
        put(call, server, "starting", "allocating node", located=False)
    # A node is found early where a local root must be copied to it, and late where there is nothing to copy.
    later(call, server, seconds * (0.2 if local else 0.7), "starting", "starting", "provisioning node")
    later(call, server, seconds, "starting", "running", "booting kernel")
    has_ip = call.world.ips.count("server", server.id) > 0
    if server.dynamic_ip_required and not has_ip:
        _dynamic_ip(call, server, seconds)


def _respect_stock(call: Call, server: Server) -> None:
    stock = dict(call.world.options.stock).get(f"{server.zone}/{server.commercial_type}")
    if stock is None:
        return
    used = sum(
        other.state != "stopped" and other.commercial_type == server.commercial_type
        for other in call.world.servers.under("in", server.zone)
    )
    if used >= stock:
        raise out_of_stock(server.commercial_type)


def _dynamic_ip(call: Call, server: Server, seconds: float) -> None:
    """It comes with the running server, not before, and is `pending` for a while."""
    call.world.schedule(
        call.due(seconds),
        "dynamic_ip",
        server.id,
        id=call.mint.uuid(),
        address=call.mint.public_ipv4(call.world),
        attached_ms=call.due(seconds + call.timings.ip_attach),
    )


def power_off(call: Call, server: Server, *, in_place: bool) -> None:
    if in_place:
        put(call, server, "stopping", "stopping in place")
        later(call, server, call.timings.standby, "stopping", "stopped in place", "stopped in place")
    else:
        put(call, server, "stopping", "stopping")
        later(call, server, call.timings.poweroff, "stopping", "stopped", "")
        # A dynamic address goes long before the machine is off.
        call.world.schedule(call.due(call.timings.poweroff * 0.05), "dynamic_gone", server.id)


def reboot(call: Call, server: Server) -> None:
    seconds = call.timings.reboot
    put(call, server, "stopping", "rebooting")
    later(call, server, seconds * 0.5, "stopping", "starting", "rebooting")
    later(call, server, seconds, "starting", "running", "booting kernel")


def begin_end(call: Call, server: Server, **what: str | int) -> None:
    """`stopping` / `terminating`, addresses gone from it at once, local volumes `deleting`; 404 when time is over."""
    put(call, server, "stopping", "terminating")
    for ip in call.world.ips.under("server", server.id):
        effects.detach_ip(call.world, ip, now_ms=call.now_ms)
    if not what.get("keep_local"):
        for volume in call.world.volumes.under("server", server.id):
            call.world.volumes.put(replace(volume, state="deleting", updated_ms=call.now_ms))
    call.world.schedule(call.due(call.timings.terminate), "server_gone", server.id, **what)


def _backup(call: Call, server: Server) -> Image:
    """An image over a snapshot of the root; the server goes on running."""
    name = f"image_{server.name}_{time_v1(call.now_ms)[:16].replace('T', '_').replace(':', '-')}"
    root = next((slot.volume for slot in server.slots if slot.key == "0"), None)
    snapshot_id, kind, size = _root_snapshot(call, root, name=f"{name}_snap_0")
    return call.world.images.put(
        Image(
            id=call.mint.uuid(),
            name=name,
            zone=server.zone,
            project=server.project,
            root_snapshot=snapshot_id,
            root_type=kind,
            root_size=size,
            root_name=f"{name}_snap_0",
            from_server=server.id,
            created_ms=call.now_ms,
            updated_ms=call.now_ms,
        )
    )


def _root_snapshot(call: Call, root: str | None, *, name: str) -> tuple[str, str, int]:
    """(id, type, size) of a new snapshot of the root, in the API that the volume lives in."""
    local, block = call.world.volumes.get(root), call.world.block_volumes.get(root)
    if local is not None:
        return new_snapshot(call, local, name=name, project=local.project, tags=()).id, "l_ssd", local.size
    if block is not None:
        made = block_snapshots.new_snapshot(call, block, name=name, project=block.project, tags=())
        return made.id, "sbs_snapshot", block.size
    raise bad_request("server has no root volume")


def put(call: Call, server: Server, state: str, detail: str, *, located: bool = True) -> None:
    call.world.servers.put(replace(server, state=state, state_detail=detail, located=located, updated_ms=call.now_ms))


def later(call: Call, server: Server, seconds: float, before: str, state: str, detail: str) -> None:
    args: dict[str, str | int] = {"from": before, "state": state, "detail": detail, "located": int(state != "stopped")}
    call.world.schedule(call.due(seconds), "server_state", server.id, **args)


ROUTES = (Route("POST", BASE + "/{server}/action", act, "server"),)

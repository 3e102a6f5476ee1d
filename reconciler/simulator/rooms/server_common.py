"""What the rooms about servers share: finding one, showing one, giving it an address."""

from __future__ import annotations

from typing import Final

from reconciler.simulator import effects
from reconciler.simulator.call import Call, reply_v1
from reconciler.simulator.records import FlexibleIp, Server
from reconciler.simulator.render import server_v1
from reconciler.simulator.wire import Json, Refusal, Response, not_found, time_v1
from reconciler.simulator.world import World

BASE: Final = "/instance/v1/zones/{zone}/servers"
RESOURCE: Final = "instance_server"


def fetch(call: Call, server_id: str | None = None) -> Server:
    """The server of the path, or one named elsewhere in the request."""
    wanted = call.params["server"] if server_id is None else server_id
    return call.fetch(call.world.servers, wanted, place=call.zone, resource=RESOURCE)


def answer(call: Call, server_id: str, *, status: int = 200) -> Response:
    """The server as it is now, in v1's envelope."""
    server = call.world.servers.get(server_id)
    if server is None:
        raise not_found(RESOURCE, server_id)
    location = {"Location": f"https://api.scaleway.com{call.request.path}/{server_id}"} if status == 201 else None
    return reply_v1({"server": server_v1(call.world, server)}, status, location)


def attach_ip(call: Call, ip: FlexibleIp, server: Server) -> FlexibleIp:
    """To a running server an address is `pending` for a while, to a stopped one `attached` at once."""
    state = "pending" if server.state == "running" else "attached"
    if state == "pending":
        call.world.schedule(call.due(call.timings.ip_attach), "ip_attached", ip.id)
    return effects.attach_ip(call.world, ip, server, state=state, now_ms=call.now_ms)


def macs_of(world: World, server: Server) -> set[str]:
    """Of its public interface and of its private ones."""
    return {server.mac_address.lower(), *(nic.mac_address.lower() for nic in world.nics.under("server", server.id))}


def locked(server: Server) -> Refusal:
    """A server that the provider has locked; only its support can unlock it."""
    body = {"type": "locked", "message": "resource is locked", "resource": RESOURCE, "resource_id": server.id}
    return Refusal(423, body)


def task(call: Call, href_from: str, href_result: str) -> Json:
    """What v1 calls a task: a fake that stays pending for ever and can be asked nothing."""
    return {
        "id": "00000000-0000-0000-0000-000000000000",
        "description": "fake task",
        "status": "pending",
        "href_from": href_from,
        "href_result": href_result,
        "started_at": time_v1(call.now_ms),
        "terminated_at": None,
        "progress": 0,
        "zone": call.zone,
    }

"""Private network interfaces, in two dialects over the same objects.

v1 hangs them under their server (`private_nics`), v2alpha1 makes them objects of their own. Attaching one to a running
server takes about a minute, to a stopped one no time. Without `ip_ids` two addresses are booked for it, one of each
family, and go with it; addresses that a person booked stay booked. Since September 2026 v2alpha1 refuses to delete an
attached interface (412) and wants `detach-private-network-interface` first; the world's options choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reconciler.simulator import effects
from reconciler.simulator.call import Call, nothing, reply, reply_v1, strings, text
from reconciler.simulator.paging import Order, Selection, links, next_token, page_number, page_size, token_offset
from reconciler.simulator.records import IpamIp, IpamResource, Nic, Server
from reconciler.simulator.records_static import PrivateNetwork
from reconciler.simulator.render import nic_v1, nic_v2
from reconciler.simulator.rooms.server_common import fetch as fetch_server
from reconciler.simulator.rooms.server_v2_view import show
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Response, bad_request, invalid, not_found, precondition

V1 = "/instance/v1/zones/{zone}/servers/{server}/private_nics"
V2 = "/instance/v2alpha1/zones/{zone}/private-network-interfaces"
V2_SERVER = "/instance/v2alpha1/zones/{zone}/servers/{server}"
RESOURCE = "instance_private_nic"


def _fetch(call: Call) -> Nic:
    nic = call.fetch(call.world.nics, call.params["nic"], place=call.zone, resource=RESOURCE)
    if "server" in call.params and nic.server != call.params["server"]:
        raise not_found(RESOURCE, nic.id)
    return nic


def _network(call: Call) -> PrivateNetwork:
    network = call.world.networks.get(text(call.body, "private_network_id"))
    if network is None or network.region != call.zone.rsplit("-", 1)[0]:
        raise not_found("private_network", str(call.body["private_network_id"]))
    return network


def _create(call: Call, server: Server, *, addresses: tuple[str, ...], project: str) -> Nic:
    network = _network(call)
    if any(nic.private_network == network.id for nic in call.world.nics.under("server", server.id)):
        raise bad_request("server is already attached to this private network")
    call.respect_quota(call.world.nics, place=call.zone, project=project)
    mac = call.mint.mac(call.world, "02:00").lower()
    nic_id = call.mint.uuid()
    resource = IpamResource(type="instance_private_nic", id=nic_id, mac_address=mac.upper(), name=server.name)
    booked = _chosen(call, network, addresses) or _booked(call, network)
    for address in booked:
        call.world.ipam.put(replace(address, resource=resource, updated_ms=call.now_ms))
    waiting = server.state in {"running", "starting"}
    nic = Nic(
        id=nic_id,
        private_network=network.id,
        zone=call.zone,
        project=project,
        server=server.id,
        mac_address=mac,
        state="attaching" if waiting else "available",
        ipam_ips=tuple(address.id for address in booked),
        tags=call.tags_of_body() or (),
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    if waiting:
        call.world.schedule(call.due(call.timings.nic_attach), "nic_available", nic_id)
    return call.world.nics.put(nic)


def _chosen(call: Call, network: PrivateNetwork, addresses: tuple[str, ...]) -> list[IpamIp]:
    chosen = []
    for address_id in addresses:
        address = call.world.ipam.get(address_id)
        if address is None or address.private_network != network.id:
            raise not_found("ip", address_id)
        if address.resource is not None:
            raise bad_request(f"IP {address_id} is already attached to a resource")
        chosen.append(address)
    return chosen


def _booked(call: Call, network: PrivateNetwork) -> list[IpamIp]:
    found = []
    for v6 in (False, True):
        address = effects.book_private(call.world, call.mint, network, v6=v6, booked=False, now_ms=call.now_ms)
        if address is not None:
            found.append(address)
    return found


def list_v1(call: Call) -> Response:
    """Oldest first, unlike everything else in v1."""
    server, query = fetch_server(call), call.query
    size, page = page_size(query, "per_page"), page_number(query)
    tags = set((query.first("tags") or "").split(",")) - {""}
    accept: Callable[[Nic], bool] | None = (lambda nic: tags <= set(nic.tags)) if tags else None
    keys = () if call.hidden else (("server", server.id),)
    total, part = Selection(call.world.nics, keys, Order(False), accept).cut(offset=(page - 1) * size, limit=size)
    path = f"/servers/{server.id}/private_nics"
    headers = links(query, path=path, page=page, size=size, total=total)
    return reply_v1({"private_nics": [nic_v1(nic) for nic in part]}, headers=headers)


def create_v1(call: Call) -> Response:
    server = fetch_server(call)
    addresses = strings(call.body.get("ipam_ip_ids") or [], "ipam_ip_ids")
    nic = _create(call, server, addresses=addresses, project=server.project)
    return reply_v1({"private_nic": nic_v1(nic)}, 201)  # the one create of v1 without a Location


def get_v1(call: Call) -> Response:
    fetch_server(call)
    return reply_v1({"private_nic": nic_v1(_fetch(call))})


def update_v1(call: Call) -> Response:
    """Without an envelope, as the SDK reads it: the one answer of v1 that has none."""
    return reply_v1(nic_v1(_set_tags(call)))


def delete_v1(call: Call) -> Response:
    effects.delete_nic(call.world, _fetch(call), now_ms=call.now_ms)
    return nothing()


def list_v2(call: Call) -> Response:
    query = call.query
    size, offset = page_size(query, "page_size"), token_offset(query)
    wanted = query.first("order_by") or "created_at_desc"
    orders = {
        "created_at_desc": Order[Nic](True),
        "created_at_asc": Order[Nic](False),
        "updated_at_desc": Order[Nic](True, lambda nic: nic.updated_ms),
        "updated_at_asc": Order[Nic](False, lambda nic: nic.updated_ms),
    }
    if wanted not in orders:
        raise invalid("order_by", "constraint", "not a valid value")
    keys = call.keys_in(call.zone, "project_id")
    servers, networks = query.all("server_ids"), set(query.all("private_network_ids"))
    tags, tests = set(query.all("tags")), list[Callable[[Nic], bool]]()
    if servers and keys:
        # The index of the servers named is smaller than any other; the scope is then a test.
        scope = set(keys)
        keys = tuple(("server", server) for server in dict.fromkeys(servers))
        tests.append(lambda nic: bool(scope & set(nic.index_keys())))
    else:
        keys, projects = call.narrow(keys, place=call.zone, tags=tags, any_of=True)
        if projects is not None:
            tests.append(lambda nic: nic.project in projects)
    if networks:
        tests.append(lambda nic: nic.private_network in networks)
    if tags:
        tests.append(lambda nic: bool(tags & set(nic.tags)))
    accept: Callable[[Nic], bool] | None = (lambda nic: all(test(nic) for test in tests)) if tests else None
    total, part = Selection(call.world.nics, keys, orders[wanted], accept).cut(offset=offset, limit=size)
    body = {"private_network_interfaces": [nic_v2(nic) for nic in part], "total_count": total}
    return reply({**body, **next_token(offset, size, total)})


def create_v2(call: Call) -> Response:
    project = call.project_of_body("project_id")
    server = fetch_server(call, text(call.body, "server_id"))
    addresses = strings(call.body.get("ip_ids") or [], "ip_ids")
    return reply(nic_v2(_create(call, server, addresses=addresses, project=project)))


def get_v2(call: Call) -> Response:
    return reply(nic_v2(_fetch(call)))


def update_v2(call: Call) -> Response:
    return reply(nic_v2(_set_tags(call)))


def _set_tags(call: Call) -> Nic:
    nic = _fetch(call)
    tags = call.tags_of_body()
    return nic if tags is None else call.world.nics.put(replace(nic, tags=tags, updated_ms=call.now_ms))


def delete_v2(call: Call) -> Response:
    nic = _fetch(call)
    if call.world.options.nic_delete_needs_detach and nic.server is not None:
        raise precondition("resource_still_in_use", "Can't delete a private network interface attached to a server")
    effects.delete_nic(call.world, nic, now_ms=call.now_ms)
    return nothing()


def detach(call: Call) -> Response:
    """The interface goes on existing, without a server."""
    server = fetch_server(call)
    nic = call.fetch(
        call.world.nics, text(call.body, "private_network_interface_id"), place=call.zone, resource=RESOURCE
    )
    if nic.server != server.id:
        raise bad_request("the private network interface is not attached to this server")
    call.world.nics.put(replace(nic, server=None, state="available", updated_ms=call.now_ms))
    return show(call, server.id)


def attach(call: Call) -> Response:
    server = fetch_server(call)
    nic = call.fetch(
        call.world.nics, text(call.body, "private_network_interface_id"), place=call.zone, resource=RESOURCE
    )
    if nic.server is not None:
        raise bad_request("the private network interface is already attached to a server")
    call.world.nics.put(replace(nic, server=server.id, updated_ms=call.now_ms))
    return show(call, server.id)


ROUTES = (
    Route("GET", V1, list_v1, "private_nic", listing=True),
    Route("POST", V1, create_v1, "private_nic"),
    Route("GET", V1 + "/{nic}", get_v1, "private_nic"),
    Route("PATCH", V1 + "/{nic}", update_v1, "private_nic"),
    Route("DELETE", V1 + "/{nic}", delete_v1, "private_nic"),
    Route("GET", V2, list_v2, "private_nic", listing=True),
    Route("POST", V2, create_v2, "private_nic"),
    Route("GET", V2 + "/{nic}", get_v2, "private_nic"),
    Route("PATCH", V2 + "/{nic}", update_v2, "private_nic"),
    Route("DELETE", V2 + "/{nic}", delete_v2, "private_nic"),
    Route("POST", V2_SERVER + "/detach-private-network-interface", detach, "private_nic"),
    Route("POST", V2_SERVER + "/attach-private-network-interface", attach, "private_nic"),
)

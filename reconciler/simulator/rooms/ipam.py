"""IPAM: every address, private and public, with its creation date and what it is attached to.

It is the second witness for public addresses: the Instance API does not say when one was made, nor show one that was
released to IPAM, which is billed all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator import effects
from reconciler.simulator.call import Call, nothing, optional_text, reply, text
from reconciler.simulator.paging import Order, Selection, page_number, page_size
from reconciler.simulator.records import IndexKey, IpamIp, IpamResource, Reverse
from reconciler.simulator.records_static import PrivateNetwork
from reconciler.simulator.render import SERVER_IPV6
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Json, Response, bad_request, invalid, not_found, precondition, time_z

BASE = "/ipam/v1/regions/{region}/ips"
RESOURCE = "ip"


def ipam_ip(item: IpamIp, *, fresh: bool = False) -> Json:
    """`fresh`: the answer to a change, which says nothing yet about reverses."""
    resource = item.resource
    shown = None
    if resource is not None:
        mac, name = resource.mac_address, resource.name
        shown = {"type": resource.type, "id": resource.id, "mac_address": mac, "name": name}
    return {
        "id": item.id,
        "address": item.address,
        "project_id": item.project,
        "is_ipv6": item.is_ipv6,
        "created_at": time_z(item.created_ms),
        "updated_at": time_z(item.updated_ms),
        "source": {"zonal": item.zone} if item.zone is not None else {"subnet_id": item.subnet},
        "resource": shown,
        "tags": list(item.tags),
        "reverses": []
        if fresh
        else [
            *_own_reverses(item),
            *({"address": entry.address, "hostname": entry.hostname} for entry in item.reverses),
        ],
        "region": item.region,
        "zone": item.zone,
    }


def _own_reverses(item: IpamIp) -> list[Json]:
    """What a server's public IPv6 has before anybody sets one: the prefix's name, and that of the server's address."""
    if item.zone is None or not item.is_ipv6 or item.resource is None:
        return []
    prefix = item.address.split("::")[0].replace(":", "-")
    server = f"{item.address.split('::')[0]}:{SERVER_IPV6}"
    turned = "-".join(reversed(server.split(":")))
    return [
        {"address": None, "hostname": f"{prefix}-0-0-0-0.rev.scw.cloud."},
        {"address": server, "hostname": f"{turned}.instances.scw.cloud."},
    ]


def _fetch(call: Call) -> IpamIp:
    return call.fetch(call.world.ipam, call.params["ip"], place=call.region, resource=RESOURCE)


def list_ips(call: Call) -> Response:
    query = call.query
    size, page = page_size(query, "page_size"), page_number(query)
    wanted = query.first("order_by") or "created_at_desc"
    orders = {
        "created_at_desc": Order[IpamIp](True),
        "created_at_asc": Order[IpamIp](False),
        "updated_at_desc": Order[IpamIp](True, lambda item: item.updated_ms),
        "updated_at_asc": Order[IpamIp](False, lambda item: item.updated_ms),
        "ip_address_asc": Order[IpamIp](False, lambda item: item.address),
        "ip_address_desc": Order[IpamIp](True, lambda item: item.address),
    }
    if wanted not in orders:
        raise invalid("order_by", "constraint", "not a valid value")
    keys, scope = call.keys_in(call.region, "project_id"), None
    for name, index in (("resource_id", "resource"), ("private_network_id", "network")):
        value = query.first(name)
        if value is not None and keys and scope is None:
            # The provider asks for each interface by itself: the index of that one is what keeps it cheap.
            keys, scope = ((index, value),), frozenset(keys)
    projects = None
    if scope is None:
        tags = set(query.all("tags"))
        keys, projects = call.narrow(keys, place=call.region, tags=tags, any_of=True)
    accept = _filter(call, scope, projects)
    total, part = Selection(call.world.ipam, keys, orders[wanted], accept).cut(offset=(page - 1) * size, limit=size)
    return reply({"total_count": total, "ips": [ipam_ip(item) for item in part]})


def _filter(
    call: Call, scope: frozenset[IndexKey] | None, projects: frozenset[str] | None
) -> Callable[[IpamIp], bool] | None:
    """Every parameter sent must fit; of a repeated one, any value."""
    tests = [*_place_tests(call), *_resource_tests(call)]
    query = call.query
    if scope is not None:
        tests.append(lambda item: bool(scope & set(item.index_keys())))
    if projects is not None:
        tests.append(lambda item: item.project in projects)
    if (v6 := query.flag("is_ipv6")) is not None:
        tests.append(lambda item: item.is_ipv6 == v6)
    if tags := set(query.all("tags")):
        tests.append(lambda item: bool(tags & set(item.tags)))
    if chosen := set(query.all("ip_ids")):
        tests.append(lambda item: item.id in chosen)
    return (lambda item: all(test(item) for test in tests)) if tests else None


def _place_tests(call: Call) -> list[Callable[[IpamIp], bool]]:
    query, world, tests = call.query, call.world, list[Callable[[IpamIp], bool]]()
    if (network := query.first("private_network_id")) is not None:
        tests.append(lambda item: item.private_network == network)
    if (vpc := query.first("vpc_id")) is not None:
        inside = {item.id for item in world.networks.under("vpc", vpc)}
        tests.append(lambda item: item.private_network in inside)
    if (subnet := query.first("subnet_id")) is not None:
        tests.append(lambda item: item.subnet == subnet)
    if (zonal := query.first("zonal")) is not None:
        tests.append(lambda item: item.zone == zonal)
    return tests


def _resource_tests(call: Call) -> list[Callable[[IpamIp], bool]]:
    query, tests = call.query, list[Callable[[IpamIp], bool]]()
    if ids := {value for name in ("resource_id", "resource_ids") for value in query.all(name)}:
        tests.append(lambda item: item.resource is not None and item.resource.id in ids)
    if kinds := _kinds(call):
        tests.append(lambda item: item.resource is not None and item.resource.type in kinds)
    if (attached := query.flag("attached")) is not None:
        tests.append(lambda item: (item.resource is not None) == attached)
    if (name := query.first("resource_name")) is not None:
        tests.append(lambda item: item.resource is not None and name in (item.resource.name or ""))
    if (mac := query.first("mac_address")) is not None:
        wanted = mac.upper()
        tests.append(lambda item: item.resource is not None and (item.resource.mac_address or "").upper() == wanted)
    return tests


def _kinds(call: Call) -> set[str]:
    """`unknown_type` is how clients say that any type will do."""
    named = {*call.query.all("resource_type"), *call.query.all("resource_types")}
    return named - {"unknown_type"}


def create_ip(call: Call) -> Response:
    body = call.body
    project = call.project_of_body("project_id")
    call.respect_quota(call.world.ipam, place=call.region, project=project)
    network = _network(call)
    address = body.get("address")
    booked = effects.book_private(
        call.world,
        call.mint,
        network,
        v6=bool(body.get("is_ipv6", False)),
        booked=True,
        now_ms=call.now_ms,
        address=None if not address else str(address).split("/")[0],
        tags=call.tags_of_body() or (),
    )
    if booked is None:
        raise invalid("address", "constraint", "the address is not free in this subnet")
    resource = _custom(body.get("resource"))
    return reply(ipam_ip(call.world.ipam.put(replace(booked, project=project, resource=resource))))


def _network(call: Call) -> PrivateNetwork:
    source = call.body.get("source")
    if not isinstance(source, dict):
        raise invalid("source", "required", "a source is needed")
    network_id = source.get("private_network_id")
    if network_id is None and source.get("subnet_id") is not None:
        for network in call.world.networks.under("in", call.region):
            if any(subnet.id == source["subnet_id"] for subnet in network.subnets):
                return network
        raise not_found("subnet", str(source["subnet_id"]))
    if network_id is None:
        raise invalid("source", "constraint", "only private networks and subnets can be sources")
    return call.fetch(call.world.networks, str(network_id), place=call.region, resource="private_network")


def _custom(given: Any) -> IpamResource | None:
    """A resource of the user's own: a MAC address, and perhaps a name."""
    if not isinstance(given, dict):
        return None
    mac = text(given, "mac_address")
    return IpamResource(type="custom", id=mac.lower(), mac_address=mac.upper(), name=optional_text(given, "name"))


def get_ip(call: Call) -> Response:
    return reply(ipam_ip(_fetch(call)))


def update_ip(call: Call) -> Response:
    item = _fetch(call)
    changes: dict[str, Any] = {}
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    if isinstance(call.body.get("reverses"), list):
        given = [entry for entry in call.body["reverses"] if isinstance(entry, dict)]
        changes["reverses"] = tuple(
            Reverse(hostname=text(entry, "hostname"), address=optional_text(entry, "address")) for entry in given
        )
    return reply(ipam_ip(call.world.ipam.put(replace(item, **changes, updated_ms=call.now_ms)), fresh=True))


def delete_ip(call: Call) -> Response:
    """Refused while a product holds it. A public one that the Instance API still shows goes from both."""
    item = _fetch(call)
    if item.resource is not None and item.resource.type != "custom":
        raise precondition("resource_still_in_use", "IP must be detached to be released")
    call.world.ipam.remove(item.id)
    for ip in call.world.ips.under("ipam", item.id):
        call.world.ips.remove(ip.id)
    return nothing()


def attach(call: Call) -> Response:
    item = _fetch(call)
    if item.resource is not None:
        raise bad_request("IP is already attached to a resource")
    return _put_resource(call, item, _custom(call.body.get("resource")))


def detach(call: Call) -> Response:
    return _put_resource(call, _fetch(call), None)


def move(call: Call) -> Response:
    return _put_resource(call, _fetch(call), _custom(call.body.get("to_resource")))


def _put_resource(call: Call, item: IpamIp, resource: IpamResource | None) -> Response:
    return reply(ipam_ip(call.world.ipam.put(replace(item, resource=resource, updated_ms=call.now_ms))))


ROUTES = (
    Route("GET", BASE, list_ips, "ipam_ip", listing=True),
    Route("POST", BASE, create_ip, "ipam_ip"),
    Route("GET", BASE + "/{ip}", get_ip, "ipam_ip"),
    Route("PATCH", BASE + "/{ip}", update_ip, "ipam_ip"),
    Route("DELETE", BASE + "/{ip}", delete_ip, "ipam_ip"),
    Route("POST", BASE + "/{ip}/attach", attach, "ipam_ip"),
    Route("POST", BASE + "/{ip}/detach", detach, "ipam_ip"),
    Route("POST", BASE + "/{ip}/move", move, "ipam_ip"),
)

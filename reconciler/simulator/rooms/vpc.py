"""VPCs and private networks. Whatever still has an interface or an address in it cannot be deleted (412)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator import effects
from reconciler.simulator.call import Call, nothing, reply, strings, text
from reconciler.simulator.paging import Order, Selection, page_number, page_size
from reconciler.simulator.records_static import PrivateNetwork, Subnet, Vpc
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Json, Query, Response, invalid, precondition, time_z
from reconciler.simulator.world import World

VPCS = "/vpc/v2/regions/{region}/vpcs"
NETWORKS = "/vpc/v2/regions/{region}/private-networks"


def vpc_view(world: World, vpc: Vpc) -> Json:
    return {
        "id": vpc.id,
        "name": vpc.name,
        "tags": list(vpc.tags),
        "organization_id": world.organization,
        "created_at": time_z(vpc.created_ms),
        "updated_at": time_z(vpc.updated_ms),
        "project_id": vpc.project,
        "is_default": vpc.is_default,
        "private_network_count": world.networks.count("vpc", vpc.id),
        "routing_enabled": vpc.routing_enabled,
        "custom_routes_propagation_enabled": vpc.custom_routes,
        "transitivity_enabled": vpc.transitivity,
        "s3_integration_enabled": False,
        "region": vpc.region,
    }


def network_view(world: World, network: PrivateNetwork) -> Json:
    created, updated = time_z(network.created_ms), time_z(network.updated_ms)
    return {
        "id": network.id,
        "name": network.name,
        "tags": list(network.tags),
        "organization_id": world.organization,
        "created_at": created,
        "updated_at": updated,
        "project_id": network.project,
        "subnets": [
            {
                "id": subnet.id,
                "created_at": created,
                "updated_at": created,
                "subnet": subnet.subnet,
                "project_id": network.project,
                "private_network_id": network.id,
                "vpc_id": network.vpc,
                "region": network.region,
            }
            for subnet in network.subnets
        ],
        "vpc_id": network.vpc,
        "dhcp_enabled": True,
        "default_route_propagation_enabled": network.default_route_propagation,
        "has_s3_integration": False,
        "region": network.region,
    }


def _vpc(call: Call) -> Vpc:
    return call.fetch(call.world.vpcs, call.params["vpc"], place=call.region, resource="vpc")


def _network(call: Call) -> PrivateNetwork:
    return call.fetch(call.world.networks, call.params["network"], place=call.region, resource="private_network")


def _way(query: Query) -> tuple[bool, bool]:
    """(newest first, by name)."""
    wanted = query.first("order_by") or "created_at_asc"
    if wanted not in {"created_at_asc", "created_at_desc", "name_asc", "name_desc"}:
        raise invalid("order_by", "constraint", "not a valid value")
    return wanted.endswith("_desc"), wanted.startswith("name")


def list_vpcs(call: Call) -> Response:
    query = call.query
    size, page = page_size(query, "page_size"), page_number(query)
    tests = list[Callable[[Vpc], bool]]()
    if (name := query.first("name")) is not None:
        tests.append(lambda vpc: name in vpc.name)
    if (default := query.flag("is_default")) is not None:
        tests.append(lambda vpc: vpc.is_default == default)
    if tags := set(query.all("tags")):
        tests.append(lambda vpc: bool(tags & set(vpc.tags)))
    accept: Callable[[Vpc], bool] | None = (lambda vpc: all(test(vpc) for test in tests)) if tests else None
    newest, by_name = _way(query)
    order = Order[Vpc](newest, (lambda vpc: vpc.name) if by_name else None)
    total, part = Selection(call.world.vpcs, call.keys_in(call.region, "project_id"), order, accept).cut(
        offset=(page - 1) * size, limit=size
    )
    return reply({"total_count": total, "vpcs": [vpc_view(call.world, vpc) for vpc in part]})


def create_vpc(call: Call) -> Response:
    vpc = Vpc(
        id=call.mint.uuid(),
        name=text(call.body, "name", "vpc"),
        region=call.region,
        project=call.project_of_body("project_id"),
        tags=call.tags_of_body() or (),
        transitivity=bool(call.body.get("enable_transitivity", False)),
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    return reply(vpc_view(call.world, call.world.vpcs.put(vpc)))


def get_vpc(call: Call) -> Response:
    return reply(vpc_view(call.world, _vpc(call)))


def update_vpc(call: Call) -> Response:
    vpc = _vpc(call)
    changes: dict[str, Any] = {"name": text(call.body, "name", vpc.name)}
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    fresh = call.world.vpcs.put(replace(vpc, **changes, updated_ms=call.now_ms))
    return reply(vpc_view(call.world, fresh))


def delete_vpc(call: Call) -> Response:
    vpc = _vpc(call)
    if call.world.networks.count("vpc", vpc.id):
        raise precondition("resource_still_in_use", "VPC must be empty to be deleted")
    call.world.vpcs.remove(vpc.id)
    return nothing()


def enable(call: Call) -> Response:
    """Routing and the propagation of custom routes are on from the start and cannot be switched off."""
    return get_vpc(call)


def list_networks(call: Call) -> Response:
    query = call.query
    size, page = page_size(query, "page_size"), page_number(query)
    tests = list[Callable[[PrivateNetwork], bool]]()
    if (name := query.first("name")) is not None:
        tests.append(lambda network: name in network.name)
    if (vpc := query.first("vpc_id")) is not None:
        tests.append(lambda network: network.vpc == vpc)
    if tags := set(query.all("tags")):
        tests.append(lambda network: bool(tags & set(network.tags)))
    if ids := set(query.all("private_network_ids")):
        tests.append(lambda network: network.id in ids)
    accept: Callable[[PrivateNetwork], bool] | None = (
        (lambda network: all(test(network) for test in tests)) if tests else None
    )
    newest, by_name = _way(query)
    order = Order[PrivateNetwork](newest, (lambda network: network.name) if by_name else None)
    total, part = Selection(call.world.networks, call.keys_in(call.region, "project_id"), order, accept).cut(
        offset=(page - 1) * size, limit=size
    )
    return reply({"private_networks": [network_view(call.world, item) for item in part], "total_count": total})


def create_network(call: Call) -> Response:
    """In the project's default VPC unless told; with one subnet of each family unless told."""
    body, project = call.body, call.project_of_body("project_id")
    if body.get("vpc_id"):
        vpc = call.fetch(call.world.vpcs, text(body, "vpc_id"), place=call.region, resource="vpc")
    else:
        vpc = effects.default_vpc(call.world, call.mint, region=call.region, project=project, now_ms=call.now_ms)
    network = PrivateNetwork(
        id=call.mint.uuid(),
        name=text(body, "name", "private-network"),
        vpc=vpc.id,
        region=call.region,
        project=project,
        tags=call.tags_of_body() or (),
        subnets=_subnets(call, strings(body.get("subnets") or [], "subnets")),
        default_route_propagation=bool(body.get("default_route_propagation_enabled", False)),
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    return reply(network_view(call.world, call.world.networks.put(network)))


def _subnets(call: Call, wanted: tuple[str, ...]) -> tuple[Subnet, ...]:
    number = call.world.next_number()
    ranges = list(wanted)
    if not any(":" not in item for item in ranges):
        ranges.insert(0, f"172.{16 + number // 64 % 16}.{number % 64 * 4}.0/22")
    if not any(":" in item for item in ranges):
        ranges.append(f"fd5f:519c:6d46:{number % 0x10000:x}::/64")
    return tuple(Subnet(id=call.mint.uuid(), subnet=item) for item in ranges)


def get_network(call: Call) -> Response:
    return reply(network_view(call.world, _network(call)))


def update_network(call: Call) -> Response:
    network = _network(call)
    changes: dict[str, Any] = {"name": text(call.body, "name", network.name)}
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    if isinstance(call.body.get("default_route_propagation_enabled"), bool):
        changes["default_route_propagation"] = call.body["default_route_propagation_enabled"]
    fresh = call.world.networks.put(replace(network, **changes, updated_ms=call.now_ms))
    return reply(network_view(call.world, fresh))


def delete_network(call: Call) -> Response:
    network = _network(call)
    if call.world.nics.count("network", network.id) or call.world.ipam.count("network", network.id):
        raise precondition("resource_still_in_use", "Private Network must be empty to be deleted")
    call.world.networks.remove(network.id)
    return nothing()


ROUTES = (
    Route("GET", VPCS, list_vpcs, "vpc", listing=True),
    Route("POST", VPCS, create_vpc, "vpc"),
    Route("GET", VPCS + "/{vpc}", get_vpc, "vpc"),
    Route("PATCH", VPCS + "/{vpc}", update_vpc, "vpc"),
    Route("DELETE", VPCS + "/{vpc}", delete_vpc, "vpc"),
    Route("POST", VPCS + "/{vpc}/enable-routing", enable, "vpc"),
    Route("POST", VPCS + "/{vpc}/enable-custom-routes-propagation", enable, "vpc"),
    Route("GET", NETWORKS, list_networks, "private_network", listing=True),
    Route("POST", NETWORKS, create_network, "private_network"),
    Route("GET", NETWORKS + "/{network}", get_network, "private_network"),
    Route("PATCH", NETWORKS + "/{network}", update_network, "private_network"),
    Route("DELETE", NETWORKS + "/{network}", delete_network, "private_network"),
)

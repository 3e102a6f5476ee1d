"""Private networks: `POST .../private-networks`.

Subnets that the program does not declare are the API's choice. It also adds an IPv6 subnet to a network that declares
IPv4 alone, so each family is compared only where the program declares one. No VPC means the default one.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any, Final

from reconciler.engine.adoption.comparison import Comparison
from reconciler.engine.adoption.expectation import Expectation
from reconciler.engine.adoption.live import Live
from reconciler.engine.adoption.proofs.shared import Call, Reply, match
from reconciler.model.resources import Kind

_KEYS: Final = frozenset({"name", "project_id", "tags", "subnets", "vpc_id", "default_route_propagation_enabled"})


def read(live: Live, item: Expectation) -> dict[str, Any] | None:
    return live.find(f"/vpc/v2/regions/{item.ref.zone}/private-networks/{item.ref.id}")


def create(call: Call) -> Reply:
    _, network = match(call, Kind.PRIVATE_NETWORK, read=read, compare=compare)
    return Reply.json(200, network)


def compare(comparison: Comparison, body: Mapping[str, Any], network: Mapping[str, Any], live: Live | None) -> None:
    comparison.only(body, _KEYS)
    comparison.name(body.get("name"), network.get("name"))
    comparison.same("projectId", body.get("project_id"), network.get("project_id"))
    comparison.tags(body.get("tags"), network.get("tags"))
    key = "default_route_propagation_enabled"
    comparison.flag("enableDefaultRoutePropagation", body.get(key), network.get(key))
    _compare_subnets(comparison, body.get("subnets"), network.get("subnets") or [])
    if body.get("vpc_id") is not None:
        comparison.same("vpcId", body["vpc_id"], network.get("vpc_id"))
    elif live is not None:
        vpc = live.get(f"/vpc/v2/regions/{comparison.expectation.ref.zone}/vpcs/{network.get('vpc_id')}")
        if vpc.get("is_default") is not True:
            comparison.differ("vpcId", "nothing: the default VPC", network.get("vpc_id"))


def _compare_subnets(comparison: Comparison, declared: Any, present: list[Any]) -> None:
    wanted = [] if declared is None else declared
    if not isinstance(wanted, list):
        comparison.differ("ipv4Subnet", declared, "a list of subnets")
        return
    there = [str(item.get("subnet")) for item in present if isinstance(item, dict)]
    for version, path in ((4, "ipv4Subnet"), (6, "ipv6Subnets")):
        said, has = _of_version(wanted, version), _of_version(there, version)
        if said:
            comparison.same(path, said, has)
    strange = sorted(str(item) for item in wanted if _version(str(item)) is None)
    if strange:
        comparison.differ("ipv4Subnet", strange, "no subnet that can be compared")


def _version(subnet: str) -> int | None:
    try:
        return ip_network(subnet, strict=False).version
    except ValueError:
        return None


def _of_version(subnets: list[Any], version: int) -> list[str]:
    return sorted(str(ip_network(str(item), strict=False)) for item in subnets if _version(str(item)) == version)

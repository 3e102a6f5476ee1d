"""Addresses booked in IPAM: `POST .../ips`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from reconciler.engine.adoption.comparison import Comparison
from reconciler.engine.adoption.expectation import Expectation
from reconciler.engine.adoption.live import Live
from reconciler.engine.adoption.proofs.shared import Call, Reply, match
from reconciler.model.resources import Kind

_KEYS: Final = frozenset({"project_id", "source", "is_ipv6", "address", "tags", "resource"})
_CUSTOM: Final = "custom"


def read(live: Live, item: Expectation) -> dict[str, Any] | None:
    return live.find(f"/ipam/v1/regions/{item.ref.zone}/ips/{item.ref.id}")


def create(call: Call) -> Reply:
    _, address = match(call, Kind.IPAM, read=read, compare=compare)
    return Reply.json(200, address)


def compare(comparison: Comparison, body: Mapping[str, Any], address: Mapping[str, Any], live: Live | None) -> None:
    comparison.only(body, _KEYS)
    comparison.same("projectId", body.get("project_id"), address.get("project_id"))
    comparison.flag("isIpv6", body.get("is_ipv6"), address.get("is_ipv6"))
    comparison.tags(body.get("tags"), address.get("tags"))
    if body.get("address") is not None:
        comparison.same("address", _host(body["address"]), _host(address.get("address")))
    _compare_resource(comparison, body.get("resource"), address.get("resource"))
    _compare_source(comparison, body.get("source"), address.get("source"), live)


def _host(address: Any) -> str:
    """IPAM shows an address with the length of its subnet, and takes it without."""
    return str(address).partition("/")[0].lower()


def _compare_resource(comparison: Comparison, wanted: Any, present: Any) -> None:
    """A custom resource is the program's; whatever of Scaleway's own has the address came to it later."""
    has = present if isinstance(present, dict) and present.get("type") == _CUSTOM else None
    if not isinstance(wanted, dict):
        comparison.same("customResources", wanted, None if has is None else has.get("mac_address"))
        return
    comparison.only(wanted, {"mac_address", "name"}, inside="customResources.")
    mac = None if has is None else str(has.get("mac_address")).upper()
    comparison.same("customResources.macAddress", str(wanted.get("mac_address")).upper(), mac)
    comparison.same("customResources.name", wanted.get("name"), None if has is None else has.get("name"))


def _compare_source(comparison: Comparison, wanted: Any, present: Any, live: Live | None) -> None:
    said = wanted if isinstance(wanted, dict) else {}
    has = present if isinstance(present, dict) else {}
    comparison.only(said, {"private_network_id", "subnet_id", "zonal"}, inside="sources.")
    if len(said) != 1:
        comparison.differ("sources", "not exactly one source", has)
    elif "subnet_id" in said:
        comparison.same("sources.subnetId", said["subnet_id"], has.get("subnet_id"))
    elif "zonal" in said:
        comparison.same("sources.zonal", said["zonal"], has.get("zonal"))
    elif live is not None and "private_network_id" in said:
        _compare_network(comparison, said["private_network_id"], has, live)


def _compare_network(comparison: Comparison, network_id: Any, source: Mapping[str, Any], live: Live) -> None:
    """The program names a private network; IPAM names the subnet in it."""
    region = comparison.expectation.ref.zone
    network = live.find(f"/vpc/v2/regions/{region}/private-networks/{quote(str(network_id), safe='')}") or {}
    subnets = [item.get("id") for item in network.get("subnets") or [] if isinstance(item, dict)]
    if source.get("subnet_id") not in subnets:
        comparison.differ("sources.privateNetworkId", network_id, f"subnet {source.get('subnet_id')} of another")

"""Private NICs, in both dialects: as a resource of their own, and as a server's `privateNetworks`.

The second kind is no target; it belongs to the server that was just answered, and neither its addresses nor its tags
are the program's, so they are not compared. Which kind a call is shows in the body: a resource always sends lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reconciler.engine.adoption.comparison import Comparison
from reconciler.engine.adoption.expectation import Expectation
from reconciler.engine.adoption.live import Live
from reconciler.engine.adoption.proofs import server
from reconciler.engine.adoption.proofs.shared import UUID, Call, NotProvedError, Reply, match
from reconciler.model.resources import Kind

_KEYS_V2: Final = frozenset({"private_network_id", "project_id", "server_id", "ip_ids", "tags"})
_KEYS_V1: Final = frozenset({"private_network_id", "tags", "ip_ids", "ipam_ip_ids"})
_PATH_V1: Final = rf"/instance/v1/zones/[^/]+/servers/(?P<server>{UUID})/private_nics"


def _path_v2(zone: str, identity: str) -> str:
    return f"/instance/v2alpha1/zones/{zone}/private-network-interfaces/{identity}"


def read(live: Live, item: Expectation) -> dict[str, Any] | None:
    return live.find(_path_v2(item.ref.zone, item.ref.id))


def compare(comparison: Comparison, body: Mapping[str, Any], nic: Mapping[str, Any], _live: Live | None) -> None:
    comparison.only(body, _KEYS_V2)
    comparison.same("serverId", body.get("server_id"), nic.get("server_id"))
    comparison.same("privateNetworkId", body.get("private_network_id"), nic.get("private_network_id"))
    comparison.same("projectId", body.get("project_id"), nic.get("project_id"))
    comparison.tags(body.get("tags"), nic.get("tags"))
    if body.get("ip_ids") is not None and body["ip_ids"] != []:  # none: the API books two
        comparison.sequence("ipamIpIds", body["ip_ids"], nic.get("ip_ids"))


def create_v2(call: Call) -> Reply:
    body = call.body()
    owner = call.book.claimed(Kind.SERVER, call.place, str(body.get("server_id")).lower())
    if owner is not None and body.get("ip_ids") is None and body.get("tags") is None:
        return _of_server(call, owner, body)
    item, nic = match(call, Kind.NIC, read=read, compare=compare)
    call.book.note_nic(item.ref.id)
    return Reply.json(200, nic)


def _of_server(call: Call, owner: Expectation, body: Mapping[str, Any]) -> Reply:
    comparison = Comparison(owner)
    comparison.only(body, _KEYS_V2, inside="privateNetworks.")
    nic = _attached(call, owner, comparison, body.get("private_network_id"))
    found = {} if nic is None else call.live.get(_path_v2(owner.ref.zone, nic))
    if nic is not None:
        comparison.same("projectId", body.get("project_id"), found.get("project_id"))
    if comparison.differences or nic is None:
        raise NotProvedError(comparison.differences)
    call.book.note_nic(nic)
    return Reply.json(200, found)


def _attached(call: Call, owner: Expectation, comparison: Comparison, network: object) -> str | None:
    """The one NIC of a server in a network."""
    nics = (server.read(call.live, owner) or {}).get("private_nics") or []
    found = [nic for nic in nics if isinstance(nic, dict) and nic.get("private_network_id") == network]
    if len(found) == 1 and isinstance(found[0].get("id"), str):
        return str(found[0]["id"])
    comparison.differ("privateNetworks", f"a NIC in private network {network}", f"{len(found)} of them")
    return None


def create_v1(call: Call) -> Reply:
    """`POST .../servers/{id}/private_nics`: the same, in the older dialect."""
    identity, body = call.parts["id"].lower(), call.body()
    owner = call.book.claimed(Kind.SERVER, call.place, identity)
    bare = not body.get("ip_ids") and not body.get("ipam_ip_ids") and body.get("tags") is None
    if owner is not None and bare:
        comparison = Comparison(owner)
        comparison.only(body, _KEYS_V1, inside="privateNetworks.")
        nic = _attached(call, owner, comparison, body.get("private_network_id"))
        if comparison.differences or nic is None:
            raise NotProvedError(comparison.differences)
        call.book.note_nic(nic)
        return Reply.json(201, call.live.get(f"{server.path_of(owner)}/private_nics/{nic}"))
    item, found = match(call, Kind.NIC, read=_reader_v1(call.place, identity), compare=_compare_v1)
    call.book.note_nic(item.ref.id)
    return Reply.json(201, {"private_nic": found})


def _reader_v1(zone: str, server_id: str) -> Any:
    def read_v1(live: Live, item: Expectation) -> dict[str, Any] | None:
        found = live.find(f"/instance/v1/zones/{zone}/servers/{server_id}/private_nics/{item.ref.id}")
        nic = None if found is None else found.get("private_nic")
        return nic if isinstance(nic, dict) else None

    return read_v1


def _compare_v1(comparison: Comparison, body: Mapping[str, Any], nic: Mapping[str, Any], _live: Live | None) -> None:
    comparison.only(body, _KEYS_V1)
    comparison.same("privateNetworkId", body.get("private_network_id"), nic.get("private_network_id"))
    comparison.tags(body.get("tags"), nic.get("tags"))
    wanted = body.get("ipam_ip_ids") or body.get("ip_ids")
    if wanted:
        comparison.sequence("ipamIpIds", wanted, nic.get("ipam_ip_ids"))

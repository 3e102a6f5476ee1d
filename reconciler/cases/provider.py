"""What the Scaleway provider reads for one entry of a state, and what it makes of it.

Outputs are those that the comparison looks at (`diff/properties`), in Pulumi's names, made of the API's own answers:
the first state of a case and every later refresh come from here. A read goes through whoever carries it, so that the
gate of a refresh judges each answer as it does for the real provider.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

Get = Callable[[str], tuple[int, Any]]  # path -> status and decoded body (None when it is no JSON)

SERVER: Final = "scaleway:instance/server:Server"
IP: Final = "scaleway:instance/ip:Ip"
BLOCK: Final = "scaleway:block/volume:Volume"
LOCAL: Final = "scaleway:instance/volume:Volume"
NIC: Final = "scaleway:instance/privateNic:PrivateNic"
NETWORK: Final = "scaleway:network/privateNetwork:PrivateNetwork"
SNAPSHOT: Final = "scaleway:block/snapshot:Snapshot"
PLACEMENT: Final = "scaleway:instance/placementGroup:PlacementGroup"
SECURITY: Final = "scaleway:instance/securityGroup:SecurityGroup"

_STATES: Final = {"running": "started", "stopped": "stopped", "stopped in place": "standby"}
_GB: Final = 10**9
# Type -> (path of the resource, key of the answer that holds it).
_PATHS: Final[Mapping[str, tuple[str, str]]] = {
    SERVER: ("/instance/v1/zones/{place}/servers/{id}", "server"),
    IP: ("/instance/v1/zones/{place}/ips/{id}", "ip"),
    BLOCK: ("/block/v1/zones/{place}/volumes/{id}", ""),
    LOCAL: ("/instance/v1/zones/{place}/volumes/{id}", "volume"),
    NIC: ("/instance/v1/zones/{place}/servers/{parent}/private_nics/{id}", "private_nic"),
    NETWORK: ("/vpc/v2/regions/{place}/private-networks/{id}", ""),
    SNAPSHOT: ("/block/v1/zones/{place}/snapshots/{id}", ""),
    PLACEMENT: ("/instance/v1/zones/{place}/placement_groups/{id}", "placement_group"),
    SECURITY: ("/instance/v1/zones/{place}/security_groups/{id}", "security_group"),
}
TYPES: Final = frozenset(_PATHS)  # what this provider knows


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`outputs` None with `gone` True: the provider takes the entry out; with False: the read failed with `status`."""

    outputs: Mapping[str, Any] | None = None
    gone: bool = False
    status: int = 0


def read(type_token: str, pulumi_id: str, get: Get) -> Reading:
    """One resource, as the provider reads it: a 404 is gone, and so is a 403 on an IP (R009)."""
    place, *rest = pulumi_id.split("/")
    path, key = _PATHS[type_token]
    status, body = get(path.format(place=place, id=rest[-1], parent=rest[0]))
    if status == 404 or (status == 403 and type_token == IP):
        return Reading(gone=True, status=status)
    if status != 200 or not isinstance(body, Mapping):
        return Reading(status=status)
    found = body.get(key) if key else body
    if not isinstance(found, Mapping):
        return Reading(status=status)
    outputs = _OUTPUTS[type_token](found, place, get)
    return Reading(outputs=outputs, status=status) if outputs is not None else Reading(status=424)


def _server(found: Mapping[str, Any], zone: str, get: Get) -> Mapping[str, Any] | None:
    slots = dict(sorted(found["volumes"].items()))
    root = slots.pop("0", None)
    root_volume = None if root is None else _root(root, zone, get)
    if root is not None and root_volume is None:
        return None
    group, placement = found.get("security_group"), found.get("placement_group")
    image = found.get("image")
    return {
        "name": found["name"],
        "type": found["commercial_type"],
        "image": None if image is None else f"{zone}/{image['id']}",
        "tags": list(found["tags"]),
        "zone": zone,
        "state": _STATES.get(found["state"], found["state"]),
        "bootType": found["boot_type"],
        "enableDynamicIp": found["dynamic_ip_required"],
        "protected": found["protected"],
        "securityGroupId": None if group is None else f"{zone}/{group['id']}",
        "placementGroupId": "" if placement is None else f"{zone}/{placement['id']}",
        "publicIps": [
            {"id": f"{zone}/{one['id']}", "address": one["address"], "dynamic": one["dynamic"]}
            for one in found["public_ips"]
        ],
        "rootVolume": root_volume,
        "additionalVolumeIds": [f"{zone}/{slot['id']}" for slot in slots.values()],
        "privateNetworks": [
            {"pnId": f"{zone.rpartition('-')[0]}/{one['private_network_id']}"} for one in found["private_nics"]
        ],
        "projectId": found["project"],
        "organizationId": found["organization"],
    }


def _root(slot: Mapping[str, Any], zone: str, get: Get) -> Mapping[str, Any] | None:
    """The provider asks the Instance API first, and takes its 404 as `ask Block Storage`."""
    identity = slot["id"]
    status, body = get(f"/instance/v1/zones/{zone}/volumes/{identity}")
    if status == 200:
        volume = body["volume"]
        return {
            "volumeId": f"{zone}/{identity}",
            "name": volume["name"],
            "sizeInGb": volume["size"] // _GB,
            "volumeType": volume["volume_type"],
        }
    if status != 404:
        return None
    status, volume = get(f"/block/v1/zones/{zone}/volumes/{identity}")
    if status != 200:
        return None
    return {
        "volumeId": f"{zone}/{identity}",
        "name": volume["name"],
        "sizeInGb": volume["size"] // _GB,
        "volumeType": "sbs_volume",
        "sbsIops": volume["specs"]["perf_iops"],
    }


def _ip(found: Mapping[str, Any], zone: str, _: Get) -> Mapping[str, Any]:
    server = found.get("server")
    return {
        "address": found["address"],
        "prefix": found["prefix"],
        "type": found["type"],
        "tags": list(found["tags"]),
        "reverse": found["reverse"] or "",
        "serverId": "" if server is None else f"{zone}/{server['id']}",
        "zone": zone,
        "projectId": found["project"],
        "organizationId": found["organization"],
    }


def _block(found: Mapping[str, Any], zone: str, _: Get) -> Mapping[str, Any]:
    return {
        "name": found["name"],
        "sizeInGb": found["size"] // _GB,
        "iops": found["specs"]["perf_iops"],
        "tags": list(found["tags"]),
        "zone": zone,
        "projectId": found["project_id"],
    }


def _local(found: Mapping[str, Any], zone: str, _: Get) -> Mapping[str, Any]:
    return {
        "name": found["name"],
        "sizeInGb": found["size"] // _GB,
        "type": found["volume_type"],
        "tags": list(found["tags"]),
        "zone": zone,
        "projectId": found["project"],
    }


def _nic(found: Mapping[str, Any], zone: str, _: Get) -> Mapping[str, Any]:
    return {
        "privateNetworkId": f"{zone.rpartition('-')[0]}/{found['private_network_id']}",
        "serverId": f"{zone}/{found['server_id']}",
        "macAddress": found["mac_address"],
        "tags": list(found["tags"]),
        "zone": zone,
    }


def _named(found: Mapping[str, Any], place: str, _: Get) -> Mapping[str, Any]:
    return {
        "name": found["name"],
        "tags": list(found["tags"]),
        "zone": place,
        "projectId": found.get("project_id") or found.get("project"),
    }


_OUTPUTS: Final[Mapping[str, Callable[[Mapping[str, Any], str, Get], Mapping[str, Any] | None]]] = {
    SERVER: _server,
    IP: _ip,
    BLOCK: _block,
    LOCAL: _local,
    NIC: _nic,
    NETWORK: _named,
    SNAPSHOT: _named,
    PLACEMENT: _named,
    SECURITY: _named,
}

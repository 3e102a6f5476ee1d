"""An inventory for the proofs, as plain JSON by path, and one equal pair of body and object for each kind of create."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from reconciler.engine.adoption import gate
from reconciler.engine.adoption.book import Book
from reconciler.engine.adoption.expectation import Expectation
from reconciler.engine.adoption.live import Live
from reconciler.engine.adoption.proofs.shared import Call, NotProvedError, Reply
from reconciler.model.resources import Kind, Ref
from tests.engine.fakes import uuid_of

ZONE: Final = "fr-par-1"
REGION: Final = "fr-par"
INSTANCE: Final = f"/instance/v1/zones/{ZONE}"
INSTANCE_V2: Final = f"/instance/v2alpha1/zones/{ZONE}"
BLOCK: Final = f"/block/v1/zones/{ZONE}"
PROJECT: Final = uuid_of(1)
SERVER, IMAGE, ROOT, EXTRA, IP, OTHER_IP = (uuid_of(n) for n in range(10, 16))
GROUP, PLACEMENT, NIC, NETWORK, VPC, SUBNET, IPAM = (uuid_of(n) for n in range(20, 27))
GB: Final = 1_000_000_000


@dataclass
class Cloud:
    """`objects`: path -> JSON or bytes. `errors`: path -> status. `asked`: every path that was read."""

    objects: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def live(self) -> Live:
        return Live(self.answer)

    def answer(self, path: str) -> tuple[int, bytes]:
        self.asked.append(path)
        if path in self.errors:
            return self.errors[path], b""
        found = self.objects.get(path)
        if found is None:
            return 404, b""
        return 200, found if isinstance(found, bytes) else json.dumps(found).encode()


def urn(name: str, kind: str = "scaleway:instance/server:Server") -> str:
    return f"urn:pulumi:dev::proj::{kind}::{name}"


def expect(logical: str, ref: Ref, /, *, auto_named: bool = False, **inputs: Any) -> Expectation:
    return Expectation(urn=urn(logical), ref=ref, inputs=inputs, auto_named=auto_named)


def book(*items: Expectation, nics: Iterable[str] = ()) -> Book:
    return Book(items, known_nics=frozenset(nics))


@dataclass(frozen=True)
class Pair:
    """`path`: where the create is sent. `body`: one that equals the object of `ref`. `optional`: keys which may
    be empty, because that means what they say, or that the API decides."""

    method_path: str
    body: Mapping[str, Any]
    ref: Ref
    inputs: Mapping[str, Any] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()


def server() -> dict[str, Any]:
    return {
        "id": SERVER,
        "name": "w0",
        "commercial_type": "DEV1-S",
        "image": {"id": IMAGE},
        "project": PROJECT,
        "tags": ["a", "b"],
        "boot_type": "local",
        "protected": True,
        "dynamic_ip_required": False,
        "placement_group": {"id": PLACEMENT},
        "security_group": {"id": GROUP, "name": "mine"},
        "public_ips": [{"id": IP, "dynamic": False}, {"id": OTHER_IP, "dynamic": False}],
        "volumes": {
            "0": {"boot": False, "volume_type": "sbs_volume", "id": ROOT},
            "1": {"boot": False, "volume_type": "sbs_volume", "id": EXTRA},
        },
        "state": "running",
        "private_nics": [{"id": NIC, "private_network_id": NETWORK}],
    }


SERVER_PAIR: Final = Pair(
    f"{INSTANCE}/servers",
    {
        "name": "w0",
        "dynamic_ip_required": False,
        "commercial_type": "DEV1-S",
        "image": IMAGE,
        "volumes": {
            "0": {"boot": False, "size": 20 * GB, "volume_type": "sbs_volume"},
            "1": {"id": EXTRA, "volume_type": "sbs_volume"},
        },
        "public_ips": [IP, OTHER_IP],
        "boot_type": "local",
        "project": PROJECT,
        "tags": ["a", "b"],
        "security_group": GROUP,
        "placement_group": PLACEMENT,
        "protected": True,
    },
    Ref(Kind.SERVER, ZONE, SERVER),
    {"name": "w0"},
    frozenset({"boot_type", "security_group", "boot", "size", "volume_type"}),
)
PAIRS: Final = {
    "server": SERVER_PAIR,
    "ip": Pair(
        f"{INSTANCE}/ips",
        {"project": PROJECT, "type": "routed_ipv4", "tags": ["a"]},
        Ref(Kind.IP, ZONE, IP),
        optional=frozenset({"type"}),
    ),
    "block volume": Pair(
        f"{BLOCK}/volumes",
        {"name": "v", "perf_iops": 5000, "project_id": PROJECT, "from_empty": {"size": 10 * GB}, "tags": ["a"]},
        Ref(Kind.VOLUME, ZONE, EXTRA),
        {"name": "v"},
        frozenset({"perf_iops"}),
    ),
    "local volume": Pair(
        f"{INSTANCE}/volumes",
        {"name": "l", "project": PROJECT, "volume_type": "l_ssd", "size": 20 * GB, "tags": ["a"]},
        Ref(Kind.INSTANCE_VOLUME, ZONE, ROOT),
        {"name": "l"},
    ),
    "private NIC": Pair(
        f"{INSTANCE_V2}/private-network-interfaces",
        {"private_network_id": NETWORK, "project_id": PROJECT, "server_id": SERVER, "ip_ids": [IPAM], "tags": ["a"]},
        Ref(Kind.NIC, ZONE, NIC),
        optional=frozenset({"ip_ids"}),
    ),
    "private network": Pair(
        f"/vpc/v2/regions/{REGION}/private-networks",
        {
            "name": "net",
            "project_id": PROJECT,
            "tags": ["a"],
            "subnets": ["172.16.8.0/22"],
            "vpc_id": VPC,
            "default_route_propagation_enabled": True,
        },
        Ref(Kind.PRIVATE_NETWORK, REGION, NETWORK),
        {"name": "net"},
        frozenset({"subnets", "vpc_id"}),
    ),
    "IPAM address": Pair(
        f"/ipam/v1/regions/{REGION}/ips",
        {
            "project_id": PROJECT,
            "source": {"private_network_id": NETWORK},
            "is_ipv6": False,
            "address": "172.16.8.7",
            "tags": ["a"],
        },
        Ref(Kind.IPAM, REGION, IPAM),
        optional=frozenset({"address", "is_ipv6"}),
    ),
    "placement group": Pair(
        f"{INSTANCE_V2}/placement-groups",
        {"project_id": PROJECT, "name": "pg", "policy_type": "max_availability", "tags": ["a"]},
        Ref(Kind.PLACEMENT_GROUP, ZONE, PLACEMENT),
        {"name": "pg"},
    ),
}


def cloud() -> Cloud:
    """Everything that the pairs speak of."""
    root = {"id": ROOT, "size": 20 * GB, "specs": {"perf_iops": 15000}, "name": "root"}
    return Cloud(
        {
            f"{INSTANCE}/servers/{SERVER}": {"server": server()},
            f"{INSTANCE}/servers/{SERVER}/user_data": {"user_data": ["cloud-init"]},
            f"{INSTANCE}/servers/{SERVER}/user_data/cloud-init": b"#cloud-config\n",
            f"{INSTANCE}/security_groups/{GROUP}": {"security_group": {"id": GROUP, "project_default": True}},
            f"{INSTANCE}/ips/{IP}": {
                "ip": {"id": IP, "type": "routed_ipv4", "project": PROJECT, "tags": ["a"], "reverse": "a.example"}
            },
            f"{INSTANCE}/volumes/{ROOT}": {
                "volume": {"name": "l", "volume_type": "l_ssd", "project": PROJECT, "size": 20 * GB, "tags": ["a"]}
            },
            f"{BLOCK}/volumes/{ROOT}": root,
            f"{BLOCK}/volumes/{EXTRA}": {
                "id": EXTRA,
                "name": "v",
                "project_id": PROJECT,
                "size": 10 * GB,
                "specs": {"perf_iops": 5000},
                "parent_snapshot_id": None,
                "tags": ["a"],
            },
            f"{INSTANCE_V2}/private-network-interfaces/{NIC}": _nic(),
            f"{INSTANCE}/servers/{SERVER}/private_nics/{NIC}": {"private_nic": {**_nic(), "ipam_ip_ids": [IPAM]}},
            f"{INSTANCE_V2}/placement-groups/{PLACEMENT}": {
                "id": PLACEMENT,
                "name": "pg",
                "project_id": PROJECT,
                "policy_type": "max_availability",
                "tags": ["a"],
            },
            f"{INSTANCE}/placement_groups/{PLACEMENT}": {
                "placement_group": {
                    "id": PLACEMENT,
                    "name": "pg",
                    "project": PROJECT,
                    "policy_type": "max_availability",
                    "policy_mode": "optional",
                    "tags": ["a"],
                }
            },
            f"/vpc/v2/regions/{REGION}/private-networks/{NETWORK}": _network(),
            f"/vpc/v2/regions/{REGION}/vpcs/{VPC}": {"id": VPC, "is_default": True},
            f"/ipam/v1/regions/{REGION}/ips/{IPAM}": {
                "id": IPAM,
                "project_id": PROJECT,
                "is_ipv6": False,
                "address": "172.16.8.7/22",
                "tags": ["a"],
                "source": {"subnet_id": SUBNET},
                "resource": {"type": "instance_private_nic", "id": NIC, "mac_address": "02:00:00:00:00:01"},
            },
        }
    )


def _nic() -> dict[str, Any]:
    return {
        "id": NIC,
        "private_network_id": NETWORK,
        "project_id": PROJECT,
        "server_id": SERVER,
        "ip_ids": [IPAM],
        "tags": ["a"],
    }


def _network() -> dict[str, Any]:
    subnets = [{"id": SUBNET, "subnet": "172.16.8.0/22"}, {"id": uuid_of(30), "subnet": "fd00:1::/64"}]
    return {
        "id": NETWORK,
        "name": "net",
        "project_id": PROJECT,
        "tags": ["a"],
        "subnets": subnets,
        "vpc_id": VPC,
        "default_route_propagation_enabled": True,
    }


def send(method: str, path: str, body: Any, *, there: Cloud, expected: Book) -> Reply:
    """One call to the gate's own table of proofs."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    for known, pattern, proof in gate._ROUTES:
        found = pattern.fullmatch(path)
        if known == method and found is not None:
            return proof(Call(method, path, found.groupdict(), raw, there.live(), expected))
    raise LookupError(f"no proof for {method} {path}")


def create(pair: Pair, body: Any, *, there: Cloud | None = None, expected: Book | None = None) -> Reply:
    return send("POST", pair.method_path, body, there=there or cloud(), expected=expected or book(item(pair)))


def item(pair: Pair) -> Expectation:
    return Expectation(urn="urn:pulumi:dev::proj::t::x", ref=pair.ref, inputs=pair.inputs)


def paths_of(error: pytest.ExceptionInfo[NotProvedError]) -> list[str]:
    return [difference.path for difference in error.value.differences]


def answered_server(there: Cloud, **inputs: Any) -> Book:
    """A book in which the server's create has been answered."""
    expected = book(expect("w0", SERVER_PAIR.ref, name="w0", **inputs))
    create(SERVER_PAIR, SERVER_PAIR.body, there=there, expected=expected)
    return expected

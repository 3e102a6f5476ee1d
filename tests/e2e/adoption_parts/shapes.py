"""The shapes of workers that programs declare: how they get their address, their volumes, their networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from reconciler.simulator import ZONE
from reconciler.simulator.catalog import local_images

Resource: TypeAlias = dict[str, Any]
LABEL: Final = "ubuntu_noble"
UUID: Final = next(
    image.image.id
    for image in local_images().values()
    if (image.label, image.zone, image.arch, image.type) == (LABEL, ZONE, "x86_64", "instance_sbs")
)
CLOUD_INIT: Final = "#cloud-config\nhostname: worker\n"
TYPE: Final = "DEV1-S"


@dataclass(frozen=True)
class Variant:
    """One worker: image by label or UUID; cloud-init none, plain or secret."""

    image: str
    cloud_init: str  # "", "plain", "secret"

    @property
    def name(self) -> str:
        return f"{'label' if self.image == LABEL else 'uuid'}-{self.cloud_init or 'bare'}"


VARIANTS: Final = tuple(Variant(image, secrecy) for image in (LABEL, UUID) for secrecy in ("plain", "secret"))


@dataclass(frozen=True)
class Shape:
    """`parts`: name of a worker -> the resources beside it, and the server's arguments for them."""

    name: str
    parts: Callable[[str], tuple[list[Resource], Resource]]

    def worker(self, variant: Variant, **changes: Any) -> list[Resource]:
        """The resources of one worker; `changes` are to the arguments of its server."""
        name = f"w-{variant.name}"
        parts, args = self.parts(name)
        server: Resource = {
            "name": name,
            "zone": ZONE,
            "type": TYPE,
            "image": variant.image,
            "tags": ["role=ci", "worker", name],
            "root_volume": {"volume_type": "sbs_volume", "size_in_gb": 20},
            **args,
        }
        if variant.cloud_init:
            server["cloud_init"] = CLOUD_INIT if variant.cloud_init == "plain" else {"$secret": CLOUD_INIT}
        before = [part for part in parts if part["type"] != "nic"]
        after = [part for part in parts if part["type"] == "nic"]
        return [*before, {"type": "server", "name": name, "args": {**server, **changes}}, *after]


def _ip(name: str) -> Resource:
    return {"type": "ip", "name": f"{name}-ip", "args": {"zone": ZONE, "tags": ["role=ci", name]}}


def _ref(name: str) -> Mapping[str, str]:
    return {"$ref": name}


def _ip_id(name: str) -> tuple[list[Resource], Resource]:
    return [_ip(name)], {"ip_id": _ref(f"{name}-ip")}


def _ip_ids(name: str) -> tuple[list[Resource], Resource]:
    second = {"type": "ip", "name": f"{name}-ip6", "args": {"zone": ZONE, "type": "routed_ipv6", "tags": [name]}}
    return [_ip(name), second], {"ip_ids": [_ref(f"{name}-ip"), _ref(f"{name}-ip6")]}


def _no_ip(_name: str) -> tuple[list[Resource], Resource]:
    return [], {}


def _dynamic_ip(_name: str) -> tuple[list[Resource], Resource]:
    return [], {"enable_dynamic_ip": True}


def _extra_volume(name: str) -> tuple[list[Resource], Resource]:
    volumes: list[Resource] = [
        {
            "type": "volume",
            "name": f"{name}-{part}",
            "args": {"zone": ZONE, "name": f"{name}-{part}", "iops": 5000, "size_in_gb": size, "tags": [name]},
        }
        for part, size in (("cache", 10), ("data", 30))
    ]
    root = {"volume_type": "sbs_volume", "size_in_gb": 20, "sbs_iops": 15000}
    return volumes, {"additional_volume_ids": [_ref(item["name"]) for item in volumes], "root_volume": root}


def _network(name: str) -> Resource:
    return {
        "type": "private_network",
        "name": f"{name}-net",
        "args": {"name": f"{name}-net", "region": "fr-par", "tags": [name]},
    }


def _nic_inline(name: str) -> tuple[list[Resource], Resource]:
    return [_network(name)], {"private_networks": [{"pn_id": _ref(f"{name}-net")}]}


def _nic_resource(name: str) -> tuple[list[Resource], Resource]:
    address = {
        "type": "ipam",
        "name": f"{name}-address",
        "args": {"region": "fr-par", "sources": [{"private_network_id": _ref(f"{name}-net")}], "tags": [name]},
    }
    nic = {
        "type": "nic",
        "name": f"{name}-nic",
        "args": {
            "zone": ZONE,
            "server_id": _ref(name),
            "private_network_id": _ref(f"{name}-net"),
            "ipam_ip_ids": [_ref(f"{name}-address")],
            "tags": ["role=ci"],
        },
    }
    return [_network(name), address, nic], {}


def _placement_group(name: str) -> tuple[list[Resource], Resource]:
    group = {"type": "placement_group", "name": f"{name}-pg", "args": {"zone": ZONE, "name": f"{name}-pg"}}
    return [group], {"placement_group_id": _ref(f"{name}-pg")}


SHAPES: Final = (
    Shape("ip_id", _ip_id),
    Shape("ip_ids", _ip_ids),
    Shape("no IP", _no_ip),
    Shape("dynamic IP", _dynamic_ip),
    Shape("extra volumes", _extra_volume),
    Shape("private network", _nic_inline),
    Shape("private NIC", _nic_resource),
    Shape("placement group", _placement_group),
)

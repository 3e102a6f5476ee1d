"""The state of a case: checkpoints in the layout of a file backend, lock files included.

The file is the only copy: whatever reads or writes a state, the product's engine, the model CLI or a step of the case,
reads or writes this file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reconciler.cases import provider
from reconciler.cases.model import FleetDecl, Item, LockDecl, StackDecl
from reconciler.cases.names import SCOPE_UUID, id_of
from reconciler.engine import locks
from reconciler.engine.checkpoint import STACK_TYPE
from reconciler.engine.stacks import DIY_ORGANIZATION, StackName
from reconciler.kernel.clock import iso

Document = dict[str, Any]  # the `deployment` of an export

_FLEET_TYPE: Final = "reconciler:fleet:WorkerFleet"
_PROVIDER_TYPE: Final = "pulumi:providers:scaleway"
_TYPES: Final = {
    "server": provider.SERVER,
    "ip": provider.IP,
    "volume": provider.BLOCK,
    "nic": provider.NIC,
    "network": provider.NETWORK,
    "snapshot": provider.SNAPSHOT,
    "placement_group": provider.PLACEMENT,
    "security_group": provider.SECURITY,
}
_VERSION: Final = "v3.274.1"
# The engine's own mark of a whole checkpoint: a digest of the version that wrote it (tried).
_MANIFEST: Final = {"magic": hashlib.sha256(_VERSION.encode()).hexdigest(), "version": _VERSION}


def stack_name(name: str) -> StackName:
    project, _, stack = name.partition("/")
    return StackName(DIY_ORGANIZATION, project, stack)


def urn_of(item: Item) -> str:
    assert item.home is not None
    project, _, stack = item.home.partition("/")
    parent = f"{_FLEET_TYPE}$" if item.fleet is not None else ""
    return f"urn:pulumi:{stack}::{project}::{parent}{type_of(item)}::{item.logical or item.name}"


def type_of(item: Item) -> str:
    if item.kind == "volume" and item.details.get("type") == "local":
        return provider.LOCAL
    return _TYPES[item.kind]


def pulumi_id(item: Item) -> str:
    place = item.zone.rpartition("-")[0] if item.kind == "network" else item.zone
    parent = f"{id_of(item.on)}/" if item.kind == "nic" and item.on is not None else ""
    return f"{place}/{parent}{id_of(item.name)}"


@dataclass(frozen=True, slots=True)
class States:
    """All checkpoints of a case, below a file backend's directory."""

    root: Path

    def path(self, name: str) -> Path:
        project, _, stack = name.partition("/")
        return self.root / ".pulumi" / "stacks" / project / f"{stack}.json"

    def names(self) -> list[str]:
        found = sorted((self.root / ".pulumi" / "stacks").glob("*/*.json"))
        return [f"{path.parent.name}/{path.stem}" for path in found]

    def read(self, name: str) -> Document:
        document = json.loads(self.path(name).read_text(encoding="utf-8"))
        latest: Document = document["checkpoint"]["latest"]
        return latest

    def write(self, name: str, document: Document, *, now_ms: int) -> None:
        document = {**document, "manifest": {**_MANIFEST, "time": iso(now_ms)}}
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = {"version": 3, "checkpoint": {"stack": f"{DIY_ORGANIZATION}/{name}", "latest": document}}
        path.write_text(json.dumps(whole, indent=1), encoding="utf-8")

    def change(self, name: str, change: Callable[[Document], None], *, now_ms: int) -> None:
        document = self.read(name)
        change(document)
        self.write(name, document, now_ms=now_ms)

    # -- locks

    def lock(self, name: str, lock: LockDecl, *, taken_ms: int) -> None:
        directory = locks.directory_of(self.root, stack_name(name))
        directory.mkdir(parents=True, exist_ok=True)
        user, _, host = lock.by.partition("@")
        content = {
            "pid": lock.pid,
            "username": user,
            "hostname": locks.host() if lock.here else (host or "runner"),
            "timestamp": iso(taken_ms),
        }
        (directory / f"{id_of('lock ' + name)}.json").write_text(json.dumps(content), encoding="utf-8")

    def unlock(self, name: str) -> None:
        for path in locks.directory_of(self.root, stack_name(name)).glob("*.json"):
            path.unlink()


def fresh(declared: StackDecl) -> Document:
    """A stack after a first deploy of a program that makes no machine: itself, its provider, its components."""
    project, _, stack = declared.name.partition("/")
    prefix = f"urn:pulumi:{stack}::{project}::"
    root = f"{prefix}{STACK_TYPE}::{project}-{stack}"
    outputs = {"reconciler": _output(declared.fleets, prefix)} if declared.output else {}
    resources: list[Document] = [
        {"urn": root, "custom": False, "type": STACK_TYPE, "outputs": outputs},
        {
            "urn": f"{prefix}{_PROVIDER_TYPE}::default",
            "custom": True,
            "id": id_of(f"provider {declared.name}"),
            "type": _PROVIDER_TYPE,
            "inputs": {},
            "outputs": {},
        },
    ]
    resources += [
        {"urn": f"{prefix}{_FLEET_TYPE}::{fleet.name}", "custom": False, "type": _FLEET_TYPE, "parent": root}
        for fleet in declared.fleets
    ]
    return {"resources": resources}


def _output(fleets: tuple[FleetDecl, ...], prefix: str) -> Mapping[str, Any]:
    return {
        "schema_version": 1,
        "scope": SCOPE_UUID,
        "fleets": [
            {
                "uid": id_of(f"fleet {fleet.name}"),
                "name": fleet.name,
                "controller": "elastic" if fleet.replicas is None else "static",
                "zone": fleet.zone,
                "replicas": fleet.replicas,
                "minimum": fleet.minimum,
                "maximum": fleet.maximum,
                "revision": fleet.revision,
                "commercial_type": fleet.type,
                "component_urn": f"{prefix}{_FLEET_TYPE}::{fleet.name}",
            }
            for fleet in fleets
        ],
    }


def entry(item: Item, inputs: Mapping[str, Any], outputs: Mapping[str, Any] | None) -> Document:
    """One entry of a state. Without outputs it is what a create asked for, and has no id."""
    assert item.home is not None
    project, _, stack = item.home.partition("/")
    prefix = f"urn:pulumi:{stack}::{project}::"
    parent = f"{_FLEET_TYPE}::{item.fleet}" if item.fleet is not None else f"{STACK_TYPE}::{project}-{stack}"
    made: Document = {
        "urn": urn_of(item),
        "custom": True,
        "type": type_of(item),
        "inputs": dict(inputs),
        "parent": prefix + parent,
        "provider": f"{prefix}{_PROVIDER_TYPE}::default::{id_of(f'provider {item.home}')}",
    }
    if outputs is not None:
        made |= {"id": pulumi_id(item), "outputs": {**outputs, **item.says}}
        if item.protect:
            made["protect"] = True
        if item.deleting:
            made["delete"] = True
    return made


def inputs_of(item: Item, items: tuple[Item, ...]) -> Mapping[str, Any]:
    """What the program asks for."""
    parts = [one for one in items if one.on == item.name]
    place = {"region": item.zone.rpartition("-")[0]} if item.kind == "network" else {"zone": item.zone}
    asked: dict[str, Any] = {**place, **({"tags": list(item.tags)} if item.tags else {})}
    match item.kind:
        case "server":
            asked |= {
                "name": item.name,
                "type": item.details.get("type", "DEV1-S"),
                "image": item.details.get("image", "ubuntu_noble"),
                "state": "started",
            }
            addresses = [pulumi_id(one) for one in parts if one.kind == "ip"]
            extra = [pulumi_id(one) for one in parts if one.part == "volume"]
            networks = [
                {"pnId": f"{item.zone.rpartition('-')[0]}/{id_of(one.network or '')}"}
                for one in parts
                if one.kind == "nic"
            ]
            asked |= {"ipIds": addresses} if addresses else {}
            asked |= {"additionalVolumeIds": extra} if extra else {}
            asked |= {"privateNetworks": networks} if networks else {}
        case "ip":
            asked["type"] = item.details.get("type", "routed_ipv4")
        case "nic":
            asked |= {"serverId": f"{item.zone}/{id_of(item.on or '')}", "privateNetworkId": id_of(item.network or "")}
        case "volume":
            asked |= {"name": item.name, "sizeInGb": item.details.get("size", 10**10) // 10**9}
        case _:
            asked["name"] = item.name
    return asked

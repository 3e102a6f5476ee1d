"""Values for tests: resources, state entries, memory, worlds. Everything has a default that is in order.

A `Machine` is a worker with its IP and its SBS root, as the cloud has it and as the state of its stack holds it. A test
says what is not in order, and nothing else.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reconciler.diff import diff
from reconciler.model.desired import Desired, FleetSpec
from reconciler.model.finding import Finding, FindingKind
from reconciler.model.inventory import Inventory, Presence, Probe, Right, Scan
from reconciler.model.memory import Lineage, Memory
from reconciler.model.money import Price
from reconciler.model.policy import Policies
from reconciler.model.resources import (
    Ip,
    IpamAddress,
    Kind,
    Nic,
    Ref,
    Resource,
    Server,
    Volume,
    VolumeSlot,
    region_of,
)
from reconciler.model.scope import Scope
from reconciler.model.state import KIND_OF_TYPE, PendingOperation, StackState, StateResource
from reconciler.model.world import Health, World
from reconciler.policy.decode import decode_value

NOW = 1_790_000_000_000
HOUR = 3_600_000
DAY = 24 * HOUR
ZONE = "fr-par-1"
PROJECT = "11111111-1111-4111-8111-111111111111"
OTHER_PROJECT = "99999999-9999-4999-8999-999999999999"
SCOPE = "22222222-2222-4222-8222-222222222222"
OTHER_SCOPE = "33333333-3333-4333-8333-333333333333"
IMAGE = "44444444-4444-4444-8444-444444444444"
GROUP = "55555555-5555-4555-8555-555555555555"
STACK = "ci/prod"
FLEET = "linux"
REVISION = "0123456789ab"
GB = 1_000_000_000
ROOT_NAME = "Ubuntu 24.04 Noble Numbat_sbs_volume_0"
HOSTILE = "<b>\"'q\n\x00\x1b[31mred\u202egnp\u2069 [x] :smile:\x07\u2028%s{0}$(id)\U0001f600²"

_TOKENS = {kind: token for token, kind in KIND_OF_TYPE.items()}


def uid(name: str) -> str:
    """A UUID that is the same for the same name."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def owner_tags(
    slot: int | str | None = 0, *, fleet: str = FLEET, scope: str = SCOPE, revision: str = REVISION
) -> tuple[str, ...]:
    tags = ("reconciler", f"reconciler:scope={scope}", f"reconciler:fleet={fleet}")
    slots = () if slot is None else (f"reconciler:slot={slot}",)
    return (*tags, *slots, f"reconciler:revision={revision}")


# -- the cloud


def server(label: str = "linux-0", /, **changes: Any) -> Server:
    given: dict[str, Any] = {
        "id": uid(label),
        "zone": ZONE,
        "project": PROJECT,
        "name": label,
        "state": "running",
        "commercial_type": "DEV1-S",
        "image_id": IMAGE,
        "security_group_id": GROUP,
        "created_ms": NOW - DAY,
    }
    return Server(**(given | changes))


def ip(label: str = "linux-0-ip", /, **changes: Any) -> Ip:
    given: dict[str, Any] = {
        "id": uid(label),
        "zone": ZONE,
        "project": PROJECT,
        "address": "51.15.0.1",
        "created_ms": NOW - DAY,
        "ipam_id": uid(f"{label}-ipam"),
    }
    if changes.get("server_id") is not None:
        given["state"] = "attached"
    return Ip(**(given | changes))


def volume(label: str = "linux-0-root", /, **changes: Any) -> Volume:
    """Free by default; with `server_id` it is attached and referenced by it."""
    given: dict[str, Any] = {
        "id": uid(label),
        "zone": ZONE,
        "project": PROJECT,
        "name": ROOT_NAME,
        "volume_type": "sbs_5k",
        "size": 20 * GB,
        "iops": 5000,
        "status": "available",
        "created_ms": NOW - DAY + 90,
    }
    owner = changes.get("server_id")
    if owner is not None:
        given |= {"status": "in_use", "reference_ids": (owner,)}
    return Volume(**(given | changes))


def local_volume(label: str, /, **changes: Any) -> Volume:
    return volume(label, **({"kind": Kind.INSTANCE_VOLUME, "volume_type": "l_ssd", "iops": None} | changes))


def nic(label: str, /, *, server_id: str, network: str = "net", **changes: Any) -> Nic:
    given: dict[str, Any] = {"id": uid(label), "zone": ZONE, "project": PROJECT, "created_ms": NOW - DAY}
    return Nic(**(given | {"server_id": server_id, "private_network_id": uid(network)} | changes))


def booking(of: Ip, **changes: Any) -> IpamAddress:
    """What IPAM knows of a flexible IP."""
    given: dict[str, Any] = {
        "id": of.ipam_id,
        "zone": region_of(of.zone),
        "project": of.project,
        "address": f"{of.address}/32",
        "created_ms": NOW - DAY,
    }
    return IpamAddress(**(given | changes))


def with_parts(owner: Server, *parts: Resource) -> Server:
    """The server as its own listing shows it with these children: the first volume is its root."""
    volumes = [part for part in parts if isinstance(part, Volume)]
    slots = tuple(
        VolumeSlot(key=str(key), id=one.id, volume_type="l_ssd" if one.kind is Kind.INSTANCE_VOLUME else "sbs_volume")
        for key, one in enumerate(volumes)
    )
    return replace(
        owner,
        volumes=slots,
        ip_ids=tuple(part.id for part in parts if isinstance(part, Ip)),
        nic_ids=tuple(part.id for part in parts if isinstance(part, Nic)),
    )


# -- the state


def entry_of(resource: Resource, *parts: Resource, name: str | None = None, **changes: Any) -> StateResource:
    """The state entry that the provider writes for a resource (and, for a server, its parts)."""
    token = _TOKENS[resource.ref.kind]
    outputs = {"projectId": resource.project, "tags": list(resource.tags), **_outputs(resource, parts)}
    inputs: dict[str, Any] = {"tags": list(resource.tags)}
    if isinstance(resource, Server):
        inputs |= _server_inputs(resource, outputs)
    shown = name or getattr(resource, "name", None) or resource.id[:8]
    given: dict[str, Any] = {
        "urn": f"urn:pulumi:prod::ci::{token}::{shown}",
        "type": token,
        "id": f"{resource.zone}/{resource.id}",
        "custom": True,
        "inputs": inputs,
        "outputs": outputs,
    }
    return StateResource(**(given | changes))


def _server_inputs(owner: Server, outputs: dict[str, Any]) -> dict[str, Any]:
    """What a `WorkerFleet` declares: not the root's name, which the provider chooses."""
    inputs: dict[str, Any] = {"name": owner.name, "state": "started", "type": owner.commercial_type}
    if "rootVolume" in outputs:
        inputs["rootVolume"] = {key: outputs["rootVolume"][key] for key in ("sizeInGb", "sbsIops")}
    return inputs | {key: outputs[key] for key in ("ipId", "ipIds") if key in outputs}


def _outputs(resource: Resource, parts: tuple[Resource, ...]) -> dict[str, Any]:
    match resource:
        case Server():
            return _server_outputs(resource, parts)
        case Ip():
            return {"type": resource.type, "reverse": resource.reverse or ""}
        case Volume(kind=Kind.VOLUME):
            return {"name": resource.name, "sizeInGb": resource.size // GB, "iops": resource.iops}
        case Volume():
            return {"name": resource.name, "sizeInGb": resource.size // GB, "type": resource.volume_type}
        case Nic():
            network = f"{region_of(resource.zone)}/{resource.private_network_id}"
            return {"privateNetworkId": network, "serverId": f"{resource.zone}/{resource.server_id}"}
        case _:
            return {}


def _server_outputs(owner: Server, parts: tuple[Resource, ...]) -> dict[str, Any]:
    volumes = [part for part in parts if isinstance(part, Volume)]
    outputs: dict[str, Any] = {
        "name": owner.name,
        "type": owner.commercial_type,
        "state": "started",
        "image": "ubuntu_noble",
        "bootType": owner.boot_type,
        "enableDynamicIp": owner.dynamic_ip_required,
        "protected": owner.protected,
        "securityGroupId": f"{owner.zone}/{owner.security_group_id}",
        "publicIps": [{"id": f"{one.zone}/{one.id}", "dynamic": False} for one in parts if isinstance(one, Ip)],
        "additionalVolumeIds": [f"{one.zone}/{one.id}" for one in volumes[1:]],
        "privateNetworks": [
            {"pnId": f"{region_of(one.zone)}/{one.private_network_id}"} for one in parts if isinstance(one, Nic)
        ],
    }
    addresses = [item["id"] for item in outputs["publicIps"]]
    outputs |= {"ipId": addresses[0]} if len(addresses) == 1 else {"ipIds": addresses} if addresses else {}
    for root in volumes[:1]:
        outputs["rootVolume"] = {
            "volumeId": f"{root.zone}/{root.id}",
            "sizeInGb": root.size // GB,
            "name": root.name,
            "sbsIops": root.iops,
        }
    return outputs


def state(*entries: StateResource, stack: str = STACK, serial: str = "1", **changes: Any) -> StackState:
    return StackState(stack=stack, serial=serial, read_ms=NOW - 500, resources=entries, **changes)


def pending(operation: str = "creating", *, name: str = "linux-9", **changes: Any) -> PendingOperation:
    token = _TOKENS[Kind.SERVER]
    given: dict[str, Any] = {"urn": f"urn:pulumi:prod::ci::{token}::{name}", "type": token, "id": None, "custom": True}
    return PendingOperation(operation=operation, resource=StateResource(**(given | changes)))


@dataclass(frozen=True, slots=True)
class Machine:
    """A worker in order: in the cloud and in the state."""

    server: Server
    root: Volume
    ip: Ip

    @property
    def cloud(self) -> tuple[Resource, ...]:
        return self.server, self.root, self.ip

    @property
    def entries(self) -> tuple[StateResource, ...]:
        return entry_of(self.server, self.root, self.ip), entry_of(self.ip, name=f"{self.server.name}-ip")


def machine(slot: int = 0, *, name: str | None = None, **changes: Any) -> Machine:
    """`changes` are the server's."""
    name = name or f"linux-{slot}"
    tags = changes.pop("tags", owner_tags(slot))
    owner = server(name, tags=tags, **changes)
    root = volume(f"{name}-root", server_id=owner.id, tags=owner_tags(slot))
    address = ip(f"{name}-ip", server_id=owner.id, tags=owner_tags(slot))
    return Machine(with_parts(owner, root, address), root, address)


# -- the rest


def lineage(of: Resource, *, source: str = "state", **changes: Any) -> dict[Ref, Lineage]:
    """One line of the memory: it was in the state, or (`attached`) seen on a machine of ours."""
    given: dict[str, Any] = {
        "ref": of.ref,
        "source": source,
        "fleet": FLEET,
        "stack": STACK,
        "urn": f"urn:pulumi:prod::ci::{_TOKENS[of.ref.kind]}::was",
        "worker": f"{FLEET}/0",
        "server_id": uid("was") if source == "attached" else None,
        "first_seen_ms": NOW - DAY,
    }
    return {of.ref: Lineage(**(given | changes))}


def remembered(*leftovers: Resource, source: str = "state", since: int = NOW - DAY, **changes: Any) -> Memory:
    """A memory that has seen these in the state once, and without an owner since `since`."""
    lines: dict[Ref, Lineage] = {}
    for one in leftovers:
        lines |= lineage(one, source=source)
    given: dict[str, Any] = {
        "first_complete_ms": NOW - 7 * DAY,
        "lineage": lines,
        "unowned_since": {one.ref: since for one in leftovers},
    }
    return Memory(**(given | changes))


def absent(resource: Resource, **changes: Any) -> Probe:
    given: dict[str, Any] = {"ref": resource.ref, "presence": Presence.ABSENT, "at_ms": NOW - 900, "status": 404}
    return Probe(**(given | changes))


def unanswered(resource: Resource, **changes: Any) -> Probe:
    given = {"presence": Presence.UNKNOWN, "status": 403, "reason": "HTTP 403"}
    return absent(resource, **(given | changes))


def scope(**changes: Any) -> Scope:
    given: dict[str, Any] = {"name": "ci", "uuid": SCOPE, "project": PROJECT, "zones": (ZONE,), "stacks": ("ci/*",)}
    return Scope(**(given | changes))


def fleet(replicas: int | None = 1, **changes: Any) -> FleetSpec:
    given: dict[str, Any] = {
        "uid": uid("fleet"),
        "name": FLEET,
        "stack": STACK,
        "controller": "static",
        "zone": ZONE,
        "revision": REVISION,
        "replicas": replicas,
        "component_urn": "urn:pulumi:prod::ci::reconciler:fleet:WorkerFleet::linux",
    }
    return FleetSpec(**(given | changes))


def policies(*rules: Mapping[str, Any], stack: str | None = None, **document: Any) -> Policies:
    """The configured policy with these rules, or with `stack` the one that this stack declares."""
    made = decode_value({"version": 1, "rules": list(rules), **document}, source="test")
    return Policies(configured=made) if stack is None else Policies(declared=((stack, made),))


LISTED = (Kind.SERVER, Kind.IP, Kind.VOLUME, Kind.INSTANCE_VOLUME, Kind.NIC)


def scans(
    resources: Iterable[Resource], *, zones: Iterable[str] = (ZONE,), broken: Mapping[Kind, str] | None = None
) -> dict[tuple[Kind, str], Scan]:
    """A complete scan of every listed kind, but for those in `broken`, which hold what they hold and prove nothing."""
    places = [(kind, zone) for zone in zones for kind in LISTED]
    places += [(Kind.IPAM, region) for region in sorted({region_of(zone) for zone in zones})]
    every = list(resources)
    return {
        (kind, place): Scan(
            kind=kind,
            zone=place,
            started_ms=NOW - 2000,
            finished_ms=NOW - 1000,
            complete=kind not in (broken or {}),
            right=Right.PROVED,
            reason=(broken or {}).get(kind),
            items=tuple(one for one in every if (one.ref.kind, one.zone) == (kind, place)),
        )
        for kind, place in places
    }


def world(
    *resources: Resource,
    states: Iterable[StackState] = (),
    before: Iterable[StackState] | None = None,
    probes: Iterable[Probe] = (),
    broken: Mapping[Kind, str] | None = None,
    fleets: Iterable[FleetSpec] = (),
    **changes: Any,
) -> World:
    """A world with complete scans and one readable, empty stack, but for what is given.

    `before` is the first read of the states, the same as the second by default.
    """
    second = {one.stack: one for one in (tuple(states) or (state(),))}
    first = second if before is None else {one.stack: one for one in before}
    prices = {(ZONE, "DEV1-S"): Price(hour_nanos=8_976_000, source="catalogue")}
    inventory = Inventory(
        scans=scans(resources, broken=broken), prices=prices, probes={probe.ref: probe for probe in probes}
    )
    given: dict[str, Any] = {
        "scope": scope(),
        "sweep_id": "sweep-1",
        "started_ms": NOW - 3000,
        "finished_ms": NOW,
        "inventory": inventory,
        "memory": Memory(first_complete_ms=NOW - 7 * DAY),
        "desired": Desired(fleets=tuple(fleets)),
        "states_before": first,
        "states": second,
        "health": Health(calls=50, skew_seconds=0.1),
    }
    return World(**(given | changes))


def found(in_world: World, kind: FindingKind | None = None) -> list[Finding]:
    """The findings, all or those of one kind."""
    return [one for one in diff(in_world) if kind is None or one.kind is kind]


def only(in_world: World, kind: FindingKind | None = None) -> Finding:
    """The one finding; fails where there are none or several."""
    findings = found(in_world, kind)
    assert len(findings) == 1, [(one.kind.value, one.verdict.value, one.reason) for one in findings]
    return findings[0]

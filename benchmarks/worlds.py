"""Worlds of many workers, as `observe` hands them on: each worker has a flexible IP and an SBS root, both inline or
declared as `WorkerFleet` does it. A share of them has drifted, so that every classifier has work."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reconciler.model.desired import Desired, FleetSpec
from reconciler.model.inventory import Inventory, Right, Scan
from reconciler.model.memory import CompleteSweep, Lineage, Memory
from reconciler.model.money import Price
from reconciler.model.resources import Ip, Kind, Ref, Resource, Server, Volume, VolumeSlot
from reconciler.model.scope import Scope
from reconciler.model.state import StackState, StateResource
from reconciler.model.world import Health, World

NOW = 1_790_000_000_000
ZONE = "fr-par-1"
PROJECT = "11111111-1111-4111-8111-111111111111"
SCOPE = "22222222-2222-4222-8222-222222222222"
IMAGE = "33333333-3333-4333-8333-333333333333"
GROUP = "44444444-4444-4444-8444-444444444444"
STACK = "ci/prod"
FLEET = "linux"
REVISION = "0123456789ab"
BORN = NOW - 86_400_000
_GB = 1_000_000_000
_PREFIX = "urn:pulumi:prod::ci::reconciler:fleet:WorkerFleet$"


@dataclass
class _Parts:
    servers: list[Resource] = field(default_factory=list)
    ips: list[Resource] = field(default_factory=list)
    volumes: list[Resource] = field(default_factory=list)
    entries: list[StateResource] = field(default_factory=list)
    lineage: dict[Ref, Lineage] = field(default_factory=dict)


def fleet_world(workers: int, *, orphans: int = 0, leftovers: int = 0, changed: int = 0) -> World:
    """`workers` machines in state and cloud; beside them `orphans` machines and `leftovers` volumes in no ledger,
    and `changed` of the workers renamed by hand."""
    parts = _Parts()
    for number, ids in zip(range(workers), _ids(), strict=False):
        _worker(parts, number, ids, renamed=number < changed)
    for number, ids in zip(range(orphans), _ids("orphan"), strict=False):
        _orphan(parts, workers + number, ids)
    for number, ids in zip(range(leftovers), _ids("left"), strict=False):
        _leftover(parts, workers + number, ids)
    return _world(parts, workers)


def _ids(salt: str = "worker") -> Iterator[tuple[str, str, str]]:
    number = 0
    while True:
        yield tuple(str(uuid.uuid5(uuid.NAMESPACE_OID, f"{salt}{number}{part}")) for part in "sir")  # type: ignore[misc]
        number += 1


def _tags(slot: int) -> tuple[str, ...]:
    return (
        "reconciler",
        f"reconciler:scope={SCOPE}",
        f"reconciler:fleet={FLEET}",
        f"reconciler:slot={slot}",
        f"reconciler:revision={REVISION}",
    )


def _server(server_id: str, name: str, tags: tuple[str, ...], *, root: str, ip: str | None) -> Server:
    return Server(
        id=server_id,
        zone=ZONE,
        project=PROJECT,
        name=name,
        tags=tags,
        created_ms=BORN,
        state="running",
        commercial_type="DEV1-S",
        image_id=IMAGE,
        volumes=(VolumeSlot(key="0", id=root, volume_type="sbs_volume", boot=False),),
        ip_ids=(ip,) if ip is not None else (),
        security_group_id=GROUP,
    )


def _root(volume_id: str, server_id: str | None, tags: tuple[str, ...]) -> Volume:
    return Volume(
        id=volume_id,
        zone=ZONE,
        project=PROJECT,
        name="Ubuntu 24.04 Noble Numbat_sbs_volume_0",
        tags=tags,
        created_ms=BORN + 100,
        volume_type="sbs_5k",
        size=20 * _GB,
        iops=5000,
        status="available" if server_id is None else "in_use",
        reference_ids=() if server_id is None else (server_id,),
        server_id=server_id,
    )


def _worker(parts: _Parts, number: int, ids: tuple[str, str, str], *, renamed: bool) -> None:
    server_id, ip_id, root_id = ids
    name, tags = f"{FLEET}-{number}", _tags(number)
    shown = f"{name}-by-hand" if renamed else name
    parts.servers.append(_server(server_id, shown, tags, root=root_id, ip=ip_id))
    parts.volumes.append(_root(root_id, server_id, tags))
    parts.ips.append(
        Ip(
            id=ip_id,
            zone=ZONE,
            project=PROJECT,
            tags=tags,
            created_ms=BORN,
            address=f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
            state="attached",
            server_id=server_id,
        )
    )
    parts.entries += [_server_entry(name, tags, ids), _ip_entry(name, tags, ip_id)]
    for ref, source in ((Ref(Kind.SERVER, ZONE, server_id), "state"), (Ref(Kind.IP, ZONE, ip_id), "state")):
        parts.lineage[ref] = _line(ref, source, number)
    root = Ref(Kind.VOLUME, ZONE, root_id)
    parts.lineage[root] = _line(root, "attached", number, server_id)


def _line(ref: Ref, source: str, number: int, server_id: str | None = None) -> Lineage:
    token = "instance/ip:Ip" if ref.kind is Kind.IP else "instance/server:Server"
    return Lineage(
        ref=ref,
        source=source,
        fleet=FLEET,
        stack=STACK,
        urn=f"{_PREFIX}scaleway:{token}::{FLEET}-{number}" + ("-ip" if ref.kind is Kind.IP else ""),
        worker=f"{FLEET}/{number}",
        server_id=server_id,
        first_seen_ms=BORN,
    )


def _server_entry(name: str, tags: tuple[str, ...], ids: tuple[str, str, str]) -> StateResource:
    server_id, ip_id, root_id = ids
    outputs: dict[str, Any] = {
        "name": name,
        "type": "DEV1-S",
        "tags": list(tags),
        "state": "started",
        "image": "ubuntu_noble",
        "bootType": "local",
        "enableDynamicIp": False,
        "protected": False,
        "securityGroupId": f"{ZONE}/{GROUP}",
        "publicIps": [{"id": f"{ZONE}/{ip_id}", "dynamic": False}],
        "rootVolume": {
            "volumeId": f"{ZONE}/{root_id}",
            "sizeInGb": 20,
            "name": "Ubuntu 24.04 Noble Numbat_sbs_volume_0",
            "sbsIops": 5000,
        },
        "additionalVolumeIds": [],
        "privateNetworks": [],
        "projectId": PROJECT,
    }
    return StateResource(
        urn=f"{_PREFIX}scaleway:instance/server:Server::{name}",
        type="scaleway:instance/server:Server",
        id=f"{ZONE}/{server_id}",
        custom=True,
        inputs={"name": name, "tags": list(tags), "state": "started"},
        outputs=outputs,
    )


def _ip_entry(name: str, tags: tuple[str, ...], ip_id: str) -> StateResource:
    return StateResource(
        urn=f"{_PREFIX}scaleway:instance/ip:Ip::{name}-ip",
        type="scaleway:instance/ip:Ip",
        id=f"{ZONE}/{ip_id}",
        custom=True,
        inputs={"tags": list(tags)},
        outputs={"tags": list(tags), "type": "routed_ipv4", "reverse": "", "projectId": PROJECT},
    )


def _orphan(parts: _Parts, number: int, ids: tuple[str, str, str]) -> None:
    server_id, _, root_id = ids
    parts.servers.append(_server(server_id, f"{FLEET}-{number}", _tags(number), root=root_id, ip=None))
    parts.volumes.append(_root(root_id, server_id, ()))
    ref = Ref(Kind.SERVER, ZONE, server_id)
    parts.lineage[ref] = _line(ref, "state", number)


def _leftover(parts: _Parts, number: int, ids: tuple[str, str, str]) -> None:
    volume = _root(ids[2], None, _tags(number))
    parts.volumes.append(volume)
    parts.lineage[volume.ref] = _line(volume.ref, "attached", number, ids[0])


def _world(parts: _Parts, workers: int) -> World:
    lists = {Kind.SERVER: parts.servers, Kind.IP: parts.ips, Kind.VOLUME: parts.volumes}
    scans = {
        (kind, ZONE): Scan(
            kind=kind,
            zone=ZONE,
            started_ms=NOW - 9000,
            finished_ms=NOW - 1000,
            complete=True,
            right=Right.PROVED,
            items=tuple(lists.get(kind, ())),
        )
        for kind in (Kind.SERVER, Kind.IP, Kind.VOLUME, Kind.INSTANCE_VOLUME, Kind.NIC)
    }
    spec = FleetSpec(
        uid="u", name=FLEET, stack=STACK, controller="static", zone=ZONE, revision=REVISION, replicas=workers
    )
    counts = {kind: len(items) for kind, items in lists.items()}
    return World(
        scope=Scope(name="ci", uuid=SCOPE, project=PROJECT, zones=(ZONE,), stacks=(STACK,)),
        sweep_id="sweep",
        started_ms=NOW - 10_000,
        finished_ms=NOW,
        inventory=Inventory(scans, prices={(ZONE, "DEV1-S"): Price(hour_nanos=8_976_000, source="catalogue")}),
        memory=Memory(
            first_complete_ms=BORN,
            last_complete=CompleteSweep(
                sweep_id="earlier", finished_ms=NOW - 60_000, counts=counts, serials={STACK: "1"}
            ),
            lineage=parts.lineage,
            unowned_since={item.ref: BORN for item in (*parts.servers[workers:], *parts.volumes[workers:])},
        ),
        desired=Desired(fleets=(spec,)),
        states_before={STACK: StackState(stack=STACK, serial="1", read_ms=NOW, resources=tuple(parts.entries))},
        states={STACK: StackState(stack=STACK, serial="1", read_ms=NOW, resources=tuple(parts.entries))},
        health=Health(calls=4000),
    )

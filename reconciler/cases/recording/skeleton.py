"""A sweep as two files: a case to run, and beside it what the sweep read, masked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from reconciler.cases.recording.mask import Mask
from reconciler.cases.recording.statecopy import deployment
from reconciler.cases.recording.worldlines import world_of
from reconciler.kernel.clock import iso
from reconciler.model.finding import FindingKind
from reconciler.model.inventory import Scan
from reconciler.model.memory import Memory
from reconciler.model.resources import Kind, Ref
from reconciler.model.scope import FleetMatch, Scope
from reconciler.model.world import Sweep, World
from reconciler.simulator import worldfile

RECORDED_VERSION: Final = 1
# What refuses a list at playback, as the real one did or failed: a pattern of its path.
_LISTS: Final[Mapping[Kind, str]] = {
    Kind.SERVER: "/instance/v1/zones/{place}/servers",
    Kind.IP: "/instance/v1/zones/{place}/ips",
    Kind.VOLUME: "/block/v1*/zones/{place}/volumes",
    Kind.INSTANCE_VOLUME: "/instance/v1/zones/{place}/volumes",
    Kind.NIC: "/instance/v2alpha1/zones/{place}/private-network-interfaces",
    Kind.IPAM: "/ipam/v1/regions/{place}/ips",
}
_NOTE: Final = """\
# Recorded by `reconciler simulate record`. Names, ids, tags, addresses and projects are replaced; {data} beside
# this file holds what was read. `simulate run` shows whether it still gives the same findings.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The texts of the two files."""

    case: str
    data: str


def record(sweep: Sweep, *, key: bytes, data_name: str) -> Recording:
    """`key`: secret, and of this recording alone; keep it nowhere. `data_name`: what the case calls the other file."""
    world = sweep.world
    mask = Mask(key, world.scope)
    resources = world.inventory.by_ref.values()
    made = world_of(resources, mask=mask, project=world.scope.project)
    data = {
        "schema_version": RECORDED_VERSION,
        "world": worldfile.dump(made, with_keys=False).splitlines(),
        "stacks": {mask.stack(name): deployment(state, mask=mask) for name, state in sorted(world.states.items())},
        "written": {mask.stack(name): state.written_ms for name, state in sorted(world.states.items())},
        "memory": memory_of(world.memory, mask=mask),
    }
    case = _case(sweep, mask=mask, data_name=data_name)
    text = _NOTE.format(data=data_name) + yaml.safe_dump(case, sort_keys=False, allow_unicode=False, width=100)
    return Recording(case=text, data=json.dumps(data, indent=1) + "\n")


def _case(sweep: Sweep, *, mask: Mask, data_name: str) -> dict[str, Any]:
    world = sweep.world
    counted = Counter(finding.kind for finding in sweep.findings)
    stacks = {
        mask.stack(name): _stack(world, name, mask)
        for name in (*sorted(world.states), *(one.stack for one in world.unread))
    }
    return {
        "why": "Describe what is wrong with these findings, and which one you expected instead.",
        "engine": "no, it is a recording",
        "start": iso(world.finished_ms),
        "memory": "0s",
        "recorded": data_name,
        "settings": settings_of(world.scope, mask=mask),
        "stacks": stacks,
        **({"faults": faults} if (faults := [_fault(scan) for scan in _refused(world)]) else {}),
        "steps": [
            {
                "run": "drift",
                "counts": {kind.value: counted[kind] for kind in FindingKind if counted[kind]} or "none",
            }
        ],
    }


def _stack(world: World, name: str, mask: Mask) -> dict[str, Any]:
    state = world.states.get(name)
    if state is None:
        return {"unreadable": "broken"}
    if not state.locks:
        return {}
    lock = state.locks[0]
    age = max(0, (world.finished_ms - (lock.created_ms or world.finished_ms)) // 1000)
    return {"lock": {"by": mask.user_at_host(lock.created_by), "age": f"{age}s"}}


def _refused(world: World) -> list[Scan]:
    return [scan for scan in world.inventory.incomplete() if scan.offered and scan.kind in _LISTS]


def _fault(scan: Scan) -> dict[str, Any]:
    path = _LISTS[scan.kind].format(place=scan.zone)
    return {"method": "GET", "path": path, "status": 403, "body": "permissions_denied"}


def settings_of(scope: Scope, *, mask: Mask) -> dict[str, Any]:
    """The settings that decide about findings, masked."""
    limits = scope.limits
    never = {
        "tags": mask.tags(scope.never.tags),
        "names": [mask.name_pattern(one) for one in scope.never.names],
        "ids": [mask.uuid(one.rpartition("/")[2]) for one in scope.never.ids],
    }
    return {
        "name": "recorded",
        "uuid": mask.uuid(scope.uuid),
        "project": mask.uuid(scope.project),
        "zones": list(scope.zones),
        "ownership": scope.ownership.value,
        "grace": scope.grace_seconds,
        "create_deadline": scope.create_seconds,
        "never": {key: values for key, values in never.items() if values},
        **({"fleet": [_fleet(one, mask) for one in scope.fleets]} if scope.fleets else {}),
        "limits": {"shrink_percent": limits.shrink_percent, "unknown_percent": limits.unknown_percent},
        "prices": {"ip_hour": scope.ip_hour_eur, "sbs_gb_hour": scope.sbs_gb_hour_eur},
    }


def _fleet(one: FleetMatch, mask: Mask) -> dict[str, Any]:
    match = {
        "urn": [mask.urn_pattern(pattern) for pattern in one.urns],
        "tags": mask.tags(one.tags),
        "name": [mask.name_pattern(pattern) for pattern in one.names],
        "security_group": [mask.uuid(group) for group in one.security_groups],
    }
    return {
        "name": mask.name(one.name),
        "controller": one.controller,
        "match": {**{key: values for key, values in match.items() if values}, "require": one.require},
        "max_create": one.max_create_seconds,
        "actions": dict(one.actions),
    }


def memory_of(memory: Memory, *, mask: Mask) -> dict[str, Any] | None:
    """What findings rest on: how long the memory is, sightings, lineage, releases."""
    if not memory.present:
        return None
    last = memory.last_complete
    return {
        "first_complete_ms": memory.first_complete_ms,
        "last_complete": None
        if last is None
        else {"finished_ms": last.finished_ms, "counts": {kind.value: count for kind, count in last.counts.items()}},
        "unowned_since": [
            {**_ref(ref, mask), "since_ms": since} for ref, since in sorted(memory.unowned_since.items())
        ],
        "lineage": [
            {
                **_ref(ref, mask),
                "source": line.source,
                "fleet": mask.name(line.fleet) if line.fleet is not None else None,
                "stack": mask.stack(line.stack) if line.stack is not None else None,
                "urn": mask.urn(line.urn) if line.urn is not None else None,
                "worker": mask.worker(line.worker) if line.worker is not None else None,
                "server_id": mask.uuid(line.server_id) if line.server_id is not None else None,
                "first_seen_ms": line.first_seen_ms,
            }
            for ref, line in sorted(memory.lineage.items())
        ],
        "released": [
            {
                **_ref(ref, mask),
                "with_id": mask.uuid(one.with_id),
                "stack": mask.stack(one.stack),
                "urn": mask.urn(one.urn),
            }
            for ref, one in sorted(memory.released.items())
        ],
    }


def _ref(ref: Ref, mask: Mask) -> dict[str, str]:
    return {"kind": ref.kind.value, "zone": ref.zone, "id": mask.uuid(ref.id)}

"""Worlds by chance: everything that may be wrong with a resource, a state or a memory, in any combination.

Values are drawn from few candidates on purpose, so that the interesting coincidences (a leftover with both proofs past
its grace, beside a stack that is not read) come up often. Nine in ten draws are the ones in order.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import strategies as st

from reconciler.model.desired import Desired
from reconciler.model.inventory import Inventory, Presence, Probe, Scan
from reconciler.model.memory import NO_MEMORY, Lineage, Memory
from reconciler.model.records import (
    NO_RECORDS,
    FleetRow,
    RecordsView,
    Tombstone,
    UnreadRecords,
    WorkerRow,
    WorkerState,
)
from reconciler.model.resources import Kind, Ref, Resource, Server, VolumeSlot
from reconciler.model.scope import FleetMatch, Never, Ownership
from reconciler.model.state import SECRET, Lock, PendingOperation, StackState, StateResource, UnreadStack
from reconciler.model.world import World
from tests.builders import (
    DAY,
    HOSTILE,
    HOUR,
    LISTED,
    NOW,
    OTHER_PROJECT,
    OTHER_SCOPE,
    PROJECT,
    ROOT_NAME,
    SCOPE,
    STACK,
    ZONE,
    absent,
    booking,
    entry_of,
    fleet,
    ip,
    lineage,
    local_volume,
    nic,
    owner_tags,
    pending,
    scope,
    server,
    state,
    uid,
    unanswered,
    volume,
    world,
)

T = TypeVar("T")
GRACE_MS = 900_000
WORKERS = (uid("w0"), uid("w1"), uid("w2"))
FLEET_UID = uid("burst")
ELASTIC_FLEET = fleet(None, uid=FLEET_UID, name="burst", controller="elastic")
OTHER_STACK = "ci/other"
GONE_STACK = "ci/taken-off-the-list"


def worker_tags(worker: str, *, scope: str = SCOPE) -> tuple[str, ...]:
    return (*owner_tags(None, fleet="burst", scope=scope), f"reconciler:worker={worker}")


def mostly(usual: T, *others: T) -> st.SearchStrategy[T]:
    """`usual` nine times in ten."""
    return st.sampled_from((*(usual,) * 9 * len(others), *others))


def half(usual: T, *others: T) -> st.SearchStrategy[T]:
    return st.sampled_from((*(usual,) * len(others), *others))


TAGS = half(
    owner_tags(0),
    owner_tags(1),
    owner_tags(7),
    owner_tags(None),
    owner_tags(0, revision="ffffffffffff"),
    owner_tags(0, scope=OTHER_SCOPE),
    (*owner_tags(0), f"reconciler:scope={OTHER_SCOPE}"),
    (),
    ("reconciler",),
    ("Reconciler", "role=ci"),
    ("role=ci",),
    (*owner_tags(0), "keep"),
    (*owner_tags(0), "kapsule=b9c08ebb"),
    (HOSTILE, *owner_tags(HOSTILE, fleet=HOSTILE)),
    owner_tags("²"),
    *(worker_tags(worker) for worker in WORKERS),
    worker_tags(WORKERS[0], scope=OTHER_SCOPE),
    (*worker_tags(WORKERS[0]), f"reconciler:worker={WORKERS[1]}"),
)
BORN = mostly(NOW - DAY, NOW - 60_000, NOW + HOUR, None)
SINCE = mostly(NOW - DAY, None, NOW - 60_000, NOW + HOUR)
PROJECTS = mostly(PROJECT, OTHER_PROJECT)
SCOPES = st.builds(
    scope,
    ownership=st.sampled_from(Ownership),
    never=mostly(Never(), Never(tags=("keep",), names=("linux-1*", "d*"), ids=(uid("s0"), f"fr-par-1/{uid('i2')}"))),
    fleets=mostly(
        (),
        (FleetMatch(name="linux", names=("*",), tags=("role=ci",), urns=("urn:*",), require=1),),
        (FleetMatch(name="linux", names=("linux-*",), require=2, actions=(("orphan", "ask"), ("detached_ip", "ask"))),),
    ),
)


@st.composite
def children(draw: st.DrawFn, owner: Server, number: int) -> list[Resource]:
    """A root, and perhaps more, on a server: inline or not, held by others or not."""
    born = owner.created_ms if owner.created_ms is not None else NOW - DAY
    common: dict[str, Any] = {"server_id": owner.id, "project": draw(PROJECTS)}
    made: list[Resource] = []
    if draw(mostly(True, False)):
        made.append(
            volume(
                f"v{number}",
                **common,
                tags=draw(TAGS),
                created_ms=draw(mostly(born + 90, born - 1, born - DAY, None)),
                name=draw(mostly(ROOT_NAME, "pvc-1", "d1")),
                reference_ids=draw(mostly((owner.id,), (owner.id, uid("snapshot")), ())),
            )
        )
    if draw(half(False, True)):
        made.append(local_volume(f"l{number}", **common, tags=draw(TAGS), created_ms=draw(mostly(born, born - DAY))))
    if draw(half(False, True)):
        made.append(ip(f"i{number}", **common, tags=draw(TAGS)))
    if draw(half(False, True)):
        made.append(nic(f"n{number}", server_id=owner.id, project=draw(PROJECTS)))
    return made


@st.composite
def machines(draw: st.DrawFn, number: int) -> list[Resource]:
    owner = server(
        f"s{number}",
        name=draw(mostly(f"linux-{number}", HOSTILE, "pvc-x", "d-1")),
        tags=draw(TAGS),
        project=draw(PROJECTS),
        created_ms=draw(BORN),
        state=draw(mostly("running", "stopped", "stopping", "locked")),
        protected=draw(mostly(False, True)),
    )
    parts = draw(children(owner, number))
    listed = [part for part in parts if draw(mostly(True, False))]
    slots = [
        VolumeSlot(key=str(key), id=part.id, volume_type="l_ssd" if part.ref.kind is Kind.INSTANCE_VOLUME else "sbs_5k")
        for key, part in enumerate(part for part in listed if part.ref.kind in (Kind.VOLUME, Kind.INSTANCE_VOLUME))
    ]
    owner = replace(
        owner,
        volumes=tuple(slots),
        ip_ids=tuple(part.id for part in listed if part.ref.kind is Kind.IP),
        nic_ids=tuple(part.id for part in listed if part.ref.kind is Kind.NIC),
    )
    # A part that the server lists and no list of its own shows.
    return [owner, *(part for part in parts if draw(mostly(True, False)))]


@st.composite
def free_things(draw: st.DrawFn, number: int) -> list[Resource]:
    common: dict[str, Any] = {"tags": draw(TAGS), "project": draw(PROJECTS), "created_ms": draw(BORN)}
    kind = draw(st.sampled_from(["volume", "disk", "ip"]))
    if kind == "ip":
        thing = ip(
            f"i{number}",
            **common,
            state=draw(mostly("detached", "pending", "error", "attached")),
            server_id=draw(mostly(None, uid("somebody"))),
        )
        user = draw(mostly(None, "instance_ip", "vpc_gateway", "instance_server"))
        return [thing, booking(thing, resource_type=user, resource_id=uid("user") if user else None)]
    make = volume if kind == "volume" else local_volume
    held = draw(mostly((), (uid("snapshot"),)))
    return [
        make(
            f"v{number}",
            **common,
            name=draw(mostly("data", "pvc-1", HOSTILE)),
            status=draw(mostly("available", "in_use", "snapshotting", "error")),
            reference_ids=held,
            server_id=draw(mostly(None, uid("s0"), uid("somebody"))),
            last_detached_ms=draw(mostly(None, NOW - 60_000)),
        )
    ]


@st.composite
def held_entry(draw: st.DrawFn, resource: Resource, everything: list[Resource]) -> StateResource:
    parts = [one for one in everything if getattr(one, "server_id", None) == resource.id and draw(mostly(True, False))]
    entry = entry_of(resource, *parts, name=f"e-{resource.ref.kind.value}-{resource.id[:8]}")
    entry = replace(
        entry,
        external=draw(mostly(False, True)),
        pending_delete=draw(mostly(False, True)),
        type=draw(mostly(entry.type, "scaleway:index/instanceServer:InstanceServer")),
        ignore_changes=draw(mostly((), ("tags",), ("*",))),
    )
    outputs: tuple[dict[str, Any], ...] = ({"name": "before"}, {"tags": ["x"]}, {"tags": SECRET}, {"state": "stopped"})
    changes = draw(mostly({}, *outputs))
    declared: tuple[dict[str, Any], ...] = ({"tags": list(owner_tags(0))}, {"tags": SECRET})
    inputs = draw(mostly({}, *declared))
    return replace(entry, outputs={**entry.outputs, **changes}, inputs={**entry.inputs, **inputs})


@st.composite
def states(draw: st.DrawFn, everything: list[Resource]) -> tuple[dict[str, StackState], dict[str, StackState]]:
    """(first read, second read)."""
    holdable = [one for one in everything if one.ref.kind is not Kind.IPAM]
    held = [one for one in holdable if draw(st.integers(0, 2)) == 0]
    entries = [draw(held_entry(one, everything)) for one in held]
    split = draw(st.integers(0, len(entries)))
    second: dict[str, StackState] = {}
    for name, part in ((STACK, entries[:split]), (OTHER_STACK, entries[split:])):
        one, again = pending(name=f"9-of-{name}"), pending("updating", name=f"9-of-{name}")
        operations: tuple[PendingOperation, ...] = draw(mostly((), (one,), (one, again)))
        locks = draw(mostly((), (Lock(created_by=HOSTILE, pid=7),)))
        second[name] = state(*part, stack=name, pending=operations, locks=locks)
    first = dict(second)
    match draw(mostly("calm", "moved", "made", "moved", "one", "none")):
        case "moved":
            name = draw(st.sampled_from(sorted(first)))
            earlier = tuple(entry for entry in first[name].resources if draw(st.booleans()))
            first[name] = replace(first[name], resources=earlier, serial="0")
        case "made":
            del first[draw(st.sampled_from(sorted(first)))]
        case "one":
            del first[OTHER_STACK], second[OTHER_STACK]
        case "none":
            first, second = {}, {}
        case _:
            pass
    return first, second


@st.composite
def memories(draw: st.DrawFn, everything: list[Resource]) -> Memory:
    if draw(mostly(False, True)):
        return NO_MEMORY
    lines: dict[Ref, Lineage] = {}
    unowned: dict[Ref, int] = {}
    for one in everything:
        if draw(mostly(True, False)):
            lines |= lineage(
                one,
                source=draw(mostly("state", "attached")),
                stack=draw(mostly(STACK, GONE_STACK, None)),
                urn=draw(mostly("urn:was", None)),
                fleet=draw(mostly("linux", None)),
            )
        since = draw(SINCE)
        if since is not None:
            unowned[one.ref] = since
    refs = [one.ref for one in everything]
    return Memory(
        first_complete_ms=NOW - 7 * DAY,
        lineage=lines,
        unowned_since=unowned,
        held=frozenset(ref for ref in refs if draw(mostly(False, True))),
        doomed=frozenset(ref for ref in refs if draw(mostly(False, True))),
    )


@st.composite
def worker_rows(draw: st.DrawFn, worker: str, machine: Ref | None) -> WorkerRow:
    moments = mostly(NOW - DAY, NOW - 60_000, NOW, None)
    of = draw(st.sampled_from(list(WorkerState)))
    if machine is None:
        of = draw(st.sampled_from([WorkerState.PROVISIONING, WorkerState.FAILED]))
    end = draw(mostly(None, "open", "finished"))
    return WorkerRow(
        id=worker,
        fleet_id=FLEET_UID,
        fleet="burst",
        zone=draw(mostly(ZONE, "pl-waw-1")),
        revision="0123456789ab",
        state=of,
        changed_ms=draw(mostly(NOW - DAY, NOW - 60_000)),
        machine=machine,
        create_sent_ms=draw(moments),
        create_confirmed_ms=draw(moments),
        deletion_id=None if end is None else "deletion",
        deletion_finished=end == "finished",
    )


@st.composite
def records(draw: st.DrawFn, servers: list[Server]) -> tuple[RecordsView, RecordsView]:
    """(first read, second read). Half of the worlds keep no rows."""
    if draw(half(True, False)):
        return NO_RECORDS, NO_RECORDS
    machines = [one.ref for one in servers] + [Ref(Kind.SERVER, ZONE, uid("gone"))]
    rows = []
    for worker in WORKERS:
        if draw(st.booleans()):
            machine = draw(st.sampled_from([None, *machines]))
            machines = [one for one in machines if one != machine]
            rows.append(draw(worker_rows(worker, machine)))
    row = FleetRow(id=FLEET_UID, name="burst", stack=STACK, controller="elastic", revision="r", declared_ms=NOW)
    ended = {w: Tombstone(worker=w, zone=ZONE, machine_id=None, buried_ms=1, why="x") for w in WORKERS}
    gone = draw(mostly({}, ended))
    known = {one.id for one in rows}
    second = RecordsView(
        adapter="native",
        workers=tuple(rows),
        fleets=draw(half((), (row,))),
        ended={worker: stone for worker, stone in gone.items() if worker not in known},
    )
    earlier = tuple(
        replace(one, changed_ms=1) if draw(mostly(False, True)) else one for one in rows if draw(mostly(True, False))
    )
    first = replace(second, workers=earlier, ended={})
    lost = UnreadRecords(code="RC0201", reason=HOSTILE)
    match draw(mostly("read", "first", "second")):
        case "first":
            first = RecordsView(adapter="native", unread=lost)
        case "second":
            second = RecordsView(adapter="native", unread=lost)
        case _:
            pass
    return first, second


@st.composite
def probes(draw: st.DrawFn, held: Mapping[str, StackState], there: list[Resource]) -> list[Probe]:
    """Answers for some of what the states hold: gone, hidden, or found although the list lagged."""
    known = {one.ref: one for one in there}
    made: dict[Ref, Probe] = {}
    for one in held.values():
        for entry in one.resources:
            ref = entry.ref
            if ref is None or (ref in known and draw(mostly(True, False))):
                continue
            stand_in = known.get(ref) or server("x", id=ref.id, zone=ref.zone)
            answer = draw(mostly("absent", "unanswered"))
            if ref in known:
                found = Probe(ref=ref, presence=Presence.PRESENT, at_ms=NOW, resource=known[ref], status=200)
                made[ref] = found if answer == "absent" else replace(unanswered(stand_in), ref=ref)
            elif answer == "absent":
                made[ref] = replace(absent(stand_in), ref=ref)
            else:
                made[ref] = replace(unanswered(stand_in), ref=ref)
    return list(made.values())


@st.composite
def worlds(draw: st.DrawFn) -> World:
    everything: list[Resource] = []
    for number in range(draw(st.integers(0, 3))):
        everything += draw(machines(number))
    for number in range(3, 3 + draw(st.integers(0, 3))):
        everything += draw(free_things(number))
    first, second = draw(states(everything))
    gone = {one.ref for one in everything if draw(mostly(False, True))}
    there = [one for one in everything if one.ref not in gone]
    listed = [one for one in there if draw(mostly(True, False))]  # the rest is there, and the list lags
    broken = dict.fromkeys(draw(mostly((), *((kind,) for kind in LISTED))), "HTTP 503")
    answers = draw(probes(second, there))
    made = world(
        *listed,
        probes=answers,
        broken=broken,
        scope=draw(SCOPES),
        memory=draw(memories(everything)),
        desired=Desired(
            fleets=tuple(
                draw(mostly((), (fleet(2), ELASTIC_FLEET), (fleet(1), fleet(3, stack=OTHER_STACK, uid="z"))))
                + draw(half((), (ELASTIC_FLEET,)))
            ),
            problems=draw(mostly((), ("stack ci/prod: broken",))),
        ),
        unread=draw(mostly((), (UnreadStack(stack="ci/x", code="RC0508", reason=HOSTILE),))),
    )
    before, after = draw(records([one for one in everything if isinstance(one, Server)]))
    return replace(made, states_before=first, states=second, records_before=before, records=after)


def shuffled(given: World, seed: int) -> World:
    """The same world, read in another order everywhere."""
    chance = random.Random(seed)

    def mixed(items: Mapping[Any, Any]) -> dict[Any, Any]:
        pairs = list(items.items())
        chance.shuffle(pairs)
        return dict(pairs)

    def mixed_state(one: StackState) -> StackState:
        return replace(one, resources=_mix(one.resources, chance), pending=_mix(one.pending, chance))

    scans: dict[tuple[Kind, str], Scan] = {
        key: replace(scan, items=_mix(scan.items, chance)) for key, scan in mixed(given.inventory.scans).items()
    }
    memory = replace(given.memory, lineage=mixed(given.memory.lineage), unowned_since=mixed(given.memory.unowned_since))
    return replace(
        given,
        inventory=Inventory(scans=scans, prices=given.inventory.prices, probes=mixed(given.inventory.probes)),
        memory=memory,
        desired=replace(given.desired, fleets=_mix(given.desired.fleets, chance)),
        states={name: mixed_state(one) for name, one in mixed(given.states).items()},
        states_before={name: mixed_state(one) for name, one in mixed(given.states_before).items()},
        unread=_mix(given.unread, chance),
        records=replace(given.records, workers=_mix(given.records.workers, chance)),
        records_before=replace(given.records_before, workers=_mix(given.records_before.workers, chance)),
    )


def _mix(items: tuple[T, ...], chance: random.Random) -> tuple[T, ...]:
    mixed = list(items)
    chance.shuffle(mixed)
    return tuple(mixed)

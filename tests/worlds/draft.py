"""One world in the making: what scenes are given to make their situations with, and to say what is true of them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from reconciler.kernel.randomness import SeededRandomness
from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.model.memory import Lineage
from reconciler.model.resources import Kind, Ref, region_of
from reconciler.model.scope import Ownership
from reconciler.simulator import PROJECT_ID
from reconciler.simulator import World as CloudWorld
from reconciler.simulator.generate import Worker, add_network, add_worker
from reconciler.simulator.mint import Mint
from reconciler.simulator.records import BlockVolume, FlexibleIp, IpamIp, Nic, Reference, Server, Slot, Volume
from reconciler.simulator.records_static import PlacementGroup, PrivateNetwork, SecurityGroup
from reconciler.simulator.world import AnyRecord
from tests.worlds import hostile
from tests.worlds.checkpoints import StackDraft, entry, properties
from tests.worlds.truth import Expected, Interrupted, Rank, Thing, Whose

NOW: Final = 1_790_000_000_000
MINUTE: Final = 60_000
DAY: Final = 24 * 60 * MINUTE
BORN: Final = NOW - 2 * DAY
LONG: Final = NOW - DAY
RECENT: Final = NOW - MINUTE
GRACE_MS: Final = 15 * MINUTE
SCOPE: Final = "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c11"
OTHER_SCOPE: Final = "33333333-3333-4333-8333-333333333333"
OTHER_PROJECT: Final = "99999999-9999-4999-8999-999999999999"
MAIN: Final = "ci/prod"
SIDE: Final = "render/main"
GONE_STACK: Final = "ci/taken-off-the-list"
REVISION: Final = "0123456789ab"
COMPONENT: Final = "reconciler:fleet:WorkerFleet"

_KINDS: Final = {
    Server: Kind.SERVER,
    FlexibleIp: Kind.IP,
    BlockVolume: Kind.VOLUME,
    Volume: Kind.INSTANCE_VOLUME,
    Nic: Kind.NIC,
    IpamIp: Kind.IPAM,
    PrivateNetwork: Kind.PRIVATE_NETWORK,
    SecurityGroup: Kind.SECURITY_GROUP,
    PlacementGroup: Kind.PLACEMENT_GROUP,
}


def ref_of(record: AnyRecord) -> Ref:
    place = record.region if isinstance(record, IpamIp | PrivateNetwork) else str(getattr(record, "zone", ""))
    return Ref(_KINDS[type(record)], place, record.id)


def owner_tags(fleet: str, slot: int | None = None, *, scope: str = SCOPE, revision: str = REVISION) -> tuple[str, ...]:
    slots = () if slot is None else (f"reconciler:slot={slot}",)
    return (
        "reconciler",
        f"reconciler:scope={scope}",
        f"reconciler:fleet={fleet}",
        *slots,
        f"reconciler:revision={revision}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """A declared `WorkerFleet`."""

    name: str
    stack: str
    zone: str
    urn: str

    def tags(self, slot: int) -> tuple[str, ...]:
        return owner_tags(self.name, slot)

    def urn_of(self, token: str, name: str) -> str:
        head = self.urn.rpartition("::")[0]
        return f"{head}${token}::{name}"


@dataclass(kw_only=True)
class Row:
    """The row of a worker. `fleet`: its declaration, as the stack's output has it; `machine`: a server's id."""

    id: str
    fleet: Mapping[str, Any]
    zone: str
    state: str
    machine: str | None
    sent_ms: int | None


@dataclass
class Remembered:
    """What the database holds before the first sweep. `doomed`: a target and its children."""

    rows: list[Row] = field(default_factory=list)

    lineage: list[Lineage] = field(default_factory=list)
    unowned: dict[Ref, int] = field(default_factory=dict)
    doomed: list[tuple[Ref, tuple[Ref, ...]]] = field(default_factory=list)
    held: list[Ref] = field(default_factory=list)
    released: list[tuple[Ref, str]] = field(default_factory=list)


@dataclass
class Draft:
    """`chance` is the scene's own; `label` begins all its names."""

    zones: tuple[str, ...]
    ownership: Ownership
    hostile: bool
    program: bool
    chance: random.Random
    label: str = ""
    world: CloudWorld = field(default_factory=CloudWorld)
    stacks: dict[str, StackDraft] = field(default_factory=dict)
    memory: Remembered = field(default_factory=Remembered)
    things: dict[str, Thing] = field(default_factory=dict)
    first: list[Expected] = field(default_factory=list)
    last: list[Expected] = field(default_factory=list)
    interrupted: list[Interrupted] = field(default_factory=list)
    adoptable: dict[tuple[str, str], str] = field(default_factory=dict)
    workers: dict[str, str] = field(default_factory=dict)
    never_ids: list[str] = field(default_factory=list)
    undeclared: set[str] = field(default_factory=set)
    networks: dict[str, PrivateNetwork] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stacks = {name: StackDraft(name, scope=SCOPE) for name in (MAIN, SIDE)}
        self.mint = Mint(SeededRandomness(0), taken=self.world.__contains__)

    @contextmanager
    def scene(self, label: str, *, seed: str) -> Iterator[random.Random]:
        """Whatever is made meanwhile comes from this seed alone."""
        self.chance, self.label = random.Random(seed), label
        self.mint = Mint(SeededRandomness(self.chance.getrandbits(64)), taken=self.world.__contains__)
        yield self.chance

    # -- chance

    def zone(self) -> str:
        return self.chance.choice(self.zones)

    def one_of(self, *values: Any) -> Any:
        return self.chance.choice(values)

    def extra_tags(self) -> tuple[str, ...]:
        """A stranger's tags beside ours."""
        return hostile.some(self.chance) if self.hostile else ()

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    # -- the cloud

    def server(self, name: str, **options: Any) -> Worker:
        """A machine as an ordinary create leaves it; see `generate.add_worker`."""
        given = {"zone": self.zones[0], "with_ip": False, "created_ms": BORN, **options}
        return add_worker(self.world, self.mint, name=name, **given)

    def network(self, zone: str) -> PrivateNetwork:
        region = region_of(zone)
        if region not in self.networks:
            self.networks[region] = add_network(self.world, self.mint, zone=zone)
        return self.networks[region]

    def ip(self, zone: str, tags: Iterable[str] = (), *, created_ms: int = BORN, **changes: Any) -> FlexibleIp:
        """A free address, with its entry in IPAM."""
        id_ = self.mint.uuid()
        booking = self.mint.uuid() if self.world.options.ipam_id_differs else id_
        given = {"zone": zone, "address": self.mint.public_ipv4(self.world), "ipam_id": booking, "tags": tuple(tags)}
        made = FlexibleIp(**{"id": id_, **given, "created_ms": created_ms, **changes})
        self.world.ips.put(made)
        self.world.ipam.put(
            IpamIp(
                id=booking,
                address=f"{made.address}/32",
                region=region_of(zone),
                project=made.project,
                zone=zone,
                created_ms=created_ms,
                updated_ms=created_ms,
            )
        )
        return made

    def volume(self, zone: str, name: str, tags: Iterable[str] = (), **changes: Any) -> BlockVolume:
        given = {"zone": zone, "name": name, "tags": tuple(tags), "created_ms": BORN, "updated_ms": BORN}
        return self.world.block_volumes.put(BlockVolume(id=self.mint.uuid(), **{**given, **changes}))

    def local(self, zone: str, name: str, tags: Iterable[str] = (), **changes: Any) -> Volume:
        given = {"zone": zone, "name": name, "tags": tuple(tags), "created_ms": BORN, "updated_ms": BORN}
        return self.world.volumes.put(Volume(id=self.mint.uuid(), **{**given, **changes}))

    def attach(self, volume: BlockVolume | Volume, server_id: str) -> None:
        """In both APIs, in the next free place of the server."""
        server = self.get_server(server_id)
        kind = "sbs_volume"
        if isinstance(volume, BlockVolume):
            reference = Reference(id=self.mint.uuid(), server=server_id, created_ms=volume.created_ms)
            self.world.block_volumes.put(replace(volume, reference=reference, status="in_use"))
        else:
            kind = volume.volume_type
            self.world.volumes.put(replace(volume, server=server_id))
        slot = Slot(key=str(len(server.slots)), volume=volume.id, volume_type=kind)
        self.world.servers.put(replace(server, slots=(*server.slots, slot)))

    def get_server(self, id_: str) -> Server:
        found = self.world.servers.get(id_)
        assert found is not None
        return found

    def change(self, id_: str, **changes: Any) -> AnyRecord:
        record: AnyRecord = replace(self.get(id_), **changes)
        self.world.add(record)
        return record

    def get(self, id_: str) -> Any:
        found = self.world.find(id_)
        assert found is not None
        return found

    def ref(self, id_: str) -> Ref:
        return ref_of(self.get(id_))

    def text(self, id_: str) -> str:
        return str(self.ref(id_))

    # -- the states

    def fleet(self, replicas: int, *, stack: str = MAIN, zone: str | None = None) -> Fleet:
        """Declare one: the component, and the stack's output."""
        held, zone = self.stacks[stack], zone or self.zone()
        urn = held.urn(COMPONENT, self.label)
        held.resources.append({"urn": urn, "type": COMPONENT, "custom": False})
        held.fleets.append(
            {
                "uid": self.uuid(),
                "name": self.label,
                "controller": "static",
                "zone": zone,
                "replicas": replicas,
                "revision": REVISION,
                "commercial_type": "DEV1-S",
                "component_urn": urn,
            }
        )
        return Fleet(name=self.label, stack=stack, zone=zone, urn=urn)

    def elastic(self, zone: str) -> Mapping[str, Any]:
        """Declare an elastic fleet, whose workers have rows."""
        fleet = {
            "uid": self.uuid(),
            "name": self.label,
            "controller": "elastic",
            "zone": zone,
            "minimum": 0,
            "maximum": 5,
            "revision": REVISION,
        }
        self.stacks[MAIN].fleets.append(fleet)
        return fleet

    def hold(self, id_: str, stack: str, urn: str, **changes: Any) -> str:
        """An entry for what the cloud holds now; returns the URN."""
        record = self.get(id_)
        self.stacks[stack].resources.append(entry(urn, record, properties(record, self.world), **changes))
        return urn

    def hold_plain(self, id_: str, name: str, *, stack: str = SIDE, **changes: Any) -> str:
        from tests.worlds.checkpoints import TOKENS

        return self.hold(id_, stack, self.stacks[stack].urn(TOKENS[type(self.get(id_))], name), **changes)

    # -- the memory

    def remember(
        self, id_: str, *, source: str, stack: str = MAIN, fleet: str | None = None, server: str | None = None
    ) -> None:
        ref = self.ref(id_)
        self.memory.lineage.append(
            Lineage(
                ref=ref,
                source=source,
                fleet=fleet,
                stack=stack,
                urn=f"urn:pulumi:prod::ci::was::{self.label}",
                worker=None if fleet is None else f"{fleet}/0",
                server_id=server,
                first_seen_ms=BORN,
            )
        )

    # -- the truth

    def is_(self, whose: Whose, *ids: str | None, **said: Any) -> None:
        for id_ in ids:
            if id_ is not None:
                self.things[id_] = Thing(id=id_, whose=whose, why=self.label, **said)

    def expect(
        self,
        kind: FindingKind,
        *subjects: str,
        verdict: Verdict,
        action: ActionKind,
        rank: Rank = Rank.ACT,
        stack: str | None = None,
        beside: tuple[str, ...] = (),
        when: str = "first",
    ) -> None:
        """`when`: `first`, `last` or `both`."""
        made = Expected(
            kind=kind,
            subjects=subjects,
            verdict=verdict,
            action=action,
            rank=rank,
            stack=stack,
            beside=beside,
            scene=self.label,
        )
        if when in ("first", "both"):
            self.first.append(made)
        if when in ("last", "both"):
            self.last.append(made)

    def unmanaged(self, *ids: str, when: str = "both") -> None:
        texts = [self.text(id_) for id_ in ids]
        self.expect(FindingKind.UNMANAGED, *texts, verdict=Verdict.NONE, action=ActionKind.NONE, when=when)

    def vacant(self, fleet: Fleet, slot: int, *, when: str) -> None:
        self.expect(
            FindingKind.VACANT,
            f"slot {fleet.name}/{slot}",
            verdict=Verdict.ASK,
            action=ActionKind.UP,
            stack=fleet.stack,
            when=when,
        )


PROJECT: Final = PROJECT_ID

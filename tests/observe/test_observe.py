"""One sweep's reading: the order of it, what is asked for by id, and what failing leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from reconciler.diff import diff
from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.errors import AuthenticationError, CloudError, EngineError, ReconcilerError
from reconciler.kernel.executor import SerialExecutor, ThreadExecutor
from reconciler.kernel.ids import Ids
from reconciler.kernel.randomness import SeededRandomness
from reconciler.model.finding import FindingKind, Verdict
from reconciler.model.inventory import Presence, Probe, Scan
from reconciler.model.money import Price
from reconciler.model.resources import Kind, Ref, Resource
from reconciler.model.state import StackState, StateResource
from reconciler.model.world import World
from reconciler.observe import observe
from tests.builders import (
    NOW,
    OTHER_PROJECT,
    PROJECT,
    STACK,
    ZONE,
    booking,
    entry_of,
    ip,
    machine,
    owner_tags,
    remembered,
    scope,
    server,
    state,
    uid,
    volume,
)
from tests.fakes.cloud import FakeCloud
from tests.fakes.engine import FakeEngine

ONE = machine(0)


@dataclass
class Cloud(FakeCloud):
    """A fake provider that also lags, hides, and tells in which order it was asked.

    `lagging`: refs that no list shows; `listed`: refs that lists show as they were; `answers`: what a GET by id says.
    """

    project: str = PROJECT
    lagging: set[Ref] = field(default_factory=set)
    listed: dict[Ref, Resource] = field(default_factory=dict)
    answers: dict[Ref, Probe] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    unreachable: bool = False
    during: Callable[[], None] = lambda: None

    def check_credentials(self) -> None:
        self.asked.append("credentials")
        if self.unreachable:
            raise CloudError("no answer", code="RC0401")
        super().check_credentials()

    def scan(self, kind: Kind, locality: str, *, known_ids: Collection[str] = ()) -> Scan:
        self.asked.append(f"scan {kind.value} {locality} {len(known_ids)}")
        self.during()
        found = super().scan(kind, locality, known_ids=known_ids)
        items = [self.listed.get(item.ref, item) for item in found.items if item.ref not in self.lagging]
        items += [
            item
            for ref, item in self.listed.items()
            if ref not in self.resources and (kind, locality) == ref_place(ref)
        ]
        return replace(found, items=tuple(items))

    def probe(self, ref: Ref) -> Probe:
        self.asked.append(f"probe {ref.kind.value}")
        return self.answers.get(ref) or super().probe(ref)

    def prove_absent(self, refs: Collection[Ref], *, known_ids: Mapping[Kind, Collection[str]]) -> Mapping[Ref, Probe]:
        self.asked += [f"prove {ref.kind.value}" for ref in refs]
        return {ref: self.answers.get(ref) or FakeCloud.probe(self, ref) for ref in refs}


def ref_place(ref: Ref) -> tuple[Kind, str]:
    return ref.kind, ref.zone


@dataclass
class Engine(FakeEngine):
    """Tells in which order it was asked."""

    asked: list[str] = field(default_factory=list)

    def stacks(self, patterns: Sequence[str]) -> tuple[str, ...]:
        self.asked.append("stacks")
        return super().stacks(patterns)

    def read(self, stack: str) -> StackState:
        self.asked.append(f"read {stack}")
        return super().read(stack)


def cloud(*resources: Resource, **changes: Any) -> Cloud:
    made = Cloud(clock=VirtualClock(start_ms=NOW), **changes)
    made.add(*resources)
    return made


def engine(*entries: StateResource) -> Engine:
    made = Engine()
    made.add(state(*entries))
    return made


def sweep(a_cloud: FakeCloud, an_engine: FakeEngine, **changes: Any) -> World:
    clock = VirtualClock(start_ms=NOW)
    given: dict[str, Any] = {
        "scope": scope(),
        "memory": remembered(),
        "clock": clock,
        "executor": SerialExecutor(),
        "ids": Ids(clock=clock, randomness=SeededRandomness(1)),
    }
    return observe(cloud=a_cloud, engine=an_engine, **(given | changes))


def kinds(world: World) -> list[tuple[FindingKind, Verdict]]:
    return [(one.kind, one.verdict) for one in diff(world)]


# -- the order


def test_authorities_are_read_before_and_after_the_inventory() -> None:
    log: list[str] = []
    a_cloud, an_engine = cloud(*ONE.cloud), engine(*ONE.entries)
    a_cloud.asked = an_engine.asked = log
    sweep(a_cloud, an_engine)
    reads = [place for place, step in enumerate(log) if step == f"read {STACK}"]
    scans = [place for place, step in enumerate(log) if step.startswith("scan")]
    assert len(reads) == 2
    assert reads[0] < min(scans)
    assert max(scans) < reads[1]


def test_a_world_in_order_is_read_with_one_list_a_kind_and_no_further_call() -> None:
    a_cloud = cloud(*ONE.cloud)
    world = sweep(a_cloud, engine(*ONE.entries))
    assert diff(world) == ()
    assert [step.split()[:2] for step in a_cloud.asked if step != "credentials"] == [
        ["scan", kind] for kind in ("server", "ip", "volume", "instance_volume", "nic", "ipam")
    ]


def test_every_known_id_is_handed_to_the_list_of_its_kind_as_a_witness() -> None:
    a_cloud = cloud(*ONE.cloud)
    sweep(a_cloud, engine(*ONE.entries))
    known = {step.split()[1]: step.split()[3] for step in a_cloud.asked if step.startswith("scan")}
    assert known == {"server": "1", "ip": "1", "volume": "0", "instance_volume": "0", "nic": "0", "ipam": "1"}


def test_addresses_are_listed_before_ipam_which_dates_them() -> None:
    booked = booking(ONE.ip, created_ms=NOW - 5)
    world = sweep(cloud(*ONE.cloud[:2], replace(ONE.ip, created_ms=None), booked), engine(*ONE.entries))
    (found,) = world.inventory.scans[Kind.IP, ZONE].items
    assert found.created_ms == NOW - 5


def test_threads_read_the_same_world() -> None:
    serial = sweep(cloud(*ONE.cloud), engine(*ONE.entries))
    threads = sweep(cloud(*ONE.cloud), engine(*ONE.entries), executor=ThreadExecutor(workers=4))
    assert threads.inventory.by_ref == serial.inventory.by_ref


# -- the stacks


def test_a_stack_that_is_made_during_the_scan_is_read_too() -> None:
    """It may own what the inventory showed."""
    thing = server("new", tags=owner_tags(5))
    an_engine = engine()

    def made() -> None:
        an_engine.add(state(entry_of(thing), stack="ci/new"))

    world = sweep(cloud(thing, during=made), an_engine, memory=remembered(thing))
    assert set(world.states) == {STACK, "ci/new"}
    assert "ci/new" in world.live_stacks
    assert [one for one in diff(world) if one.kind is FindingKind.ORPHAN] == []


def test_a_stack_that_is_removed_during_the_scan_is_unread() -> None:
    an_engine = engine()
    world = sweep(cloud(during=an_engine.states.clear), an_engine)
    assert [one.stack for one in world.unread] == [STACK]


def test_a_stack_that_could_not_be_read_at_first_stays_unread() -> None:
    an_engine = engine()
    an_engine.unreadable["ci/x"] = "the bucket is gone"
    world = sweep(cloud(during=an_engine.unreadable.clear), an_engine)
    assert [(one.stack, one.code) for one in world.unread] == [("ci/x", "RC0510")]


def test_a_backend_that_names_no_stacks_leaves_every_pattern_unread() -> None:
    class Silent(FakeEngine):
        def stacks(self, patterns: Sequence[str]) -> tuple[str, ...]:
            raise EngineError("the backend does not answer", code="RC0501")

    world = sweep(cloud(), Silent(), scope=scope(stacks=("ci/*", "render/*")))
    assert [one.stack for one in world.unread] == ["ci/*", "render/*"]
    assert world.states == {}


def test_a_serial_that_moves_during_the_scan_is_live() -> None:
    an_engine = engine(*ONE.entries)

    def moved() -> None:
        an_engine.add(state(*ONE.entries, serial="2"))

    assert STACK in sweep(cloud(*ONE.cloud, during=moved), an_engine).live_stacks


def test_a_refused_backend_ends_the_sweep() -> None:
    class Refused(FakeEngine):
        def read(self, stack: str) -> StackState:
            raise AuthenticationError("401")

    an_engine = Refused()
    an_engine.add(state())
    with pytest.raises(AuthenticationError):
        sweep(cloud(), an_engine)


# -- what is asked for by id


def test_what_a_complete_list_lacks_is_proved_absent_by_id() -> None:
    a_cloud = cloud(ONE.root, ONE.ip)
    world = sweep(a_cloud, engine(*ONE.entries))
    assert "prove server" in a_cloud.asked
    assert kinds(world) == [(FindingKind.MISSING, Verdict.ACT)]


def test_what_a_lagging_list_lacks_is_found_by_id() -> None:
    world = sweep(cloud(*ONE.cloud, lagging={ONE.server.ref}), engine(*ONE.entries))
    assert kinds(world) == []


def test_nothing_is_asked_by_id_of_what_an_incomplete_list_lacks() -> None:
    a_cloud = cloud(ONE.root, ONE.ip, broken={(Kind.SERVER, ZONE): "HTTP 503"})
    world = sweep(a_cloud, engine(*ONE.entries))
    assert "prove server" not in a_cloud.asked
    assert kinds(world) == [(FindingKind.INCOMPLETE, Verdict.UNKNOWN)]


def test_what_gives_no_answer_by_id_stays_unknown() -> None:
    hidden = Probe(ref=ONE.server.ref, presence=Presence.UNKNOWN, at_ms=NOW, status=403, reason="HTTP 403")
    world = sweep(cloud(ONE.root, ONE.ip, answers={ONE.server.ref: hidden}), engine(*ONE.entries))
    assert kinds(world) == [(FindingKind.MISSING, Verdict.UNKNOWN)]


def test_what_seems_to_differ_is_read_again_by_id() -> None:
    stale = replace(ONE.server, name="as-it-was")
    a_cloud = cloud(*ONE.cloud, listed={stale.ref: stale})
    assert kinds(sweep(a_cloud, engine(*ONE.entries))) == []
    assert a_cloud.asked.count("probe server") == 1


def test_a_difference_that_the_second_read_confirms_is_one() -> None:
    world = sweep(cloud(replace(ONE.server, name="by-hand"), ONE.root, ONE.ip), engine(*ONE.entries))
    assert kinds(world) == [(FindingKind.CHANGED, Verdict.ACT)]


def test_a_difference_that_the_second_read_cannot_see_is_not_confirmed() -> None:
    renamed = replace(ONE.server, name="by-hand")
    failed = Probe(ref=renamed.ref, presence=Presence.UNKNOWN, at_ms=NOW, status=503, reason="HTTP 503")
    world = sweep(cloud(renamed, ONE.root, ONE.ip, answers={renamed.ref: failed}), engine(*ONE.entries))
    assert kinds(world) == [(FindingKind.CHANGED, Verdict.UNKNOWN)]


def test_what_is_gone_at_the_second_read_is_proved_absent_like_anything_else() -> None:
    """A list that still shows it differs; a 404 by id alone is no proof (rule 2)."""
    stale = replace(ONE.server, name="as-it-was")
    a_cloud = cloud(ONE.root, ONE.ip, listed={stale.ref: stale})
    world = sweep(a_cloud, engine(*ONE.entries))
    assert "prove server" in a_cloud.asked
    assert kinds(world) == [(FindingKind.MISSING, Verdict.ACT)]


def test_what_only_a_targeted_read_shows_is_read_by_id_in_each_sweep() -> None:
    group = Ref(Kind.SECURITY_GROUP, ZONE, uid("group"))
    entry = StateResource(
        urn="urn:pulumi:prod::ci::scaleway:instance/securityGroup:SecurityGroup::web",
        type="scaleway:instance/securityGroup:SecurityGroup",
        id=f"{ZONE}/{group.id}",
        custom=True,
    )
    a_cloud = cloud()
    world = sweep(a_cloud, engine(entry))
    assert a_cloud.asked.count("probe security_group") == 1
    assert "prove security_group" in a_cloud.asked
    assert kinds(world) == [(FindingKind.MISSING, Verdict.ACT)]


@pytest.mark.parametrize(
    "thing",
    [server("x", project=OTHER_PROJECT), server("x", zone="nl-ams-1")],
    ids=["another project's", "in a zone that is not looked at"],
)
def test_nothing_is_asked_of_what_is_not_in_the_scope(thing: Resource) -> None:
    a_cloud = cloud()
    sweep(a_cloud, engine(entry_of(thing)))
    assert [step for step in a_cloud.asked if step.startswith(("probe", "prove"))] == []


# -- failing


def test_a_refused_key_ends_the_sweep_before_anything_is_read() -> None:
    an_engine = engine()
    with pytest.raises(AuthenticationError):
        sweep(cloud(unauthorised=True), an_engine)
    assert an_engine.asked == []


def test_without_any_ledger_there_is_no_sweep() -> None:
    with pytest.raises(ReconcilerError) as caught:
        sweep(cloud(unreachable=True), FakeEngine())
    assert caught.value.code == "RC0701"


def test_an_unreachable_provider_makes_every_list_incomplete() -> None:
    world = sweep(cloud(unreachable=True), engine(*ONE.entries))
    assert {found.verdict for found in diff(world)} == {Verdict.UNKNOWN}
    assert all(not scan.complete for scan in world.inventory.scans.values())
    assert len(world.inventory.scans) == 6


def test_one_zone_that_fails_leaves_the_others_judged() -> None:
    far = server("far", zone="nl-ams-1", tags=owner_tags(4))
    left = volume("left", tags=owner_tags(3))
    a_cloud = cloud(far, left, zone_names=(ZONE, "nl-ams-1"), broken={(Kind.SERVER, "nl-ams-1"): "HTTP 503"})
    world = sweep(a_cloud, engine(), scope=scope(zones=(ZONE, "nl-ams-1")), memory=remembered(left))
    assert kinds(world) == [(FindingKind.DETACHED, Verdict.ACT), (FindingKind.INCOMPLETE, Verdict.UNKNOWN)]


def test_prices_are_asked_only_where_something_has_one() -> None:
    class Priced(Cloud):
        def prices(self, zone: str) -> Mapping[str, Price]:
            self.asked.append(f"prices {zone}")
            return {"DEV1-S": Price(hour_nanos=7, source="api")}

    empty = Priced(clock=VirtualClock(start_ms=NOW), zone_names=(ZONE,))
    sweep(empty, engine())
    assert "prices fr-par-1" not in empty.asked
    full = Priced(clock=VirtualClock(start_ms=NOW), zone_names=(ZONE,))
    full.add(*ONE.cloud)
    assert sweep(full, engine(*ONE.entries)).inventory.prices[ZONE, "DEV1-S"].hour_nanos == 7


def test_the_world_says_when_and_how_well_it_was_read() -> None:
    world = sweep(cloud(*ONE.cloud, skew_seconds=3.0), engine(*ONE.entries))
    assert (world.health.calls > 0, world.health.skew_seconds) == (True, 3.0)
    assert (world.started_ms, world.finished_ms) == (NOW, NOW)
    assert [(line.type, line.how, line.entries) for line in world.coverage] == [
        ("scaleway:instance/ip:Ip", "list", 1),
        ("scaleway:instance/server:Server", "list", 1),
    ]


def test_an_address_found_by_id_is_dated_like_a_listed_one() -> None:
    undated = replace(ONE.ip, created_ms=None)
    a_cloud = cloud(*ONE.cloud[:2], undated, booking(ONE.ip, created_ms=NOW - 7), lagging={ONE.ip.ref})
    world = sweep(a_cloud, engine(*ONE.entries))
    found = world.inventory.by_ref[ip("linux-0-ip").ref]
    assert found.created_ms == NOW - 7

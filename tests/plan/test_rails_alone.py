"""Each rail alone: a world in which nothing but this one limit stands between a plan and a mistake.

Through the real client, store, observe, diff, plan and apply, on a simulated cloud. Every case is run twice: with the
one limit set, apply must refuse with that rail's name alone and touch nothing; with it lifted, the mistake happens.
So no case can pass because something else would have stopped it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pytest

from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.errors import RefusedError
from reconciler.model.plan import ActionStatus, Mode
from reconciler.model.policy import Policies
from reconciler.model.scope import Limits, Ownership, Rail
from reconciler.plan.approval import approvable
from reconciler.policy.decode import decode_value
from reconciler.simulator import FaultRule
from tests.apply.rig import OWNER, STACK, Rig
from tests.records.staff import intend

TAGS: Final = [*OWNER, "reconciler:fleet=linux", "reconciler:slot=9"]
LOOSE: Final = Limits(
    reconcile=Rail(count=500, percent=100.0, eur_month=1_000_000.0),
    per_hour=1_000,
    shrink_percent=100.0,
    error_percent=100.0,
    unknown_percent=100.0,
    clock_skew_seconds=1_000_000.0,
)


def tight(**changes: float) -> Limits:
    """Everything loose but for `count`, `percent`, `eur_month` (of the rail) or one of the others."""
    rail = {name: value for name, value in changes.items() if hasattr(LOOSE.reconcile, name)}
    rest = {name: value for name, value in changes.items() if name not in rail}
    return replace(LOOSE, reconcile=replace(LOOSE.reconcile, **rail), **rest)  # type: ignore[arg-type]


def grown_old(rig: Rig) -> None:
    """What is there now has been seen, and its grace is over."""
    rig.clock.advance(60)
    rig.sweep()
    rig.clock.advance(7200)


# -- the mistakes: each makes the world and names what would be lost


def an_ip(rig: Rig) -> list[str]:
    ip = str(rig.stranger("add_ip", tags=TAGS)["ip"])
    grown_old(rig)
    return [ip]


def an_ip_and_a_volume(rig: Rig) -> list[str]:
    made = [rig.stranger("add_ip", tags=TAGS)["ip"], rig.stranger("add_volume", name="left", tags=TAGS)["volume"]]
    grown_old(rig)
    return [str(one) for one in made]


def a_machine_with_two_volumes(rig: Rig) -> list[str]:
    made = rig.stranger("add_server", name="leaked", tags=TAGS)
    rig.stranger("set_tags", id=made["ip"], tags=TAGS)
    data = rig.stranger("add_volume", name="data", tags=TAGS)["volume"]
    with rig.simulator.editing() as world:
        server, root = world.servers.get(made["server"]), world.block_volumes.get(made["volume"])
        volume = world.block_volumes.get(data)
        assert server is not None
        assert root is not None
        assert volume is not None
        assert root.reference is not None
        slots = (*server.slots, replace(server.slots[0], key="1", volume=data))
        world.servers.put(replace(server, slots=slots))
        world.block_volumes.put(replace(volume, status="in_use", reference=replace(root.reference, id=data)))
    grown_old(rig)
    return [str(made["server"]), str(made["volume"]), str(data)]


def a_machine_of_a_type_without_a_price(rig: Rig) -> list[str]:
    made = rig.stranger("add_server", name="leaked", tags=TAGS, with_ip=False)
    rig.stranger("resize", server=made["server"], commercial_type="H200-SXM-16")
    grown_old(rig)
    return [str(made["server"])]


def a_listing_without_half_of_it(rig: Rig) -> list[str]:
    """Thirty volumes of somebody's were there in the last sweep; half of them no longer are."""
    theirs = [rig.stranger("add_volume", name=f"theirs-{each}")["volume"] for each in range(30)]
    lost = an_ip(rig)
    for volume in theirs[:15]:
        rig.stranger("delete_volume", volume=volume)
    return lost


def an_api_with_errors(rig: Rig) -> list[str]:
    lost = an_ip(rig)
    rig.simulator.faults.add(FaultRule(method="GET", path="**/ips", nth=(1,), action="status", status=503))
    return lost


def a_listing_that_is_not_complete(rig: Rig) -> list[str]:
    lost = an_ip(rig)
    rig.simulator.faults.add(FaultRule(method="GET", path="**/private-network-interfaces", action="status", status=503))
    return lost


class AheadClock(VirtualClock):
    """Two minutes ahead of another clock."""

    def __init__(self, behind: VirtualClock) -> None:
        super().__init__()
        self._behind = behind

    def now_ms(self) -> int:
        return self._behind.now_ms() + 120_000

    def monotonic(self) -> float:
        return self._behind.monotonic()

    def sleep(self, seconds: float) -> None:
        self._behind.sleep(seconds)


def a_clock_that_is_ahead(rig: Rig) -> list[str]:
    lost = an_ip(rig)
    real, rig.clock = rig.clock, AheadClock(rig.clock)
    rig.cloud = rig.new_cloud()
    rig.clock = real
    return lost


def a_state_that_was_emptied(rig: Rig) -> list[str]:
    """Two machines of no fleet, as of a program that knows nothing of us, run on."""
    state = rig.engine.states[STACK]
    mine = {entry.ref.id: entry.urn for entry in state.resources if entry.ref and entry.type.endswith("Server")}
    rig.engine.add(replace(state, resources=(), outputs={}, serial=f"{state.serial}!"))
    grown_old(rig)
    return list(mine)


def machines_that_are_gone(rig: Rig) -> list[str]:
    for slot in (0, 1):
        rig.stranger("kill_server", server=f"linux-{slot}")
    return [f"linux-{slot}" for slot in (0, 1)]


def rows_whose_creates_made_nothing(rig: Rig) -> list[str]:
    """Two of twenty; the creates of the others may still be carried out."""
    workers = [f"0198f0a0-0000-7000-8000-0000000001{number:02d}" for number in range(20)]
    for worker in workers[:2]:
        intend(rig, worker)
    rig.clock.advance(7200)
    for worker in workers[2:]:
        intend(rig, worker)
    return workers[:2]


@dataclass(frozen=True)
class Case:
    """`limits`: the one that stands. `mode`: repair for what the state forgets, prune for what is destroyed."""

    make: Callable[[Rig], list[str]]
    limits: dict[str, float]
    replicas: int = 2
    mode: Mode = Mode.PRUNE
    rig: dict[str, Any] = field(default_factory=dict)


CASES: Final = {
    "count": Case(an_ip_and_a_volume, {"count": 1}),
    "count-volume": Case(a_machine_with_two_volumes, {"count": 1}),
    "percent-ip": Case(an_ip, {"percent": 4.0}, replicas=20),
    "eur-month": Case(an_ip, {"eur_month": 1.0}),
    "unpriced": Case(a_machine_of_a_type_without_a_price, {}),
    "per-hour": Case(an_ip_and_a_volume, {"per_hour": 1}),
    "shrink-volume": Case(a_listing_without_half_of_it, {"shrink_percent": 30.0}),
    "api-errors": Case(an_api_with_errors, {"error_percent": 0.5}),
    "unknown": Case(a_listing_that_is_not_complete, {"unknown_percent": 5.0}),
    "clock-skew": Case(a_clock_that_is_ahead, {"clock_skew_seconds": 60.0}),
    "count-state": Case(machines_that_are_gone, {"count": 1}, mode=Mode.REPAIR),
    "lost-state": Case(a_state_that_was_emptied, {"shrink_percent": 30.0}),
    "percent-state": Case(machines_that_are_gone, {"percent": 4.0}, replicas=20, mode=Mode.REPAIR),
    "count-rows": Case(rows_whose_creates_made_nothing, {"count": 1}, mode=Mode.REPAIR, rig={"elastic": True}),
    "percent-rows": Case(rows_whose_creates_made_nothing, {"percent": 4.0}, mode=Mode.REPAIR, rig={"elastic": True}),
}


def made(tmp_path: Path, case: Case) -> Rig:
    """The rig in order, with a memory that is older than the grace."""
    rig = Rig(
        folder=tmp_path,
        url=f"sqlite:///{tmp_path / 'memory.db'}",
        replicas=case.replicas,
        ownership=Ownership.TAGS,
        **case.rig,
    )
    rig.scope = replace(rig.scope, limits=LOOSE)
    rig.apply(mode=Mode.REPAIR)
    return rig


def lost(rig: Rig, things: list[str]) -> list[str]:
    """Of these ids (or names of state entries, or workers with a row), those that are no longer there."""
    entries = {
        entry.name for entry in rig.engine.states[STACK].resources if entry.ref and entry.type.endswith("Server")
    }
    rows = {row.id for row in rig.records.read(rig.scope.uuid).workers}
    return [one for one in things if not (one in entries or one in rows or rig.exists(one))]


@pytest.mark.parametrize("name", CASES)
def test_this_rail_alone_stops_the_mistake(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    rig = made(tmp_path, case)
    things = case.make(rig)
    rig.scope = replace(rig.scope, limits=tight(**case.limits))
    plan = rig.plan(mode=case.mode)
    assert [rail.name for rail in plan.blocked] == [name], [rail for rail in plan.rails if not rail.ok]
    before = rig.picture()
    with pytest.raises(RefusedError) as refused:
        rig.applier().apply(plan)
    assert (refused.value.code, refused.value.exit_status) == ("RC0607", 6)
    assert f"over a limit: {name}: " in refused.value.message
    assert rig.picture() == before
    assert (lost(rig, things), rig.store.open_deletions(rig.scope.uuid)) == ([], ())


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.limits])
def test_without_this_rail_the_mistake_happens(tmp_path: Path, name: str) -> None:
    """The control: the same world, the one limit lifted."""
    case = CASES[name]
    rig = made(tmp_path, case)
    things = case.make(rig)
    plan = rig.plan(mode=case.mode)
    assert plan.blocked == ()
    outcome = rig.applier().apply(plan)
    assert {one.status for one in outcome.outcomes} == {ActionStatus.DONE}
    assert lost(rig, things) == things


def test_an_unpriced_machine_goes_where_the_catalogue_has_its_price(tmp_path: Path) -> None:
    """The control of `unpriced`, which has no limit to lift: no known price is no price of zero."""
    rig = made(tmp_path, CASES["unpriced"])
    server = rig.stranger("add_server", name="leaked", tags=TAGS, with_ip=False)["server"]
    grown_old(rig)
    rig.apply()
    assert not rig.exists(server)


def young_memory(tmp_path: Path) -> tuple[Rig, str]:
    """Seen long ago, but by sweeps that did not read everything: what is new cannot be told from what is old."""
    rig = Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}", ownership=Ownership.TAGS)
    rig.scope = replace(rig.scope, limits=LOOSE)
    ip = str(rig.stranger("add_ip", tags=TAGS)["ip"])
    rig.simulator.faults.add(FaultRule(method="GET", path="**/private-network-interfaces", action="status", status=503))
    grown_old(rig)
    rig.simulator.faults.set([])
    return rig, ip


def test_a_memory_that_is_too_young_alone_stops_the_mistake(tmp_path: Path) -> None:
    rig, ip = young_memory(tmp_path)
    plan = rig.plan()
    assert [rail.name for rail in plan.blocked] == ["memory"]
    with pytest.raises(RefusedError) as refused:
        rig.applier().apply(plan)
    assert "over a limit: memory: " in refused.value.message
    assert rig.exists(ip)


def test_with_a_memory_that_is_old_enough_it_goes(tmp_path: Path) -> None:
    rig, ip = young_memory(tmp_path)
    rig.sweep()
    rig.clock.advance(rig.scope.grace_seconds + 1)
    rig.apply()
    assert not rig.exists(ip)


def a_policy_with_a_slip(tmp_path: Path, *, count: int) -> Rig:
    """Two machines whose roots lack a tag that nobody has."""
    rules = [{"id": "slip", "check": "required-tags", "tags": ["rloe=ci"], "kinds": ["volume"]}]
    rig = made(tmp_path, Case(an_ip, {}))
    rig.policies = Policies(configured=decode_value({"version": 1, "rules": rules}, source="test"))
    rig.scope = replace(rig.scope, limits=tight(count=count))
    return rig


def test_a_slip_in_a_policy_is_not_written_to_the_whole_estate(tmp_path: Path) -> None:
    rig = a_policy_with_a_slip(tmp_path, count=1)
    before = rig.picture()
    plan = rig.plan(mode=Mode.REPAIR)
    assert [(rail.name, rail.value) for rail in plan.blocked] == [("count-policy", 2)]
    with pytest.raises(RefusedError) as refused:
        rig.applier().apply(plan)
    assert (refused.value.code, rig.picture()) == ("RC0607", before)


def test_as_many_tags_as_the_limit_allows_are_written(tmp_path: Path) -> None:
    rig = a_policy_with_a_slip(tmp_path, count=2)
    outcome = rig.apply(mode=Mode.REPAIR)
    assert {one.status for one in outcome.outcomes} == {ActionStatus.DONE}
    assert rig.picture().count("rloe=ci") == 2


def test_every_rail_that_a_plan_can_have_is_here() -> None:
    """Read from the source, so that a new rail needs a case."""
    import re

    import reconciler.plan.rails as source

    text = Path(source.__file__).read_text(encoding="utf-8")
    named = {name.split("{")[0].rstrip("-") for name in re.findall(r'_check\(\s*f?"([^"]+)"', text)}
    kinds = {re.sub(r"-(ip|volume)$", "", name) for name in CASES} | {"memory", "count-policy"}
    assert named == kinds


@pytest.mark.parametrize("name", [*CASES, "memory", "count-policy"])
def test_only_a_rail_about_the_size_of_the_plan_can_be_approved(name: str) -> None:
    sizes = {"count", "count-volume", "percent-ip", "eur-month", "unpriced", "count-state", "percent-state"}
    sizes |= {"count-rows", "percent-rows", "lost-state", "count-policy"}
    assert approvable(name) == (name in sizes)


@pytest.mark.parametrize("name", ["", "count-", "count-errors", "percent", "percent-unknown", "Count", "count "])
def test_a_rail_of_an_unknown_name_cannot_be_approved(name: str) -> None:
    assert not approvable(name)

"""Rails: each limit, alone between the world and a mistake."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.diff import diff
from reconciler.model.finding import ActionKind
from reconciler.model.memory import CompleteSweep
from reconciler.model.plan import Mode
from reconciler.model.resources import Kind, Resource
from reconciler.model.scope import Limits, Rail
from reconciler.model.world import Health, World
from tests.builders import (
    DAY,
    NOW,
    STACK,
    absent,
    entry_of,
    ip,
    lineage,
    machine,
    owner_tags,
    remembered,
    scope,
    state,
    volume,
    world,
)
from tests.diff.worlds import worlds
from tests.plan.test_build import plan_of

WIDE = Limits(
    reconcile=Rail(count=10_000, percent=100.0, eur_month=1e9),
    per_hour=10_000,
    shrink_percent=100.0,
    error_percent=100.0,
    unknown_percent=100.0,
    clock_skew_seconds=1e9,
)


def volumes(number: int) -> list[Resource]:
    return [volume(f"left-{each}", tags=owner_tags(3)) for each in range(number)]


def prune(*things: Resource, limits: Limits = WIDE, memory: dict[str, Any] | None = None, **changes: Any) -> World:
    """A world of leftovers whose limits are out of the way, but for what a test says."""
    return world(*things, scope=scope(limits=limits), memory=remembered(*things, **(memory or {})), **changes)


def blocked(in_world: World) -> list[str]:
    plan = plan_of(in_world)
    assert plan.actions, "nothing to block"
    return [rail.name for rail in plan.blocked]


def limited(**changes: Any) -> Limits:
    rail = {key: changes.pop(key) for key in ("count", "percent", "eur_month") if key in changes}
    return replace(WIDE, reconcile=replace(WIDE.reconcile, **rail), **changes)


def test_a_plan_within_its_limits_is_not_blocked() -> None:
    assert blocked(prune(*volumes(3))) == []


def test_the_number_of_deletions_is_limited() -> None:
    things = [*volumes(2), ip("x", tags=owner_tags(3)), ip("y", tags=owner_tags(3))]
    assert blocked(prune(*things, limits=limited(count=4))) == []
    assert blocked(prune(*things, limits=limited(count=3))) == ["count"]


def test_the_number_of_each_kind_is_limited_children_included() -> None:
    from tests.builders import server, with_parts

    owner = server("left", tags=owner_tags(9))
    root = volume("root", server_id=owner.id)
    orphan = with_parts(owner, root)
    in_world = world(
        orphan, root, *volumes(1), scope=scope(limits=limited(count=1)), memory=remembered(orphan, *volumes(1))
    )
    assert blocked(in_world) == ["count", "count-volume"]


def test_the_share_of_a_population_is_limited_from_twenty_on() -> None:
    crowd = [volume(f"theirs-{each}") for each in range(17)]
    few = limited(percent=10.0)
    small = world(*volumes(2), *crowd, scope=scope(limits=few), memory=remembered(*volumes(2)))
    large = world(*volumes(3), *crowd, scope=scope(limits=few), memory=remembered(*volumes(3)))
    assert blocked(small) == []
    assert blocked(large) == ["percent-volume"]


def test_what_is_destroyed_is_limited_in_money() -> None:
    """Three volumes of 20 GB are 3 × 1.72 EUR a month."""
    assert blocked(prune(*volumes(3), limits=limited(eur_month=5.2))) == []
    assert blocked(prune(*volumes(3), limits=limited(eur_month=5.1))) == ["eur-month"]


def test_what_has_no_price_is_limited_by_its_number() -> None:
    things = [replace(machine(each + 3).server, commercial_type="NEW", volumes=(), ip_ids=()) for each in range(3)]
    assert blocked(prune(*things, limits=limited(count=2))) == ["count", "count-server", "unpriced"]


def test_deletions_an_hour_are_limited_across_runs() -> None:
    earlier = {"destroyed_last_hour": 8}
    assert blocked(prune(*volumes(2), limits=limited(per_hour=10), memory=earlier)) == []
    assert blocked(prune(*volumes(3), limits=limited(per_hour=10), memory=earlier)) == ["per-hour"]


def test_a_memory_that_is_younger_than_the_grace_destroys_nothing() -> None:
    assert blocked(prune(*volumes(1), memory={"first_complete_ms": NOW - 900_000})) == []
    assert blocked(prune(*volumes(1), memory={"first_complete_ms": NOW - 899_000})) == ["memory"]
    assert blocked(prune(*volumes(1), memory={"first_complete_ms": None})) == ["memory"]
    assert blocked(prune(*volumes(1), memory={"present": False})) == ["memory"]


def last(counts: dict[Kind, int], **changes: Any) -> dict[str, Any]:
    sweep = CompleteSweep(sweep_id="earlier", finished_ms=NOW - DAY, counts=counts, serials={STACK: "1"})
    return {"last_complete": sweep} | changes


def test_an_inventory_that_shrank_is_not_believed() -> None:
    shrunk = limited(shrink_percent=30.0)
    assert blocked(prune(*volumes(1), limits=shrunk, memory=last({Kind.SERVER: 20}))) == ["shrink-server"]
    roots = {ref: line for one in volumes(14) for ref, line in lineage(one, source="attached").items()}
    once = last({Kind.VOLUME: 20}, lineage=roots)
    assert blocked(prune(*volumes(14), limits=shrunk, memory=once)) == []
    assert blocked(prune(*volumes(13), limits=shrunk, memory=once)) == ["shrink-volume"]


def test_an_inventory_that_shrank_by_our_own_deletions_is_believed() -> None:
    ours = last({Kind.SERVER: 20}, finalised={Kind.SERVER: 15})
    assert blocked(prune(*volumes(1), limits=limited(shrink_percent=30.0), memory=ours)) == []


def test_a_handful_that_is_gone_is_no_shrinkage() -> None:
    assert blocked(prune(*volumes(1), limits=limited(shrink_percent=30.0), memory=last({Kind.SERVER: 19}))) == []


def test_an_inventory_that_shrank_is_not_forgotten_by_the_state_either() -> None:
    """A provider that hides things answers 404 as well."""
    one = machine(0)
    in_world = world(
        states=[state(*one.entries[:1])],
        probes=[absent(one.server)],
        scope=scope(limits=limited(shrink_percent=30.0)),
        memory=remembered(**last({Kind.SERVER: 20})),
    )
    assert blocked(in_world) == ["shrink-server"]


@pytest.mark.parametrize(
    ("health", "name"),
    [
        (Health(calls=100, failed=21), "api-errors"),
        (Health(calls=100, skew_seconds=61.0), "clock-skew"),
        (Health(calls=100, skew_seconds=-61.0), "clock-skew"),
        (Health(calls=100, skew_seconds=float("nan")), "clock-skew"),
    ],
)
def test_an_api_or_a_clock_that_is_not_well_freezes_the_run(health: Health, name: str) -> None:
    tight = limited(error_percent=20.0, clock_skew_seconds=60.0)
    assert blocked(prune(*volumes(1), limits=tight, health=health)) == [name]
    calm = Health(calls=100, failed=20, skew_seconds=60.0)
    assert blocked(prune(*volumes(1), limits=tight, health=calm)) == []


def test_too_much_that_is_unknown_freezes_the_run() -> None:
    tight = limited(unknown_percent=20.0)
    one = {Kind.NIC: "HTTP 503"}
    assert blocked(prune(*volumes(1), limits=tight, broken=one)) == []
    assert blocked(prune(*volumes(1), limits=tight, broken=one | {Kind.IP: "HTTP 503"})) == ["unknown"]


def missing_world(number: int, **changes: Any) -> World:
    gone = [machine(each) for each in range(number)]
    kept = [ip(f"kept-{each}", tags=owner_tags(0)) for each in range(21 - number)]
    entries = [entry_of(one, name=str(place)) for place, one in enumerate(kept)]
    return world(
        *kept,
        states=[state(*(one.entries[0] for one in gone), *entries)],
        probes=[absent(one.server) for one in gone],
        **changes,
    )


def test_what_the_state_forgets_at_once_is_limited_in_number_and_share() -> None:
    assert blocked(missing_world(3, scope=scope(limits=limited(count=3, percent=15.0)))) == []
    assert blocked(missing_world(3, scope=scope(limits=limited(count=2)))) == ["count-state"]
    assert blocked(missing_world(4, scope=scope(limits=limited(percent=15.0)))) == ["percent-state"]


def test_taking_changes_into_the_state_is_not_limited() -> None:
    workers = [machine(each) for each in range(30)]
    renamed = [replace(one.server, name="x") for one in workers]
    in_world = world(
        *renamed,
        *(part for one in workers for part in one.cloud[1:]),
        states=[state(*(entry for one in workers for entry in one.entries))],
        scope=scope(limits=replace(WIDE, reconcile=Rail(count=1, percent=1.0, eur_month=0.0), per_hour=0)),
    )
    assert blocked(in_world) == []


def test_one_rail_that_does_not_hold_blocks_the_whole_plan() -> None:
    one = machine(0)
    in_world = world(
        replace(one.server, name="by-hand"),
        one.root,
        one.ip,
        *volumes(3),
        states=[state(*one.entries)],
        scope=scope(limits=limited(count=2)),
        memory=remembered(*volumes(3)),
    )
    plan = plan_of(in_world)
    assert {action.kind for action in plan.actions} == {ActionKind.REFRESH, ActionKind.DESTROY}
    assert [rail.name for rail in plan.blocked] == ["count", "count-volume"]


def test_a_plan_of_an_empty_world_holds_no_rail_against_it() -> None:
    assert plan_of(world()).blocked == ()


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(worlds(), st.integers(0, 3), st.integers(0, 5))
def test_more_than_a_limit_is_always_blocked(in_world: World, count: int, per_hour: int) -> None:
    limits = replace(WIDE, reconcile=replace(WIDE.reconcile, count=count), per_hour=per_hour)
    in_world = replace(in_world, scope=replace(in_world.scope, limits=limits))
    plan = plan_of(in_world, mode=Mode.PRUNE, findings=diff(in_world))
    destroys = [one for one in plan.actions if one.kind is ActionKind.DESTROY]
    forgotten = [one for one in plan.actions if any(each.kind == "absent" for each in one.conditions)]
    over = (
        len(destroys) > count
        or len(destroys) > per_hour
        or sum(len(one.urns) for one in forgotten) > count
        or (destroys and not in_world.memory.present)
    )
    if over:
        assert plan.blocked

"""What a sweep adds to the memory, and that a world which stands still adds nothing (rule 14)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reconciler.diff import diff
from reconciler.diff.remember import is_complete, sweep_record
from reconciler.model.desired import Desired
from reconciler.model.finding import FindingKind
from reconciler.model.memory import Memory, SweepRecord
from reconciler.model.resources import Kind, Ref
from reconciler.model.state import Lock, UnreadStack
from reconciler.model.world import Health, World
from tests.builders import (
    NOW,
    OTHER_PROJECT,
    OTHER_SCOPE,
    entry_of,
    ip,
    lineage,
    machine,
    nic,
    owner_tags,
    remembered,
    server,
    state,
    volume,
    with_parts,
    world,
)

ONE = machine(0)
FREE = volume("left", tags=owner_tags(3))


def record(in_world: World) -> SweepRecord:
    return sweep_record(in_world, diff(in_world), trigger="drift")


def learnt(in_world: World) -> dict[Ref, str]:
    return {line.ref: line.source for line in record(in_world).new_lineage}


def after(in_world: World) -> Memory:
    """The memory as a store keeps it once the sweep is written."""
    made, memory = record(in_world), in_world.memory
    unowned = {**memory.unowned_since, **made.newly_unowned}
    return replace(
        memory,
        lineage={**memory.lineage, **{line.ref: line for line in made.new_lineage}},
        unowned_since={ref: since for ref, since in unowned.items() if ref not in made.owned_again},
    )


def test_a_second_look_at_a_world_that_stands_still_adds_nothing() -> None:
    twin = machine(0, name="linux-0-again")
    things = (*ONE.cloud, *twin.cloud, FREE, ip("x", tags=owner_tags(4)), server("theirs"))
    first = world(*things, states=[state(*ONE.entries)])
    assert record(first).new_lineage
    assert record(first).newly_unowned
    second = record(replace(first, memory=after(first), finished_ms=NOW + 60_000))
    assert (second.new_lineage, second.newly_unowned, second.owned_again) == ((), {}, ())


def test_two_stacks_that_hold_one_thing_do_not_take_turns_in_the_memory() -> None:
    shared = entry_of(ONE.ip)
    first = world(*ONE.cloud, states=[state(shared), state(shared, stack="ci/other")])
    assert record(replace(first, memory=after(first))).new_lineage == ()


def test_what_is_managed_is_learnt_with_what_its_create_made() -> None:
    assert learnt(world(*ONE.cloud, states=[state(*ONE.entries)])) == {
        ONE.server.ref: "state",
        ONE.ip.ref: "state",
        ONE.root.ref: "attached",
    }


def test_what_a_person_attached_is_not_learnt() -> None:
    data, address = volume("data", server_id=ONE.server.id), ip("theirs", server_id=ONE.server.id)
    card = nic("card", server_id=ONE.server.id)
    busy = with_parts(ONE.server, ONE.root, data, ONE.ip, address, card)
    lines = learnt(world(busy, ONE.root, data, ONE.ip, address, card, states=[state(*ONE.entries)]))
    assert {data.ref, address.ref, card.ref} & set(lines) == set()


def test_a_re_used_root_is_not_learnt() -> None:
    root = replace(ONE.root, created_ms=NOW - 90 * 86_400_000)
    assert root.ref not in learnt(world(ONE.server, root, ONE.ip, states=[state(*ONE.entries)]))


def test_what_is_not_there_is_not_learnt() -> None:
    assert ONE.server.ref not in learnt(world(ONE.root, ONE.ip, states=[state(*ONE.entries)]))


@pytest.mark.parametrize(
    "thing",
    [server("x", project=OTHER_PROJECT), server("x", tags=owner_tags(scope=OTHER_SCOPE))],
    ids=["another project's", "another scope's"],
)
def test_what_is_not_this_scopes_is_not_learnt(thing: object) -> None:
    assert learnt(world(thing, states=[state(entry_of(thing))])) == {}  # type: ignore[arg-type]


def test_a_line_keeps_the_declared_fleet_though_the_machine_lost_its_tags() -> None:
    bare = replace(ONE.server, tags=())
    lines = record(world(bare, ONE.root, ONE.ip, states=[state(*ONE.entries)])).new_lineage
    assert {line.fleet for line in lines} == {"linux"}


def test_a_line_follows_a_resource_from_stack_to_stack() -> None:
    moved = world(
        ONE.ip, states=[state(), state(entry_of(ONE.ip), stack="ci/new")], memory=Memory(lineage=lineage(ONE.ip))
    )
    assert [line.stack for line in record(moved).new_lineage] == ["ci/new"]


def test_what_was_in_a_state_is_remembered_so_though_it_is_inline_now() -> None:
    known = Memory(lineage={**lineage(ONE.server), **lineage(ONE.ip), **lineage(ONE.root)})
    lines = learnt(world(*ONE.cloud, states=[state(*ONE.entries)], memory=known))
    assert ONE.root.ref not in lines


# -- sightings


def test_a_leftover_is_seen_once() -> None:
    assert record(world(FREE)).newly_unowned == {FREE.ref: NOW}
    assert record(world(FREE, memory=remembered(FREE))).newly_unowned == {}


def test_all_that_goes_with_an_orphan_is_seen_with_it() -> None:
    orphan = with_parts(server("left", tags=owner_tags(8)), volume("left-root", server_id=server("left").id))
    made = record(world(orphan, volume("left-root", server_id=orphan.id)))
    assert set(made.newly_unowned) == {orphan.ref, volume("left-root").ref}


@pytest.mark.parametrize("trouble", ["unread", "locked", "no stack"])
def test_without_an_authority_nothing_is_seen_without_an_owner(trouble: str) -> None:
    in_world = {
        "unread": world(FREE, unread=(UnreadStack(stack="ci/x", code="RC0508", reason="gone"),)),
        "locked": world(FREE, states=[state(locks=(Lock(created_by="ann@ci"),))]),
        "no stack": replace(world(FREE), states={}, states_before={}),
    }[trouble]
    assert record(in_world).newly_unowned == {}


def test_what_is_owned_again_is_forgotten_as_a_leftover() -> None:
    in_world = world(FREE, states=[state(entry_of(FREE))], memory=remembered(FREE))
    assert record(in_world).owned_again == (FREE.ref,)


def test_to_be_owned_or_used_is_seen_in_an_incomplete_sweep_too() -> None:
    """Else the grace of what is let go a moment later would have passed already."""
    used = replace(FREE, reference_ids=("x",))
    broken = {Kind.NIC: "HTTP 503"}
    owned = world(FREE, states=[state(entry_of(FREE))], memory=remembered(FREE), broken=broken)
    attached = world(used, memory=remembered(FREE), broken=broken)
    assert record(owned).owned_again == (FREE.ref,)
    assert record(attached).owned_again == (FREE.ref,)


def test_to_be_gone_is_seen_in_a_complete_sweep_only() -> None:
    assert record(world(memory=remembered(FREE))).owned_again == (FREE.ref,)
    assert record(world(memory=remembered(FREE), broken={Kind.NIC: "HTTP 503"})).owned_again == ()


# -- the row


@pytest.mark.parametrize(
    ("in_world", "complete"),
    [
        (world(), True),
        (world(broken={Kind.NIC: "HTTP 503"}), False),
        (world(unread=(UnreadStack(stack="ci/x", code="RC0508", reason="gone"),)), False),
        (world(states=[state(locks=(Lock(created_by="ann@ci"),))]), False),
        (world(states=[state(serial="2")], before=[state(serial="1")]), False),
        (world(desired=Desired(problems=("broken",))), False),
    ],
    ids=["all read", "a scan", "a stack", "a lock", "a serial", "an output"],
)
def test_a_sweep_is_complete_when_everything_was_read_and_nothing_moved(in_world: World, complete: bool) -> None:
    assert is_complete(in_world) is complete
    made = record(in_world)
    assert made.complete is complete
    assert made.closable == (None if complete else frozenset())


def test_the_row_counts_what_was_seen_and_what_was_found() -> None:
    made = record(world(*ONE.cloud, FREE, server("theirs"), states=[state(*ONE.entries)]))
    assert (made.counts[Kind.SERVER], made.counts[Kind.VOLUME], made.counts[Kind.IP]) == (2, 2, 1)
    assert made.summary == {"detached": 1, "unmanaged": 1}
    assert made.serials == {"ci/prod": "1"}
    assert [row["seen"] for row in made.scans if row["kind"] == "server"] == [2]


def test_unmanaged_things_open_no_episode() -> None:
    made = record(world(FREE, server("theirs")))
    assert [one.kind for one in made.findings] == [FindingKind.DETACHED]


@pytest.mark.parametrize("skew", [-7200.0, 7200.0])
def test_a_sweep_with_a_wrong_clock_dates_nothing(skew: float) -> None:
    """A sighting of two hours ago would end a grace as soon as the clock is set right."""
    left = ip("left", tags=owner_tags(1))
    right = record(world(left))
    wrong = record(world(left, health=Health(calls=50, skew_seconds=skew)))
    assert (set(right.newly_unowned), right.complete) == ({left.ref}, True)
    assert (wrong.newly_unowned, wrong.complete) == ({}, False)

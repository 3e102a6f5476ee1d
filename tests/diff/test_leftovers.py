"""Orphans, detached resources, duplicates, and what is not ours: every verdict, and every way not to act."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from reconciler.model.desired import Desired
from reconciler.model.finding import ActionKind, Finding, FindingKind, Verdict
from reconciler.model.memory import NO_MEMORY, Memory
from reconciler.model.resources import Kind, Resource, Server, Volume
from reconciler.model.scope import FleetMatch, Never, Ownership
from reconciler.model.state import Lock, UnreadStack
from reconciler.model.world import World
from tests.builders import (
    HOSTILE,
    HOUR,
    NOW,
    OTHER_PROJECT,
    OTHER_SCOPE,
    STACK,
    absent,
    booking,
    entry_of,
    fleet,
    found,
    ip,
    lineage,
    local_volume,
    machine,
    nic,
    only,
    owner_tags,
    pending,
    remembered,
    scope,
    server,
    state,
    unanswered,
    volume,
    with_parts,
    world,
)

LEFT = machine(9)  # a machine like ours that no state holds
ALONE = with_parts(LEFT.server)  # and without anything on it
FREE = volume("left", tags=owner_tags(3))
ADDRESS = ip("left-ip", tags=owner_tags(3))


def orphan_world(*more: Resource, **changes: Any) -> World:
    parts = (LEFT.server, LEFT.root, *more)
    shown = with_parts(LEFT.server, *parts[1:])
    given: dict[str, Any] = {"memory": remembered(LEFT.server)}
    return world(shown, *parts[1:], **(given | changes))


def orphan(*more: Resource, **changes: Any) -> Finding:
    return only(orphan_world(*more, **changes), FindingKind.ORPHAN)


def detached(thing: Resource = FREE, *more: Resource, **changes: Any) -> Finding:
    given: dict[str, Any] = {"memory": remembered(thing)}
    return only(world(thing, *more, **(given | changes)), FindingKind.DETACHED)


# -- act


def test_a_machine_of_ours_that_no_ledger_holds_is_destroyed_with_its_root() -> None:
    finding = orphan()
    assert (finding.verdict, finding.action) == (Verdict.ACT, ActionKind.DESTROY)
    assert finding.refs == (LEFT.server.ref, LEFT.root.ref)
    assert finding.witness == "two independent proofs (state, tags)"


@pytest.mark.parametrize("thing", [FREE, ADDRESS], ids=["volume", "ip"])
def test_a_free_volume_or_address_of_ours_is_destroyed(thing: Resource) -> None:
    finding = detached(thing)
    assert (finding.verdict, finding.action, finding.refs) == (Verdict.ACT, ActionKind.DESTROY, (thing.ref,))


def test_an_inline_root_that_was_seen_on_a_machine_of_ours_is_destroyed_when_it_is_left() -> None:
    assert detached(memory=remembered(FREE, source="attached")).verdict is Verdict.ACT


def test_leftovers_of_a_machine_that_is_proved_gone_are_destroyed_though_the_state_still_names_them() -> None:
    one = machine(0)
    root = replace(one.root, server_id=None, reference_ids=(), status="available")
    in_world = world(
        root,
        one.ip,
        states=[state(*one.entries)],
        probes=[absent(one.server)],
        memory=remembered(root, source="attached"),
    )
    assert only(in_world, FindingKind.DETACHED).verdict is Verdict.ACT


# -- in a ledger after all


@pytest.mark.parametrize("read", ["before", "after"])
def test_what_either_read_of_a_state_holds_is_no_leftover(read: str) -> None:
    holding, empty = state(entry_of(FREE), serial="1"), state(serial="2")
    states = {"before": ([empty], [holding]), "after": ([holding], [empty])}[read]
    in_world = world(FREE, states=states[0], before=states[1], memory=remembered(FREE))
    assert found(in_world, FindingKind.DETACHED) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "scaleway:index/instanceServer:InstanceServer"},
        {"pending_delete": True},
        {"external": True},
        {"outputs": {"projectId": OTHER_PROJECT}},
    ],
    ids=["an older type token", "an old copy of a replace", "only read by a program", "said to be in another project"],
)
def test_an_entry_of_any_kind_that_has_the_id_holds_the_machine(changes: dict[str, Any]) -> None:
    entry = replace(entry_of(LEFT.server), **changes)
    findings = found(orphan_world(states=[state(entry)]))
    assert [one for one in findings if one.action is ActionKind.DESTROY] == []


def test_a_volume_that_was_migrated_is_held_by_its_old_entry() -> None:
    old = entry_of(local_volume("left"))
    assert found(world(FREE, states=[state(old)], memory=remembered(FREE)), FindingKind.DETACHED) == []


def test_a_root_that_was_taken_off_a_machine_of_ours_for_a_rescue_is_asked_about() -> None:
    one = machine(0)
    root = replace(one.root, server_id=None, reference_ids=(), status="available")
    off = with_parts(one.server, one.ip)
    in_world = world(off, root, one.ip, states=[state(*one.entries)], memory=remembered(root, source="attached"))
    finding = only(in_world, FindingKind.DETACHED)
    assert (finding.verdict, "it is a part of" in finding.reason) == (Verdict.ASK, True)


def test_after_our_own_refresh_has_taken_the_rescue_into_the_state_it_is_still_asked_about() -> None:
    one = machine(0)
    root = replace(one.root, server_id=None, reference_ids=(), status="available")
    off = with_parts(one.server, one.ip)
    made_with = lineage(root, source="attached", server_id=one.server.id)
    memory = remembered(root, source="attached", lineage=made_with)
    finding = only(world(off, root, one.ip, states=[state(entry_of(off, one.ip))], memory=memory))
    assert (finding.kind, finding.verdict) == (FindingKind.DETACHED, Verdict.ASK)
    assert "made with server" in finding.reason


def test_a_root_whose_machine_is_proved_gone_is_a_leftover_though_the_state_still_holds_the_machine() -> None:
    one = machine(0)
    root = replace(one.root, server_id=None, reference_ids=(), status="available")
    memory = remembered(root, lineage=lineage(root, source="attached", server_id=one.server.id))
    in_world = world(root, one.ip, states=[state(*one.entries)], probes=[absent(one.server)], memory=memory)
    assert only(in_world, FindingKind.DETACHED).verdict is Verdict.ACT


def test_a_root_of_a_machine_that_is_only_not_listed_is_asked_about() -> None:
    one = machine(0)
    root = replace(one.root, server_id=None, reference_ids=(), status="available")
    in_world = world(
        root,
        one.ip,
        states=[state(*one.entries)],
        probes=[unanswered(one.server)],
        memory=remembered(root, source="attached"),
    )
    assert only(in_world, FindingKind.DETACHED).verdict is Verdict.ASK


# -- not known

Knob = Callable[..., Finding]


@pytest.mark.parametrize("make", [orphan, detached], ids=["orphan", "detached"])
def test_one_unreadable_stack_and_nothing_is_known_to_be_left(make: Knob) -> None:
    finding = make(unread=(UnreadStack(stack="ci/x", code="RC0508", reason="no such stack"),))
    assert (finding.verdict, "ci/x" in finding.reason) == (Verdict.UNKNOWN, True)


@pytest.mark.parametrize(("make", "kind"), [(orphan, Kind.SERVER), (detached, Kind.VOLUME), (detached, Kind.SERVER)])
def test_what_was_not_listed_whole_makes_no_leftover(make: Knob, kind: Kind) -> None:
    """A volume's own list says that it is free; a server that was not listed may say otherwise."""
    finding = make(broken={kind: "HTTP 503"})
    assert (finding.verdict, "HTTP 503" in finding.reason) == (Verdict.UNKNOWN, True)


def test_an_address_that_ipam_may_have_in_use_is_no_leftover_while_ipam_is_not_read() -> None:
    finding = only(world(ADDRESS, memory=remembered(ADDRESS), broken={Kind.IPAM: "HTTP 503"}), FindingKind.DETACHED)
    assert (finding.verdict, "HTTP 503" in finding.reason) == (Verdict.UNKNOWN, True)


@pytest.mark.parametrize("part", [LEFT.root, LEFT.ip, local_volume("disk")], ids=["root", "ip", "local disk"])
def test_a_machine_with_a_part_that_no_list_shows_is_not_destroyed(part: Resource) -> None:
    shown = with_parts(LEFT.server, part)
    finding = only(world(shown, memory=remembered(LEFT.server)), FindingKind.ORPHAN)
    assert (finding.verdict, "was not read" in finding.reason) == (Verdict.UNKNOWN, True)


def test_a_machine_may_fit_a_fleet_whose_declaration_cannot_be_read() -> None:
    finding = orphan(desired=Desired(problems=("stack ci/prod: output cannot be read",)))
    assert finding.verdict is Verdict.UNKNOWN


# -- wait


@pytest.mark.parametrize("make", [orphan, detached], ids=["orphan", "detached"])
def test_nothing_is_left_while_any_stack_is_written_to(make: Knob) -> None:
    """Also a stack that never held it: an `up` may be taking it into its state right now."""
    locked = state(stack="ci/other", locks=(Lock(created_by="ann@ci"),))
    assert make(states=[state(), locked]).verdict is Verdict.WAIT


@pytest.mark.parametrize("make", [orphan, detached], ids=["orphan", "detached"])
def test_nothing_is_left_while_a_serial_moves(make: Knob) -> None:
    assert make(states=[state(serial="2")], before=[state(serial="1")]).verdict is Verdict.WAIT


def test_a_stack_that_was_made_during_the_sweep_makes_it_wait() -> None:
    assert orphan(states=[state(), state(stack="ci/new")], before=[state()]).verdict is Verdict.WAIT


@pytest.mark.parametrize("make", [orphan, detached], ids=["orphan", "detached"])
def test_grace_counts_from_the_first_sighting_and_says_when_it_ends(make: Knob) -> None:
    thing = LEFT.server if make is orphan else FREE
    finding = make(memory=remembered(thing, since=NOW - 60_000))
    assert (finding.verdict, finding.wait_until_ms) == (Verdict.WAIT, NOW - 60_000 + 900_000)


def test_what_nobody_has_seen_before_waits_a_whole_grace() -> None:
    finding = orphan(memory=replace(remembered(LEFT.server), unowned_since={}))
    assert finding.wait_until_ms == NOW + 900_000


@pytest.mark.parametrize(
    "thing",
    [
        replace(FREE, created_ms=NOW - 60_000),
        replace(FREE, last_detached_ms=NOW - 60_000),
        replace(FREE, created_ms=NOW + HOUR),
        replace(ADDRESS, created_ms=NOW - 60_000),
    ],
    ids=["just made", "just detached", "made in the future", "address just booked"],
)
def test_grace_counts_from_the_latest_of_all_that_is_known(thing: Resource) -> None:
    assert detached(thing).verdict is Verdict.WAIT


def test_an_address_without_a_booking_date_counts_from_its_first_sighting() -> None:
    thing = replace(ADDRESS, created_ms=None)
    assert detached(thing).verdict is Verdict.ACT
    assert detached(thing, memory=remembered(thing, since=NOW - 1000)).verdict is Verdict.WAIT


def test_without_a_memory_and_a_date_grace_never_ends() -> None:
    thing = replace(ADDRESS, created_ms=None)
    assert detached(thing, memory=NO_MEMORY).verdict is Verdict.WAIT


@pytest.mark.parametrize("transient", ["starting", "stopping"])
def test_a_machine_on_its_way_somewhere_waits(transient: str) -> None:
    in_world = world(
        replace(with_parts(LEFT.server, LEFT.root), state=transient), LEFT.root, memory=remembered(LEFT.server)
    )
    assert only(in_world, FindingKind.ORPHAN).verdict is Verdict.WAIT


@pytest.mark.parametrize(
    "thing",
    [replace(FREE, status="snapshotting"), replace(FREE, status="deleting"), replace(ADDRESS, state="pending")],
    ids=["snapshotting", "deleting", "pending"],
)
def test_a_child_on_its_way_somewhere_waits(thing: Resource) -> None:
    assert detached(thing).verdict is Verdict.WAIT


# -- ask


@pytest.mark.parametrize(
    "thing",
    [replace(FREE, status="error"), replace(FREE, status="locked"), replace(ADDRESS, state="error")],
    ids=["error", "locked", "address in error"],
)
def test_a_state_that_does_not_end_by_itself_is_a_persons(thing: Resource) -> None:
    assert detached(thing).verdict is Verdict.ASK


def test_a_locked_machine_is_a_persons() -> None:
    in_world = world(replace(ALONE, state="locked"), memory=remembered(LEFT.server))
    assert only(in_world, FindingKind.ORPHAN).verdict is Verdict.ASK


@pytest.mark.parametrize("make", [orphan, detached], ids=["orphan", "detached"])
def test_one_proof_is_not_enough(make: Knob) -> None:
    thing = LEFT.server if make is orphan else FREE
    finding = make(memory=Memory(first_complete_ms=0, unowned_since={thing.ref: NOW - HOUR}))
    assert (finding.verdict, finding.witness) == (Verdict.ASK, None)
    assert finding.reason == "only tags says that it is ours; a second, independent proof is missing"


def test_a_recorded_thing_without_tags_is_asked_about() -> None:
    thing = replace(FREE, tags=())
    assert (detached(thing).verdict, detached(thing).witness) == (Verdict.ASK, None)


def test_tags_alone_are_proof_in_a_scope_that_says_so() -> None:
    rules = scope(ownership=Ownership.TAGS)
    seen = Memory(first_complete_ms=0, unowned_since={FREE.ref: NOW - HOUR})
    assert detached(scope=rules, memory=seen).verdict is Verdict.ACT


def test_half_of_the_owner_tags_is_no_proof_in_a_scope_that_says_so() -> None:
    thing = replace(FREE, tags=owner_tags(3)[:1])
    rules = scope(ownership=Ownership.TAGS)
    assert only(world(thing, scope=rules)).kind is FindingKind.UNMANAGED


def test_a_protected_machine_is_asked_about() -> None:
    in_world = world(replace(ALONE, protected=True), memory=remembered(LEFT.server))
    assert only(in_world, FindingKind.ORPHAN).verdict is Verdict.ASK


@pytest.mark.parametrize("make", [orphan, detached], ids=["orphan", "detached"])
def test_what_an_adoption_holds_is_asked_about(make: Knob) -> None:
    thing = LEFT.server if make is orphan else FREE
    finding = make(memory=replace(remembered(thing), held=frozenset({thing.ref})))
    assert (finding.verdict, finding.reason) == (Verdict.ASK, "an adoption holds it")


@pytest.mark.parametrize("make", [orphan, detached], ids=["orphan", "detached"])
def test_an_interrupted_operation_may_have_made_it(make: Knob) -> None:
    assert make(states=[state(pending=(pending(),))]).verdict is Verdict.ASK


@pytest.mark.parametrize("thing", [ALONE, FREE], ids=["orphan", "detached"])
def test_where_no_stack_is_read_nothing_is_destroyed(thing: Resource) -> None:
    """A pattern that matches nothing, or another backend, looks as if everything were left over (report R011)."""
    finding = only(replace(world(thing, memory=remembered(thing)), states={}, states_before={}))
    assert (finding.verdict, finding.reason) == (Verdict.ASK, "no stack was read that could own it")


@pytest.mark.parametrize("make", [orphan, detached], ids=["orphan", "detached"])
def test_what_came_from_a_stack_that_is_no_longer_read_is_asked_about(make: Knob) -> None:
    thing = LEFT.server if make is orphan else FREE
    memory = replace(remembered(thing), lineage=lineage(thing, stack="ci/taken-off-the-list"))
    finding = make(memory=memory)
    assert (finding.verdict, "ci/taken-off-the-list" in finding.reason) == (Verdict.ASK, True)


def test_a_machine_that_fits_a_vacant_slot_of_an_unknown_program_is_a_persons_choice() -> None:
    finding = orphan(fleets=[fleet(10, component_urn=None)])
    assert (finding.verdict, "linux/9 is vacant" in finding.reason) == (Verdict.ASK, True)


@pytest.mark.parametrize(
    "tags",
    [owner_tags(9, revision="ffffffffffff"), owner_tags(10), owner_tags("²"), owner_tags("09"), owner_tags("9" * 5000)],
    ids=["another revision", "beyond the replicas", "another script's digit", "a leading zero", "thousands of digits"],
)
def test_a_machine_that_fits_no_slot_is_destroyed(tags: tuple[str, ...]) -> None:
    thing = replace(ALONE, tags=tags)
    in_world = world(thing, memory=remembered(thing), fleets=[fleet(10)])
    assert only(in_world, FindingKind.ORPHAN).verdict is Verdict.ACT


@pytest.mark.parametrize(
    ("key", "make"),
    [("orphan", orphan), ("detached_volume", detached), ("detached_ip", lambda **given: detached(ADDRESS, **given))],
)
def test_a_fleet_that_asks_before_it_destroys_is_asked(key: str, make: Knob) -> None:
    asking = FleetMatch(name="linux", actions=((key, "ask"),))
    other = FleetMatch(name="linux", actions=(("another", "ask"),))
    assert make(scope=scope(fleets=(asking,))).verdict is Verdict.ASK
    assert make(scope=scope(fleets=(other,))).verdict is Verdict.ACT


# -- decided


@pytest.mark.parametrize("make", [orphan, detached], ids=["orphan", "detached"])
def test_a_decided_deletion_needs_no_grace_and_no_second_proof(make: Knob) -> None:
    thing = LEFT.server if make is orphan else FREE
    finding = make(memory=Memory(doomed=frozenset({thing.ref})))
    assert (finding.verdict, "decided" in finding.reason) == (Verdict.ACT, True)


@pytest.mark.parametrize("make", [orphan, detached], ids=["orphan", "detached"])
def test_a_decided_deletion_is_not_shown_as_due_while_an_owner_may_speak(make: Knob) -> None:
    memory = Memory(doomed=frozenset({LEFT.server.ref, FREE.ref}))
    unread = (UnreadStack(stack="ci/x", code="RC0508", reason="no such stack"),)
    locked = state(locks=(Lock(created_by="ann@ci"),))
    assert make(memory=memory, unread=unread).verdict is Verdict.UNKNOWN
    assert make(memory=memory, states=[locked]).verdict is Verdict.WAIT


# -- what goes with a machine, and what never does


def goes(*more: Resource, **changes: Any) -> set[str]:
    return {ref.id for ref in orphan(*more, **changes).refs}


def test_nics_go_with_their_machine() -> None:
    card = nic("card", server_id=LEFT.server.id)
    assert card.id in goes(card)


def test_a_person_s_data_volume_stays() -> None:
    data = volume("data", server_id=LEFT.server.id)
    assert goes(data) == {LEFT.server.id, LEFT.root.id}


def test_a_persons_data_volume_stays_though_it_is_named_like_the_fleets() -> None:
    data = volume("data", name="linux-cache", server_id=LEFT.server.id)
    rules = scope(fleets=(FleetMatch(name="linux", names=("linux-*",), require=1),))
    assert data.id not in goes(data, scope=rules)


def test_a_persons_address_stays() -> None:
    address = ip("theirs", server_id=LEFT.server.id)
    assert address.id not in goes(address)


def test_an_address_that_is_proved_ours_goes_too() -> None:
    assert LEFT.ip.id in goes(LEFT.ip, memory=remembered(LEFT.server, LEFT.ip))


def root_world(root: Volume, **changes: Any) -> Finding:
    shown = with_parts(LEFT.server, root)
    given: dict[str, Any] = {"memory": remembered(LEFT.server)}
    return only(world(shown, root, **(given | changes)), FindingKind.ORPHAN)


@pytest.mark.parametrize(
    "root",
    [
        replace(LEFT.root, tags=(), created_ms=NOW - 90 * 24 * HOUR),
        replace(LEFT.root, tags=(), created_ms=(LEFT.server.created_ms or 0) - 1),
        replace(LEFT.root, tags=(), created_ms=None),
        replace(LEFT.root, reference_ids=(LEFT.server.id, "a-snapshot")),
        replace(LEFT.root, server_id="another-server"),
        replace(LEFT.root, tags=(f"reconciler:scope={OTHER_SCOPE}",)),
        replace(LEFT.root, tags=("keep",)),
        replace(LEFT.root, name="pvc-1234"),
        replace(LEFT.root, project=OTHER_PROJECT),
    ],
    ids=[
        "re-used, older than the machine",
        "re-used, a moment older",
        "of unknown age",
        "referenced by something else",
        "attached to another machine",
        "another scope's",
        "never touched",
        "a cluster's",
        "another project's",
    ],
)
def test_a_root_that_may_be_somebody_elses_stays(root: Volume) -> None:
    finding = root_world(root, scope=scope(never=Never(tags=("keep",))))
    assert root.ref not in finding.refs


def test_a_child_that_an_adoption_holds_stays() -> None:
    memory = replace(remembered(LEFT.server), held=frozenset({LEFT.root.ref}))
    assert root_world(LEFT.root, memory=memory).refs == (LEFT.server.ref,)


def test_a_root_that_two_machines_list_goes_with_neither() -> None:
    other = with_parts(server("other", tags=owner_tags(8)), LEFT.root)
    in_world = orphan_world()
    both = world(
        with_parts(LEFT.server, LEFT.root),
        other,
        LEFT.root,
        memory=remembered(LEFT.server, other),
        desired=in_world.desired,
    )
    assert all(LEFT.root.ref not in one.refs for one in found(both, FindingKind.ORPHAN))


def test_local_storage_that_is_not_proved_ours_keeps_its_machine() -> None:
    """A termination destroys it without being asked."""
    disk = local_volume("disk", server_id=LEFT.server.id, created_ms=NOW - HOUR)
    finding = orphan(disk)
    assert (finding.verdict, "would destroy" in finding.reason) == (Verdict.ASK, True)


def test_local_storage_that_its_create_made_goes_with_it() -> None:
    disk = local_volume("disk", server_id=LEFT.server.id)
    assert disk.id in goes(disk)


@pytest.mark.parametrize("kind", ["local disk", "volume", "address", "nic"])
def test_a_machine_that_uses_something_that_a_state_holds_is_asked_about(kind: str) -> None:
    parts: dict[str, Resource] = {
        "local disk": local_volume("disk", server_id=LEFT.server.id),
        "volume": volume("data", server_id=LEFT.server.id),
        "address": ip("address", server_id=LEFT.server.id),
        "nic": nic("card", server_id=LEFT.server.id),
    }
    part = parts[kind]
    finding = orphan(part, states=[state(entry_of(part, name="kept"))])
    assert (finding.verdict, f"in the state of {STACK}" in finding.reason) == (Verdict.ASK, True)
    assert part.ref not in finding.refs


# -- in use


@pytest.mark.parametrize(
    "thing",
    [
        replace(FREE, server_id="somebody", reference_ids=("somebody",), status="in_use"),
        replace(FREE, reference_ids=("a-snapshot",)),
        replace(FREE, status="in_use"),
        replace(ADDRESS, server_id="somebody", state="attached"),
        replace(ADDRESS, state="attached"),
    ],
    ids=["attached", "referenced", "in use", "address attached", "address attached to what is no server"],
)
def test_what_is_attached_or_referenced_is_never_collected(thing: Resource) -> None:
    finding = only(world(thing, memory=remembered(thing)))
    assert (finding.kind, finding.verdict, finding.action) == (FindingKind.UNMANAGED, Verdict.NONE, ActionKind.NONE)


@pytest.mark.parametrize("thing", [FREE, ADDRESS], ids=["volume", "ip"])
@pytest.mark.parametrize("managed", [True, False], ids=["in a state", "in none"])
def test_what_a_server_lists_as_its_own_is_in_use_though_its_own_list_calls_it_free(
    thing: Resource, managed: bool
) -> None:
    """The two APIs disagree while a volume is attached or detached."""
    owner = with_parts(server("busy"), thing)
    states = [state(entry_of(server("busy")))] if managed else []
    findings = found(world(owner, thing, states=states, memory=remembered(thing)))
    assert [one for one in findings if one.action is ActionKind.DESTROY] == []
    assert [one.kind for one in findings if thing.ref in one.refs] == [FindingKind.UNMANAGED]


def test_an_address_that_ipam_has_in_use_is_in_use() -> None:
    used = booking(ADDRESS, resource_type="vpc_gateway", resource_id="gw")
    free = booking(ADDRESS, resource_type="instance_ip", resource_id=ADDRESS.id)
    assert only(world(ADDRESS, used, memory=remembered(ADDRESS))).kind is FindingKind.UNMANAGED
    assert only(world(ADDRESS, free, memory=remembered(ADDRESS))).verdict is Verdict.ACT


# -- duplicates


def test_a_second_machine_for_a_slot_is_a_duplicate_and_nothing_is_done() -> None:
    one, twin = machine(0), machine(0, name="linux-0-again")
    in_world = world(*one.cloud, *twin.cloud, states=[state(*one.entries)], memory=remembered(twin.server))
    finding = only(in_world)
    assert (finding.kind, finding.verdict, finding.action) == (FindingKind.DUPLICATE, Verdict.ASK, ActionKind.NONE)
    assert [one.id for one in finding.subjects][:2] == [twin.server.id, one.server.id]
    assert {twin.root.id, twin.ip.id} <= {one.id for one in finding.subjects}


def test_a_duplicate_waits_while_a_stack_is_written_to() -> None:
    one, twin = machine(0), machine(0, name="linux-0-again")
    locked = state(*one.entries, locks=(Lock(created_by="ann@ci"),))
    assert only(world(*one.cloud, *twin.cloud, states=[locked]), FindingKind.DUPLICATE).verdict is Verdict.WAIT


def test_a_slot_whose_machine_could_not_be_read_has_a_duplicate_all_the_same() -> None:
    one, twin = machine(0), machine(0, name="linux-0-again")
    in_world = world(
        *twin.cloud,
        one.root,
        one.ip,
        states=[state(*one.entries)],
        probes=[unanswered(one.server)],
        memory=remembered(twin.server),
    )
    assert only(in_world, FindingKind.DUPLICATE).verdict is Verdict.ASK


def test_a_slot_whose_machine_is_proved_gone_has_no_duplicate() -> None:
    one, twin = machine(0), machine(0, name="linux-0-again")
    in_world = world(
        *twin.cloud,
        one.root,
        one.ip,
        states=[state(*one.entries)],
        probes=[absent(one.server)],
        fleets=[fleet(1)],
        memory=remembered(twin.server),
    )
    assert only(in_world, FindingKind.ORPHAN).verdict is Verdict.ASK


def test_a_person_who_copied_slot_tags_onto_a_machine_keeps_it() -> None:
    one, theirs = machine(0), server("theirs", tags=owner_tags(0))
    findings = found(world(*one.cloud, theirs, states=[state(*one.entries)], scope=scope(ownership=Ownership.TAGS)))
    assert [(one.kind, one.verdict) for one in findings] == [(FindingKind.DUPLICATE, Verdict.ASK)]


def test_a_slot_of_the_same_name_in_another_scope_makes_no_duplicate() -> None:
    theirs = server("theirs", tags=owner_tags(9, scope=OTHER_SCOPE))
    assert orphan(theirs, states=[state(entry_of(theirs))]).verdict is Verdict.ACT


# -- unmanaged


@pytest.mark.parametrize(
    ("thing", "why"),
    [
        (server("theirs", tags=("role=ci",)), "nothing says that it is ours"),
        (server("theirs", tags=owner_tags(0, scope=OTHER_SCOPE)), f"scope {OTHER_SCOPE}"),
        (server("theirs", tags=(*owner_tags(0), f"reconciler:scope={OTHER_SCOPE}")), f"scope {OTHER_SCOPE}"),
        (server("scw-prod-pool-1", tags=(*owner_tags(0), "kapsule=b9c08ebb")), "kapsule=b9c08ebb"),
        (server("bastion", tags=owner_tags(0)), "bastion"),
        (server("kept", tags=(*owner_tags(0), "keep")), "tag keep"),
        (server("pinned", tags=owner_tags(0)), "id"),
        (volume("disk", name="pvc-4711", tags=owner_tags(0)), "pvc-*"),
    ],
    ids=[
        "stranger",
        "other scope",
        "both scopes",
        "kapsule",
        "never: name",
        "never: tag",
        "never: id",
        "cluster volume",
    ],
)
def test_what_is_not_ours_is_counted_and_never_touched(thing: Resource, why: str) -> None:
    never = Never(tags=("keep",), names=("bastion*",), ids=(f"fr-par-1/{server('pinned').id.upper()}",))
    rules = scope(never=never, ownership=Ownership.TAGS)
    memory = remembered(thing) if why != "nothing says that it is ours" else Memory()
    finding = only(world(thing, memory=memory, scope=rules))
    assert (finding.kind, finding.verdict, finding.action) == (FindingKind.UNMANAGED, Verdict.NONE, ActionKind.NONE)
    assert why in finding.reason


def test_a_strangers_machine_is_counted_with_all_that_hangs_on_it() -> None:
    theirs, data = server("theirs"), volume("data", server_id=server("theirs").id)
    finding = only(world(with_parts(theirs, data), data))
    assert [one.id for one in finding.subjects] == [theirs.id, data.id]
    assert finding.cost.hour_nanos == 8_976_000 + 20 * 118_000


def test_another_projects_things_are_not_counted() -> None:
    """An organisation-wide key sees them; they are no part of this project's bill."""
    things = (server("x", project=OTHER_PROJECT), volume("v", project=OTHER_PROJECT), ip("i", project=OTHER_PROJECT))
    assert found(world(*things, memory=remembered(*things))) == []


@pytest.mark.parametrize("tag", ["Reconciler", " reconciler", "reconciler:Scope=x", "reconciler : fleet=x"])
def test_a_tag_that_only_looks_like_ours_is_pointed_out(tag: str) -> None:
    finding = only(world(server("theirs", tags=(tag,))))
    assert (finding.kind, "looks like an owner tag" in finding.evidence[0].text) == (FindingKind.UNMANAGED, True)


def test_a_hand_attached_volume_on_a_machine_in_order_is_unmanaged() -> None:
    one = machine(0)
    data = volume("data", name="linux-cache", server_id=one.server.id)
    busy = with_parts(one.server, one.root, data, one.ip)
    rules = scope(fleets=(FleetMatch(name="linux", names=("linux-*",), require=1),))
    findings = found(world(busy, one.root, data, one.ip, states=[state(*one.entries)], scope=rules))
    assert [(one.kind, one.action) for one in findings if one.subjects[0].id == data.id] == [
        (FindingKind.UNMANAGED, ActionKind.NONE)
    ]


def test_a_re_used_root_of_ours_on_a_machine_of_ours_is_in_order() -> None:
    one = machine(0)
    root = replace(one.root, created_ms=NOW - 90 * 24 * HOUR)
    assert found(world(one.server, root, one.ip, states=[state(*one.entries)])) == []


# -- ages and money


def test_a_leftover_says_how_old_it_is_and_a_future_date_is_no_age() -> None:
    assert orphan().age_seconds == 86_400
    assert detached(replace(FREE, created_ms=NOW + HOUR)).age_seconds == 0
    assert detached(replace(ADDRESS, created_ms=None)).age_seconds is None


def test_a_stopped_machine_costs_nothing_and_what_it_holds_does() -> None:
    stopped = replace(with_parts(LEFT.server, LEFT.root), state="stopped")
    finding = only(world(stopped, LEFT.root, memory=remembered(LEFT.server)), FindingKind.ORPHAN)
    assert (finding.verdict, finding.cost.hour_nanos) == (Verdict.ACT, 20 * 118_000)


def test_hostile_names_and_tags_are_only_text() -> None:
    thing: Server = replace(ALONE, name=HOSTILE, tags=(HOSTILE, *owner_tags(HOSTILE, fleet=HOSTILE)))
    finding = only(world(thing, memory=remembered(thing), fleets=[fleet(1, name=HOSTILE)]), FindingKind.ORPHAN)
    assert (finding.verdict, finding.subjects[0].name) == (Verdict.ACT, HOSTILE)


def test_of_two_machines_that_fit_one_slot_each_names_the_other_in_whatever_order_they_were_read() -> None:
    names = ("linux-9", "linux-9-again")
    things = [with_parts(server(name, tags=owner_tags(9))) for name in names]
    memory = remembered(*things)
    forth = found(world(*things, memory=memory, fleets=[fleet(10)]), FindingKind.ORPHAN)
    back = found(world(*reversed(things), memory=memory, fleets=[fleet(10)]), FindingKind.ORPHAN)
    assert forth == back
    assert [one.verdict for one in forth] == [Verdict.ASK, Verdict.ASK]
    assert all("fits it as well" in one.reason for one in forth)

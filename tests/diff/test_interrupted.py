"""Interrupted operations: nothing is decided too early, nothing is adopted on a guess, nothing is cleared on a hope."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reconciler.diff.interrupted import finding_id
from reconciler.model.finding import ActionKind, Finding, FindingKind, Verdict
from reconciler.model.inventory import Inventory, Right
from reconciler.model.memory import Episode, Memory, Release
from reconciler.model.resources import Kind, Resource, Server
from reconciler.model.scope import KNOWN_ZONES, FleetMatch
from reconciler.model.state import LiveProcess, Lock, PendingOperation, StackState, StateResource, UnreadStack
from reconciler.model.world import World
from tests.builders import (
    DAY,
    NOW,
    OTHER_PROJECT,
    OTHER_SCOPE,
    PROJECT,
    SCOPE,
    STACK,
    ZONE,
    entry_of,
    found,
    ip,
    machine,
    nic,
    owner_tags,
    scans,
    scope,
    server,
    state,
    uid,
    volume,
    with_parts,
    world,
)

ONE = machine(0)
DEADLINE_MS = 600_000
PROVIDER = StateResource(
    urn="urn:pulumi:prod::ci::pulumi:providers:scaleway::default",
    type="pulumi:providers:scaleway",
    id="p1",
    custom=True,
    inputs={"projectId": PROJECT},
)
THROUGH = f"{PROVIDER.urn}::p1"
TOKENS = {
    Kind.SERVER: "scaleway:instance/server:Server",
    Kind.IP: "scaleway:instance/ip:Ip",
    Kind.VOLUME: "scaleway:block/volume:Volume",
    Kind.NIC: "scaleway:instance/privateNic:PrivateNic",
}


def create(
    name: str = "linux-1", *, kind: Kind = Kind.SERVER, slot: int | None = 1, **changes: Any
) -> PendingOperation:
    """A create that was cut off, of slot 1 by default."""
    inputs = {
        "zone": ZONE,
        **({"tags": list(owner_tags(slot))} if slot is not None else {}),
        **changes.pop("inputs", {}),
    }
    given: dict[str, Any] = {
        "urn": f"urn:pulumi:prod::ci::{TOKENS[kind]}::{name}",
        "type": TOKENS[kind],
        "id": None,
        "custom": True,
        "provider": THROUGH,
        "inputs": inputs,
    }
    return PendingOperation(operation="creating", resource=StateResource(**(given | changes)))


def update(entry: StateResource, operation: str = "updating") -> PendingOperation:
    return PendingOperation(operation=operation, resource=entry)


def interrupted(*operations: PendingOperation, **changes: Any) -> StackState:
    """A stack at rest that holds one machine and these pending operations."""
    entries = changes.pop("entries", (PROVIDER, *ONE.entries))
    return state(*entries, pending=operations, **changes)


def seen(*operations: PendingOperation, ago_ms: int = DEADLINE_MS + 1, **changes: Any) -> Memory:
    """A memory that has known these operations for a while."""
    episodes = {
        (key := finding_id(one.resource)): Episode(finding_id=key, verdict="wait", opened_ms=NOW - ago_ms)
        for one in operations
    }
    given: dict[str, Any] = {"first_complete_ms": NOW - 7 * DAY, "episodes": episodes}
    return Memory(**(given | changes))


def late(*resources: Resource, pending: tuple[PendingOperation, ...] = (create(),), **changes: Any) -> World:
    """A world in which everything that has to be waited for has passed."""
    given: dict[str, Any] = {"states": [interrupted(*pending)], "memory": seen(*pending)}
    return world(*ONE.cloud, *resources, **(given | changes))


def only(in_world: World) -> Finding:
    (finding,) = found(in_world, FindingKind.INTERRUPTED)
    return finding


def verdict(in_world: World) -> tuple[Verdict, ActionKind]:
    finding = only(in_world)
    return finding.verdict, finding.action


def left(slot: int = 1, name: str = "linux-1", **changes: Any) -> Server:
    """What the create made: it runs, and no state holds it."""
    return server(name, **({"tags": owner_tags(slot)} | changes))


ADOPT, CLEAR = (Verdict.ACT, ActionKind.ADOPT), (Verdict.ACT, ActionKind.CLEAR)
ASK, WAIT, UNKNOWN = ((one, ActionKind.NONE) for one in (Verdict.ASK, Verdict.WAIT, Verdict.UNKNOWN))


# -- not yet


def test_an_operation_that_is_seen_for_the_first_time_waits_for_the_create_deadline() -> None:
    finding = only(late(memory=seen()))
    assert (finding.verdict, finding.wait_until_ms) == (Verdict.WAIT, NOW + DEADLINE_MS)


@pytest.mark.parametrize(("ago_ms", "expected"), [(DEADLINE_MS - 1, WAIT), (DEADLINE_MS, ADOPT)])
def test_the_deadline_counts_from_the_first_sight(ago_ms: int, expected: object) -> None:
    assert verdict(late(left(), memory=seen(create(), ago_ms=ago_ms))) == expected


def test_a_state_that_was_written_later_than_the_first_sight_counts_anew() -> None:
    """A second run was killed at the same create: the first sight of the entry says nothing about it."""
    again = interrupted(create(), written_ms=NOW - 1000)
    finding = only(late(left(), states=[again]))
    assert (finding.verdict, finding.wait_until_ms) == (Verdict.WAIT, NOW - 1000 + DEADLINE_MS)


def test_a_writer_whose_clock_is_ahead_is_waited_for_and_not_for_ever() -> None:
    ahead = interrupted(create(), written_ms=NOW + DAY)
    assert only(late(left(), states=[ahead])).wait_until_ms == NOW + DEADLINE_MS


def test_without_a_memory_nothing_is_ever_decided() -> None:
    assert verdict(late(left(), memory=Memory(present=False))) == WAIT


def test_a_scope_says_how_long_a_create_takes() -> None:
    assert verdict(late(left(), scope=scope(create_seconds=3600, grace_seconds=7200))) == WAIT


def test_a_fleet_that_names_the_urn_may_say_that_it_takes_longer() -> None:
    slow = FleetMatch(name="slow", urns=("**linux-*",), max_create_seconds=3600)
    other = FleetMatch(name="other", urns=("**mac-*",), max_create_seconds=7200)
    finding = only(late(left(), scope=scope(fleets=(slow, other))))
    assert finding.wait_until_ms == NOW - DEADLINE_MS - 1 + 3600_000


def test_while_the_stack_is_locked_nothing_is_decided() -> None:
    locked = interrupted(create(), locks=(Lock(created_by="ci@host", pid=7),))
    finding = only(late(left(), states=[locked]))
    assert (finding.verdict, "ci@host (pid 7)" in finding.reason) == (Verdict.WAIT, True)


def test_while_the_state_moves_nothing_is_decided() -> None:
    pending = interrupted(create())
    assert verdict(late(left(), states=[pending], before=[replace(pending, serial="0")])) == WAIT


PLUGIN = LiveProcess(pid=99, name="pulumi-resource-scaleway", why="nothing rules it out", started_ms=NOW - DAY)


def test_a_plugin_that_outlived_its_run_may_still_make_it() -> None:
    finding = only(late(processes={STACK: (PLUGIN,)}))
    assert (finding.verdict, "pid 99" in finding.reason) == (Verdict.WAIT, True)


def test_a_plugin_of_which_no_start_is_told_counts() -> None:
    assert verdict(late(processes={STACK: (replace(PLUGIN, started_ms=None),)})) == WAIT


def test_a_plugin_that_began_after_the_operation_was_seen_is_another_runs() -> None:
    assert verdict(late(left(), processes={STACK: (replace(PLUGIN, started_ms=NOW - 1000),)})) == ADOPT


def test_another_stacks_plugin_holds_up_nothing() -> None:
    assert verdict(late(left(), processes={"ci/other": (PLUGIN,)})) == ADOPT


def test_a_machine_that_is_still_starting_is_waited_for() -> None:
    assert verdict(late(left(state="starting"))) == WAIT


# -- found


def test_the_one_machine_with_the_tags_of_its_slot_is_adopted() -> None:
    finding = only(late(left()))
    assert (finding.verdict, finding.action) == ADOPT
    pending, made = finding.subjects[:2]
    assert (pending.kind, pending.id, pending.urn) == ("stack", None, create().resource.urn)
    assert (made.ref, made.urn, made.worker) == (left().ref, create().resource.urn, "linux/1")
    assert (finding.stack, finding.fleet) == (STACK, "linux")
    assert finding.cost.month > 6


def test_the_wait_shows_what_it_seems_to_have_made() -> None:
    finding = only(late(left(), memory=seen()))
    assert [one.ref for one in finding.subjects] == [None, left().ref]
    assert finding.cost.month > 6


def test_what_it_made_is_no_orphan_besides_and_its_parts_are_in_the_one_finding() -> None:
    owner = left()
    root = volume("made-root", server_id=owner.id)
    address = ip("made-ip", server_id=owner.id, tags=owner_tags(1))
    everything = found(late(with_parts(owner, root, address), root, address))
    assert [one.kind for one in everything if one.kind is not FindingKind.UNTAGGED_CHILD] == [FindingKind.INTERRUPTED]
    assert {one.ref for one in everything[0].subjects[1:]} == {owner.ref, root.ref, address.ref}


def test_a_server_without_owner_tags_is_known_by_its_name_and_all_its_tags() -> None:
    pending = create("web", slot=None, inputs={"name": "web-1", "tags": ["role=web"]})
    made = server("web-1", tags=("role=web", "extra"))
    assert verdict(late(made, pending=(pending,))) == ADOPT


def test_a_name_without_the_tags_is_a_reason_to_ask() -> None:
    pending = create("web", slot=None, inputs={"name": "web-1", "tags": ["role=web"]})
    assert verdict(late(server("web-1"), pending=(pending,))) == ASK


def test_tags_that_many_share_are_a_reason_to_ask() -> None:
    pending = create("web", slot=None, inputs={"tags": ["role=web"]})
    finding = only(late(server("made", tags=("role=web",)), pending=(pending,)))
    assert (finding.verdict, "the same tags" in finding.reason) == (Verdict.ASK, True)


def test_an_address_is_known_by_the_tags_of_its_slot() -> None:
    pending = create("linux-1-ip", kind=Kind.IP)
    assert verdict(late(ip("made", tags=owner_tags(1)), pending=(pending,))) == ADOPT


def test_the_volumes_of_one_slot_are_told_apart_by_their_names() -> None:
    pending = create("linux-1-data", kind=Kind.VOLUME, inputs={"name": "linux-1-data"})
    data, logs = (volume(one, name=f"linux-1-{one}", tags=owner_tags(1)) for one in ("data", "logs"))
    finding = only(late(data, logs, pending=(pending,)))
    assert (finding.verdict, finding.refs) == (Verdict.ACT, (data.ref,))
    assert verdict(late(logs, pending=(pending,))) == ASK


def test_a_private_nic_is_known_by_its_two_ends() -> None:
    ends = {"serverId": f"{ZONE}/{ONE.server.id}", "privateNetworkId": f"fr-par/{uid('net')}"}
    pending = create("nic", kind=Kind.NIC, slot=None, inputs=ends)
    assert verdict(late(nic("made", server_id=ONE.server.id), pending=(pending,))) == ADOPT
    assert verdict(late(nic("made", server_id=ONE.server.id, network="other"), pending=(pending,))) == CLEAR


def test_two_machines_that_may_be_it_are_a_persons_choice() -> None:
    finding = only(late(left(), left(name="again")))
    assert (finding.verdict, finding.action) == ASK
    assert {one.ref for one in finding.subjects[1:]} == {left().ref, left(name="again").ref}


def test_a_machine_that_two_creates_fit_is_a_persons_choice() -> None:
    pending = (create(), create("again"))
    findings = found(late(left(), pending=pending), FindingKind.INTERRUPTED)
    assert [one.verdict for one in findings] == [Verdict.ASK, Verdict.ASK]


def test_a_machine_that_a_state_holds_is_not_what_was_made() -> None:
    held = left()
    other = state(entry_of(held), stack="ci/other")
    assert verdict(late(held, states=[interrupted(create()), other])) == CLEAR


def test_after_another_up_the_second_machine_is_kept_and_a_person_decides_about_the_first() -> None:
    second = left(name="second")
    entry = entry_of(second, urn=create().resource.urn)
    finding = only(late(left(), second, states=[interrupted(create(), entries=(PROVIDER, *ONE.entries, entry))]))
    assert (finding.verdict, finding.action) == ASK
    assert "the state holds" in finding.reason


def test_a_stack_that_was_not_read_may_own_it() -> None:
    unread = (UnreadStack(stack="ci/other", code="RC0508", reason="gone"),)
    assert verdict(late(left(), unread=unread)) == UNKNOWN


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (left(tags=(*owner_tags(1), f"reconciler:scope={OTHER_SCOPE}")), None),
        (left(name="bastion-7"), "never touched"),
    ],
    ids=["another scope's too", "never list"],
)
def test_what_is_not_ours_to_touch_is_not_adopted(made: Server, why: str | None) -> None:
    guarded = scope(never=replace(scope().never, names=("bastion*",)))
    finding = only(late(made, scope=guarded))
    assert finding.action is not ActionKind.ADOPT
    assert why is None or why in finding.reason


def test_what_is_being_deleted_is_not_adopted() -> None:
    assert verdict(late(left(), memory=seen(create(), doomed=frozenset({left().ref})))) == ASK


def test_what_a_person_released_is_not_adopted_again_by_itself() -> None:
    row = Release(ref=left().ref, with_id=left().id, stack=STACK, urn="urn:was")
    finding = only(late(left(), memory=seen(create(), released={left().ref: row})))
    assert (finding.verdict, "it was released" in finding.reason) == (Verdict.ASK, True)


def test_an_adoption_that_was_begun_goes_on() -> None:
    assert verdict(late(left(), memory=seen(create(), held=frozenset({left().ref})))) == ADOPT


def test_another_projects_machine_is_not_it() -> None:
    assert verdict(late(left(project=OTHER_PROJECT))) == CLEAR


def test_a_fleet_may_want_to_be_asked() -> None:
    asks = FleetMatch(name="linux", urns=("**linux-*",), max_create_seconds=60, actions=(("interrupted", "ask"),))
    assert verdict(late(left(), scope=scope(fleets=(asks,)))) == ASK
    assert verdict(late(scope=scope(fleets=(asks,)))) == ASK


# -- proved absent


def test_what_is_proved_not_to_be_there_is_cleared() -> None:
    finding = only(late())
    assert (finding.verdict, finding.action) == CLEAR
    assert finding.ledgers["inventory"] == "absent"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"complete": False, "reason": "HTTP 503"}, UNKNOWN),
        ({"right": Right.DENIED}, ASK),
        ({"right": Right.UNKNOWN}, ASK),
        ({"right": Right.ASSUMED, "items": ()}, ASK),
        ({"right": Right.ASSUMED}, CLEAR),
        ({"right": Right.UNKNOWN, "offered": False}, ASK),
    ],
    ids=["broken off", "denied", "unknown", "empty and assumed", "assumed but not empty", "not offered"],
)
def test_a_list_that_proves_nothing_clears_nothing(changes: dict[str, Any], expected: object) -> None:
    listed = scans(ONE.cloud)
    listed[Kind.SERVER, ZONE] = replace(listed[Kind.SERVER, ZONE], **changes)
    assert verdict(late(inventory=Inventory(scans=listed))) == expected


def test_a_zone_that_is_not_listed_at_all_proves_nothing() -> None:
    listed = {key: scan for key, scan in scans(ONE.cloud).items() if key[0] is not Kind.SERVER}
    assert verdict(late(inventory=Inventory(scans=listed))) == UNKNOWN


def test_a_zone_outside_the_scope_proves_nothing() -> None:
    assert verdict(late(pending=(create(inputs={"zone": "nl-ams-1"}),))) == ASK


def test_the_provider_says_the_zone_where_the_create_does_not() -> None:
    zoned = replace(PROVIDER, inputs={"projectId": PROJECT, "zone": "nl-ams-1"})
    pending = create(inputs={"zone": None})
    there = interrupted(pending, entries=(zoned, *ONE.entries))
    assert verdict(late(pending=(pending,), states=[there])) == ASK


def test_without_a_zone_every_zone_must_have_been_looked_at() -> None:
    pending = create(inputs={"zone": None})
    assert verdict(late(pending=(pending,))) == ASK
    everywhere = Inventory(scans=scans(ONE.cloud, zones=KNOWN_ZONES))
    assert verdict(late(pending=(pending,), scope=scope(zones=KNOWN_ZONES), inventory=everywhere)) == CLEAR


BARE = replace(PROVIDER, inputs={})
UNTAGGED = create("web", slot=None, inputs={"name": "web-1"})


@pytest.mark.parametrize(
    ("entries", "pending", "expected"),
    [
        ((PROVIDER,), UNTAGGED, CLEAR),
        ((replace(PROVIDER, inputs={"projectId": OTHER_PROJECT}),), UNTAGGED, ASK),
        ((BARE,), create("web", slot=None, inputs={"name": "web-1", "projectId": PROJECT}), CLEAR),
        ((BARE,), create("web", slot=None, inputs={"name": "web-1", "projectId": OTHER_PROJECT}), ASK),
        ((BARE,), UNTAGGED, ASK),
        ((BARE, replace(ONE.entries[0], provider=THROUGH)), UNTAGGED, CLEAR),
        ((BARE, replace(ONE.entries[0], provider="another")), UNTAGGED, ASK),
        ((BARE,), create(), CLEAR),
    ],
    ids=[
        "the provider's", "another, the provider's", "its own", "another, its own", "nobody says",
        "what the provider made before", "what another provider made", "the scope tag",
    ],
)  # fmt: skip
def test_absence_is_of_one_project_and_that_project_must_be_known(
    entries: tuple[StateResource, ...], pending: PendingOperation, expected: object
) -> None:
    there = interrupted(pending, entries=entries)
    assert verdict(late(pending=(pending,), states=[there])) == expected


@pytest.mark.parametrize(
    "pending",
    [
        create("nameless", slot=None),
        create("nameless-ip", kind=Kind.IP, slot=None, inputs={"name": "an address has no name"}),
        create("nic", kind=Kind.NIC, slot=None, inputs={"serverId": f"{ZONE}/x"}),
        create("bucket", type="scaleway:object/bucket:Bucket"),
        create("group", type="scaleway:instance/securityGroup:SecurityGroup"),
        create("component", custom=False),
    ],
    ids=["no name, no tags", "address without tags", "nic with one end", "bucket", "not listed", "component"],
)
def test_what_cannot_be_looked_for_is_a_persons_to_settle(pending: PendingOperation) -> None:
    assert verdict(late(pending=(pending,))) == ASK


# -- as a set


def verdicts(in_world: World) -> dict[str, tuple[Verdict, ActionKind]]:
    return {(one.subjects[0].name or ""): (one.verdict, one.action) for one in found(in_world, FindingKind.INTERRUPTED)}


def test_creates_that_all_came_to_nothing_are_cleared_together() -> None:
    pending = (create(), create("linux-2", slot=2))
    assert verdicts(late(pending=pending)) == {"linux-1": CLEAR, "linux-2": CLEAR}


def test_one_that_is_adopted_does_not_hold_up_one_that_is_cleared_after_it() -> None:
    pending = (create(), create("linux-2", slot=2))
    assert verdicts(late(left(), pending=pending)) == {"linux-1": ADOPT, "linux-2": CLEAR}


@pytest.mark.parametrize(
    "open_one", [create("nameless", slot=None), create("bucket", type="scaleway:object/bucket:Bucket")]
)
def test_nothing_is_cleared_while_another_create_of_the_stack_is_open(open_one: PendingOperation) -> None:
    said = verdicts(late(pending=(create(), open_one)))
    assert said["linux-1"] == WAIT
    assert said[open_one.resource.name] == ASK


def test_a_create_that_was_seen_later_holds_up_the_earlier_one() -> None:
    early, fresh = create(), create("linux-2", slot=2)
    assert verdicts(late(pending=(early, fresh), memory=seen(early))) == {"linux-1": WAIT, "linux-2": WAIT}


def test_another_stacks_create_holds_up_nothing() -> None:
    open_one = create("nameless", slot=None, urn="urn:pulumi:prod::other::t::nameless")
    states = [interrupted(create()), state(stack="ci/other", pending=(open_one,))]
    assert verdicts(late(states=states, memory=seen(create(), open_one)))["linux-1"] == CLEAR


def test_an_update_of_what_the_state_holds_is_cleared_and_the_resource_is_compared() -> None:
    pending = update(ONE.entries[0])
    finding = only(late(pending=(pending,)))
    assert (finding.verdict, finding.action, finding.subjects[0].ref) == (*CLEAR, ONE.server.ref)


def test_a_deletion_of_what_the_state_holds_no_longer_is_a_persons_to_look_at() -> None:
    gone = entry_of(server("was"))
    assert verdict(late(pending=(update(gone, "deleting"),))) == ASK


def test_updates_do_not_wait_for_creates_nor_creates_for_updates() -> None:
    open_create, held = create("nameless", slot=None), update(ONE.entries[0])
    assert verdicts(late(pending=(open_create, held)))["linux-0"] == CLEAR
    lost = update(entry_of(server("was"), name="was"), "deleting")
    assert verdicts(late(pending=(create(), lost)))["linux-1"] == CLEAR


def test_the_first_subject_keeps_the_episode_whatever_was_found() -> None:
    assert only(late()).id == only(late(left())).id == finding_id(create().resource)


def test_an_operation_with_an_id_keeps_its_episode_too() -> None:
    pending = update(ONE.entries[0])
    assert only(late(pending=(pending,))).id == finding_id(pending.resource)


def test_scope_tags_of_another_scope_are_not_this_slot() -> None:
    pending = create(inputs={"tags": list(owner_tags(1, scope=OTHER_SCOPE))})
    assert verdict(late(left(), pending=(pending,))) == CLEAR
    assert SCOPE != OTHER_SCOPE

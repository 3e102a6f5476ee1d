"""What the frozen values say about themselves."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.desired import SCOPE_TAG, tag_value
from reconciler.model.finding import ActionKind, Finding, FindingKind, Subject, Verdict
from reconciler.model.inventory import Inventory, Presence, Right
from reconciler.model.money import HOURS_PER_MONTH, Cost, Price, of_price, total
from reconciler.model.plan import Mode
from reconciler.model.resources import Kind, Ref, VolumeSlot, region_of
from reconciler.model.state import SECRET, Lock, StateResource
from reconciler.model.world import World
from tests.builders import (
    NOW,
    STACK,
    ZONE,
    absent,
    entry_of,
    ip,
    machine,
    nic,
    scans,
    server,
    state,
    unanswered,
    volume,
    world,
)

ONE = machine(0)


# -- tags


@pytest.mark.parametrize(
    ("tags", "value"),
    [
        ((f"{SCOPE_TAG}a", "x"), "a"),
        ((f"{SCOPE_TAG}a", f"{SCOPE_TAG}a"), "a"),
        ((f"{SCOPE_TAG}a", f"{SCOPE_TAG}b"), None),
        (("x",), None),
        ((SCOPE_TAG,), ""),
    ],
)
def test_a_tags_value_is_the_one_that_there_is(tags: tuple[str, ...], value: str | None) -> None:
    assert tag_value(tags, SCOPE_TAG) == value


# -- money

COSTS = st.builds(
    Cost,
    hour_nanos=st.integers(0, 10**12),
    sources=st.lists(st.sampled_from("abc"), unique=True).map(tuple),
    unpriced=st.integers(0, 3),
)


@given(st.lists(COSTS, max_size=5))
def test_a_sum_is_to_the_nano_and_forgets_no_missing_price(costs: list[Cost]) -> None:
    summed = total(tuple(costs))
    assert summed.hour_nanos == sum(one.hour_nanos for one in costs)
    assert summed.unpriced == sum(one.unpriced for one in costs)
    assert set(summed.sources) == {source for one in costs for source in one.sources}


def test_a_month_is_730_hours() -> None:
    assert HOURS_PER_MONTH == 730
    assert of_price(Price(hour_nanos=8_976_000, source="x")).month == pytest.approx(6.55248)


def test_no_price_is_not_free() -> None:
    assert of_price(None) == Cost(unpriced=1)


def test_two_currencies_are_not_added() -> None:
    with pytest.raises(ValueError):
        Cost(hour_nanos=1) + Cost(hour_nanos=1, currency="USD")
    assert (Cost() + Cost(hour_nanos=1, currency="USD")).currency == "USD"


# -- resources


def test_a_region_is_a_zone_without_its_number() -> None:
    assert [region_of(one) for one in ("fr-par-1", "fr-par", "nl-ams-12", "x")] == ["fr-par", "fr-par", "nl-ams", "x"]


def test_an_sbs_slot_is_a_block_volume_and_anything_else_is_the_instances_own() -> None:
    kinds = [VolumeSlot(key="0", id="x", volume_type=one).kind for one in ("sbs_volume", "sbs_5k", "l_ssd", "scratch")]
    assert kinds == [Kind.VOLUME, Kind.VOLUME, Kind.INSTANCE_VOLUME, Kind.INSTANCE_VOLUME]


def test_the_root_is_the_volume_on_key_0() -> None:
    assert ONE.server.root is not None
    assert ONE.server.root.id == ONE.root.id
    assert server().root is None


# -- the inventory


def test_a_get_that_came_later_knows_better_than_the_list() -> None:
    renamed = replace(ONE.ip, reverse="x")
    from reconciler.model.inventory import Probe

    probes = {
        ONE.server.ref: absent(ONE.server),
        ONE.ip.ref: Probe(ref=ONE.ip.ref, presence=Presence.PRESENT, at_ms=NOW, resource=renamed, status=200),
        ONE.root.ref: unanswered(ONE.root),
    }
    inventory = Inventory(scans=scans(ONE.cloud), probes=probes)
    assert ONE.server.ref not in inventory.by_ref
    assert inventory.by_ref[ONE.ip.ref] == renamed
    assert inventory.by_ref[ONE.root.ref] == ONE.root


@pytest.mark.parametrize(
    ("right", "complete", "presence"),
    [
        (Right.PROVED, True, Presence.ABSENT),
        (Right.ASSUMED, True, Presence.ABSENT),
        (Right.DENIED, True, Presence.UNKNOWN),
        (Right.UNKNOWN, True, Presence.UNKNOWN),
        (Right.PROVED, False, Presence.UNKNOWN),
    ],
)
def test_absent_is_said_only_by_a_complete_list_with_a_known_right(
    right: Right, complete: bool, presence: Presence
) -> None:
    """Rule 1."""
    found = {key: replace(scan, right=right, complete=complete) for key, scan in scans([ONE.ip]).items()}
    inventory = Inventory(scans=found)
    assert inventory.presence(ONE.server.ref) is presence
    assert inventory.presence(ONE.ip.ref) is Presence.PRESENT
    assert inventory.presence(Ref(Kind.SERVER, "nl-ams-1", "x")) is Presence.UNKNOWN


def test_children_are_what_either_side_says() -> None:
    card = nic("card", server_id=ONE.server.id)
    stranger = volume("data", server_id=ONE.server.id)
    inventory = Inventory(scans=scans([*ONE.cloud, card, stranger]))
    assert set(inventory.children_of[ONE.server.id]) == {ONE.root.ref, ONE.ip.ref, card.ref, stranger.ref}


# -- the state


@pytest.mark.parametrize(
    ("id_", "custom", "token", "ref"),
    [
        (f"{ZONE}/abc", True, "scaleway:instance/ip:Ip", Ref(Kind.IP, ZONE, "abc")),
        (f"{ZONE}/server/nic", True, "scaleway:instance/privateNic:PrivateNic", Ref(Kind.NIC, ZONE, "nic")),
        ("abc", True, "scaleway:instance/ip:Ip", None),
        (f"{ZONE}/", True, "scaleway:instance/ip:Ip", None),
        ("/abc", True, "scaleway:instance/ip:Ip", None),
        (None, True, "scaleway:instance/ip:Ip", None),
        ("", True, "scaleway:instance/ip:Ip", None),
        (f"{ZONE}/abc", False, "scaleway:instance/ip:Ip", None),
        (f"{ZONE}/abc", True, "aws:ec2/instance:Instance", None),
    ],
)
def test_an_entry_stands_for_what_its_id_names(id_: str | None, custom: bool, token: str, ref: Ref | None) -> None:
    """An empty id would name the list (report R035)."""
    assert StateResource(urn="u", type=token, id=id_, custom=custom).ref == ref


def test_a_secret_equals_nothing_and_shows_nothing() -> None:
    assert (SECRET == SECRET, repr(SECRET), f"{SECRET}") == (False, "[secret]", "[secret]")
    assert copy.deepcopy({"a": SECRET})["a"] is SECRET


def test_an_old_copy_is_found_by_its_id_and_not_by_its_urn() -> None:
    old = replace(entry_of(ONE.ip), pending_delete=True, id=f"{ZONE}/old")
    held = state(entry_of(ONE.ip), old)
    assert held.by_urn[old.urn].id == f"{ZONE}/{ONE.ip.id}"
    assert Ref(Kind.IP, ZONE, "old") in held.by_ref


# -- the world

LOCKED = (Lock(created_by="ann@ci", pid=7),)


@pytest.mark.parametrize(
    ("in_world", "why"),
    [
        (world(states=[state()]), None),
        (world(states=[state(locks=LOCKED)]), "locked by ann@ci (pid 7)"),
        (world(states=[state(locks=(Lock(created_by="ann@ci"),))]), "locked by ann@ci"),
        (world(states=[state()], before=[state(locks=LOCKED)]), "a lock was held while the inventory was read"),
        (world(states=[state(serial="2")], before=[state()]), "its state moved while the inventory was read"),
        (world(states=[state()], before=[]), "its state moved while the inventory was read"),
    ],
)
def test_a_stack_is_live_while_anybody_writes_to_it(in_world: World, why: str | None) -> None:
    assert in_world.live_stacks.get(STACK) == why


def test_what_is_in_either_read_is_in_state() -> None:
    in_world = world(states=[state(entry_of(ONE.ip))], before=[state(entry_of(ONE.server), serial="0")])
    assert set(in_world.state_entry_of) == {ONE.ip.ref, ONE.server.ref}


# -- findings


def finding(**changes: object) -> Finding:
    given: dict[str, object] = {
        "kind": FindingKind.ORPHAN,
        "subjects": (Subject(kind="server", zone=ZONE, id="a"), Subject(kind="slot", zone=ZONE, worker="linux/1")),
        "verdict": Verdict.ACT,
        "action": ActionKind.DESTROY,
        "reason": "r",
        "rule": "rule 9",
    }
    return Finding(**(given | changes))  # type: ignore[arg-type]


def test_an_episode_keeps_its_id_whatever_the_verdict_the_age_or_the_cost() -> None:
    later = finding(verdict=Verdict.WAIT, age_seconds=9, cost=Cost(hour_nanos=1), reason="x", action=ActionKind.NONE)
    assert later.id == finding().id
    assert finding(kind=FindingKind.DUPLICATE).id != finding().id
    assert finding(subjects=(Subject(kind="ip", zone=ZONE, id="a"),)).id != finding().id


def test_only_resources_are_references() -> None:
    assert finding().refs == (Ref(Kind.SERVER, ZONE, "a"),)


@pytest.mark.parametrize(("verdict", "counts"), [(one, one.value in ("act", "ask")) for one in Verdict])
def test_drift_is_what_is_acted_on_or_asked(verdict: Verdict, counts: bool) -> None:
    assert finding(verdict=verdict).counts_as_drift is counts


def test_each_mode_allows_what_the_one_below_it_allows() -> None:
    allowed = [
        {action for action in ActionKind if mode.allows(action)} for mode in (Mode.OBSERVE, Mode.REPAIR, Mode.PRUNE)
    ]
    assert allowed[0] == set()
    assert allowed[0] < allowed[1] < allowed[2]
    assert ActionKind.DESTROY not in allowed[1]
    assert not {ActionKind.UP, ActionKind.NONE} & allowed[2]


def test_a_free_address_has_no_server() -> None:
    assert ip("x").server_id is None

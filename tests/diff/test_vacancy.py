"""A machine that fits a vacant slot is adopted, where it is known what its program calls it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reconciler.model.finding import ActionKind, Finding, FindingKind, Verdict
from reconciler.model.memory import Memory
from reconciler.model.resources import Resource
from reconciler.model.scope import FleetMatch
from reconciler.model.state import Lock
from tests.builders import (
    DAY,
    NOW,
    STACK,
    absent,
    entry_of,
    fleet,
    found,
    ip,
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
    volume,
    with_parts,
    world,
)

LOST = machine(0)
BELOW = "urn:pulumi:prod::ci::reconciler:fleet:WorkerFleet$scaleway:"
ADOPT, ASK = (Verdict.ACT, ActionKind.ADOPT), (Verdict.ASK, ActionKind.DESTROY)


def orphan(*parts: Resource, **changes: Any) -> Finding:
    """The finding about a machine of slot 0 that no state holds, as old as its grace wants it."""
    resources = parts or LOST.cloud
    given: dict[str, Any] = {"fleets": [fleet(1)], "memory": remembered(*resources)}
    return only(world(*resources, **(given | changes)), FindingKind.ORPHAN)


def verdict(*parts: Resource, **changes: Any) -> tuple[Verdict, ActionKind]:
    finding = orphan(*parts, **changes)
    return finding.verdict, finding.action


def test_it_is_adopted_with_its_address_under_the_names_of_the_component() -> None:
    finding = orphan()
    assert (finding.verdict, finding.action, finding.stack) == (*ADOPT, STACK)
    assert {one.ref: one.urn for one in finding.subjects} == {
        LOST.server.ref: f"{BELOW}instance/server:Server::linux-0",
        LOST.ip.ref: f"{BELOW}instance/ip:Ip::linux-0-ip",
        LOST.root.ref: None,
    }


def test_what_the_state_holds_of_it_is_left_there() -> None:
    """The usual case: the address was made, the machine's answer was lost."""
    finding = orphan(states=[state(entry_of(LOST.ip))])
    assert (finding.verdict, finding.action) == ADOPT
    assert LOST.ip.ref not in finding.refs


def test_further_volumes_go_by_their_own_names() -> None:
    data = volume("d", name="linux-0-data", server_id=LOST.server.id, created_ms=NOW - DAY - 1000)
    owner = with_parts(LOST.server, LOST.root, data)
    urns = {one.ref: one.urn for one in orphan(owner, LOST.root, data).subjects}
    assert urns == {
        owner.ref: f"{BELOW}instance/server:Server::linux-0",
        LOST.root.ref: None,
        data.ref: f"{BELOW}block/volume:Volume::linux-0-data",
    }


def test_a_private_nic_is_the_servers_own() -> None:
    interface = nic("n", server_id=LOST.server.id)
    owner = with_parts(LOST.server, LOST.root, LOST.ip, interface)
    assert verdict(owner, LOST.root, LOST.ip, interface) == ADOPT


@pytest.mark.parametrize("component", [None, "urn:pulumi:prod::ci::my:own:Fleet::linux", "urn:x::a:b:C::other"])
def test_a_program_of_another_kind_must_be_asked(component: str | None) -> None:
    finding = orphan(fleets=[fleet(1, component_urn=component)])
    assert (finding.verdict, finding.action) == ASK
    assert f"reconciler adopt {LOST.server.id}" in finding.reason


def test_a_component_inside_another_keeps_its_parents_in_the_name() -> None:
    inside = "urn:pulumi:prod::ci::my:Site$reconciler:fleet:WorkerFleet::linux"
    urn = orphan(fleets=[fleet(1, component_urn=inside)]).subjects[0].urn
    assert urn == "urn:pulumi:prod::ci::my:Site$reconciler:fleet:WorkerFleet$scaleway:instance/server:Server::linux-0"


@pytest.mark.parametrize(
    "extra",
    [
        volume("other", name="mine", server_id=LOST.server.id),
        ip("second", server_id=LOST.server.id, tags=owner_tags(0)),
        local_volume("scratch", server_id=LOST.server.id, name="linux-0-scratch"),
    ],
    ids=["a volume of another name", "a second address", "local storage"],
)
def test_a_part_that_no_fleet_declares_is_a_reason_to_ask(extra: Resource) -> None:
    owner = with_parts(LOST.server, LOST.root, LOST.ip, extra)
    assert verdict(owner, LOST.root, LOST.ip, extra)[0] is Verdict.ASK


def test_two_machines_for_one_vacant_slot_are_a_persons_choice() -> None:
    second = server("again", tags=owner_tags(0))
    in_world = world(*LOST.cloud, second, fleets=[fleet(1)], memory=remembered(*LOST.cloud, second))
    assert [one.verdict for one in found(in_world, FindingKind.ORPHAN)] == [Verdict.ASK, Verdict.ASK]


def test_a_slot_whose_machine_is_gone_is_refreshed_before_it_is_filled() -> None:
    was = entry_of(server("was", tags=owner_tags(0)), urn="urn:pulumi:prod::ci::t::was")
    gone = absent(server("was", tags=owner_tags(0)))
    assert verdict(states=[state(was)], probes=[gone])[0] is Verdict.ASK


def test_a_urn_that_the_state_holds_is_not_taken() -> None:
    other = entry_of(ip("other"), urn=f"{BELOW}instance/ip:Ip::linux-0-ip")
    assert verdict(states=[state(other)])[0] is Verdict.ASK


def test_while_an_operation_is_pending_it_is_settled_first() -> None:
    assert verdict(states=[state(pending=(pending(),))])[0] is Verdict.ASK


def test_while_a_stack_is_locked_it_waits() -> None:
    assert verdict(states=[state(locks=(Lock(created_by="ann@ci"),))])[0] is Verdict.WAIT


def test_within_its_grace_it_waits_to_be_adopted() -> None:
    assert verdict(memory=Memory(first_complete_ms=NOW - 7 * DAY)) == (Verdict.WAIT, ActionKind.ADOPT)


def test_what_an_adoption_holds_is_not_adopted_again() -> None:
    held = replace(remembered(*LOST.cloud), held=frozenset({LOST.server.ref}))
    assert verdict(memory=held)[0] is Verdict.ASK


def test_a_deletion_that_is_decided_goes_on() -> None:
    doomed = replace(remembered(*LOST.cloud), doomed=frozenset({LOST.server.ref}))
    assert verdict(memory=doomed) == (Verdict.ACT, ActionKind.DESTROY)


def test_a_fleet_may_want_to_be_asked() -> None:
    asks = FleetMatch(name="linux", actions=(("orphan", "ask"),))
    assert verdict(scope=scope(fleets=(asks,)))[0] is Verdict.ASK


def test_a_protected_machine_is_adopted_all_the_same() -> None:
    owner = replace(LOST.server, protected=True)
    assert verdict(owner, LOST.root, LOST.ip) == ADOPT

"""What was released is nobody's to call a leftover, whatever tags, memory and mapping still say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reconciler.apply.guard import refusal
from reconciler.diff import diff
from reconciler.diff.ownership import goes_with
from reconciler.diff.remember import sweep_record
from reconciler.model.finding import FindingKind, Verdict
from reconciler.model.memory import Memory, Release
from reconciler.model.resources import Resource
from reconciler.model.scope import FleetMatch, Ownership
from tests.builders import NOW, STACK, found, machine, nic, only, remembered, scope, state, with_parts, world

ONE = machine(0)
TRUSTING = scope(ownership=Ownership.TAGS, fleets=(FleetMatch(name="linux", names=("linux-*",), require=1),))


def released(*resources: Resource, with_: Resource = ONE.server, done_ms: int | None = NOW - 10_000) -> Memory:
    memory = remembered(*resources)
    rows = {
        one.ref: Release(ref=one.ref, with_id=with_.id, stack=STACK, urn="urn:was", begun_ms=0, done_ms=done_ms)
        for one in resources
    }
    return replace(memory, released=rows)


@pytest.mark.parametrize("done_ms", [None, NOW - 10_000], ids=["begun", "done"])
def test_a_released_machine_is_unmanaged_and_never_an_orphan(done_ms: int | None) -> None:
    """All proofs still stand: owner tags, lineage, a mapping by name, and tags that alone are enough in this scope."""
    memory = released(*ONE.cloud, done_ms=done_ms)
    left = world(*ONE.cloud, states=[state()], memory=memory, scope=TRUSTING)
    finding = only(left)
    assert (finding.kind, finding.verdict) == (FindingKind.UNMANAGED, Verdict.NONE)
    assert "released from" in finding.reason
    without = replace(left, memory=replace(memory, released={}))
    assert (only(without).kind, only(without).verdict) == (FindingKind.ORPHAN, Verdict.ACT)


def test_a_root_that_outlives_its_released_machine_is_not_detached() -> None:
    root = replace(ONE.root, server_id=None, reference_ids=(), status="available")
    left = world(root, states=[state()], memory=released(root), scope=TRUSTING)
    assert only(left).kind is FindingKind.UNMANAGED


def test_a_released_child_goes_with_no_server() -> None:
    assert not goes_with(ONE.root, ONE.server, scope=TRUSTING, memory=released(ONE.root))


def test_a_released_nic_makes_the_termination_of_its_server_a_question() -> None:
    card = nic("card", server_id=ONE.server.id)
    server = with_parts(ONE.server, ONE.root, ONE.ip, card)
    memory = remembered(server, ONE.root, ONE.ip)
    rows = released(card).released
    left = world(
        server, ONE.root, ONE.ip, card, states=[state()], memory=replace(memory, released=rows), scope=TRUSTING
    )
    assert only(left, FindingKind.ORPHAN).verdict is Verdict.ASK


@pytest.mark.parametrize("resource", ONE.cloud, ids=["server", "root", "ip"])
def test_the_last_look_before_a_destroy_refuses_what_was_released(resource: Resource) -> None:
    free = replace(ONE.root, server_id=None, reference_ids=()) if resource is ONE.root else resource
    doomed = frozenset({ONE.server.ref, resource.ref})
    why = refusal(free, target=resource.ref, doomed=doomed, scope=TRUSTING, memory=released(resource))
    assert why is not None
    assert "released" in why


def test_the_root_of_a_released_machine_gets_no_owner_tags() -> None:
    bare = replace(ONE.root, tags=())
    left = world(ONE.server, bare, ONE.ip, states=[state(*ONE.entries)], memory=released(bare))
    assert found(left, FindingKind.UNTAGGED_CHILD) == []


def managed_again(memory: Memory, *, in_state: bool = True) -> set[str]:
    held = world(*ONE.cloud, states=[state(*ONE.entries) if in_state else state()], memory=memory)
    return {ref.id for ref in sweep_record(held, diff(held), trigger="drift").managed_again}


def test_a_state_that_holds_it_again_ends_the_release_of_it_and_its_parts() -> None:
    assert managed_again(released(ONE.server, ONE.root)) == {ONE.server.id, ONE.root.id}


def test_a_release_under_way_is_not_ended_by_a_sweep_that_still_sees_the_entry() -> None:
    assert managed_again(released(ONE.server, done_ms=None)) == set()
    assert managed_again(released(ONE.server, done_ms=NOW - 1)) == set()


def test_a_release_lasts_while_no_state_holds_it() -> None:
    assert managed_again(released(ONE.server), in_state=False) == set()

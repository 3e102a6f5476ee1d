"""Untagged children, vacant slots, interrupted operations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reconciler.diff import diff
from reconciler.model.desired import Desired
from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.model.resources import Volume
from reconciler.model.scope import Never
from reconciler.model.state import Lock
from tests.builders import (
    NOW,
    OTHER_PROJECT,
    OTHER_SCOPE,
    STACK,
    entry_of,
    fleet,
    found,
    local_volume,
    machine,
    only,
    owner_tags,
    pending,
    scope,
    server,
    state,
    volume,
    with_parts,
    world,
)

ONE = machine(0)
BARE = replace(ONE.root, tags=())


# -- untagged children


def test_an_untagged_root_gets_the_owner_tags_of_its_machine() -> None:
    finding = only(world(ONE.server, BARE, ONE.ip, states=[state(*ONE.entries)]))
    assert (finding.kind, finding.verdict, finding.action) == (
        FindingKind.UNTAGGED_CHILD,
        Verdict.ACT,
        ActionKind.TAG,
    )
    assert (finding.subjects[0].id, finding.tags_after) == (BARE.id, owner_tags(0))


def test_a_child_keeps_every_tag_that_it_has() -> None:
    root = replace(ONE.root, tags=("mine", "reconciler"))
    finding = only(world(ONE.server, root, ONE.ip, states=[state(*ONE.entries)]))
    assert finding.tags_after == ("mine", *owner_tags(0)[:1], *owner_tags(0)[1:])


def test_only_owner_tags_are_given_to_a_child() -> None:
    one = machine(0, tags=(*owner_tags(0), "role=ci"))
    finding = only(world(one.server, replace(one.root, tags=()), one.ip, states=[state(*one.entries)]))
    assert finding.tags_after == owner_tags(0)


def test_children_wait_while_the_stack_is_written_to() -> None:
    locked = state(*ONE.entries, locks=(Lock(created_by="ann@ci"),))
    finding = only(world(ONE.server, BARE, ONE.ip, states=[locked]))
    assert (finding.kind, finding.verdict) == (FindingKind.UNTAGGED_CHILD, Verdict.WAIT)


def test_a_machine_without_owner_tags_has_no_children_to_tag() -> None:
    one = machine(0, tags=("role=ci",))
    assert found(world(one.server, replace(one.root, tags=()), one.ip, states=[state(*one.entries)])) == []


@pytest.mark.parametrize(
    "root",
    [
        replace(BARE, created_ms=NOW - 30 * 86_400_000),
        replace(BARE, created_ms=ONE.server.created_ms - 1 if ONE.server.created_ms else 0),
        replace(BARE, created_ms=None),
        replace(BARE, tags=(f"reconciler:scope={OTHER_SCOPE}",)),
        replace(BARE, tags=("reconciler:slot=7",)),
        replace(BARE, tags=("keep",)),
        replace(BARE, project=OTHER_PROJECT),
    ],
    ids=[
        "older than its server",
        "a moment older than its server",
        "of unknown age",
        "another scope's",
        "another worker's",
        "never touched",
        "another project's",
    ],
)
def test_a_root_that_may_be_somebody_elses_is_not_tagged(root: Volume) -> None:
    rules = scope(never=Never(tags=("keep",)))
    findings = found(world(ONE.server, root, ONE.ip, states=[state(*ONE.entries)], scope=rules))
    assert [one for one in findings if one.kind is FindingKind.UNTAGGED_CHILD] == []


def test_a_data_volume_that_somebody_attached_is_not_tagged() -> None:
    data = volume("data", server_id=ONE.server.id)
    busy = with_parts(ONE.server, ONE.root, data, ONE.ip)
    assert found(world(busy, ONE.root, data, ONE.ip, states=[state(*ONE.entries)]), FindingKind.UNTAGGED_CHILD) == []


def test_local_storage_that_came_with_the_machine_is_tagged_on_whatever_key() -> None:
    disk = local_volume("disk", server_id=ONE.server.id)
    busy = with_parts(ONE.server, ONE.root, disk, ONE.ip)
    entries = (entry_of(busy, ONE.root, disk, ONE.ip), ONE.entries[1])
    finding = only(world(busy, ONE.root, disk, ONE.ip, states=[state(*entries)]))
    assert (finding.kind, finding.subjects[0].id) == (FindingKind.UNTAGGED_CHILD, disk.id)


def test_a_child_with_an_entry_of_its_own_is_compared_and_not_tagged() -> None:
    entries = (*ONE.entries, entry_of(BARE, name="root"))
    assert found(world(ONE.server, BARE, ONE.ip, states=[state(*entries)])) == []


# -- vacant


def test_a_declared_slot_without_a_machine_is_the_users_to_fill() -> None:
    finding = only(world(*ONE.cloud, states=[state(*ONE.entries)], fleets=[fleet(2)]))
    assert (finding.kind, finding.verdict, finding.action) == (FindingKind.VACANT, Verdict.ASK, ActionKind.UP)
    assert finding.subjects[0].worker == "linux/1"


def test_a_slot_whose_machine_is_missing_is_not_vacant_as_well() -> None:
    from tests.builders import absent

    in_world = world(ONE.root, ONE.ip, states=[state(*ONE.entries)], probes=[absent(ONE.server)], fleets=[fleet(1)])
    assert only(in_world).kind is FindingKind.MISSING


@pytest.mark.parametrize("trouble", ["locked", "pending"])
def test_a_vacant_slot_waits_while_its_stack_is_not_settled(trouble: str) -> None:
    held = state(locks=(Lock(created_by="ann@ci"),)) if trouble == "locked" else state(pending=(pending(),))
    assert only(world(states=[held], fleets=[fleet(1)]), FindingKind.VACANT).verdict is Verdict.WAIT


@pytest.mark.parametrize(
    "spec",
    [fleet(0), fleet(None, controller="elastic", minimum=2, maximum=4), fleet(1, zone="nl-ams-1")],
    ids=["no replicas", "elastic", "a zone that was not looked at"],
)
def test_fleets_without_known_slots_have_no_vacant_ones(spec: object) -> None:
    assert found(world(fleets=[spec])) == []  # type: ignore[list-item]


def test_a_machine_with_copied_tags_that_no_state_holds_fills_no_slot() -> None:
    copied = server("by-hand", tags=owner_tags(0))
    kinds = {one.kind for one in found(world(copied, fleets=[fleet(1)]))}
    assert kinds == {FindingKind.VACANT, FindingKind.ORPHAN}


def test_another_scopes_machine_in_the_state_fills_no_slot() -> None:
    theirs = server("theirs", tags=owner_tags(0, scope=OTHER_SCOPE))
    findings = found(world(theirs, states=[state(entry_of(theirs))], fleets=[fleet(1)]))
    assert [one.kind for one in findings] == [FindingKind.VACANT]


def test_a_fleet_of_a_stack_that_is_not_read_breaks_nothing() -> None:
    assert only(world(fleets=[fleet(1, stack="ci/unknown")])).verdict is Verdict.ASK


def test_of_two_fleets_with_one_name_the_slots_are_counted_once() -> None:
    desired = Desired(fleets=(fleet(1), fleet(1, stack="ci/other", uid="other")))
    assert [one.kind for one in found(world(desired=desired))] == [FindingKind.VACANT]


# -- interrupted


def test_a_pending_operation_that_is_new_waits() -> None:
    finding = only(world(states=[state(pending=(pending(),))]))
    assert (finding.kind, finding.verdict, finding.stack) == (FindingKind.INTERRUPTED, Verdict.WAIT, STACK)


def test_a_pending_operation_of_a_running_update_waits() -> None:
    busy = state(pending=(pending(),), locks=(Lock(created_by="ann@ci", pid=7),))
    finding = only(world(states=[busy]))
    assert (finding.verdict, "ann@ci (pid 7)" in finding.reason) == (Verdict.WAIT, True)


def test_two_kills_that_left_one_operation_twice_make_one_finding() -> None:
    assert len(found(world(states=[state(pending=(pending(), pending(), pending("updating")))]))) == 1


def test_a_pending_operation_with_an_id_names_the_resource() -> None:
    operation = pending("deleting", id=f"fr-par-1/{ONE.server.id}")
    finding = only(world(states=[state(pending=(operation,))]))
    assert finding.subjects[0].ref == ONE.server.ref


def test_a_vacant_slot_and_its_interrupted_create_are_two_findings() -> None:
    kinds = [one.kind for one in diff(world(states=[state(pending=(pending(),))], fleets=[fleet(1)]))]
    assert kinds == [FindingKind.VACANT, FindingKind.INTERRUPTED]

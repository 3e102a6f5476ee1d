"""Machines of elastic fleets that no row knows, and fleets that no stack declares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reconciler.diff.remember import sweep_record
from reconciler.model.desired import Desired
from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.model.memory import Memory, Recorded
from reconciler.model.resources import Kind
from reconciler.model.scope import Never, Ownership
from reconciler.model.state import Lock, UnreadStack
from tests.builders import NOW, STACK, entry_of, found, only, owner_tags, pending, scope, state, uid
from tests.builders import fleet as static_fleet
from tests.records.rows import (
    ELASTIC,
    WORKER,
    doomed,
    elastic,
    fleet_row,
    old_memory,
    row,
    tombstone,
    view,
    with_records,
    worker_machine,
    worker_tags,
)

ONE = worker_machine()
MEMORY = old_memory(ONE.server)
TAGS = scope(ownership=Ownership.TAGS)
LOCKED = (Lock(created_by="ann@ci-7"),)


def test_a_running_machine_of_an_elastic_fleet_without_a_row_is_written_down() -> None:
    finding = only(with_records(*ONE.cloud, memory=MEMORY))
    assert (finding.kind, finding.verdict, finding.action) == (
        FindingKind.UNRECORDED,
        Verdict.ACT,
        ActionKind.RECORD,
    )
    assert (finding.row, finding.refs[0], finding.fleet) == (WORKER, ONE.ref, ELASTIC)


def test_it_waits_out_the_grace_first() -> None:
    """A replica of the database may lag behind the row."""
    fresh = only(with_records(*ONE.cloud))
    assert (fresh.kind, fresh.verdict, fresh.wait_until_ms) == (FindingKind.UNRECORDED, Verdict.WAIT, NOW + 900_000)


def test_the_first_sweep_that_sees_it_remembers_since_when() -> None:
    given = with_records(*ONE.cloud)
    assert set(sweep_record(given, tuple(found(given)), trigger="drift").newly_unowned) == {ONE.ref}


WAITS: dict[str, tuple[dict[str, Any], Verdict]] = {
    "a stack is locked": ({"states": [state(locks=LOCKED)]}, Verdict.WAIT),
    "a stack is not read": ({"unread": (UnreadStack(stack="ci/x", code="RC0508", reason="x"),)}, Verdict.UNKNOWN),
    "the list is not whole": ({"broken": {Kind.SERVER: "HTTP 503"}}, Verdict.UNKNOWN),
    "a declaration cannot be read": (
        {"desired": Desired(fleets=(elastic(),), problems=("stack ci/x: broken",))},
        Verdict.UNKNOWN,
    ),
    "a pending operation may have made it": ({"states": [state(pending=(pending(),))]}, Verdict.ASK),
    "the row of another scope records it": (
        {"memory": replace(MEMORY, recorded={ONE.ref: Recorded(worker="another", holds=True)})},
        Verdict.ASK,
    ),
    "an adoption holds it": ({"memory": replace(MEMORY, held=frozenset({ONE.ref}))}, Verdict.ASK),
}


@pytest.mark.parametrize("why", WAITS)
def test_no_row_is_written_while_anything_is_in_doubt(why: str) -> None:
    changes, expected = WAITS[why]
    assert only(with_records(*ONE.cloud, **({"memory": MEMORY} | changes)), FindingKind.UNRECORDED).verdict is expected


def test_no_row_is_a_guess_about_its_revision() -> None:
    bare = worker_machine(tags=tuple(tag for tag in worker_tags() if "revision" not in tag))
    assert only(with_records(*bare.cloud, memory=old_memory(bare.server))).verdict is Verdict.ASK


ENDED = {
    "it has a tombstone": view(ended=tombstone()),
    "its deletion is decided": view(doomed(row(uid_ref := worker_machine(label="gone").ref))),
    "its deletion is finished": view(doomed(row(uid_ref), finished=True)),
}


@pytest.mark.parametrize("why", ENDED)
def test_a_late_create_of_a_worker_that_was_given_up_is_an_orphan(why: str) -> None:
    """Writing it down again would bring back what was given up."""
    kinds = {one.kind for one in found(with_records(*ONE.cloud, records=ENDED[why], memory=MEMORY, scope=TAGS))}
    assert FindingKind.ORPHAN in kinds
    assert FindingKind.UNRECORDED not in kinds


OTHERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "stopped": ({"state": "stopped"}, {}),
    "of a static fleet": ({}, {"fleets": [static_fleet(1, name=ELASTIC)]}),
    "of a fleet that nobody declares": ({}, {"fleets": [], "records": view(fleets=())}),
    "with a slot and no worker": ({"tags": owner_tags(9, fleet=ELASTIC)}, {}),
    "with two workers": ({"tags": (*worker_tags(), "reconciler:worker=other")}, {}),
    "without the owner tag": ({"tags": worker_tags()[1:]}, {}),
}


@pytest.mark.parametrize("what", OTHERS)
def test_only_a_running_worker_of_a_declared_elastic_fleet_is_written_down(what: str) -> None:
    of_machine, of_world = OTHERS[what]
    other = worker_machine(**of_machine)
    given = with_records(*other.cloud, **({"memory": old_memory(other.server)} | of_world))
    assert FindingKind.UNRECORDED not in {one.kind for one in found(given)}


def test_where_no_rows_are_kept_none_is_missed() -> None:
    given = with_records(*ONE.cloud, memory=MEMORY)
    given = replace(given, records=replace(given.records, adapter="none", fleets=()))
    assert found(given, FindingKind.UNRECORDED) == []
    assert only(given, FindingKind.ORPHAN).refs[0] == ONE.ref


def test_what_is_never_touched_is_not_written_down() -> None:
    given = with_records(*ONE.cloud, memory=MEMORY, scope=scope(never=Never(names=("burst-*",))))
    assert {one.kind for one in found(given)} == {FindingKind.UNMANAGED}


def test_a_machine_in_a_state_is_not_written_down() -> None:
    given = with_records(*ONE.cloud, memory=MEMORY, states=[state(entry_of(ONE.server, ONE.root, ONE.ip))])
    assert FindingKind.UNRECORDED not in {one.kind for one in found(given)}


# -- fleets


def fleets(**changes: Any) -> tuple[Verdict, ActionKind]:
    finding = only(with_records(**({"fleets": []} | changes)), FindingKind.UNDECLARED)
    assert finding.subjects[0].kind == "fleet"
    return finding.verdict, finding.action


def test_a_fleet_with_rows_that_no_stack_declares_is_asked_about() -> None:
    assert fleets() == (Verdict.ASK, ActionKind.NONE)


def test_a_fleet_that_was_declared_again_is_another_one() -> None:
    assert fleets(fleets=[elastic(uid=uid("again"))])[0] is Verdict.ASK


def test_a_declared_fleet_and_a_retired_one_are_in_order() -> None:
    assert found(with_records()) == []
    assert found(with_records(fleets=[], records=view(fleets=(fleet_row(retired_ms=NOW),)))) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"unread": (UnreadStack(stack="ci/x", code="RC0508", reason="x"),)}, Verdict.UNKNOWN),
        ({"desired": Desired(problems=("stack ci/x: broken",))}, Verdict.UNKNOWN),
        ({"states": [state(locks=LOCKED)]}, Verdict.WAIT),
        ({"desired": Desired(stale_stacks=(STACK,))}, Verdict.WAIT),
        ({"states": [state(stack="ci/another")]}, Verdict.ASK),
    ],
    ids=["unread", "problem", "live", "stale outputs", "taken off the list"],
)
def test_a_fleet_is_undeclared_only_where_every_stack_spoke(changes: dict[str, Any], expected: Verdict) -> None:
    assert fleets(**changes)[0] is expected


def test_the_rows_of_an_undeclared_fleet_go_on_holding() -> None:
    given = with_records(*ONE.cloud, rows=[row(ONE)], fleets=[], memory=Memory(first_complete_ms=0), scope=TAGS)
    assert [one.kind for one in found(given)] == [FindingKind.UNDECLARED]

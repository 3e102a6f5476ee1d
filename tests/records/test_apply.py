"""Rows, written: each action looks again, and what is not as it was planned is skipped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.kernel.errors import RefusedError
from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.model.plan import ActionOutcome, ActionStatus, Mode, RunOutcome
from reconciler.model.records import WorkerState
from reconciler.model.resources import Kind
from reconciler.model.scope import Ownership, Rail
from reconciler.model.state import Lock, StateResource
from reconciler.records.none import UnavailableRecords
from reconciler.simulator import ZONE, FaultRule
from tests.apply.rig import SCOPE_UUID, STACK, Rig, worker_tags
from tests.records.staff import W1, W2, ended, fail, intend, machine, of, recorded, ref, row, rows, sql, staffed


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    made = staffed(tmp_path, replicas=1)
    made.apply(mode=Mode.REPAIR)
    made.sweep()
    made.clock.advance(7200)
    return made


def only(outcome: RunOutcome) -> ActionOutcome:
    assert len(outcome.outcomes) == 1, [(one.action.kind, one.text) for one in outcome.outcomes]
    return outcome.outcomes[0]


def late(rig: Rig) -> None:
    """The longest create has passed."""
    rig.clock.advance(1000)


def after_the_plan(rig: Rig, change: Callable[[], object], *, mode: Mode = Mode.PRUNE) -> ActionOutcome:
    """Plan, let something happen, apply."""
    plan = rig.plan(mode=mode)
    assert len(plan.actions) == 1
    change()
    return only(rig.applier().apply(plan))


def make_a_worker_that_went_wrong(rig: Rig) -> dict[str, Any]:
    made = recorded(rig)
    rig.sweep()
    fail(rig)
    return made


# -- record


def test_a_machine_that_runs_without_a_row_gets_one(rig: Rig) -> None:
    made = machine(rig)
    rig.sweep()
    late(rig)
    outcome = only(rig.apply(mode=Mode.REPAIR))
    assert (outcome.status, outcome.action.kind) == (ActionStatus.DONE, ActionKind.RECORD)
    assert (row(rig).machine, row(rig).state) == (ref(made), WorkerState.BOOTSTRAPPING)
    assert rig.exists(made["server"])
    assert rig.kinds(rig.sweep()[1]) == []


def test_in_mode_observe_no_row_is_written(rig: Rig) -> None:
    machine(rig)
    rig.sweep()
    late(rig)
    assert rig.apply(mode=Mode.OBSERVE).outcomes == ()
    assert rows(rig) == []


def lock(rig: Rig) -> None:
    rig.engine.states[STACK] = replace(rig.engine.states[STACK], locks=(Lock(created_by="ann@ci-7"),))


def take_into_the_state(rig: Rig, server: str) -> None:
    entry = StateResource(urn="urn:x", type="scaleway:instance/server:Server", id=f"{ZONE}/{server}", custom=True)
    held = rig.engine.states[STACK]
    rig.engine.states[STACK] = replace(held, resources=(*held.resources, entry), serial="2")


def undeclare(rig: Rig) -> None:
    held = rig.engine.states[STACK]
    rig.engine.states[STACK] = replace(held, outputs={"reconciler": {**held.outputs["reconciler"], "fleets": []}})


MEANWHILE: dict[str, Callable[[Rig, dict[str, Any]], object]] = {
    "it is gone": lambda rig, made: rig.stranger("kill_server", server="burst-1"),
    "it is stopped": lambda rig, made: rig.stranger("stop_server", server="burst-1"),
    "it has other tags": lambda rig, made: rig.stranger("set_tags", id=made["server"], tags=list(worker_tags(W2))),
    "its owner tags are gone": lambda rig, made: rig.stranger("set_tags", id=made["server"], tags=["mine"]),
    "its stack is locked": lambda rig, made: lock(rig),
    "a state holds it": lambda rig, made: take_into_the_state(rig, made["server"]),
    "its fleet is gone": lambda rig, made: undeclare(rig),
    "a stack cannot be read": lambda rig, made: rig.engine.states.pop(STACK),
    "an adoption holds it": lambda rig, made: rig.store.hold_for_adoption(
        scope=SCOPE_UUID, ref=ref(made), stack=STACK, urn="urn:x"
    ),
}


@pytest.mark.parametrize("what", MEANWHILE)
def test_no_row_is_written_when_something_changed_since_the_plan(rig: Rig, what: str) -> None:
    made = machine(rig)
    rig.sweep()
    late(rig)
    outcome = after_the_plan(rig, lambda: MEANWHILE[what](rig, made), mode=Mode.REPAIR)
    assert outcome.status is not ActionStatus.DONE, outcome.text
    assert rows(rig) == []


def test_a_row_that_somebody_wrote_meanwhile_is_the_row(rig: Rig) -> None:
    made = machine(rig)
    rig.sweep()
    late(rig)
    plan = rig.plan(mode=Mode.REPAIR)
    rig.applier().apply(rig.plan(mode=Mode.REPAIR))
    assert only(rig.applier().apply(plan)).status is ActionStatus.DONE
    assert row(rig).machine == ref(made)


# -- attach


def test_a_create_whose_answer_was_lost_gets_its_machine_and_is_not_sent_again(rig: Rig) -> None:
    """Rule 4: created, and its id never got into the row."""
    intend(rig)
    made = machine(rig)
    assert [one.verdict for one in of(rig, FindingKind.UNRESOLVED_CREATE)] == [Verdict.WAIT]
    late(rig)
    outcome = only(rig.apply(mode=Mode.REPAIR))
    assert (outcome.status, outcome.action.kind) == (ActionStatus.DONE, ActionKind.ATTACH)
    assert (row(rig).machine, row(rig).state) == (ref(made), WorkerState.BOOTSTRAPPING)
    assert "POST" not in {entry.method for entry in rig.simulator.traffic.entries()}


def test_a_machine_that_is_there_with_copied_tags_is_neither_attached_nor_destroyed(rig: Rig) -> None:
    """Made before the create was sent; attached, it would be destroyed as a worker that never reported."""
    theirs = machine(rig)
    rig.clock.advance(7200)
    intend(rig)
    for _ in range(3):
        rig.clock.advance(7200)
        assert rig.apply().outcomes == ()
    assert (row(rig).machine, rig.exists(theirs["server"])) == (None, True)


def test_adapter_none_lets_nothing_go_that_carries_a_recorded_workers_tag(tmp_path: Path) -> None:
    rig = staffed(tmp_path, replicas=1, ownership=Ownership.TAGS)
    rig.apply(mode=Mode.REPAIR)
    recorded(rig)
    spare = str(rig.stranger("add_ip", tags=list(worker_tags(W1)))["ip"])
    rig.sweep()
    rig.clock.advance(7200)
    rig.elastic = False
    rig.sweep()
    rig.clock.advance(7200)
    assert (rig.apply().outcomes, rig.exists(spare)) == ((), True)


def test_a_second_machine_that_comes_up_after_the_plan_keeps_both_unattached(rig: Rig) -> None:
    intend(rig)
    machine(rig)
    late(rig)
    outcome = after_the_plan(rig, lambda: machine(rig, name="burst-1-again"))
    assert (outcome.status, "2 machines" in outcome.text) == (ActionStatus.SKIPPED, True)
    assert row(rig).machine is None


@pytest.mark.parametrize("seen", [True, False], ids=["attach", "purge"])
def test_a_list_that_breaks_after_the_plan_resolves_nothing(rig: Rig, seen: bool) -> None:
    intend(rig)
    if seen:
        machine(rig)
    late(rig)
    broken = FaultRule(path="**/servers", method="GET", status=503)
    outcome = after_the_plan(rig, lambda: rig.simulator.faults.add(broken))
    assert outcome.status is not ActionStatus.DONE
    assert row(rig).machine is None


# -- purge


def test_a_create_that_made_nothing_ends_its_row_and_is_not_sent_again(rig: Rig) -> None:
    """The request was lost."""
    intend(rig)
    late(rig)
    outcome = only(rig.apply(mode=Mode.REPAIR))
    assert (outcome.status, outcome.action.kind, rows(rig), ended(rig)) == (
        ActionStatus.DONE,
        ActionKind.PURGE,
        [],
        True,
    )
    assert "POST" not in {entry.method for entry in rig.simulator.traffic.entries()}


def test_a_machine_that_comes_up_after_the_plan_keeps_its_row(rig: Rig) -> None:
    intend(rig)
    late(rig)
    outcome = after_the_plan(rig, lambda: machine(rig))
    assert (outcome.status, rows(rig)) == (ActionStatus.SKIPPED, [W1])


def test_a_machine_that_comes_up_after_its_row_has_ended_is_an_orphan(rig: Rig) -> None:
    """A late create: it is found, and it is not written down again."""
    intend(rig)
    late(rig)
    rig.apply()
    machine(rig)
    rig.sweep()
    late(rig)
    (finding,) = of(rig, FindingKind.ORPHAN)
    assert finding.verdict is Verdict.ASK
    assert rig.apply().outcomes == ()
    assert rows(rig) == []


def test_a_late_machine_of_a_scope_by_tags_is_destroyed(tmp_path: Path) -> None:
    rig = staffed(tmp_path, replicas=1, ownership=Ownership.TAGS)
    rig.apply(mode=Mode.REPAIR)
    rig.sweep()
    intend(rig)
    late(rig)
    rig.apply()
    made = machine(rig)
    rig.sweep()
    late(rig)
    assert only(rig.apply()).status is ActionStatus.DONE
    assert not rig.exists(made["server"])


def test_the_row_of_a_machine_that_somebody_deleted_ends_and_what_is_left_of_it_goes(rig: Rig) -> None:
    """Its address was remembered, so that two proofs are there."""
    made = recorded(rig)
    rig.sweep()
    rig.stranger("kill_server", server="burst-1")
    outcome = only(rig.apply(mode=Mode.REPAIR))
    assert (outcome.status, outcome.action.kind, ended(rig)) == (ActionStatus.DONE, ActionKind.PURGE, True)
    rig.sweep()
    late(rig)
    rig.apply()
    assert not rig.exists(made["ip"])


def test_a_machine_that_only_hides_keeps_its_row(rig: Rig) -> None:
    """A 403 by id, or a list that cannot be read: unknown is not absent."""
    recorded(rig)
    rig.stranger("kill_server", server="burst-1")
    plan = rig.plan(mode=Mode.REPAIR)
    rig.simulator.faults.add(FaultRule(path="**/servers/*", method="GET", status=403))
    assert only(rig.applier().apply(plan)).status is ActionStatus.SKIPPED
    assert rows(rig) == [W1]


def test_many_rows_at_once_are_a_limit(rig: Rig) -> None:
    """A provider that hides things looks like this (rule 10)."""
    for number in range(3):
        intend(rig, f"0198f0a0-0000-7000-8000-0000000001{number:02d}")
    late(rig)
    limits = replace(rig.scope.limits, reconcile=Rail(count=2, percent=100.0, eur_month=5000.0))
    rig.scope = replace(rig.scope, limits=limits)
    plan = rig.plan(mode=Mode.REPAIR)
    assert [rail.name for rail in plan.blocked] == ["count-rows"]
    with pytest.raises(RefusedError) as error:
        rig.applier().apply(plan)
    assert error.value.code == "RC0607"
    assert len(rows(rig)) == 3


# -- stale rows


def test_the_machine_of_a_failed_row_goes_with_its_parts_and_then_the_row(rig: Rig) -> None:
    made = make_a_worker_that_went_wrong(rig)
    outcome = only(rig.apply())
    assert (outcome.status, outcome.action.kind) == (ActionStatus.DONE, ActionKind.DESTROY)
    assert not any(rig.exists(made[part]) for part in ("server", "volume", "ip"))
    assert (rows(rig), ended(rig)) == ([], True)
    assert rig.kinds(rig.sweep()[1]) == []


def test_in_mode_repair_the_machine_of_a_failed_row_stays(rig: Rig) -> None:
    made = make_a_worker_that_went_wrong(rig)
    assert rig.apply(mode=Mode.REPAIR).outcomes == ()
    assert rig.exists(made["server"])


def test_a_worker_that_reports_ready_after_the_plan_stays(rig: Rig) -> None:
    made = make_a_worker_that_went_wrong(rig)
    ready = "UPDATE workers SET state = 'ready', changed_ms = changed_ms + 1"
    outcome = after_the_plan(rig, lambda: sql(rig, ready))
    assert (outcome.status, rig.exists(made["server"])) == (ActionStatus.SKIPPED, True)
    assert row(rig).live


def test_a_worker_that_reports_ready_in_the_last_moment_stays(rig: Rig) -> None:
    """After everything was looked at, and before the decision: the decision itself compares the row."""
    made = make_a_worker_that_went_wrong(rig)
    plan = rig.plan()
    ready = "UPDATE workers SET state = 'ready', changed_ms = changed_ms + 1"

    def checkpoint(name: str) -> None:
        if name == "destroy.deciding":
            sql(rig, ready)

    outcome = only(rig.applier(checkpoint=checkpoint).apply(plan))
    assert (outcome.status, outcome.code, rig.exists(made["server"])) == (ActionStatus.FAILED, "RC0231", True)


def test_a_machine_that_a_person_protects_after_the_plan_stays(rig: Rig) -> None:
    made = make_a_worker_that_went_wrong(rig)
    outcome = after_the_plan(rig, lambda: rig.stranger("protect", server="burst-1"))
    assert (outcome.status, rig.exists(made["server"]), rows(rig)) == (ActionStatus.SKIPPED, True, [W1])


def test_a_machine_that_is_spared_after_the_decision_ends_the_row_and_is_an_orphan(rig: Rig) -> None:
    made = make_a_worker_that_went_wrong(rig)
    plan = rig.plan()

    def checkpoint(name: str) -> None:
        if name == "destroy.decided":
            rig.stranger("protect", server="burst-1")

    outcome = only(rig.applier(checkpoint=checkpoint).apply(plan))
    assert (outcome.status, rig.exists(made["server"]), rows(rig)) == (ActionStatus.SKIPPED, True, [])
    assert [one.verdict for one in of(rig, FindingKind.ORPHAN)] == [Verdict.ASK]


def test_an_orphan_is_not_decided_once_a_row_holds_it(rig: Rig) -> None:
    """From the other side: the plan called it an orphan, and its row came up before the decision (rule 3)."""
    rig.scope = replace(rig.scope, ownership=Ownership.TAGS)
    made = machine(rig)
    rig.stranger("stop_server", server="burst-1")
    rig.sweep()
    rig.clock.advance(7200)
    outcome = after_the_plan(rig, lambda: intend(rig))
    assert (outcome.status, rig.exists(made["server"])) == (ActionStatus.SKIPPED, True)
    assert W1 in outcome.text


def test_rows_that_cannot_be_read_let_nothing_be_decided(rig: Rig) -> None:
    rig.scope = replace(rig.scope, ownership=Ownership.TAGS)
    made = machine(rig)
    rig.stranger("stop_server", server="burst-1")
    rig.sweep()
    rig.clock.advance(7200)
    plan = rig.plan()
    applier = replace(rig.applier(), records=UnavailableRecords("native", "gone"))
    outcome = only(applier.apply(plan))
    assert (outcome.status, outcome.code, rig.exists(made["server"])) == (ActionStatus.FAILED, "RC0561", True)
    assert rig.store.open_deletions(SCOPE_UUID) == ()


def test_a_plan_file_about_a_row_that_was_written_since_is_refused(rig: Rig) -> None:
    make_a_worker_that_went_wrong(rig)
    plan = rig.plan()
    sql(rig, "UPDATE workers SET state = 'ready', changed_ms = changed_ms + 1")
    with pytest.raises(RefusedError) as error:
        rig.applier().apply(plan, from_file=True)
    assert (error.value.code, W1 in error.value.message) == ("RC0608", True)


def test_a_fault_of_one_row_does_not_stop_the_others(rig: Rig) -> None:
    """Rule 12."""
    intend(rig, W1)
    intend(rig, W2)
    late(rig)
    plan = rig.plan(mode=Mode.REPAIR)
    sql(rig, "UPDATE workers SET changed_ms = changed_ms + 1 WHERE id = :id", id=W1)
    statuses = sorted(one.status for one in rig.applier().apply(plan).outcomes)
    assert statuses == [ActionStatus.DONE, ActionStatus.SKIPPED]
    assert rows(rig) == [W1]


def test_the_servers_of_the_static_fleet_are_untouched_by_all_of_it(rig: Rig) -> None:
    make_a_worker_that_went_wrong(rig)
    rig.apply()
    assert all(rig.exists(worker.server) for worker in rig.workers)
    assert rig.cloud.probe(ref({"server": rig.workers[0].server})).resource is not None
    assert Kind.SERVER in {one.kind for one in rig.engine.states[STACK].by_ref}

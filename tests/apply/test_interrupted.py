"""Interrupted creates: what was made is taken into the state, what was not is cleared, and neither on old evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.kernel.errors import RefusedError
from reconciler.model.finding import ActionKind, Finding, FindingKind, Verdict
from reconciler.model.plan import ActionOutcome, ActionStatus, Mode, RunOutcome
from reconciler.model.resources import Kind, Ref
from reconciler.model.scope import Ownership
from reconciler.model.state import LiveProcess, Lock, PendingOperation, StackState, StateResource
from reconciler.ports.engine import Difference
from reconciler.simulator import ZONE, FaultRule
from reconciler.simulator.generate import Worker
from tests.apply.rig import STACK, Rig, slot_tags

SERVER = "scaleway:instance/server:Server"
HOUR = 3600


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return new_rig(tmp_path)


def new_rig(folder: Path) -> Rig:
    rig = Rig(folder=folder, url=f"sqlite:///{folder / 'memory.db'}", ownership=Ownership.TAGS)
    rig.apply(mode=Mode.REPAIR)
    rig.engine.entry_for = lambda urn_, ref, _: entry_of(rig, urn_, ref)
    return rig


def entry_of(rig: Rig, name: str, ref: Ref) -> StateResource:
    """The entry of an adopted machine, as the provider writes it."""
    with rig.simulator.editing() as world:
        server = world.servers.get(ref.id)
        assert server is not None
        ip = next(one for one in world.ips if one.server == ref.id)
    rig.workers.append(Worker(server=ref.id, root=server.slots[0].volume, ip=ip.id))
    entry = rig.entries_of(len(rig.workers) - 1)[0]
    rig.workers.pop()
    return replace(entry, urn=name)


def urn(slot: int) -> str:
    return f"urn:pulumi:prod::fleet::reconciler:fleet:WorkerFleet${SERVER}::linux-{slot}"


def pending(slot: int) -> PendingOperation:
    inputs = {"zone": ZONE, "type": "DEV1-S", "tags": list(slot_tags(slot))}
    entry = StateResource(urn=urn(slot), type=SERVER, id=None, custom=True, inputs=inputs)
    return PendingOperation(operation="creating", resource=entry)


def interrupt(rig: Rig, *operations: PendingOperation) -> None:
    state = rig.engine.states[STACK]
    rig.engine.add(replace(state, pending=(*state.pending, *operations), serial=f"{state.serial}!"))


def made(rig: Rig, slot: int) -> Ref:
    """The machine of a create whose answer was lost."""
    there = rig.stranger("add_server", name=f"linux-{slot}", tags=list(slot_tags(slot)))
    rig.stranger("set_tags", id=there["ip"], tags=list(slot_tags(slot)))
    return Ref(Kind.SERVER, ZONE, there["server"])


def later(rig: Rig) -> None:
    """It was seen, and the create deadline has passed since."""
    rig.sweep()
    rig.clock.advance(HOUR)


def waiting(rig: Rig) -> list[str]:
    return [one.resource.urn for one in rig.engine.states[STACK].pending]


def holds(rig: Rig, slot: int) -> Ref | None:
    entry = rig.engine.states[STACK].by_urn.get(urn(slot))
    return entry.ref if entry is not None else None


def outcomes(run: RunOutcome) -> dict[ActionKind, ActionOutcome]:
    return {one.action.kind: one for one in run.outcomes}


def finding_of(rig: Rig, slot: int) -> Finding:
    _, findings = rig.sweep()
    (found,) = [one for one in findings if one.kind is FindingKind.INTERRUPTED and one.subjects[0].urn == urn(slot)]
    return found


def at(step: str, do: Callable[[], object]) -> Callable[[str], None]:
    """Do something to the world once, right after a named step."""
    done: list[str] = []

    def checkpoint(name: str) -> None:
        if name == step and not done:
            done.append(name)
            do()

    return checkpoint


# -- what is done


def test_what_an_interrupted_create_made_is_adopted_after_the_deadline(rig: Rig) -> None:
    interrupt(rig, pending(3))
    ref = made(rig, 3)
    assert finding_of(rig, 3).verdict is Verdict.WAIT
    rig.clock.advance(HOUR)
    outcome = outcomes(rig.apply())[ActionKind.ADOPT]
    assert (outcome.status, outcome.action.urns, outcome.action.refs) == (ActionStatus.DONE, (urn(3),), (ref,))
    assert (holds(rig, 3), waiting(rig)) == (ref, [])
    assert rig.exists(ref.id)


def test_what_came_to_nothing_is_cleared_after_the_deadline(rig: Rig) -> None:
    interrupt(rig, pending(3))
    later(rig)
    run = rig.apply()
    assert outcomes(run)[ActionKind.CLEAR].status is ActionStatus.DONE
    assert (waiting(rig), holds(rig, 3)) == ([], None)
    assert run.lock_seconds > 0


def test_the_entries_are_in_the_journal_before_the_engine_writes(rig: Rig) -> None:
    interrupt(rig, pending(3))
    later(rig)
    plan = rig.plan()
    seen: list[list[str]] = []
    rig.applier(checkpoint=at("clear.clearing", lambda: seen.append(waiting(rig)))).apply(plan)
    assert seen == [[urn(3)]]
    with rig.store.database.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT details FROM journal WHERE step = 'clearing'").fetchall()
    assert urn(3) in str(rows)
    assert "reconciler:slot=3" in str(rows)


def test_one_is_adopted_and_the_other_cleared_in_one_run(rig: Rig) -> None:
    interrupt(rig, pending(3), pending(4))
    ref = made(rig, 3)
    later(rig)
    run = rig.apply()
    assert {kind: one.status for kind, one in outcomes(run).items()} == {
        ActionKind.ADOPT: ActionStatus.DONE,
        ActionKind.CLEAR: ActionStatus.DONE,
    }
    assert [one.action.kind for one in run.outcomes] == [ActionKind.ADOPT, ActionKind.CLEAR]
    assert (holds(rig, 3), holds(rig, 4), waiting(rig)) == (ref, None, [])


def test_an_interrupted_update_is_cleared_before_an_adoption_that_would_lose_it(rig: Rig) -> None:
    entry = rig.engine.states[STACK].resources[0]
    interrupt(rig, pending(3), PendingOperation(operation="updating", resource=entry))
    made(rig, 3)
    later(rig)
    run = rig.apply()
    assert [(one.action.kind, one.status) for one in run.outcomes] == [
        (ActionKind.CLEAR, ActionStatus.DONE),
        (ActionKind.ADOPT, ActionStatus.DONE),
    ]
    assert rig.engine.forgotten == [(STACK, (("updating", entry.urn),))]
    assert waiting(rig) == []


def test_after_it_the_stack_is_quiet(rig: Rig) -> None:
    interrupt(rig, pending(3))
    made(rig, 3)
    later(rig)
    rig.apply()
    _, findings = rig.sweep()
    assert [one.kind for one in findings if one.kind in (FindingKind.INTERRUPTED, FindingKind.ORPHAN)] == []


# -- the first never costs the second


def test_two_interrupted_creates_are_adopted_one_after_the_other(rig: Rig) -> None:
    interrupt(rig, pending(3), pending(4))
    third, fourth = made(rig, 3), made(rig, 4)
    later(rig)
    rig.apply()
    assert (holds(rig, 3), holds(rig, 4), waiting(rig)) == (third, fourth, [])


def test_when_the_second_is_undecided_resolving_the_first_does_not_lose_it(rig: Rig) -> None:
    interrupt(rig, pending(3))
    ref = made(rig, 3)
    later(rig)
    interrupt(rig, pending(4))
    rig.apply()
    assert (holds(rig, 3), waiting(rig)) == (ref, [urn(4)])


def test_when_the_second_is_undecided_the_first_is_not_cleared(rig: Rig) -> None:
    interrupt(rig, pending(3))
    later(rig)
    interrupt(rig, pending(4))
    run = rig.apply()
    assert ActionKind.CLEAR not in outcomes(run)
    assert waiting(rig) == [urn(3), urn(4)]


def test_when_the_adoption_is_refused_nothing_is_cleared_with_it(rig: Rig) -> None:
    interrupt(rig, pending(3), pending(4))
    made(rig, 3)
    rig.engine.differences[urn(3)] = Difference(urn=urn(3), path="type", program="DEV1-S", cloud="DEV1-M")
    later(rig)
    run = outcomes(rig.apply())
    assert (run[ActionKind.ADOPT].status, run[ActionKind.CLEAR].status) == (ActionStatus.SKIPPED, ActionStatus.SKIPPED)
    assert "neither adopted nor proved absent" in run[ActionKind.CLEAR].text
    assert waiting(rig) == [urn(3), urn(4)]


def test_an_operation_that_began_after_the_plan_keeps_everything(rig: Rig) -> None:
    interrupt(rig, pending(3))
    later(rig)
    plan = rig.plan()
    run = rig.applier(checkpoint=at("clear.started", lambda: interrupt(rig, pending(4)))).apply(plan)
    assert outcomes(run)[ActionKind.CLEAR].status is ActionStatus.SKIPPED
    assert waiting(rig) == [urn(3), urn(4)]


# -- a person decides


def test_two_candidates_are_a_persons_choice_and_nothing_is_touched(rig: Rig) -> None:
    interrupt(rig, pending(3))
    refs = {made(rig, 3), made(rig, 3)}
    later(rig)
    finding = finding_of(rig, 3)
    assert (finding.verdict, {ref for ref in finding.refs if ref.kind is Kind.SERVER}) == (Verdict.ASK, refs)
    rig.apply()
    assert waiting(rig) == [urn(3)]
    assert all(rig.exists(ref.id) for ref in refs)


def test_what_program_and_cloud_differ_in_is_shown_and_the_machine_is_free_again(rig: Rig) -> None:
    interrupt(rig, pending(3))
    ref = made(rig, 3)
    rig.engine.differences[urn(3)] = Difference(urn=urn(3), path="type", program="DEV1-S", cloud="DEV1-M")
    later(rig)
    outcome = outcomes(rig.apply())[ActionKind.ADOPT]
    assert (outcome.status, outcome.code) == (ActionStatus.SKIPPED, "RC0640")
    assert ref not in rig.store.memory(rig.scope.uuid).held
    assert (holds(rig, 3), waiting(rig)) == (None, [urn(3)])


# -- the world moves between the plan and the action


def test_a_machine_that_appears_after_the_plan_keeps_the_entry(rig: Rig) -> None:
    interrupt(rig, pending(3))
    later(rig)
    plan = rig.plan()
    made(rig, 3)
    outcome = outcomes(rig.applier().apply(plan))[ActionKind.CLEAR]
    assert (outcome.status, waiting(rig)) == (ActionStatus.SKIPPED, [urn(3)])
    assert "which no state holds" in outcome.text


def test_a_plugin_that_is_found_after_the_plan_keeps_the_entry(rig: Rig) -> None:
    interrupt(rig, pending(3))
    later(rig)
    plan = rig.plan()
    rig.engine.processes[STACK] = (LiveProcess(pid=9, name="pulumi-resource-scaleway", why="tied"),)
    outcome = outcomes(rig.applier().apply(plan))[ActionKind.CLEAR]
    assert (outcome.status, "pid 9" in outcome.text) == (ActionStatus.SKIPPED, True)
    assert waiting(rig) == [urn(3)]


@pytest.mark.parametrize("status", [403, 500])
def test_a_list_that_fails_after_the_plan_keeps_the_entry(rig: Rig, status: int) -> None:
    interrupt(rig, pending(3))
    later(rig)
    plan = rig.plan()
    rig.simulator.faults.add(FaultRule(method="GET", path="**/servers", action="status", status=status))
    outcome = outcomes(rig.applier().apply(plan))[ActionKind.CLEAR]
    assert (outcome.status, waiting(rig)) == (ActionStatus.SKIPPED, [urn(3)])


@pytest.mark.parametrize("slots", [(), (3,)], ids=["clear", "adopt"])
def test_a_lock_that_is_taken_after_the_plan_stops_it(rig: Rig, slots: tuple[int, ...]) -> None:
    interrupt(rig, pending(3))
    for slot in slots:
        made(rig, slot)
    later(rig)
    plan = rig.plan()
    state = rig.engine.states[STACK]

    def take() -> None:
        rig.engine.add(replace(state, locks=(Lock(created_by="ann@ci", source="a"),)))

    (outcome,) = rig.applier(checkpoint=at("run.begun", take)).apply(plan).outcomes
    assert (outcome.status, "ann@ci" in outcome.text) == (ActionStatus.SKIPPED, True)
    assert waiting(rig) == [urn(3)]


def test_a_stack_that_moved_since_the_plan_makes_it_stale(rig: Rig) -> None:
    interrupt(rig, pending(3))
    later(rig)
    plan = rig.plan()
    rig.engine.add(replace(rig.engine.states[STACK], serial="moved"))
    with pytest.raises(RefusedError, match="stale"):
        rig.applier().apply(plan)


def test_a_machine_that_goes_after_the_plan_is_not_adopted(rig: Rig) -> None:
    interrupt(rig, pending(3))
    ref = made(rig, 3)
    later(rig)
    plan = rig.plan()
    rig.stranger("kill_server", server=ref.id)
    outcome = outcomes(rig.applier().apply(plan))[ActionKind.ADOPT]
    assert (outcome.status, holds(rig, 3)) == (ActionStatus.SKIPPED, None)


def test_a_second_machine_that_appears_after_the_plan_stops_the_adoption(rig: Rig) -> None:
    interrupt(rig, pending(3))
    made(rig, 3)
    later(rig)
    plan = rig.plan()
    made(rig, 3)
    outcome = outcomes(rig.applier().apply(plan))[ActionKind.ADOPT]
    assert (outcome.status, holds(rig, 3)) == (ActionStatus.SKIPPED, None)


def test_what_another_stack_took_meanwhile_is_left_to_it(rig: Rig) -> None:
    interrupt(rig, pending(3))
    ref = made(rig, 3)
    rig.scope = replace(rig.scope, stacks=(STACK, "other/prod"))
    rig.engine.add(StackState("other/prod", "1", 0))
    later(rig)
    plan = rig.plan()
    theirs = StateResource(urn="urn:theirs", type=SERVER, id=f"{ref.zone}/{ref.id}", custom=True)
    rig.engine.add(StackState("other/prod", "1", 0, resources=(theirs,)))
    outcome = outcomes(rig.applier().apply(plan))[ActionKind.ADOPT]
    assert (outcome.status, holds(rig, 3)) == (ActionStatus.SKIPPED, None)


def test_a_machine_whose_deletion_is_decided_cannot_be_held(rig: Rig) -> None:
    interrupt(rig, pending(3))
    ref = made(rig, 3)
    later(rig)
    plan = rig.plan()

    def doom() -> None:
        lease = rig.store.acquire_lease("another", holder="x", ttl_seconds=60)
        rig.store.decide_deletion(
            scope=rig.scope.uuid, project=rig.scope.project, target=ref, children=(), reason="", finding_id="f",
            hour_nanos=0, lease=lease, per_hour=100,
        )  # fmt: skip

    outcome = outcomes(rig.applier(checkpoint=at("adopt.holding", doom)).apply(plan))[ActionKind.ADOPT]
    assert (outcome.status, outcome.code, holds(rig, 3)) == (ActionStatus.FAILED, "RC0623", None)


def test_while_it_is_being_adopted_nobody_may_delete_it(rig: Rig) -> None:
    interrupt(rig, pending(3))
    ref = made(rig, 3)
    later(rig)
    plan = rig.plan()
    held: list[bool] = []
    rig.applier(checkpoint=at("adopt.child", lambda: held.append(ref in rig.store.memory(rig.scope.uuid).held))).apply(
        plan
    )
    assert held == [True]
    assert ref not in rig.store.memory(rig.scope.uuid).held


# -- crashes


class Killed(BaseException):
    """The process ends here."""


def kill_at(number: int) -> Callable[[str], None]:
    seen = 0

    def checkpoint(name: str) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            raise Killed(name)

    return checkpoint


def broken(folder: Path) -> Rig:
    """One create that made its machine, one that did not, one update that was cut off."""
    folder.mkdir(exist_ok=True)
    rig = new_rig(folder)
    entry = rig.engine.states[STACK].resources[0]
    interrupt(rig, pending(3), pending(4), PendingOperation(operation="updating", resource=entry))
    made(rig, 3)
    later(rig)
    return rig


def finish(rig: Rig) -> None:
    """What an operator does after a crash: the same command again, until it has nothing more to do."""
    rig.store.close()
    rig.store, rig.cloud = rig.new_store(), rig.new_cloud()
    for _ in range(4):
        rig.clock.advance(120)
        rig.applier().resume()
        if not rig.apply().plan.actions:
            return
    raise AssertionError("never quiet")


def left(rig: Rig) -> dict[str, Any]:
    return {
        "world": rig.picture(),
        "pending": waiting(rig),
        "held": rig.store.memory(rig.scope.uuid).held,
        "unfinished": rig.store.unfinished_run(rig.scope.uuid),
    }


def test_a_run_that_is_killed_at_any_step_ends_in_the_same_world(tmp_path: Path) -> None:
    steps: list[str] = []
    undisturbed = broken(tmp_path / "undisturbed")
    undisturbed.applier(checkpoint=steps.append).apply(undisturbed.plan())
    finish(undisturbed)
    expected = left(undisturbed)
    assert (expected["pending"], expected["held"], expected["unfinished"]) == ([], frozenset(), None)
    for name in ("adopt.holding", "adopt.adopting", "adopt.child", "adopt.adopted", "clear.clearing", "clear.cleared"):
        assert name in steps
    for number, name in enumerate(steps, start=1):
        rig = broken(tmp_path / str(number))
        with pytest.raises(Killed):
            rig.applier(checkpoint=kill_at(number)).apply(rig.plan())
        finish(rig)
        assert left(rig) == expected, f"killed at step {number}, {name}"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_run_that_is_killed_right_after_the_state_was_written_ends_in_the_same_world(
    number: int, tmp_path: Path
) -> None:
    """The engine has done it, and the process dies before it can write that down."""
    undisturbed = broken(tmp_path / "undisturbed")
    finish(undisturbed)
    rig = broken(tmp_path / "killed")
    writes = 0

    def die() -> None:
        nonlocal writes
        writes += 1
        if writes == number:
            raise Killed

    rig.engine.afterwards = die
    with pytest.raises(Killed):
        rig.applier().apply(rig.plan())
    finish(rig)
    assert left(rig) == left(undisturbed)

"""A plan from a file is about what was reviewed: a changed subject refuses it, anything else does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.kernel.errors import RefusedError
from reconciler.model.finding import ActionKind, FindingKind
from reconciler.model.plan import Action, ActionStatus, Mode, Plan
from reconciler.model.scope import Ownership
from reconciler.model.state import StateResource
from reconciler.simulator import ZONE, FaultRule
from tests.apply.rig import OWNER, STACK, Rig
from tests.apply.test_deletions import leak, leaked_ip, leaked_volume


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    made = Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}", ownership=Ownership.TAGS)
    made.apply(mode=Mode.REPAIR)
    return made


def refused(rig: Rig, plan: Plan) -> RefusedError:
    """Apply a reviewed plan; it must be refused, and nothing may have been touched."""
    before = rig.picture()
    with pytest.raises(RefusedError) as error:
        rig.applier().apply(plan, from_file=True)
    assert rig.picture() == before
    assert rig.store.open_deletions(rig.scope.uuid) == ()
    return error.value


CHANGES: dict[str, tuple[Callable[[Rig, dict[str, str]], object], str]] = {
    "protected": (lambda rig, made: rig.stranger("protect", server=made["server"]), "another protected"),
    "retagged": (lambda rig, made: rig.stranger("set_tags", id=made["server"], tags=["mine"]), "another tags"),
    "killed": (lambda rig, made: rig.stranger("kill_server", server=made["server"]), "is gone"),
    "child moved": (lambda rig, made: rig.stranger("move_ip", ip=made["ip"], server="linux-0"), "another server_id"),
    "child retagged": (lambda rig, made: rig.stranger("set_tags", id=made["ip"], tags=["mine"]), "another tags"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_subject_that_changed_since_the_review_refuses_the_plan_and_is_named(rig: Rig, change: str) -> None:
    made = leak(rig)
    plan = rig.plan()
    do, what = CHANGES[change]
    do(rig, made)
    error = refused(rig, plan)
    assert (error.code, error.exit_status) == ("RC0608", 6)
    assert f"action 1 (destroy server {ZONE}/{made['server']})" in error.message
    assert what in error.message


def test_a_subject_that_came_into_a_state_since_the_review_refuses_the_plan(rig: Rig) -> None:
    ip = leaked_ip(rig)
    plan = rig.plan()
    state = rig.engine.states[STACK]
    entry = StateResource(urn="urn:x::late", type="scaleway:instance/ip:Ip", id=f"{ZONE}/{ip}", custom=True)
    rig.engine.add(replace(state, resources=(*state.resources, entry), serial="2"))
    error = refused(rig, plan)
    assert error.code == "RC0608"
    assert "urn:x::late" in error.message


def test_one_changed_subject_refuses_what_did_not_change_as_well(rig: Rig) -> None:
    ip, volume = leaked_ip(rig), leaked_volume(rig)
    plan = rig.plan()
    rig.stranger("set_tags", id=ip, tags=["mine"])
    error = refused(rig, plan)
    assert ip in error.message
    assert volume not in error.message


def unrelated_server(rig: Rig) -> object:
    return rig.stranger("add_server", name="somebody", tags=["theirs"])


def unrelated_state(rig: Rig) -> object:
    state = rig.engine.states[STACK]
    rig.engine.add(replace(state, serial="moved"))
    return state


def unrelated_leftover(rig: Rig) -> object:
    return rig.stranger("add_ip", tags=[*OWNER, "reconciler:fleet=linux", "reconciler:slot=8"])


def unrelated_death(rig: Rig) -> object:
    return rig.stranger("kill_server", server="linux-1")


@pytest.mark.parametrize("change", [unrelated_server, unrelated_state, unrelated_leftover, unrelated_death])
def test_what_changed_elsewhere_makes_no_plan_stale(rig: Rig, change: Callable[[Rig], object]) -> None:
    ip = leaked_ip(rig)
    plan = rig.plan()
    change(rig)
    outcome = rig.applier().apply(plan, from_file=True)
    assert [one.status for one in outcome.outcomes] == [ActionStatus.DONE]
    assert not rig.exists(ip)


def test_an_hour_without_a_change_makes_no_plan_stale(rig: Rig) -> None:
    """A listing and a GET show a subject alike: servers, volumes, addresses, and what hangs on them."""
    made, ip, volume = leak(rig), leaked_ip(rig), leaked_volume(rig)
    plan = rig.plan()
    rig.clock.advance(3000)
    outcome = rig.applier().apply(plan, from_file=True)
    assert {one.status for one in outcome.outcomes} == {ActionStatus.DONE}
    assert not any(rig.exists(one) for one in (*(made[part] for part in ("server", "volume", "ip")), ip, volume))


def test_a_subject_that_cannot_be_read_refuses_the_plan_under_a_code_of_its_own(rig: Rig) -> None:
    """Unknown is not unchanged."""
    ip = leaked_ip(rig)
    plan = rig.plan()
    rig.simulator.faults.add(FaultRule(method="GET", path=f"**/ips/{ip}", times=400, action="status", status=503))
    error = refused(rig, plan)
    assert (error.code, error.exit_status) == ("RC0632", 6)
    assert ip in error.message


def test_what_shall_be_forgotten_and_is_there_again_refuses_the_plan(rig: Rig) -> None:
    with rig.simulator.editing() as world:
        server = world.servers.get(rig.workers[1].server)
        assert server is not None
        world.servers.remove(server.id)
    plan = rig.plan(mode=Mode.REPAIR)
    with rig.simulator.editing() as world:
        world.servers.put(server)
    error = refused(rig, plan)
    assert (error.code, "is there again" in error.message) == ("RC0608", True)


def test_a_stack_that_moved_says_which_entry_of_the_plan_moved(rig: Rig) -> None:
    rig.stranger("kill_server", server="linux-1")
    plan = rig.plan(mode=Mode.REPAIR)
    state = rig.engine.states[STACK]
    moved = [replace(one, protect=True) if one.name == "linux-1" else one for one in state.resources]
    rig.engine.add(replace(state, resources=tuple(moved), serial="moved"))
    error = refused(rig, plan)
    assert error.code == "RC0608"
    assert "linux-1 has another protect" in error.message


def test_a_stack_that_moved_elsewhere_says_so(rig: Rig) -> None:
    """A refresh writes the whole stack, so its serial counts whoever moved it."""
    rig.stranger("kill_server", server="linux-1")
    plan = rig.plan(mode=Mode.REPAIR)
    rig.engine.add(replace(rig.engine.states[STACK], serial="moved"))
    assert "in other entries than the plan's" in refused(rig, plan).message


# -- a plan and its own effects


def two_refreshes(rig: Rig) -> tuple[Plan, tuple[Action, Action]]:
    """One machine is gone, one was protected by hand: two actions that write one stack."""
    rig.stranger("kill_server", server="linux-1")
    rig.stranger("protect", server=rig.workers[0].server)
    plan = rig.plan(mode=Mode.REPAIR)
    first, last = (action for action in plan.actions if action.kind is ActionKind.REFRESH)
    assert {first.finding_kind, last.finding_kind} == {FindingKind.MISSING, FindingKind.CHANGED}
    return plan, (first, last)


def test_the_second_refresh_of_a_stack_is_not_stale_by_the_first(rig: Rig) -> None:
    plan, _ = two_refreshes(rig)
    outcome = rig.applier().apply(plan, from_file=True)
    assert {one.status for one in outcome.outcomes} == {ActionStatus.DONE}


def test_a_partly_applied_plan_goes_on_from_its_file_and_ends(rig: Rig) -> None:
    """What is done is not done again, what failed is tried again, and neither makes the plan stale."""
    plan, (first, last) = two_refreshes(rig)
    rig.engine.refuse = {last.urns[0]: "the gate answered 403"}
    outcome = rig.applier().apply(plan, from_file=True)
    assert {one.action.id: one.status for one in outcome.outcomes}[last.id] is ActionStatus.FAILED
    rig.engine.refuse = {}
    again = rig.applier().apply(plan, from_file=True)
    assert {one.status for one in again.outcomes} == {ActionStatus.DONE}
    assert [urns for _, urns in rig.engine.refreshed].count(tuple(sorted(first.urns))) == 1
    with pytest.raises(RefusedError) as error:
        rig.applier().apply(plan, from_file=True)
    assert error.value.code == "RC0606"


def test_a_partly_applied_plan_is_stale_by_what_somebody_else_did(rig: Rig) -> None:
    plan, (_, last) = two_refreshes(rig)
    rig.engine.refuse = {last.urns[0]: "the gate answered 403"}
    rig.applier().apply(plan, from_file=True)
    rig.engine.refuse = {}
    rig.engine.add(replace(rig.engine.states[STACK], serial="somebody"))
    assert refused(rig, plan).code == "RC0608"


def test_a_deletion_that_another_run_brought_to_its_end_counts_as_done(rig: Rig) -> None:
    volume = leaked_volume(rig)
    plan = rig.plan()
    rig.simulator.faults.add(FaultRule(method="DELETE", path="**/volumes/*", times=400, action="status", status=204))
    outcome = rig.applier(patience_seconds=30).apply(plan, from_file=True)
    assert [one.status for one in outcome.outcomes] == [ActionStatus.WAITING]
    rig.simulator.faults.set([])
    rig.applier().resume()
    assert not rig.exists(volume)
    again = rig.applier().apply(plan, from_file=True)
    assert [one.status for one in again.outcomes] == [ActionStatus.DONE]
    assert again.saves.hour_nanos == 0  # the run that proved it has counted it


def test_a_killed_run_is_resumed_whatever_its_own_effects_changed(rig: Rig) -> None:
    class Killed(BaseException):
        pass

    def die(name: str) -> None:
        if name == "refresh.refreshed":
            raise Killed

    plan, _ = two_refreshes(rig)
    with pytest.raises(Killed):
        rig.applier(checkpoint=die).apply(plan, from_file=True)
    resumed = rig.applier().resume()
    assert resumed is not None
    assert {one.status for one in resumed.outcomes} == {ActionStatus.DONE}

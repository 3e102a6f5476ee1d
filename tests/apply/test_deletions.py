"""Deletions: what is decided, what is spared, and what is only believed gone once it is proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.kernel.errors import NotLeaderError, RefusedError
from reconciler.model.plan import ActionOutcome, ActionStatus, Mode
from reconciler.model.scope import Ownership
from reconciler.model.state import Lock, StateResource
from reconciler.plan import canonical, digest
from reconciler.simulator import ZONE, FaultRule
from tests.apply.rig import OWNER, STACK, Rig, slot_tags


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    made = Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}", ownership=Ownership.TAGS)
    made.apply(mode=Mode.REPAIR)
    return made


LEAKED = (*OWNER, "reconciler:fleet=linux", "reconciler:slot=9")


def leak(rig: Rig, *, tags: tuple[str, ...] = LEAKED) -> dict[str, str]:
    """A machine of ours that no state holds, seen once and older than its grace."""
    made = rig.stranger("add_server", name="leaked", tags=list(tags))
    rig.stranger("set_tags", id=made["ip"], tags=list(tags))
    rig.sweep()
    rig.clock.advance(7200)
    return made


def leaked_ip(rig: Rig) -> str:
    made = rig.stranger("add_ip", tags=list(slot_tags(1)))
    rig.sweep()
    rig.clock.advance(7200)
    return str(made["ip"])


def leaked_volume(rig: Rig) -> str:
    made = rig.stranger("add_volume", name="left", tags=list(slot_tags(1)))
    rig.sweep()
    rig.clock.advance(7200)
    return str(made["volume"])


def at(step: str, do: Callable[[], object]) -> Callable[[str], None]:
    """Do something to the world once, right after a named step."""
    done: list[str] = []

    def checkpoint(name: str) -> None:
        if name == step and not done:
            done.append(name)
            do()

    return checkpoint


def only(outcomes: tuple[ActionOutcome, ...]) -> ActionOutcome:
    assert len(outcomes) == 1, [one.text for one in outcomes]
    return outcomes[0]


def test_an_orphan_goes_with_everything_that_its_create_made(rig: Rig) -> None:
    made = leak(rig)
    outcome = rig.apply()
    assert only(outcome.outcomes).status is ActionStatus.DONE
    assert not any(rig.exists(made[part]) for part in ("server", "volume", "ip"))
    assert outcome.saves.month > 6
    assert all(rig.exists(worker.server) for worker in rig.workers)


def test_a_persons_address_on_an_orphan_survives_it(rig: Rig) -> None:
    made = leak(rig)
    rig.stranger("set_tags", id=made["ip"], tags=["mine"])
    assert only(rig.apply().outcomes).status is ActionStatus.DONE
    assert not rig.exists(made["server"])
    assert rig.exists(made["ip"])


def test_a_persons_data_volume_on_an_orphan_survives_it(rig: Rig) -> None:
    made = leak(rig)
    data = rig.stranger("add_volume", name="data")["volume"]
    with rig.simulator.editing() as world:
        server, volume, root = (
            world.servers.get(made["server"]),
            world.block_volumes.get(data),
            world.block_volumes.get(made["volume"]),
        )
        assert server is not None
        assert volume is not None
        assert root is not None
        assert root.reference is not None
        slot = replace(server.slots[0], key="1", volume=data)
        world.servers.put(replace(server, slots=(*server.slots, slot)))
        world.block_volumes.put(replace(volume, status="in_use", reference=replace(root.reference, id=data)))
    assert only(rig.apply().outcomes).status is ActionStatus.DONE
    assert not rig.exists(made["server"])
    assert not rig.exists(made["volume"])
    assert rig.exists(data)


def test_what_was_attached_after_the_plan_is_left_alone(rig: Rig) -> None:
    ip = leaked_ip(rig)
    plan = rig.plan()
    rig.stranger("move_ip", ip=ip, server="linux-0")
    outcome = only(rig.applier().apply(plan).outcomes)
    assert (outcome.status, rig.exists(ip)) == (ActionStatus.SKIPPED, True)
    assert "in use" in outcome.text


def test_what_was_protected_after_the_plan_is_left_alone(rig: Rig) -> None:
    made = leak(rig)
    plan = rig.plan()
    rig.stranger("protect", server=made["server"])
    outcome = only(rig.applier().apply(plan).outcomes)
    assert (outcome.status, rig.exists(made["server"])) == (ActionStatus.SKIPPED, True)


def test_what_came_into_a_state_after_the_plan_is_left_alone(rig: Rig) -> None:
    """Rule 3: the authority is read again after the inventory, right before the decision."""
    ip = leaked_ip(rig)
    plan = rig.plan()
    state = rig.engine.states[STACK]
    entry = StateResource(urn="urn:x::late", type="scaleway:instance/ip:Ip", id=f"{ZONE}/{ip}", custom=True)
    rig.engine.add(replace(state, resources=(*state.resources, entry), serial="2"))
    outcome = only(rig.applier().apply(plan).outcomes)
    assert (outcome.status, rig.exists(ip)) == (ActionStatus.SKIPPED, True)
    assert "is in the state of" in outcome.text


@pytest.mark.parametrize("trouble", ["locked", "unreadable"])
def test_nothing_is_decided_while_a_possible_owner_cannot_speak(rig: Rig, trouble: str) -> None:
    ip = leaked_ip(rig)
    plan = rig.plan()
    if trouble == "locked":
        rig.engine.add(replace(rig.engine.states[STACK], locks=(Lock(created_by="ann@ci", pid=7),)))
    else:
        rig.engine.unreadable[STACK] = "the bucket is gone"
    outcome = only(rig.applier().apply(plan).outcomes)
    assert (outcome.status, rig.exists(ip)) == (ActionStatus.SKIPPED, True)


def test_nothing_is_decided_when_a_stack_of_the_plan_is_not_found_any_more(rig: Rig) -> None:
    """Another backend, or a pattern that matches nothing, is no proof that nobody owns anything."""
    rig.scope = replace(rig.scope, stacks=("fleet/*",))
    ip = leaked_ip(rig)
    plan = rig.plan()
    rig.engine.states.clear()
    outcome = only(rig.applier().apply(plan).outcomes)
    assert (outcome.status, rig.exists(ip)) == (ActionStatus.SKIPPED, True)


def test_a_state_entry_of_an_older_type_holds_what_it_names(rig: Rig) -> None:
    ip = leaked_ip(rig)
    plan = rig.plan()
    state = rig.engine.states[STACK]
    entry = StateResource(urn="urn:x::old", type="scaleway:index/instanceIp:InstanceIp", id=f"{ZONE}/{ip}", custom=True)
    rig.engine.add(replace(state, resources=(*state.resources, entry), serial="2"))
    outcome = only(rig.applier().apply(plan).outcomes)
    assert (outcome.status, rig.exists(ip)) == (ActionStatus.SKIPPED, True)


def test_an_id_that_a_person_attaches_after_the_decision_is_struck(rig: Rig) -> None:
    """Rule 7: a live GET before each call; the rest of the deletion goes on."""
    made = leak(rig)
    plan = rig.plan()
    take = at("destroy.decided", lambda: rig.stranger("move_ip", ip=made["ip"], server="linux-0"))
    outcome = only(rig.applier(checkpoint=take).apply(plan).outcomes)
    assert outcome.status is ActionStatus.DONE
    assert [ref.id for ref in outcome.struck] == [made["ip"]]
    assert rig.exists(made["ip"])
    assert not rig.exists(made["server"])
    assert not rig.exists(made["volume"])
    assert rig.store.open_deletions(rig.scope.uuid) == ()


def test_a_machine_that_is_protected_after_the_decision_is_struck_with_all_that_hangs_on_it(rig: Rig) -> None:
    made = leak(rig)
    plan = rig.plan()
    take = at("destroy.decided", lambda: rig.stranger("protect", server=made["server"]))
    outcome = only(rig.applier(checkpoint=take).apply(plan).outcomes)
    assert outcome.status is ActionStatus.SKIPPED
    assert all(rig.exists(made[part]) for part in ("server", "volume", "ip"))
    assert rig.store.open_deletions(rig.scope.uuid) == ()


def test_a_machine_whose_owner_tags_are_gone_after_the_decision_is_struck(rig: Rig) -> None:
    made = leak(rig)
    plan = rig.plan()
    take = at("destroy.decided", lambda: rig.stranger("set_tags", id=made["server"], tags=["mine now"]))
    rig.applier(checkpoint=take).apply(plan)
    assert rig.exists(made["server"])


def test_accepted_is_not_gone(rig: Rig) -> None:
    """Rule 6: a 204 that did nothing leaves the deletion open, and a later run ends it."""
    volume = leaked_volume(rig)
    rig.simulator.faults.add(FaultRule(method="DELETE", path="**/volumes/*", times=400, action="status", status=204))
    outcome = only(rig.applier(patience_seconds=30).apply(rig.plan()).outcomes)
    assert outcome.status is ActionStatus.WAITING
    assert [deletion.target.id for deletion in rig.store.open_deletions(rig.scope.uuid)] == [volume]
    rig.simulator.faults.set([])
    resumed = rig.applier().resume()
    assert resumed is not None
    assert only(resumed.outcomes).status is ActionStatus.DONE
    assert not rig.exists(volume)
    assert rig.store.open_deletions(rig.scope.uuid) == ()


def test_one_bad_item_does_not_stop_the_others(rig: Rig) -> None:
    """Rule 12."""
    made = leak(rig)
    volume = leaked_volume(rig)
    rig.simulator.faults.add(
        FaultRule(method="POST", path=f"**/servers/{made['server']}/action", times=400, action="status", status=500)
    )
    outcomes = rig.applier(patience_seconds=10).apply(rig.plan()).outcomes
    assert {one.action.refs[0].id: one.status for one in outcomes} == {
        made["server"]: ActionStatus.WAITING,
        volume: ActionStatus.DONE,
    }


def test_what_is_told_of_a_deletion_is_the_servers_trouble_and_not_that_its_children_wait(rig: Rig) -> None:
    """M3: otherwise a person reads that a volume waits for its server, and never that the API refuses the server."""
    leak(rig)
    refusal = '{"type": "invalid_request_error", "message": "selectors exclude each other"}'
    rig.simulator.faults.add(FaultRule(method="POST", path="**/action", times=400, status=400, body=refusal))
    outcome = only(rig.applier(patience_seconds=10).apply(rig.plan()).outcomes)
    (deletion,) = rig.store.open_deletions(rig.scope.uuid)
    assert "selectors exclude each other" in outcome.text
    assert "selectors exclude each other" in str(deletion.last_error)


def test_a_deletion_whose_answer_was_lost_is_not_sent_blindly_again(rig: Rig) -> None:
    made = leak(rig)
    rig.simulator.faults.add(FaultRule(method="POST", path="**/action", nth=(1,), action="drop_answer"))
    assert only(rig.apply().outcomes).status is ActionStatus.DONE
    assert not rig.exists(made["server"])
    sent = [one for one in rig.simulator.traffic.entries() if one.method == "POST" and one.path.endswith("/action")]
    assert len(sent) == 1


def test_a_run_that_lost_its_lease_decides_nothing(rig: Rig) -> None:
    """Rule 13: the decision's own transaction checks the fence."""
    ip = leaked_ip(rig)
    plan = rig.plan()

    def steal() -> None:
        rig.clock.advance(3600 - 300)
        rig.store.acquire_lease(f"apply:{rig.scope.uuid}", holder="other:2", ttl_seconds=3600)

    with pytest.raises(NotLeaderError):
        rig.applier(checkpoint=at("destroy.started", steal)).apply(plan)
    assert rig.exists(ip)
    assert rig.store.open_deletions(rig.scope.uuid) == ()


def test_the_rate_rail_is_counted_inside_the_decision(rig: Rig) -> None:
    """Rule 10: across runs, whatever the plan thought."""
    first, second = leaked_ip(rig), leaked_volume(rig)
    rig.scope = replace(rig.scope, limits=replace(rig.scope.limits, per_hour=2))
    plan = rig.plan()
    rig.scope = replace(rig.scope, limits=replace(rig.scope.limits, per_hour=1))
    statuses = sorted(one.status.value for one in rig.applier().apply(plan).outcomes)
    assert statuses == ["done", "failed"]
    assert sorted((rig.exists(first), rig.exists(second))) == [False, True]


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        ("unregistered", "RC0605"),
        ("applied", "RC0606"),
        ("expired", "RC0604"),
        ("other scope", "RC0603"),
        ("over a limit", "RC0607"),
    ],
)
def test_a_plan_that_cannot_be_trusted_is_refused_before_anything_is_touched(rig: Rig, spoil: str, code: str) -> None:
    ip = leaked_ip(rig)
    if spoil == "over a limit":
        limits = rig.scope.limits
        rig.scope = replace(rig.scope, limits=replace(limits, reconcile=replace(limits.reconcile, count=0)))
    plan = rig.plan()
    if spoil == "unregistered":
        plan = replace(plan, id="another")
    elif spoil == "applied":
        rig.applier().apply(plan)
        ip = leaked_ip(rig)
    elif spoil == "expired":
        rig.clock.advance(3601)
    elif spoil == "other scope":
        plan = replace(plan, scope="0" * 36, id="another")
        rig.store.register_plan(plan, digest=digest(plan), canonical=canonical(plan))
    with pytest.raises(RefusedError) as refused:
        rig.applier().apply(plan)
    assert refused.value.code == code
    assert rig.exists(ip)


def test_a_refresh_whose_stack_moved_since_the_plan_is_refused_as_stale(rig: Rig) -> None:
    rig.stranger("kill_server", server="linux-1")
    plan = rig.plan(mode=Mode.REPAIR)
    rig.engine.add(replace(rig.engine.states[STACK], serial="moved"))
    with pytest.raises(RefusedError) as refused:
        rig.applier().apply(plan)
    assert refused.value.code == "RC0608"


def test_a_machine_that_came_back_after_the_plan_stays_in_the_state(rig: Rig) -> None:
    """What is to be forgotten is proved absent again, right before the refresh."""
    with rig.simulator.editing() as world:
        server = world.servers.get(rig.workers[1].server)
        assert server is not None
        world.servers.remove(server.id)
    plan = rig.plan(mode=Mode.REPAIR)
    with rig.simulator.editing() as world:
        world.servers.put(server)
    outcome = only(rig.applier().apply(plan).outcomes)
    assert outcome.status is ActionStatus.SKIPPED
    assert any(entry.name == "linux-1" for entry in rig.engine.states[STACK].resources)


def test_nothing_is_destroyed_in_repair_mode(rig: Rig) -> None:
    made = leak(rig)
    outcome = rig.apply(mode=Mode.REPAIR)
    assert outcome.plan.actions == ()
    assert rig.exists(made["server"])


def test_tags_alone_are_not_enough_where_two_proofs_are_asked_for(tmp_path: Path) -> None:
    """Rule 9, with a scope that is not dedicated: the leftover is asked about, not destroyed."""
    rig = Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}", ownership=Ownership.TWO_PROOFS)
    rig.apply(mode=Mode.REPAIR)
    made = leak(rig)
    _, findings = rig.sweep()
    assert "orphan:ask" in rig.kinds(findings)
    assert rig.apply().outcomes == ()
    assert rig.exists(made["server"])


def test_a_root_volume_that_survives_its_server_is_proved_by_tag_and_lineage(tmp_path: Path) -> None:
    rig = Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}", ownership=Ownership.TWO_PROOFS)
    rig.apply(mode=Mode.REPAIR)
    rig.sweep()
    root = rig.workers[1].root
    rig.stranger("kill_server", server="linux-1")
    rig.sweep()
    rig.clock.advance(7200)
    statuses = {one.action.kind.value: one.status for one in rig.apply().outcomes}
    assert statuses == {"refresh": ActionStatus.DONE, "destroy": ActionStatus.DONE}
    assert not rig.exists(root)

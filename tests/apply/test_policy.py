"""A violation is found, priced, repaired by `apply` in mode repair, and gone in the next sweep; no tag is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.model.finding import Finding, FindingKind, Verdict
from reconciler.model.plan import ActionStatus, Mode
from reconciler.model.policy import Policies
from reconciler.policy.decode import decode_value
from reconciler.simulator.records import Nic
from tests.apply.rig import STACK, Rig, slot_tags

ROLE: dict[str, Any] = {"id": "role", "check": "required-tags", "tags": ["role=ci"], "kinds": ["volume", "nic"]}


def policy(*rules: dict[str, Any]) -> Policies:
    return Policies(configured=decode_value({"version": 1, "rules": list(rules)}, source="test"))


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Two machines whose roots carry their owner tags and a tag of somebody's."""
    made = Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}", replicas=2, policies=policy(ROLE))
    for slot, worker in enumerate(made.workers):
        made.stranger("set_tags", id=worker.root, tags=["theirs", *slot_tags(slot)])
    return made


def of_policy(rig: Rig) -> list[Finding]:
    return [one for one in rig.sweep()[1] if one.kind is FindingKind.POLICY]


def tags_of(rig: Rig, id_: str) -> list[str]:
    with rig.simulator.editing() as world:
        return list(getattr(world.find(id_), "tags", ()))


def test_it_is_found_with_its_price(rig: Rig) -> None:
    findings = of_policy(rig)
    assert [(one.verdict, one.subjects[0].kind) for one in findings] == [(Verdict.ACT, "volume")] * 2
    assert all(one.cost.hour_nanos > 0 for one in findings)


def test_it_is_repaired_and_gone_in_the_next_sweep(rig: Rig) -> None:
    outcome = rig.apply(mode=Mode.REPAIR)
    assert [one.status for one in outcome.outcomes] == [ActionStatus.DONE] * 2
    assert of_policy(rig) == []


def test_a_strangers_tag_and_the_order_of_all_tags_stay(rig: Rig) -> None:
    rig.apply(mode=Mode.REPAIR)
    assert tags_of(rig, rig.workers[0].root) == ["theirs", *slot_tags(0), "role=ci"]


def test_the_machine_its_state_and_everything_else_stay_as_they_are(rig: Rig) -> None:
    before, state = tags_of(rig, rig.workers[0].server), rig.engine.states[STACK]
    rig.apply(mode=Mode.REPAIR)
    assert tags_of(rig, rig.workers[0].server) == before
    assert rig.engine.states[STACK] == state


def test_in_mode_observe_nothing_is_written(rig: Rig) -> None:
    before = rig.picture()
    assert rig.plan(mode=Mode.OBSERVE).actions == ()
    assert rig.picture() == before


def test_a_tag_that_came_after_the_plan_is_not_overwritten(rig: Rig) -> None:
    plan = rig.plan(mode=Mode.REPAIR)
    root = rig.workers[0].root
    rig.stranger("set_tags", id=root, tags=["theirs", *slot_tags(0), "just now"])
    outcome = rig.applier().apply(plan)
    assert sorted(one.status for one in outcome.outcomes) == [ActionStatus.DONE, ActionStatus.SKIPPED]
    assert tags_of(rig, root) == ["theirs", *slot_tags(0), "just now"]


def test_owner_tags_and_a_tag_of_the_policy_are_one_write(tmp_path: Path) -> None:
    rig = Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}", replicas=1, policies=policy(ROLE))
    outcome = rig.apply(mode=Mode.REPAIR)
    assert len(outcome.outcomes) == 1
    assert tags_of(rig, rig.workers[0].root) == [*slot_tags(0), "role=ci"]
    assert rig.sweep()[1] == ()


def test_tags_that_go_with_owner_tags_count_in_the_limit_of_the_policy(tmp_path: Path) -> None:
    rig = Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}", replicas=2, policies=policy(ROLE))
    limits = replace(rig.scope.limits, reconcile=replace(rig.scope.limits.reconcile, count=1))
    rig.scope = replace(rig.scope, limits=limits)
    assert [(rail.name, rail.value) for rail in rig.plan(mode=Mode.REPAIR).blocked] == [("count-policy", 2)]
    rig.policies = Policies()
    assert rig.plan(mode=Mode.REPAIR).blocked == ()


def test_a_nic_is_tagged_through_its_own_api(rig: Rig) -> None:
    nic = add_nic(rig)
    assert {one.subjects[0].kind for one in of_policy(rig)} == {"volume", "nic"}
    rig.apply(mode=Mode.REPAIR)
    assert tags_of(rig, nic) == ["role=ci"]
    assert of_policy(rig) == []


def add_nic(rig: Rig) -> str:
    """A NIC that the state of linux-0 names, and no entry of its own holds."""
    network = rig.simulator.mint.uuid()
    nic = Nic(id=rig.simulator.mint.uuid(), private_network=network, server=rig.workers[0].server)
    with rig.simulator.editing() as world:
        world.nics.put(nic)
    state = rig.engine.states[STACK]
    entry = state.resources[0]
    outputs = {**entry.outputs, "privateNetworks": [{"pnId": f"fr-par/{network}"}]}
    rig.engine.add(replace(state, resources=(replace(entry, outputs=outputs), *state.resources[1:])))
    return nic.id


def test_a_policy_that_a_stack_declares_is_read_from_its_output(rig: Rig) -> None:
    state = rig.engine.states[STACK]
    declared = {"version": 1.0, "rules": [{**ROLE, "severity": "advisory"}]}
    output = {**state.outputs["reconciler"], "policy": declared}
    rig.engine.add(replace(state, outputs={"reconciler": output}))
    rig.policies = Policies()
    assert [one.verdict for one in of_policy(rig)] == [Verdict.NONE] * 2


def test_a_declared_policy_that_cannot_be_read_is_a_gap_and_no_silence(rig: Rig) -> None:
    state = rig.engine.states[STACK]
    output = {**state.outputs["reconciler"], "policy": {"version": 1, "rulez": []}}
    rig.engine.add(replace(state, outputs={"reconciler": output}))
    kinds = {one.kind: one for one in rig.sweep()[1]}
    assert "rulez: unknown key" in kinds[FindingKind.INCOMPLETE].reason


def test_nothing_is_destroyed_because_of_a_policy(rig: Rig) -> None:
    rig.policies = policy({"id": "young", "check": "max-lifetime", "age": "1s", "kinds": ["server", "volume", "ip"]})
    before = rig.picture()
    assert rig.apply(mode=Mode.PRUNE).outcomes == ()
    assert rig.picture() == before
    assert {one.verdict for one in of_policy(rig)} == {Verdict.ASK}

"""From findings to actions: what is in a plan, what is held back, in which order, under which conditions."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.diff import diff
from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.ids import Ids
from reconciler.kernel.randomness import SeededRandomness
from reconciler.model.finding import ActionKind, Finding, FindingKind, Verdict
from reconciler.model.plan import Condition, Mode, Plan
from reconciler.model.world import World
from reconciler.plan import build_plan
from tests.builders import (
    NOW,
    STACK,
    absent,
    found,
    ip,
    machine,
    owner_tags,
    remembered,
    server,
    state,
    volume,
    with_parts,
    world,
)
from tests.diff.worlds import worlds

ONE, TWO = machine(0), machine(1)
LEFT = machine(9)
FREE = volume("left", tags=owner_tags(3))
ADDRESS = ip("left-ip", tags=owner_tags(3))


def plan_of(in_world: World, *, mode: Mode = Mode.PRUNE, findings: tuple[Finding, ...] | None = None) -> Plan:
    ids = Ids(clock=VirtualClock(), randomness=SeededRandomness(1))
    return build_plan(in_world, diff(in_world) if findings is None else findings, mode=mode, ids=ids)


def everything() -> World:
    """A lost machine, a changed one, an untagged root, an orphan, a free volume, a free address, a stranger."""
    gone = machine(2)
    bare = replace(TWO.root, tags=())
    renamed = replace(ONE.server, name="by-hand")
    orphan = with_parts(LEFT.server, LEFT.root)
    return world(
        renamed,
        ONE.root,
        ONE.ip,
        TWO.server,
        bare,
        TWO.ip,
        gone.root,
        gone.ip,
        orphan,
        LEFT.root,
        FREE,
        ADDRESS,
        server("theirs"),
        states=[state(*ONE.entries, *TWO.entries, *gone.entries)],
        probes=[absent(gone.server)],
        memory=remembered(orphan, FREE, ADDRESS),
    )


def test_every_repair_is_planned_tags_first_then_refreshes_then_deletions_with_servers_first() -> None:
    plan = plan_of(everything())
    steps = [(action.kind.value, action.refs[0].kind.value) for action in plan.actions]
    assert steps[:3] == [("tag", "volume"), ("refresh", "server"), ("refresh", "server")]
    assert steps[3] == ("destroy", "server")
    assert sorted(steps[4:]) == [("destroy", "ip"), ("destroy", "volume")]


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [
        (Mode.OBSERVE, set()),
        (Mode.REPAIR, {ActionKind.TAG, ActionKind.REFRESH}),
        (Mode.PRUNE, {ActionKind.TAG, ActionKind.REFRESH, ActionKind.DESTROY}),
    ],
)
def test_a_mode_holds_back_what_it_does_not_allow(mode: Mode, kinds: set[ActionKind]) -> None:
    plan = plan_of(everything(), mode=mode)
    assert {action.kind for action in plan.actions} == kinds
    acted = sum(len(action.urns) or 1 for action in plan.actions)
    findings = len(diff(everything()))
    assert sum(plan.held_back.values()) == findings - acted


@pytest.mark.parametrize("verdict", [one for one in Verdict if one is not Verdict.ACT])
def test_only_what_is_safe_to_do_now_is_planned(verdict: Verdict) -> None:
    findings = tuple(replace(one, verdict=verdict) for one in diff(everything()))
    plan = plan_of(everything(), findings=findings)
    assert plan.actions == ()
    assert dict(plan.held_back) == {verdict.value: len(findings)}


def test_a_refresh_is_one_action_for_a_stack_and_names_every_urn() -> None:
    in_world = world(
        states=[state(*ONE.entries[:1], *TWO.entries[:1])], probes=[absent(ONE.server), absent(TWO.server)]
    )
    (action,) = plan_of(in_world).actions
    assert action.urns == tuple(sorted(entry.urn for entry in (ONE.entries[0], TWO.entries[0])))
    assert Condition(kind="serial", subject=STACK, value="1") in action.conditions
    proofs = {one.subject for one in action.conditions if one.kind == "absent"}
    assert proofs == {str(ONE.server.ref), str(TWO.server.ref)}


def test_what_changed_is_never_licensed_to_be_forgotten() -> None:
    """The two refreshes stay apart: the gate lets the engine drop only what an action proves absent."""
    plan = plan_of(everything())
    taken_in = [action for action in plan.actions if action.finding_kind is FindingKind.CHANGED]
    assert [[one.kind for one in action.conditions] for action in taken_in] == [["serial", "unchanged", "entry"]]


def test_tags_are_written_under_the_condition_that_they_are_as_they_were_seen() -> None:
    action = plan_of(everything()).actions[0]
    assert (action.tags_before, action.tags_after) == ((), owner_tags(1))
    assert [one.kind for one in action.conditions] == ["tags", "unchanged"]
    assert json.loads(action.conditions[0].value) == []


def test_a_deletion_names_its_target_first_and_everything_that_goes_with_it() -> None:
    action = next(one for one in plan_of(everything()).actions if one.kind is ActionKind.DESTROY)
    assert action.refs == (LEFT.server.ref, LEFT.root.ref)
    assert [one.kind for one in action.conditions] == ["unowned", "unchanged", "unchanged"]


def test_what_hangs_on_nothing_is_deleted_under_the_condition_that_it_still_does() -> None:
    actions = [one for one in plan_of(everything()).actions if one.refs[0] in (FREE.ref, ADDRESS.ref)]
    assert [[one.kind for one in action.conditions] for action in actions] == [
        ["unowned", "unattached", "unchanged"]
    ] * 2


def test_a_plan_saves_what_its_deletions_cost_and_nothing_else() -> None:
    plan = plan_of(everything())
    destroyed = [one.cost.hour_nanos for one in plan.actions if one.kind is ActionKind.DESTROY]
    assert plan.saves.hour_nanos == sum(destroyed) == 8_976_000 + 20 * 118_000 + 20 * 118_000 + 4_000_000


def test_a_plan_says_of_which_world_it_is_and_until_when_it_holds() -> None:
    plan = plan_of(everything())
    assert (plan.created_ms, plan.expires_ms, plan.sweep_id) == (NOW, NOW + 3_600_000, "sweep-1")
    assert dict(plan.serials) == {STACK: "1"}


def test_a_name_that_no_file_could_hold_costs_its_own_finding_and_no_other() -> None:
    """Half a surrogate pair can stand in a checkpoint (rule 12)."""
    odd = replace(FREE, tags=(*FREE.tags, "\ud800"), name="\ud800")
    plan = plan_of(world(odd, ADDRESS, memory=remembered(odd, ADDRESS)))
    assert [action.refs[0] for action in plan.actions] == [ADDRESS.ref]
    assert dict(plan.held_back) == {"act, but its text is not Unicode": 1}


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(worlds(), st.randoms(use_true_random=False), st.sampled_from(Mode))
def test_a_plan_does_not_depend_on_the_order_of_its_findings(in_world: World, chance: object, mode: Mode) -> None:
    findings = list(diff(in_world))
    first = plan_of(in_world, mode=mode, findings=tuple(findings))
    chance.shuffle(findings)  # type: ignore[attr-defined]
    assert plan_of(in_world, mode=mode, findings=tuple(findings)) == first


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(worlds(), st.sampled_from(Mode))
def test_every_finding_is_in_one_action_or_held_back(in_world: World, mode: Mode) -> None:
    findings = diff(in_world)
    plan = plan_of(in_world, mode=mode, findings=findings)
    acting = [one for one in findings if one.verdict is Verdict.ACT and mode.allows(one.action)]
    planned = sum(len(action.urns) or 1 for action in plan.actions)
    assert planned == len(acting)
    assert planned + sum(plan.held_back.values()) == len(findings)
    assert all(mode.allows(action.kind) for action in plan.actions)
    assert len({action.id for action in plan.actions}) == len(plan.actions)


def test_the_builders_world_has_one_of_each() -> None:
    kinds = {one.kind for one in found(everything())}
    assert kinds == {
        FindingKind.MISSING,
        FindingKind.CHANGED,
        FindingKind.UNTAGGED_CHILD,
        FindingKind.ORPHAN,
        FindingKind.DETACHED,
        FindingKind.UNMANAGED,
    }

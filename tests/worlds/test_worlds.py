"""Generated worlds: the findings are the truth, what should go goes, and no lie makes us destroy what should not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.model.finding import FindingKind, Verdict
from reconciler.simulator.lies import lie_from_json
from tests.worlds import Case, Report, build, calm, case, generate, lines, recipe, run, run_case, shrunk
from tests.worlds.checkpoints import StackDraft
from tests.worlds.lying import KINDS
from tests.worlds.scenes import SCENES
from tests.worlds.site import Site
from tests.worlds.truth import Whose, compare
from tests.worlds.visitors import Visitor

HONEST = 24
LYING = 2 * len(KINDS)
VISITED = 24
# Policies have worlds of their own.
NOT_HERE = {FindingKind.POLICY}
STEP = 12


def _said(reports: list[Report]) -> str:
    return "\n".join(line for report in reports if not report.ok for line in lines(report))


@pytest.mark.parametrize("first", range(0, HONEST, STEP))
def test_without_lies_the_findings_are_the_truth_and_everything_that_should_go_is_gone(first: int) -> None:
    reports = [run(generate(seed)) for seed in range(first, first + STEP)]
    assert _said(reports) == ""
    assert sum(report.destroyed for report in reports) > 0


@pytest.mark.parametrize("first", range(0, LYING, len(KINDS)))
def test_no_lie_makes_us_destroy_forget_untag_or_finalise_what_should_stay(first: int) -> None:
    reports = [run_case(case(seed)) for seed in range(first, first + len(KINDS))]
    assert _said(reports) == ""


def test_an_honest_world_ends_with_a_status_that_only_asks() -> None:
    report = run(generate(1))
    assert report.rested
    assert set(report.statuses[-1:]) <= {0, 2}


@pytest.mark.parametrize("first", range(0, VISITED, STEP))
def test_what_a_visitor_uses_keeps_or_takes_in_between_plan_and_apply_stays(first: int) -> None:
    recipes = [calm(recipe(seed), *["leftover"] * 4, "machine gone") for seed in range(first, first + STEP)]
    assert _said([run(build(one), visitor=Visitor(one.seed)) for one in recipes]) == ""


# -- what was found by these worlds, and stays


@pytest.mark.parametrize("lie", ["empty_list", "shrunk_list", "hiding_403", "missing_item", "server_error"])
def test_a_lie_about_ipam_frees_no_address(lie: str) -> None:
    """A gateway has it; the Instance API knows nothing of gateways."""
    for seed in range(4):
        made = calm(recipe(seed), "used by somebody", "used by somebody", "used by somebody")
        told = lie_from_json({"lie": lie, "kinds": ["ipam_ip"]})
        assert _said([run_case(Case(recipe=made, lie=told, from_round=0))]) == ""


def test_the_root_of_a_machine_that_is_being_rescued_is_there_after_many_runs() -> None:
    report = run(build(calm(recipe(3), "rescue")))
    assert _said([report]) == ""
    assert report.sweeps > 2


# -- the generator


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_the_same_seed_makes_the_same_world(seed: int) -> None:
    one, other = generate(seed), generate(seed)
    assert json.dumps(one.checkpoints, sort_keys=True) == json.dumps(other.checkpoints, sort_keys=True)
    assert (one.truth, one.scope, one.memory) == (other.truth, other.scope, other.memory)


@given(seed=st.integers(0, 10_000), drop=st.integers(0, 5))
@settings(max_examples=15, deadline=None)
def test_a_world_without_one_scene_is_the_same_world_otherwise(seed: int, drop: int) -> None:
    whole = recipe(seed)
    label = whole.scenes[drop][0]
    left = build(whole.without({label})).truth.things
    kept = {id_: thing for id_, thing in build(whole).truth.things.items() if thing.why not in (label, "no scene's")}
    assert {id_: left.get(id_) for id_ in kept} == kept


def test_every_finding_kind_comes_up_and_so_does_everybody_whose_things_there_are() -> None:
    worlds = [generate(seed) for seed in range(80)]
    shown = {kind for scene in SCENES.values() for kind in scene.kinds} | {FindingKind.INCOMPLETE}
    assert {one.kind for world in worlds for one in world.truth.first} == shown
    assert set(FindingKind) - shown == NOT_HERE
    assert {thing.whose for world in worlds for thing in world.truth.things.values()} == set(Whose)
    assert {one.verdict for world in worlds for one in world.truth.first} == set(Verdict)


def test_every_scene_is_in_some_world() -> None:
    assert {name for seed in range(120) for _, name in recipe(seed).scenes} == set(SCENES)


def test_a_world_of_one_kind_has_scenes_that_show_it_or_nothing() -> None:
    made = recipe(5, kinds={FindingKind.UNTAGGED_CHILD}, size=8)
    assert all(FindingKind.UNTAGGED_CHILD in SCENES[name].kinds or not SCENES[name].kinds for _, name in made.scenes)


@pytest.mark.parametrize("name", sorted(SCENES))
def test_a_scene_shows_the_kinds_that_it_names_and_no_other(name: str) -> None:
    worlds = [build(calm(recipe(seed), name)) for seed in range(12)]
    shown = {one.kind for world in worlds for one in (*world.truth.first, *world.truth.last)}
    assert shown <= SCENES[name].kinds


def test_a_failing_world_is_made_small() -> None:
    whole = recipe(12, size=8)
    wanted = whole.scenes[4]
    assert shrunk(whole, lambda made: wanted in made.scenes).scenes == (wanted,)


def test_a_finding_more_or_less_is_a_difference_in_words() -> None:
    world = generate(0)
    site = Site(world)
    _, findings = site.sweep()
    site.close()
    assert findings
    assert [line.partition(":")[0] for line in compare(findings[1:], world.truth.first)] == ["missing"]
    assert [line.partition(":")[0] for line in compare((*findings, findings[0]), world.truth.first)] == ["twice"]


def test_a_stack_draft_names_its_urns_as_pulumi_does() -> None:
    urn = StackDraft("ci/prod").urn("a:b/c:D", "x", below="p:q:R")
    assert urn == "urn:pulumi:prod::ci::p:q:R$a:b/c:D::x"

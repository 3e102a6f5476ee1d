"""`plan approve`, and what `plan show` and `apply` make of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reconciler.cli.identity import approver
from reconciler.kernel.errors import StoreError
from reconciler.model.scope import Rail
from tests.cli.conftest import Run
from tests.fakes.estate import HOUR_MS, FakeWorld, scope_named

OVER = ["count", "count-ip", "percent-ip"]


@pytest.fixture
def big(run: Run, world: FakeWorld) -> str:
    """A plan file that goes over three limits."""
    for number in range(21):
        world.leftover_ip(number)
    assert run("plan", "--out", "plan.json").status == 6
    return "plan.json"


def test_a_plan_over_a_limit_is_refused_until_it_is_approved(run: Run, world: FakeWorld, big: str) -> None:
    ran = run("apply", big)
    assert (ran.status, "error[RC0607]" in ran.err, world.cloud_port.destroyed) == (6, True, [])
    assert "plan approve FILE --reason" in ran.err
    assert run("plan", "approve", big, "--reason", "the farm goes").status == 0
    assert run("apply", big).status == 0
    assert len(world.cloud_port.destroyed) == 21


def test_an_approval_says_who_when_why_and_how_much(run: Run, world: FakeWorld, big: str) -> None:
    document = run("plan", "approve", big, "--reason", " the farm goes ", "-j").document
    (kept,) = world.store_port.approved
    assert kept.approved_ms == world.clock_now.now_ms()
    assert (document["reason"], document["approver"], document["digest"]) == (
        "the farm goes",
        kept.approver.name,
        kept.digest,
    )
    assert [(one["name"], one["value"]) for one in document["rails"]] == [
        ("count", 21),
        ("count-ip", 21),
        ("percent-ip", 100.0),
    ]


def test_show_tells_who_approved_and_what_is_left_open(run: Run, big: str) -> None:
    before = run("plan", "show", big)
    assert [line for line in before.out.splitlines() if line.startswith("not approved: ")] == [
        f"not approved: {text}" for text in ("count (21 > 20)", "count-ip (21 > 20)", "percent-ip (100 > 10)")
    ]
    run("plan", "approve", big, "--reason", "the farm goes")
    after = run("plan", "show", big)
    assert "not approved" not in after.out
    assert "reason: the farm goes" in after.out


def test_an_approval_is_for_one_digest_and_not_for_the_next_plan(run: Run, world: FakeWorld, big: str) -> None:
    run("plan", "approve", big, "--reason", "the farm goes")
    world.clock_now.advance(1)
    run("plan", "--out", "next.json")
    ran = run("apply", "next.json")
    assert (ran.status, "error[RC0607]" in ran.err, world.cloud_port.destroyed) == (6, True, [])


def test_an_approval_is_no_yes_for_a_plan_that_is_made_on_the_spot(run: Run, world: FakeWorld, big: str) -> None:
    run("plan", "approve", big, "--reason", "the farm goes")
    ran = run("apply", "-y")
    assert (ran.status, "error[RC0607]" in ran.err, world.cloud_port.destroyed) == (6, True, [])


def test_an_approval_under_another_value_covers_nothing(run: Run, world: FakeWorld, big: str) -> None:
    """A row that somebody wrote by hand: the very limit and value are compared."""
    from dataclasses import replace

    run("plan", "approve", big, "--reason", "the farm goes")
    (kept,) = world.store_port.approved
    less = tuple(replace(rail, value=rail.value - 1) for rail in kept.rails)
    world.store_port.approved = [replace(kept, rails=less)]
    assert run("apply", big).status == 6
    assert world.cloud_port.destroyed == []


def test_dry_run_of_an_approved_plan_is_not_refused(run: Run, big: str) -> None:
    assert run("apply", "--dry-run", big).status == 6
    run("plan", "approve", big, "--reason", "the farm goes")
    assert run("apply", "--dry-run", big).status == 0


def test_an_approved_plan_is_still_stale_expired_or_applied(run: Run, world: FakeWorld, big: str) -> None:
    run("plan", "approve", big, "--reason", "the farm goes")
    run("apply", big)
    ran = run("apply", big)
    assert (ran.status, "error[RC0606]" in ran.err) == (6, True)


# -- what cannot be approved


def refusal(run: Run, world: FakeWorld, path: str, code: str) -> None:
    ran = run("plan", "approve", path, "--reason", "why not")
    assert (ran.status, f"error[{code}]" in ran.err, world.store_port.approved) == (6, True, []), ran.err


def test_a_plan_within_its_limits_needs_no_approval(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    run("plan", "--out", "plan.json")
    refusal(run, world, "plan.json", "RC0630")


def test_a_freeze_is_covered_by_no_approval(run: Run, world: FakeWorld) -> None:
    for number in range(21):
        world.leftover_ip(number)
    world.cloud_port.skew_seconds = 120.0
    run("plan", "--out", "plan.json")
    ran = run("plan", "approve", "plan.json", "--reason", "why not")
    assert (ran.status, "error[RC0631]" in ran.err, world.store_port.approved) == (6, True, [])
    assert "clock-skew (120 > 60)" in ran.err
    ran = run("apply", "plan.json")
    assert "No approval covers clock-skew" in ran.err


def test_an_unregistered_plan_is_not_approved(run: Run, world: FakeWorld, big: str) -> None:
    world.store_port.plans.clear()
    refusal(run, world, big, "RC0605")


def test_an_expired_plan_is_not_approved(run: Run, world: FakeWorld, big: str) -> None:
    world.clock_now.advance(3601)
    refusal(run, world, big, "RC0604")


def test_a_plan_that_was_applied_is_not_approved(run: Run, world: FakeWorld, big: str) -> None:
    world.store_port.plans = dict.fromkeys(world.store_port.plans, "applied")
    refusal(run, world, big, "RC0606")


def test_another_scopes_plan_is_not_approved(run: Run, world: FakeWorld, big: str) -> None:
    world.scopes = (scope_named("gpu", 2),)
    refusal(run, world, big, "RC0145")


def test_an_edited_plan_is_not_approved(run: Run, world: FakeWorld, big: str, tmp_path: Path) -> None:
    path = tmp_path / big
    path.write_text(path.read_text().replace("detached", "orphan"))
    refusal(run, world, big, "RC0602")


def test_nothing_is_approved_without_a_database(run: Run, world: FakeWorld, big: str) -> None:
    world.broken_store = StoreError("down", code="RC0201")
    refusal(run, world, big, "RC0144")


def test_a_missing_file_is_not_approved(run: Run, world: FakeWorld) -> None:
    refusal(run, world, "missing.json", "RC0143")


@pytest.mark.parametrize("reason", ["", "   ", "x" * 2001])
def test_a_reason_says_something_and_not_everything(run: Run, world: FakeWorld, big: str, reason: str) -> None:
    ran = run("plan", "approve", big, "--reason", reason)
    assert (ran.status, "error[RC0146]" in ran.err, world.store_port.approved) == (64, True, [])


def test_a_reason_is_asked_for(run: Run, big: str) -> None:
    assert run("plan", "approve", big).status == 64


def test_approving_looks_at_no_cloud(run: Run, world: FakeWorld, big: str) -> None:
    calls = world.cloud_port.calls
    run("plan", "approve", big, "--reason", "the farm goes")
    assert world.cloud_port.calls == calls


# -- who


def test_the_name_is_the_ci_users_and_the_job_is_kept() -> None:
    github = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTOR": "ann",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "ci/fleet",
        "GITHUB_RUN_ID": "7",
    }
    who = approver(github)
    assert (who.name, who.ci_job) == ("ann", "https://github.com/ci/fleet/actions/runs/7")


def test_who_started_a_job_again_answers_for_it() -> None:
    who = approver({"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "ann", "GITHUB_TRIGGERING_ACTOR": "ben"})
    assert (who.name, who.ci_job) == ("ben", "GITHUB_ACTIONS")


def test_gitlab_names_the_user_and_the_job() -> None:
    who = approver({"GITLAB_CI": "true", "GITLAB_USER_LOGIN": "ann", "CI_JOB_URL": "https://gitlab/job/7"})
    assert (who.name, who.ci_job) == ("ann", "https://gitlab/job/7")


def test_outside_ci_it_is_the_account_whatever_user_says() -> None:
    plain, forged = approver({}), approver({"USER": "root-of-all", "LOGNAME": "root-of-all"})
    assert plain == forged
    assert plain.ci_job is None
    assert plain.name


def test_sudo_names_both() -> None:
    assert approver({"SUDO_USER": "ann"}).name.startswith("ann as ")


def test_a_lower_limit_of_eur_can_be_approved_too(run: Run, world: FakeWorld) -> None:
    from dataclasses import replace

    limits = replace(world.scope.limits, reconcile=Rail(count=20, percent=100.0, eur_month=1.0))
    world.scopes = (replace(world.scope, limits=limits),)
    world.leftover_ip()
    world.clock_now.advance(HOUR_MS / 1000)
    run("plan", "--out", "plan.json")
    assert "eur-month: 2.92 > 1" in run("apply", "plan.json").err
    document = run("plan", "approve", "plan.json", "--reason", "cheap", "-j")
    assert [one["name"] for one in json.loads(document.out)["rails"]] == ["eur-month"]
    assert run("apply", "plan.json").status == 0

"""`plan` and `apply`: who may, what is shown, and how each way out ends."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from reconciler.kernel.errors import CloudError, StoreError
from reconciler.model.resources import Kind, Ref
from tests.cli.conftest import Run
from tests.fakes.cloud import ZONE
from tests.fakes.estate import STACK, FakeWorld, scope_named


def test_a_plan_shows_the_action_its_price_and_the_limits(run: Run, world: FakeWorld) -> None:
    ip = world.leftover_ip()
    ran = run("plan")
    assert ran.status == 2
    for part in (f"1. destroy ip {ZONE}/{ip.id[:8]}", "saves: 2.92 EUR/month", "only if unattached", "count-ip"):
        assert part in ran.out


def test_a_plan_for_a_quiet_world_ends_with_0(run: Run) -> None:
    ran = run("plan")
    assert (ran.status, "nothing to do" in ran.out) == (0, True)


def test_a_plan_is_registered_under_its_digest(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    document = run("plan", "-j").document
    assert world.store_port.plans == {document["digest"]: "registered"}


def test_a_weaker_mode_holds_back_what_it_does_not_allow(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    ran = run("plan", "--mode", "repair")
    assert "nothing to do" in ran.out
    assert "held back: 1 finding with verdict act, not in mode repair" in ran.out


def test_a_plan_over_a_limit_ends_with_6_and_says_which(run: Run, world: FakeWorld) -> None:
    for number in range(21):
        world.leftover_ip(number)
    ran = run("plan")
    assert ran.status == 6
    assert [row.split()[1] for row in ran.out.splitlines() if row.startswith("BLOCKS")] == [
        "count",
        "count-ip",
        "percent-ip",
    ]


def test_a_plan_without_a_database_is_shown_and_ends_with_7(run: Run, world: FakeWorld) -> None:
    world.vanished_ip()
    world.broken_store = StoreError("down", code="RC0201")
    ran = run("plan", "--mode", "repair")
    assert ran.status == 7
    assert "1. refresh" in ran.out
    assert "this plan cannot be applied" in ran.err


def test_a_plan_file_is_for_one_scope(run: Run, world: FakeWorld) -> None:
    world.scopes = (scope_named("demo"), scope_named("gpu", 2))
    ran = run("plan", "--out", "plan.json")
    assert (ran.status, "error[RC0106]" in ran.err) == (64, True)


# -- apply


def test_apply_without_a_person_is_refused_before_anything_is_read(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    ran = run("apply")
    assert (ran.status, "error[RC0142]" in ran.err, world.cloud_port.calls) == (6, True, 0)


def test_apply_with_yes_destroys_the_leftover_and_ends_with_0(run: Run, world: FakeWorld) -> None:
    ip = world.leftover_ip()
    ran = run("apply", "-y")
    assert (ran.status, world.cloud_port.destroyed) == (0, [ip.ref])
    assert "total: 1 done; saves 2.92 EUR/month" in ran.out


def test_apply_refreshes_what_is_proved_absent(run: Run, world: FakeWorld) -> None:
    entry = world.vanished_ip()
    assert run("apply", "-y", "--mode", "repair").status == 0
    assert world.engine_port.refreshed == [(STACK, (entry.urn,))]


def test_apply_in_a_quiet_world_ends_as_drift_does(run: Run, world: FakeWorld) -> None:
    assert run("apply", "-y").status == 0
    world.cloud_port.broken[Kind.IP, ZONE] = "HTTP 503"
    assert run("apply", "-y").status == 7


def test_a_dry_run_shows_and_does_nothing(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    ran = run("apply", "--dry-run")
    assert (ran.status, world.cloud_port.destroyed, world.store_port.runs) == (2, [], {})
    assert "1. destroy" in ran.out


def test_a_reviewed_plan_file_needs_no_yes(run: Run, world: FakeWorld) -> None:
    ip = world.leftover_ip()
    run("plan", "--out", "plan.json")
    assert run("apply", "plan.json").status == 0
    assert world.cloud_port.destroyed == [ip.ref]


def test_a_plan_is_applied_once(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    run("plan", "--out", "plan.json")
    run("apply", "plan.json")
    ran = run("apply", "plan.json")
    assert (ran.status, "error[RC0606]" in ran.err) == (6, True)


def test_an_edited_plan_is_refused(run: Run, world: FakeWorld, tmp_path: Path) -> None:
    world.leftover_ip()
    run("plan", "--out", "plan.json")
    path = tmp_path / "plan.json"
    path.write_text(path.read_text().replace("detached", "orphan"))
    ran = run("apply", "plan.json")
    assert (ran.status, world.cloud_port.destroyed) == (6, [])


def test_a_plan_of_another_scope_is_refused(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    run("plan", "--out", "plan.json")
    world.scopes = (scope_named("gpu", 2),)
    ran = run("apply", "plan.json")
    assert (ran.status, "error[RC0145]" in ran.err) == (6, True)


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_plan_file_that_cannot_be_read_is_refused(run: Run, name: str) -> None:
    ran = run("apply", name)
    assert (ran.status, "error[RC0143]" in ran.err) == (6, True)


def test_a_plan_over_a_limit_is_not_applied(run: Run, world: FakeWorld) -> None:
    for number in range(21):
        world.leftover_ip(number)
    ran = run("apply", "-y")
    assert (ran.status, "error[RC0607]" in ran.err, world.cloud_port.destroyed) == (6, True, [])


def test_apply_without_its_database_is_refused(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    world.broken_store = StoreError("down", code="RC0201")
    ran = run("apply", "-y")
    assert (ran.status, "error[RC0144]" in ran.err, world.cloud_port.destroyed) == (6, True, [])


def test_apply_with_a_read_only_database_is_refused(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    world.store_port.read_only = True
    ran = run("apply", "-y")
    assert (ran.status, "error[RC0144]" in ran.err, world.cloud_port.destroyed) == (6, True, [])


def test_apply_while_somebody_else_is_at_it_ends_with_75_and_reads_nothing(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    world.store_port.leader = "host:7"
    ran = run("apply", "-y")
    assert (ran.status, world.cloud_port.calls) == (75, 0)
    assert "host:7" in ran.err


def test_an_action_that_is_not_done_ends_with_4(run: Run, world: FakeWorld) -> None:
    entry = world.vanished_ip()
    world.engine_port.refuse[entry.urn] = "the gate answered 403"
    ran = run("apply", "-y", "--mode", "repair")
    assert (ran.status, "the gate answered 403" in ran.out) == (4, True)


def test_an_unfinished_run_is_finished_first(run: Run, world: FakeWorld) -> None:
    ip = world.leftover_ip()
    run("plan", "--out", "plan.json")
    world.begin_run("plan.json")
    ran = run("apply", "-y")
    assert "is not finished; going on with it first" in ran.err
    assert (ran.status, world.cloud_port.destroyed) == (0, [ip.ref])


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_one_signal_finishes_the_item_and_leaves_the_rest_for_the_next_run(
    run: Run, world: FakeWorld, number: signal.Signals, status: int
) -> None:
    for each in (1, 2):
        world.leftover_ip(each)
    world.cloud_port.on_destroy = lambda _: signal.raise_signal(number)
    ran = run("apply", "-y")
    assert (ran.status, len(world.cloud_port.destroyed)) == (status, 1)
    assert "stopping after the current item" in ran.err
    world.cloud_port.on_destroy = None
    assert run("apply", "-y").status == 0
    assert len(set(world.cloud_port.destroyed)) == 2


def test_a_second_signal_stops_at_once(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()

    def twice(_: Ref) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    world.cloud_port.on_destroy = twice
    assert run("apply", "-y").status == 130


def test_the_result_of_a_run_is_json_on_request(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    document = run("apply", "-y", "-j").document
    statuses = [one["status"] for done in document["runs"] for one in done["outcomes"]]
    assert (document["exit_code"], statuses, len(document["plans"])) == (0, ["done"], 1)


def test_json_is_one_document_whatever_happened(run: Run, world: FakeWorld) -> None:
    """A run that was left open, a fresh plan, and a scope that fails, on one stdout."""
    world.scopes = (scope_named("demo"), scope_named("gpu", 2))
    world.leftover_ip()
    run("plan", "--scope", "demo", "--out", "plan.json")
    world.begin_run("plan.json")
    world.broken_clouds["gpu"] = CloudError("unreachable")
    ran = run("apply", "-y", "-j")
    document = ran.document
    assert (ran.status, document["exit_code"], len(document["runs"])) == (1, 1, 1)
    assert [error["scope"] for error in document["errors"]] == ["gpu"]


def test_json_of_a_dry_run_is_the_plan(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    document = run("apply", "--dry-run", "-j").document
    assert ([len(plan["plan"]["actions"]) for plan in document["plans"]], document["runs"]) == ([1], [])


def test_json_says_that_there_was_nothing_to_do(run: Run) -> None:
    document = run("apply", "-y", "-j").document
    assert (document["exit_code"], document["runs"]) == (0, [])


def test_the_reason_is_kept_in_the_journal(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    run("apply", "-y", "-m", "ticket 7")
    kept = [entry.details["message"] for entry in world.store_port.entries if entry.step == "message"]
    assert kept == ["ticket 7"]


def test_what_is_left_for_a_person_ends_with_2(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    world.stranger_with_one_signal()
    assert run("apply", "-y").status == 2


def test_apply_asks_and_a_no_touches_nothing(run: Run, world: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.leftover_ip()
    monkeypatch.setattr("reconciler.cli.output.Out.may_ask", True)
    monkeypatch.setattr("click.confirm", lambda *_, **__: False)
    ran = run("apply")
    assert (ran.status, "error[RC0141]" in ran.err, world.cloud_port.destroyed) == (6, True, [])


def test_a_plan_is_shown_to_who_is_asked_even_when_stdout_is_json(
    run: Run, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.leftover_ip()
    monkeypatch.setattr("reconciler.cli.output.Out.may_ask", True)
    monkeypatch.setattr("click.confirm", lambda *_, **__: True)
    ran = run("apply", "-j")
    assert "1. destroy" in ran.err
    assert json.loads(ran.out)["exit_code"] == 0

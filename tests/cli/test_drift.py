"""`drift`: what it says, how it ends, and that it writes nothing but one row."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from reconciler.kernel.errors import (
    AuthenticationError,
    CloudError,
    ReconcilerError,
    StoreError,
)
from reconciler.model.resources import Kind
from reconciler.model.state import Lock, StackState
from reconciler.report.schema import drift_schema
from tests.cli.conftest import Run
from tests.fakes.cloud import ZONE
from tests.fakes.estate import STACK, FakeWorld, scope_named


def test_a_quiet_world_ends_with_0(run: Run) -> None:
    ran = run("drift")
    assert (ran.status, "in sync" in ran.out) == (0, True)


def test_a_leftover_ends_with_2_and_is_one_line_with_its_price(run: Run, world: FakeWorld) -> None:
    ip = world.leftover_ip()
    ran = run("drift")
    rows = [row for row in ran.out.splitlines() if ip.id[:8] in row]
    assert ran.status == 2
    assert len(rows) == 1
    assert "detached" in rows[0]
    assert "2.92" in rows[0]


def test_a_leftover_within_its_grace_waits_and_ends_with_0(run: Run, world: FakeWorld) -> None:
    world.leftover_ip(age_ms=60_000)
    ran = run("drift")
    assert (ran.status, "wait 14 min" in ran.out) == (0, True)


def test_exit_zero_hides_drift(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    assert run("drift", "--exit-zero").status == 0


def test_exit_zero_hides_no_gap(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    world.cloud_port.broken[Kind.VOLUME, ZONE] = "HTTP 503"
    assert run("drift", "--exit-zero").status == 7


def test_unmanaged_resources_never_count(run: Run, world: FakeWorld) -> None:
    world.stranger()
    ran = run("drift")
    assert (ran.status, "unmanaged: 1 resource" in ran.out) == (0, True)


def test_a_zone_that_was_not_read_ends_with_7_and_is_named(run: Run, world: FakeWorld) -> None:
    world.cloud_port.broken[Kind.IP, ZONE] = "HTTP 503"
    ran = run("drift")
    assert (ran.status, f"not read: inventory ip {ZONE}: HTTP 503" in ran.out) == (7, True)


def test_a_gap_wins_over_drift(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    world.cloud_port.broken[Kind.SERVER, ZONE] = "HTTP 503"
    assert run("drift").status == 7


def test_a_stack_that_was_not_read_ends_with_7(run: Run, world: FakeWorld) -> None:
    world.engine_port.unreadable[STACK] = "the backend does not answer"
    ran = run("drift")
    assert (ran.status, "the backend does not answer" in ran.out) == (7, True)


def test_a_locked_stack_ends_with_7(run: Run, world: FakeWorld) -> None:
    world.engine_port.add(StackState(STACK, "s1", 0, locks=(Lock(created_by="eve@host"),)))
    assert run("drift").status == 7


def test_a_refused_key_ends_with_3_and_says_so_on_stderr(run: Run, world: FakeWorld) -> None:
    world.cloud_port.unauthorised = True
    ran = run("drift")
    assert (ran.status, ran.err.count("error[RC0300]")) == (3, 1)


def test_drift_writes_one_sweep_row_and_takes_no_lease(run: Run, world: FakeWorld) -> None:
    run("drift")
    assert ([sweep.trigger for sweep in world.store_port.sweeps], world.store_port.token) == (["drift"], 0)


@pytest.mark.parametrize("code", ["RC0201", "RC0203"])
def test_without_its_database_drift_runs_says_so_and_ends_with_7(run: Run, world: FakeWorld, code: str) -> None:
    world.leftover_ip()
    world.broken_store = StoreError("gone", code=code)
    ran = run("drift")
    assert ran.status == 7
    assert "detached" in ran.out
    assert f"not read: memory: {code}: gone" in ran.out
    assert f"warning: {code}: gone; going on without memory" in ran.err


def test_a_read_only_database_is_a_sweep_without_memory(run: Run, world: FakeWorld) -> None:
    world.store_port.read_only = True
    ran = run("drift")
    assert (ran.status, "this sweep is not remembered" in ran.err) == (7, True)


def test_no_store_neither_reads_nor_writes(run: Run, world: FakeWorld) -> None:
    world.broken_store = StoreError("must not be asked")
    ran = run("drift", "--no-store")
    assert (ran.status, "must not be asked" in ran.out + ran.err) == (7, False)


# -- several scopes


def test_one_bad_scope_does_not_blind_the_others(run: Run, world: FakeWorld) -> None:
    world.scopes = (scope_named("demo"), scope_named("gpu", 2))
    world.broken_clouds["gpu"] = CloudError("unreachable")
    ip = world.leftover_ip()
    ran = run("drift")
    assert ran.status == 1
    assert ip.id[:8] in ran.out
    assert "scope gpu was not swept" in ran.out


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ReconcilerError("x"), 1),
        (AuthenticationError("x"), 3),
        (None, 2),
    ],
)
def test_the_worst_scope_decides_the_status(
    run: Run, world: FakeWorld, error: ReconcilerError | None, status: int
) -> None:
    world.scopes = (scope_named("demo"), scope_named("gpu", 2))
    world.leftover_ip()
    if error is not None:
        world.broken_clouds["gpu"] = error
    assert run("drift").status == status


def test_a_scope_can_be_chosen(run: Run, world: FakeWorld) -> None:
    world.scopes = (scope_named("demo"), scope_named("gpu", 2))
    ran = run("drift", "--scope", "gpu", "-j")
    assert [entry["name"] for entry in ran.document["scopes"]] == ["gpu"]


def test_an_unknown_scope_is_a_usage_error(run: Run) -> None:
    ran = run("drift", "--scope", "nope")
    assert (ran.status, "error[RC0109]" in ran.err, "declares demo" in ran.err) == (64, True, True)


# -- outputs


def test_json_satisfies_the_published_schema(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    world.stranger()
    world.vanished_ip()
    document = run("drift", "-j").document
    jsonschema.validate(document, json.loads(drift_schema()), jsonschema.Draft202012Validator)
    assert document["exit_code"] == 2
    assert document["summary"]["detached"] == 1


def test_stdout_carries_the_result_and_nothing_else(run: Run, world: FakeWorld) -> None:
    world.broken_store = StoreError("down")
    assert run("drift", "-j").document["schema_version"] == 1


def test_several_outputs_in_one_run(run: Run, tmp_path: Path) -> None:
    ran = run("drift", "-o", "console", "-o", "json=drift.json")
    assert "total:" in ran.out
    assert json.loads((tmp_path / "drift.json").read_text())["exit_code"] == 0


def test_two_outputs_on_stdout_are_refused(run: Run) -> None:
    assert run("drift", "-o", "console", "-j").status == 64


def test_an_unknown_format_is_refused(run: Run) -> None:
    assert run("drift", "-o", "xml").status == 64


def test_a_file_that_cannot_be_written_is_an_error(run: Run) -> None:
    ran = run("drift", "-o", "json=/nonexistent/drift.json")
    assert (ran.status, "error[RC0105]" in ran.err) == (1, True)


def test_hostile_names_reach_neither_the_terminal_nor_the_json_raw(run: Run, world: FakeWorld) -> None:
    evil = 'x\x1b[31m\u202e"\n[bold]y'
    world.stranger(evil)
    console, machine = run("drift", "-v"), run("drift", "-j")
    for bad in ("\x1b[31m", "\u202e"):
        assert bad not in console.out
        assert bad not in machine.out
    assert "[bold]y" in console.out
    names = [subject["name"] for finding in machine.document["findings"] for subject in finding["subjects"]]
    assert evil in names


def test_quiet_leaves_stderr_empty(run: Run) -> None:
    assert run("drift", "-q").err == ""


def test_options_count_before_and_after_the_command(run: Run) -> None:
    assert run("-q", "drift").err == ""


def test_colour_is_there_when_it_is_asked_for(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    assert "\x1b[" in run("drift", "--color", "always").out
    assert "\x1b[" not in run("drift").out


def test_without_a_place_for_a_database_drift_goes_on_without_memory(run: Run, world: FakeWorld) -> None:
    world.database_url = None
    ran = run("drift")
    assert (ran.status, "going on without memory" in ran.err) == (7, True)

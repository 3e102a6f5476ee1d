"""`drift`, `plan` and `apply` on a simulated cloud with rows, from the command line to the table and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.composition import Runtime, make_records
from reconciler.cli.main import main
from reconciler.cli.options import Globals
from reconciler.config.settings import OutputSettings, PulumiSettings, Settings, StateSettings
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import StoreError
from reconciler.kernel.executor import Executor, SerialExecutor
from reconciler.kernel.randomness import Randomness, SeededRandomness
from reconciler.model.scope import Scope
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import Engine
from reconciler.ports.records import Records
from reconciler.ports.store import Lease, Store
from tests.apply.rig import STACK, Rig
from tests.records.staff import W1, fail, intend, machine, recorded, rows, sql, staffed


@dataclass
class Adapters:
    """The rig's world behind the composition root: everything but the Pulumi engine is the product's own."""

    rig: Rig
    adapter: str = "native"
    seed: int = 5
    broken: StoreError | None = None

    def clock(self) -> Clock:
        return self.rig.clock

    def randomness(self) -> Randomness:
        self.seed += 1
        return SeededRandomness(self.seed)

    def executor(self) -> Executor:
        return SerialExecutor()

    def settings(self, options: Globals, *, need_scopes: bool) -> Settings:
        return Settings(
            scopes=(self.rig.scope,),
            state=StateSettings(stacks=(STACK,), work_dir=Path.cwd()),
            pulumi=PulumiSettings(),
            output=OutputSettings(),
            limits=self.rig.scope.limits,
            database_url=self.rig.url,
            records_adapter=self.adapter,
        )

    def cloud(self, scope: Scope, runtime: Runtime) -> Cloud:
        return self.rig.new_cloud()

    def engine(self, runtime: Runtime) -> Engine:
        return self.rig.engine

    def store(self, runtime: Runtime) -> Store:
        if self.broken is not None:
            raise self.broken
        return self.rig.new_store()

    def records(self, runtime: Runtime, store: Store | None, reason: str | None) -> Records:
        return make_records(self.adapter, store, reason)

    def schema(self, runtime: Runtime) -> str | None:
        return None

    def lease(self, scope: Scope, runtime: Runtime) -> Lease | None:
        return None


@dataclass
class Desk:
    rig: Rig
    adapters: Adapters
    run: Callable[..., tuple[int, str]]

    def drift(self) -> tuple[int, list[tuple[str, str]]]:
        """Exit status, and the findings that are not about strangers."""
        status, out = self.run("drift", "-j")
        found = json.loads(out)["findings"]
        return status, [(one["kind"], one["verdict"]) for one in found if one["kind"] != "unmanaged"]

    def planned(self) -> list[tuple[str, str | None]]:
        _, out = self.run("plan", "-j")
        return [(one["kind"], one.get("worker")) for one in json.loads(out)["plan"]["actions"]]

    def apply(self, *flags: str) -> tuple[int, list[tuple[str, str]]]:
        status, out = self.run("apply", "-y", "-j", *flags)
        outcomes = [one for run in json.loads(out)["runs"] for one in run["outcomes"]]
        return status, [(one["action"], one["status"]) for one in outcomes]


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    rig = staffed(tmp_path, replicas=1)
    adapters = Adapters(rig)

    def run(*argv: str) -> tuple[int, str]:
        capsys.readouterr()
        status = main(argv, adapters=adapters)
        return status, capsys.readouterr().out

    made = Desk(rig, adapters, run)
    run("apply", "-y", "--mode", "repair")
    run("drift")
    rig.clock.advance(7200)
    return made


def story(desk: Desk, *, finding: tuple[str, str], action: tuple[str, str | None], done: tuple[str, str]) -> None:
    """The difference is seen, planned, repaired, and then seen no more."""
    assert desk.drift() == (2, [finding])
    assert desk.planned() == [action]
    assert desk.apply() == (0, [done])
    assert desk.drift() == (0, [])


def test_an_unrecorded_worker_gets_its_row(desk: Desk) -> None:
    machine(desk.rig)
    assert desk.drift() == (0, [("unrecorded", "wait")])
    desk.rig.clock.advance(1000)
    story(desk, finding=("unrecorded", "act"), action=("record", W1), done=("record", "done"))
    assert rows(desk.rig) == [W1]


def test_a_create_whose_answer_was_lost_is_resolved(desk: Desk) -> None:
    intend(desk.rig)
    machine(desk.rig)
    assert desk.drift() == (0, [("unresolved-create", "wait")])
    desk.rig.clock.advance(1000)
    story(desk, finding=("unresolved-create", "act"), action=("attach", W1), done=("attach", "done"))


def test_a_create_that_made_nothing_is_torn_down(desk: Desk) -> None:
    intend(desk.rig)
    desk.rig.clock.advance(1000)
    story(desk, finding=("unresolved-create", "act"), action=("purge", W1), done=("purge", "done"))
    assert rows(desk.rig) == []


def test_the_row_of_a_machine_that_is_gone_is_closed(desk: Desk) -> None:
    made = recorded(desk.rig)
    desk.rig.stranger("kill_server", server="burst-1")
    desk.rig.stranger("delete_ip", ip=made["ip"])
    story(desk, finding=("missing", "act"), action=("purge", W1), done=("purge", "done"))


def test_a_failed_worker_goes_with_its_machine(desk: Desk) -> None:
    made = recorded(desk.rig)
    fail(desk.rig)
    story(desk, finding=("stale-row", "act"), action=("destroy", W1), done=("destroy", "done"))
    assert not any(desk.rig.exists(made[part]) for part in ("server", "volume", "ip"))
    assert rows(desk.rig) == []


def test_in_mode_repair_a_failed_workers_machine_is_left_alone(desk: Desk) -> None:
    made = recorded(desk.rig)
    fail(desk.rig)
    status, outcomes = desk.apply("--mode", "repair")
    assert (status, outcomes, desk.rig.exists(made["server"])) == (2, [], True)


def test_a_fleet_that_no_stack_declares_is_asked_about_and_its_workers_stay(desk: Desk) -> None:
    made = recorded(desk.rig)
    held = desk.rig.engine.states[STACK]
    outputs = {"reconciler": {**held.outputs["reconciler"], "fleets": held.outputs["reconciler"]["fleets"][:1]}}
    desk.rig.engine.states[STACK] = replace(held, outputs=outputs)
    assert desk.drift() == (2, [("undeclared", "ask")])
    assert desk.planned() == []
    assert desk.apply() == (2, [])
    assert desk.rig.exists(made["server"])


def test_rows_that_cannot_be_read_end_with_7_and_nothing_is_left_over(desk: Desk) -> None:
    machine(desk.rig)
    desk.rig.stranger("stop_server", server="burst-1")
    desk.rig.sweep()
    desk.rig.clock.advance(7200)
    assert desk.drift() == (2, [("orphan", "ask")])
    sql(desk.rig, "DROP VIEW orphan_resources")
    sql(desk.rig, "ALTER TABLE workers RENAME TO elsewhere")
    status, found = desk.drift()
    assert status == 7
    assert ("incomplete", "unknown") in found
    assert ("orphan", "unknown") in found


def test_without_a_database_the_rows_are_unread_and_not_missing(desk: Desk) -> None:
    machine(desk.rig)
    desk.adapters.broken = StoreError("down", code="RC0201")
    status, out = desk.run("drift", "-j")
    document = json.loads(out)
    assert (status, document["complete"]) == (7, False)
    assert {gap["ledger"] for gap in document["incomplete"]} >= {"records", "memory"}
    assert "RC0561" in json.dumps(document["incomplete"])


def test_where_no_rows_are_kept_a_worker_is_a_machine_like_any_other(desk: Desk) -> None:
    desk.adapters.adapter = "none"
    machine(desk.rig)
    assert desk.drift() == (0, [("orphan", "wait")])


def test_the_console_names_worker_and_fleet(desk: Desk) -> None:
    intend(desk.rig)
    desk.rig.clock.advance(1000)
    _, shown = desk.run("drift")
    assert "unresolved-create" in shown
    assert f"worker fr-par-1/{W1[:8]} burst" in " ".join(shown.split())
    _, plan = desk.run("plan")
    assert f"1. purge worker {W1[:8]}" in plan


def test_explain_says_what_the_row_says(desk: Desk) -> None:
    made: dict[str, Any] = recorded(desk.rig)
    _, shown = desk.run("explain", made["server"])
    assert f"records: worker {W1} of fleet burst, bootstrapping" in " ".join(shown.split())
    fail(desk.rig)
    _, shown = desk.run("explain", W1)
    assert "stale-row" in shown
    assert f"row of worker {W1}: failed" in " ".join(shown.split())

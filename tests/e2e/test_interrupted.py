"""A deploy that is really killed, with the real engine and provider: seen at once, decided in time, settled for good.

The CLI is killed while the answer to its `POST /servers` is on its way: the machine exists, and no state knows it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.engine import processes
from reconciler.model.finding import ActionKind, Finding, FindingKind, Verdict
from reconciler.model.plan import ActionStatus, Mode, RunOutcome
from reconciler.model.resources import Kind
from reconciler.simulator import PROJECT_ID, FaultRule
from reconciler.store import SqlStore
from tests.e2e.adoption_parts.site import FULL_NAME, STACK, Site
from tests.e2e.product import SCOPE_UUID, Product
from tests.e2e.rig import ROOT, missing_tool

pytestmark = pytest.mark.engine

SERVERS = "/instance/v1/zones/*/servers"
OWNER = ["reconciler", f"reconciler:scope={SCOPE_UUID}", "reconciler:fleet=linux", "reconciler:revision=0123456789ab"]
DEADLINE_SECONDS = 601


def worker(slot: int) -> dict[str, Any]:
    place = {"zone": "fr-par-1", "type": "DEV1-S", "image": "ubuntu_noble"}
    return {"type": "server", "name": f"linux-{slot}", "args": {**place, "tags": [*OWNER, f"reconciler:slot={slot}"]}}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """One worker is deployed."""
    tool = missing_tool()
    if tool is not None:
        pytest.skip(f"no {tool} on PATH: `make test` brings one")
    with Site(tmp_path) as made:
        made.describe([worker(0)])
        made.begin()
        made.deploy()
        yield made
        assert made.strays() == []


@pytest.fixture
def store(site: Site) -> Iterator[SqlStore]:
    opened = product(site).store()
    product(site).sweep(opened)  # so that the memory is older than what follows
    yield opened
    opened.close()


def product(site: Site) -> Product:
    return Product(site.env, site.project)


def kill_deploy(site: Site, *slots: int, action: str = "hold_answer", plugin: bool = False) -> int:
    """Deploy these as well, and SIGKILL the CLI in the middle of their creates. The pid of the CLI."""
    site.describe([worker(0), *map(worker, slots)])
    site.simulator.faults.set([FaultRule(method="POST", path=SERVERS, action=action)])  # type: ignore[arg-type]
    argv = ["pulumi", "up", "--yes", "--skip-preview", "--stack", FULL_NAME, "--non-interactive"]
    child = site.start(argv, cwd=site.project)

    def held() -> bool:
        return int(site.simulator.faults.counts()[0]["fired"]) >= len(slots)

    assert processes.wait_until(held, seconds=60, clock=site.clock)
    os.kill(child.pid, signal.SIGKILL)
    if plugin:
        assert processes.kill_session(child.pid, clock=site.clock)
    child.wait()
    return child.pid


def end_plugin(site: Site, cli: int) -> None:
    """The provider finishes what it does, and is ended then."""
    site.simulator.faults.set([])
    assert processes.wait_until(lambda: all(s.state == "running" for s in servers(site)), seconds=60, clock=site.clock)
    assert processes.kill_session(cli, clock=site.clock)


def servers(site: Site) -> list[Any]:
    with site.simulator.editing() as world:
        return list(world.servers)


def fresh(site: Site) -> Any:
    """The server that no state holds."""
    held = set(site.provider_ids().values())
    (found,) = [server for server in servers(site) if server.id not in held]
    return found


def reconciler(site: Site, *argv: str) -> subprocess.CompletedProcess[str]:
    """The command line, as a process, in the project's directory, without a configuration."""
    return subprocess.run(
        [sys.executable, "-m", "reconciler.cli.main", *argv],
        env={**site.env, "PYTHONPATH": str(ROOT)},
        cwd=site.project,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def interrupted(site: Site, store: SqlStore) -> list[Finding]:
    _, findings = product(site).sweep(store)
    return [one for one in findings if one.kind is FindingKind.INTERRUPTED]


def apply(site: Site, store: SqlStore) -> RunOutcome:
    plan = product(site).plan(store, mode=Mode.REPAIR)
    with product(site).cloud() as cloud:
        return product(site).applier(store, cloud).apply(plan)


def test_a_clean_stack_passes_preflight(site: Site) -> None:
    ran = reconciler(site, "preflight", "prod")
    assert (ran.returncode, "may run" in ran.stdout) == (0, True), ran.stdout + ran.stderr


def test_a_deploy_whose_cli_was_killed_is_seen_at_once_and_settled_in_time(site: Site, store: SqlStore) -> None:
    cli = kill_deploy(site, 1)
    server = fresh(site)

    # At once: the lock is there and the plugin lives. Preflight stops the next deploy and names the machine.
    assert [one.verdict for one in interrupted(site, store)] == [Verdict.WAIT]
    ran = reconciler(site, "preflight", STACK, "-j")
    assert ran.returncode == 6
    (stack,) = json.loads(ran.stdout)["stacks"]
    assert [one["kind"] for one in stack["problems"]] == ["lock", "interrupted", "twin"]
    assert "that process is gone" in stack["problems"][0]["text"]
    named = stack["problems"][2]["resource"]
    assert (named["kind"], named["zone"], named["id"]) == ("server", "fr-par-1", server.id)

    # The lock of the dead CLI goes, exactly it; its plugin is warned of, and holds up the decision.
    ran = reconciler(site, "unlock", STACK, "-y", "--wait", "0s")
    assert (ran.returncode, site.lock_files()) == (0, []), ran.stderr
    assert "pulumi-resource-scaleway" in ran.stderr
    (finding,) = interrupted(site, store)
    assert (finding.verdict, "pulumi-resource-scaleway" in finding.reason) == (Verdict.WAIT, True)

    # The plugin is gone, but the create deadline has not passed.
    end_plugin(site, cli)
    (finding,) = interrupted(site, store)
    assert (finding.verdict, finding.wait_until_ms is not None) == (Verdict.WAIT, True)
    assert server.id in {one.id for one in finding.subjects}
    assert reconciler(site, "preflight", STACK).returncode == 6

    # In time: adopted. One machine, in the state, nothing pending, no lock, and nothing for `up` to do.
    site.clock.advance(DEADLINE_SECONDS)
    run = apply(site, store)
    assert [(one.action.kind, one.status) for one in run.outcomes] == [(ActionKind.ADOPT, ActionStatus.DONE)], run
    assert len(servers(site)) == 2
    assert site.provider_ids()["linux-1"] == server.id
    assert (site.state().pending, site.lock_files()) == ((), [])
    site.require_quiet()
    assert reconciler(site, "preflight", STACK).returncode == 0


def test_a_deploy_that_was_killed_with_its_plugin_is_adopted_once_the_machine_is_as_declared(
    site: Site, store: SqlStore
) -> None:
    """Nobody was left to switch it on."""
    kill_deploy(site, 1, plugin=True)
    site.simulator.faults.set([])
    server = fresh(site)
    assert reconciler(site, "preflight", STACK).returncode == 6
    assert reconciler(site, "unlock", STACK, "-y", "--wait", "0s").returncode == 0
    assert [one.verdict for one in interrupted(site, store)] == [Verdict.WAIT]
    site.clock.advance(DEADLINE_SECONDS)
    (outcome,) = apply(site, store).outcomes
    assert (outcome.status, outcome.code) == (ActionStatus.SKIPPED, "RC0640"), outcome.text
    site.stranger("start_server", server=server.id)
    (outcome,) = apply(site, store).outcomes
    assert outcome.status is ActionStatus.DONE, outcome.text
    assert (site.provider_ids()["linux-1"], len(servers(site))) == (server.id, 2)
    site.require_quiet()


def test_two_machines_for_one_slot_are_a_persons_to_choose_from(site: Site, store: SqlStore) -> None:
    """The next deploy after a killed one makes a second machine, and is killed as well."""
    for _ in range(2):
        cli = kill_deploy(site, 1)
        end_plugin(site, cli)
        assert reconciler(site, "unlock", STACK, "-y", "--wait", "0s").returncode == 0
    held = set(site.provider_ids().values())
    candidates = {server.id for server in servers(site)} - held
    assert len(candidates) == 2
    assert {one.verdict for one in interrupted(site, store)} == {Verdict.WAIT}
    site.clock.advance(DEADLINE_SECONDS)
    found = interrupted(site, store)
    assert {one.verdict for one in found} == {Verdict.ASK}
    assert candidates <= {subject.id for one in found for subject in one.subjects}
    before = site.cloud_text(), site.state().pending
    assert apply(site, store).outcomes == ()
    assert (site.cloud_text(), site.state().pending) == before
    assert reconciler(site, "preflight", STACK).returncode == 6


def test_creates_that_never_arrived_are_cleared_without_a_call_to_the_cloud(site: Site, store: SqlStore) -> None:
    kill_deploy(site, 1, 2, action="hold", plugin=True)
    assert len(servers(site)) == 1
    assert reconciler(site, "unlock", STACK, "-y", "--wait", "0s").returncode == 0
    assert [one.verdict for one in interrupted(site, store)] == [Verdict.WAIT, Verdict.WAIT]
    site.clock.advance(DEADLINE_SECONDS)
    calls = len(site.mutating_calls())
    (outcome,) = apply(site, store).outcomes
    assert (outcome.action.kind, outcome.status) == (ActionKind.CLEAR, ActionStatus.DONE), outcome.text
    assert site.mutating_calls()[calls:] == []
    state = site.state()
    assert (state.pending, state.locks) == ((), ())
    assert {entry.name for entry in state.resources if (ref := entry.ref) and ref.kind is Kind.SERVER} == {"linux-0"}
    assert reconciler(site, "preflight", STACK).returncode == 0


CONFIG = f"""
[state]
stacks = ["{STACK}"]

[[scope]]
name = "ci"
uuid = "{SCOPE_UUID}"
project = "{PROJECT_ID}"
zones = ["fr-par-1"]
"""


def test_the_command_adopts_a_machine_that_the_state_forgot(site: Site) -> None:
    site.describe([worker(0), worker(1)])
    site.deploy()
    site.forget([next(urn for urn in site.refs() if urn.endswith("::linux-1"))])
    server = fresh(site)
    (site.project / "reconciler.toml").write_text(CONFIG)
    ran = reconciler(site, "adopt", server.id[:8], "--dry-run")
    assert (ran.returncode, "would change nothing but the state" in ran.stderr) == (0, True), ran.stderr
    ran = reconciler(site, "adopt", server.id[:8], "-y", "-j")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (outcome,) = json.loads(ran.stdout)["runs"][0]["outcomes"]
    assert (outcome["action"], outcome["status"]) == ("adopt", "done")
    assert site.provider_ids()["linux-1"] == server.id
    site.require_quiet()

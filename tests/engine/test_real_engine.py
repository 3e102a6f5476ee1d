"""The real Pulumi CLI and the real Scaleway provider, before a simulated cloud."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import pytest

from reconciler.engine import processes
from reconciler.engine.cli import EngineLimits
from reconciler.kernel.clock import SystemClock
from reconciler.kernel.errors import AuthenticationError, EngineError, RefusedError
from reconciler.model.state import SECRET, StackState
from reconciler.ports.engine import ChildProcess, RefreshResult
from reconciler.simulator.faults import rate_limited
from tests.engine.real import LIMITS, RealWorld

pytestmark = [pytest.mark.engine, pytest.mark.timeout(180)]

CLOCK = SystemClock()
IPS = "/instance/v1/zones/*/ips/"


def urns(state: StackState) -> dict[str, str]:
    return {item.name: item.urn for item in state.resources if item.ref is not None}


def uuid(state: StackState, name: str) -> str:
    return next(item.ref.id for item in state.resources if item.name == name and item.ref is not None)


def refresh(real: RealWorld, *targets: str, proved: tuple[str, ...] = (), **more: Any) -> RefreshResult:
    engine = real.engine(**more)
    return engine.refresh("proj/dev", targets, proved_absent=proved, on_child=lambda child: None)


def lose(real: RealWorld, name: str, state: StackState) -> None:
    """Somebody deletes an IP in the console."""
    with real.simulator.editing() as world:
        world.ips.remove(uuid(state, name))


def test_a_stack_is_read_with_its_resources_and_without_its_secrets(real: RealWorld) -> None:
    real.up(ips=["ip0"], secret_ips=["ip1"], servers={"w0": "ip0"}, volumes=["v0"])
    engine = real.engine()
    assert engine.stacks(["*/dev"]) == ("proj/dev",)
    state = engine.read("proj/dev")
    assert urns(state).keys() == {"ip0", "ip1", "w0", "v0"}
    assert state.outputs["names"] == ["ip0"]
    assert state.outputs["password"] is SECRET
    assert state.by_urn[urns(state)["w0"]].inputs["cloudInit"] is SECRET
    assert state.by_urn[urns(state)["ip1"]].inputs["tags"] is SECRET
    assert state.locks == ()
    assert engine.read("proj/dev").serial == state.serial


def test_reading_needs_no_passphrase(real: RealWorld) -> None:
    real.up(secret_ips=["ip0"])
    engine = real.engine(PULUMI_CONFIG_PASSPHRASE="wrong")
    assert urns(engine.read("proj/dev")).keys() == {"ip0"}


def test_a_world_that_agrees_is_same_by_the_real_provider(real: RealWorld) -> None:
    """A server read takes a 404 of the Instance API for its SBS volume: an ordinary miss passes the gate."""
    real.up(ips=["ip0"], servers={"w0": "ip0"}, volumes=["v0"], nics={"n0": "w0"})
    state = real.state()
    assert urns(state).keys() == {"ip0", "w0", "v0", "n0", "n0-net"}
    found = real.engine().preview_refresh("proj/dev", urns(state).values())
    assert found.failed == {}
    assert set(found.operations.values()) == {"same"}
    before = len(real.mutating_calls())
    assert set(refresh(real, *urns(state).values()).operations.values()) == {"same"}
    assert len(real.mutating_calls()) == before


def test_a_gone_ip_is_taken_out_of_state_and_nothing_else_is(real: RealWorld) -> None:
    real.up(ips=["ip0", "ip1"])
    state = real.state()
    lose(real, "ip0", state)
    ip0, ip1 = urns(state)["ip0"], urns(state)["ip1"]
    assert real.engine().preview_refresh("proj/dev", [ip0, ip1]).operations == {ip0: "delete", ip1: "same"}
    found = refresh(real, ip0, proved=(ip0,))
    assert found.operations == {ip0: "delete"}
    assert 0 < found.lock_seconds < 60
    assert urns(real.state()).keys() == {"ip1"}
    assert real.lock_files() == []


def test_a_gone_server_is_taken_out_of_state(real: RealWorld) -> None:
    real.up(ips=["ip0"], servers={"w0": "ip0"})
    state = real.state()
    with real.simulator.editing() as world:
        world.servers.remove(uuid(state, "w0"))
    w0 = urns(state)["w0"]
    assert refresh(real, w0, proved=(w0,)).operations == {w0: "delete"}
    assert urns(real.state()).keys() == {"ip0"}


def test_a_delete_that_is_not_proved_refuses_and_writes_nothing(real: RealWorld) -> None:
    real.up(ips=["ip0", "ip1"])
    state = real.state()
    lose(real, "ip0", state)
    with pytest.raises(RefusedError) as caught:
        refresh(real, *urns(state).values(), proved=(urns(state)["ip1"],))
    assert caught.value.code == "RC0610"
    assert real.state().serial == state.serial


class TestAnIpThatTheTokenMayNotSee:
    def test_the_provider_itself_drops_it(self, real: RealWorld) -> None:
        """The control: without the gate a 403 takes a living IP out of state (R009)."""
        real.up(ips=["ip0"])
        state = real.state()
        real.fault(method="GET", path=IPS + "*", status=403, body="permissions_denied")
        project = real.root / "project"
        project.mkdir()
        (project / "Pulumi.yaml").write_text("name: proj\nruntime: python\n")
        salt = real.raw()["checkpoint"]["latest"]["secrets_providers"]["state"]["salt"]
        (project / "Pulumi.dev.yaml").write_text(f"encryptionsalt: {salt}\n")
        args = ["--stack", "organization/proj/dev", "--run-program=false", "--yes", "--skip-preview"]
        assert real.pulumi("refresh", *args, cwd=project).returncode == 0
        assert urns(real.state()) == {}
        with real.simulator.editing() as world:
            assert world.ips.get(uuid(state, "ip0")) is not None

    def test_through_the_gate_it_stays(self, real: RealWorld) -> None:
        real.up(ips=["ip0"])
        state = real.state()
        real.fault(method="GET", path=IPS + "*", status=403, body="permissions_denied")
        ip0 = urns(state)["ip0"]
        found = real.engine().preview_refresh("proj/dev", [ip0])
        assert found.operations == {}
        assert "403" in found.failed[ip0]
        with pytest.raises(EngineError) as caught:
            refresh(real, ip0)
        assert caught.value.code == "RC0512"
        assert real.state().serial == state.serial

    def test_it_stays_when_the_right_is_lost_between_preview_and_refresh(self, real: RealWorld) -> None:
        real.up(ips=["ip0", "ip1"])
        state = real.state()
        ip0, ip1 = urns(state)["ip0"], urns(state)["ip1"]
        path = IPS + uuid(state, "ip0")
        real.fault(method="GET", path=path, skip=1, status=403, body="permissions_denied")
        found = refresh(real, ip0, ip1)
        assert found.operations == {ip1: "same"}
        assert found.failed.keys() == {ip0}
        assert urns(real.state()).keys() == {"ip0", "ip1"}

    def test_one_that_is_proved_absent_goes_although_the_api_says_403(self, real: RealWorld) -> None:
        real.up(ips=["ip0"])
        state = real.state()
        lose(real, "ip0", state)
        real.fault(method="GET", path=IPS + "*", status=403, body="permissions_denied")
        ip0 = urns(state)["ip0"]
        assert refresh(real, ip0, proved=(ip0,)).operations == {ip0: "delete"}


@pytest.mark.parametrize("status", [404, 410, 400, 409, 412])
def test_a_living_ip_stays_whatever_the_api_says_in_the_refresh(real: RealWorld, status: int) -> None:
    """Even a 404: it is not proved, so the world moved, and the next sweep will prove or refute it."""
    real.up(ips=["ip0", "ip1"])
    state = real.state()
    body = "not_found:instance_ip" if status == 404 else "precondition_failed" if status == 412 else "internal"
    real.fault(method="GET", path=IPS + uuid(state, "ip0"), skip=1, status=status, body=body)
    found = refresh(real, *urns(state).values())
    assert found.failed.keys() == {urns(state)["ip0"]}
    assert urns(real.state()).keys() == {"ip0", "ip1"}


def test_a_busy_api_is_asked_again_by_the_provider(real: RealWorld) -> None:
    real.up(ips=["ip0"])
    state = real.state()
    real.simulator.faults.add(rate_limited(method="GET", path=IPS + "*", nth=(2,)))
    found = refresh(real, *urns(state).values())
    assert (list(found.operations.values()), found.failed) == (["same"], {})


def test_a_refused_credential_is_an_authentication_error_and_changes_nothing(real: RealWorld) -> None:
    real.up(ips=["ip0"])
    state = real.state()
    with pytest.raises(AuthenticationError):
        refresh(real, *urns(state).values(), SCW_SECRET_KEY="00000000-0000-4000-8000-000000000000")
    assert real.state().serial == state.serial


def test_an_explicit_provider_reads_through_the_gate_too(real: RealWorld) -> None:
    """Its own `apiUrl` and secret key are in state; the URL that the environment names wins."""
    defaults = real.env
    explicit = {
        "api_url": real.url,
        "access_key": defaults["SCW_ACCESS_KEY"],
        "project_id": defaults["SCW_DEFAULT_PROJECT_ID"],
        "organization_id": defaults["SCW_DEFAULT_ORGANIZATION_ID"],
        "zone": "fr-par-1",
        "region": "fr-par",
    }
    real.up(ips=["ip0"], explicit=explicit)
    state = real.state()
    real.fault(method="GET", path=IPS + "*", status=403, body="permissions_denied")
    for key in list(os.environ):
        assert not key.startswith("SCW_"), "the test's own environment must not name an API"
    engine = real.engine(SCW_API_URL="")
    assert engine.preview_refresh("proj/dev", urns(state).values()).failed.keys() == {urns(state)["ip0"]}


def test_the_encryption_of_the_state_is_what_it_was(real: RealWorld) -> None:
    """A project directory without the stack's settings would mint a new salt and encrypt the state anew."""
    real.up(ips=["ip0"], secret_ips=["ip1"])
    before = real.raw()["checkpoint"]["latest"]["secrets_providers"]
    refresh(real, *urns(real.state()).values())
    assert real.raw()["checkpoint"]["latest"]["secrets_providers"] == before


def test_a_configured_directory_without_settings_does_not_change_the_encryption(real: RealWorld) -> None:
    real.up(secret_ips=["ip0"])
    before = real.raw()["checkpoint"]["latest"]["secrets_providers"]
    project = real.root / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text("name: proj\nruntime: python\n")
    engine = real.engine(work_dirs={"proj": project})
    engine.refresh("proj/dev", urns(real.state()).values(), proved_absent=(), on_child=lambda child: None)
    assert real.raw()["checkpoint"]["latest"]["secrets_providers"] == before


@pytest.mark.parametrize("passphrase", ["wrong", ""])
def test_without_the_passphrase_a_refresh_fails_before_it_writes(real: RealWorld, passphrase: str) -> None:
    real.up(ips=["ip0"], secret_ips=["ip1"])
    state = real.state()
    with pytest.raises(EngineError) as caught:
        refresh(real, *urns(state).values(), PULUMI_CONFIG_PASSPHRASE=passphrase)
    assert caught.value.code == "RC0511"
    assert real.state().serial == state.serial


class TestWhileAnUpRuns:
    def test_reading_sees_the_lock_and_takes_none(self, real: RealWorld) -> None:
        real.up(ips=["ip0"])
        real.fault(name="held", method="POST", path="/instance/v1/zones/*/ips", action="hold")
        deploy = real.start_up(ips=["ip0", "ip1"])
        real.await_held()
        taken = real.lock_files()
        assert len(taken) == 1
        state = real.state()
        (lock,) = state.locks
        assert lock.pid is not None
        assert processes.find(lock.pid) is not None
        ip0 = urns(state)["ip0"]
        assert real.engine().preview_refresh("proj/dev", [ip0]).operations == {ip0: "same"}
        assert real.lock_files() == taken
        with pytest.raises(RefusedError) as caught:
            refresh(real, ip0)
        assert caught.value.code == "RC0611"
        assert f"pid {lock.pid}" in caught.value.message
        real.simulator.faults.release("held")
        output, _ = deploy.communicate(timeout=60)
        assert deploy.returncode == 0, output
        assert urns(real.state()).keys() == {"ip0", "ip1"}

    def test_a_killed_one_leaves_its_lock_and_a_pending_create(self, real: RealWorld) -> None:
        real.up(ips=["ip0"])
        real.fault(name="held", method="POST", path="/instance/v1/zones/*/ips", action="hold")
        deploy = real.start_up(ips=["ip0", "ip1"])
        seen = processes.wait_until(lambda: bool(real.lock_files() and real.state().pending), seconds=60, clock=CLOCK)
        assert seen
        assert processes.kill_session(deploy.pid, clock=CLOCK)
        real.simulator.faults.release("held")
        deploy.communicate(timeout=60)
        state = real.state()
        assert [(item.operation, item.resource.name) for item in state.pending] == [("creating", "ip1")]
        assert len(state.locks) == 1


def hold_refresh(real: RealWorld, state: StackState) -> None:
    """The second read of ip0, the one under the lock, gets no answer."""
    real.fault(name="held", method="GET", path=IPS + uuid(state, "ip0"), skip=1, action="hold")


def test_a_refresh_that_hangs_is_ended_at_its_deadline_and_its_lock_is_gone(real: RealWorld) -> None:
    real.up(ips=["ip0"])
    state = real.state()
    hold_refresh(real, state)
    limits = EngineLimits(refresh_seconds=3, grace_seconds=1)
    with pytest.raises(EngineError) as caught:
        refresh(real, *urns(state).values(), limits=limits)
    assert caught.value.code == "RC0502"
    assert real.lock_files() == []
    real.simulator.faults.release("held")
    assert real.state().serial == state.serial


def test_a_refresh_that_is_interrupted_from_the_keyboard_leaves_no_process_and_no_lock(real: RealWorld) -> None:
    real.up(ips=["ip0"])
    state = real.state()
    hold_refresh(real, state)
    children: list[ChildProcess] = []

    def interrupt(child: ChildProcess) -> None:
        children.append(child)
        real.await_held()
        assert len(real.lock_files()) == 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        real.engine(limits=EngineLimits(grace_seconds=0)).refresh(
            "proj/dev", urns(state).values(), proved_absent=(), on_child=interrupt
        )
    real.simulator.faults.release("held")
    assert real.lock_files() == []
    assert real.strays() == []
    assert real.engine().await_child(children[0]) is True


def test_a_killed_run_with_a_killed_cli_is_settled_from_its_journal(real: RealWorld) -> None:
    """The lock stays and the provider lives on; both are ended, and another's lock is not."""
    real.up(ips=["ip0"])
    state = real.state()
    hold_refresh(real, state)
    script = real.root / "run.py"
    script.write_text(RUN)
    run = real.start([sys.executable, str(script), str(real.empty), *urns(state).values()], real.root)
    assert run.stdout is not None
    entry = json.loads(run.stdout.readline())
    child = ChildProcess(**{**entry, "argv": tuple(entry["argv"])})
    real.await_held()
    assert len(real.lock_files()) == 1
    run.send_signal(signal.SIGSTOP)  # with its gate, so that the refresh neither ends nor is cleaned up
    os.kill(child.pid, signal.SIGKILL)
    assert processes.wait_until(lambda: processes.find(child.pid) is None, seconds=10, clock=CLOCK)
    (ours,) = real.lock_files()
    assert processes.members(child.pid), "the provider lives on after its CLI"
    other = ours.with_name("other.json")
    other.write_text(json.dumps({"pid": 1, "username": "ci", "hostname": "elsewhere", "timestamp": ""}))
    assert real.engine().await_child(child) is True
    assert processes.members(child.pid) == []
    assert real.lock_files() == [other]
    run.kill()
    real.simulator.faults.release("held")
    other.unlink()
    assert refresh(real, *urns(state).values()).failed == {}


RUN = """
import dataclasses, json, os, sys
from pathlib import Path
from reconciler.engine.adapter import PulumiEngine

PulumiEngine(directory=Path(sys.argv[1])).refresh(
    "proj/dev", sys.argv[2:], proved_absent=(),
    on_child=lambda child: print(json.dumps(dataclasses.asdict(child)), flush=True),
)
"""


def test_a_run_that_is_killed_leaves_a_refresh_that_changes_nothing(real: RealWorld) -> None:
    """The gate dies with us: a refused connection is an error to the provider, and the CLI gives its lock back."""
    real.up(ips=["ip0"])
    state = real.state()
    lose(real, "ip0", state)
    hold_refresh(real, state)
    script = real.root / "run.py"
    script.write_text(RUN.replace("proved_absent=()", "proved_absent=sys.argv[2:]"))
    run = real.start([sys.executable, str(script), str(real.empty), urns(state)["ip0"]], real.root)
    assert run.stdout is not None
    entry = json.loads(run.stdout.readline())
    child = ChildProcess(**{**entry, "argv": tuple(entry["argv"])})
    real.await_held()
    assert len(real.lock_files()) == 1
    run.send_signal(signal.SIGKILL)
    run.wait()
    real.simulator.faults.release("held")
    assert real.engine(limits=LIMITS).await_child(child) is True
    assert real.lock_files() == []
    assert urns(real.state()).keys() == {"ip0"}


def test_pending_operations_other_than_creates_are_not_refreshed_away(real: RealWorld) -> None:
    real.up(ips=["ip0"])
    document = real.raw()
    latest = document["checkpoint"]["latest"]
    item = next(entry for entry in latest["resources"] if entry["type"] == "scaleway:instance/ip:Ip")
    created = {key: value for key, value in item.items() if key not in ("id", "outputs")}
    creating = {"type": "creating", "resource": {**created, "urn": item["urn"].replace("ip0", "ip9")}}
    latest["pending_operations"] = [creating, {"type": "updating", "resource": item}]
    real.checkpoint_file.write_text(json.dumps(document))
    with pytest.raises(RefusedError) as caught:
        refresh(real, item["urn"])
    assert caught.value.code == "RC0615"
    assert len(real.state().pending) == 2
    latest["pending_operations"] = [creating]
    real.checkpoint_file.write_text(json.dumps(document))
    assert refresh(real, item["urn"]).operations == {item["urn"]: "same"}
    assert [entry.operation for entry in real.state().pending] == ["creating"]


def test_a_stack_that_is_not_there_is_named(real: RealWorld) -> None:
    real.up(ips=["ip0"])
    with pytest.raises(EngineError) as caught:
        real.engine().read("proj/nope")
    assert caught.value.code == "RC0508"


def test_the_cli_exports_a_corrupt_checkpoint_without_a_word_and_we_refuse_it(real: RealWorld) -> None:
    real.up(ips=["ip0"])
    document = real.raw()
    document["checkpoint"]["latest"]["resources"].append(document["checkpoint"]["latest"]["resources"][-1])
    real.checkpoint_file.write_text(json.dumps(document))
    assert real.pulumi("stack", "export", "--stack", "organization/proj/dev").returncode == 0
    with pytest.raises(EngineError) as caught:
        real.state()
    assert caught.value.code == "RC0506"


def test_the_tools_are_found(real: RealWorld) -> None:
    info = real.engine().info()
    assert info.cli_version is not None
    assert info.plugin_path is not None

"""While somebody's `pulumi up` runs, nothing that it may own is acted on, and its lock is its own.

The update is real: a `pulumi up` that is held inside a create, before the cloud executes it or after, or a refresh that
is held while it reads. What lies around looks like work: a machine of the state that is gone, an address and a root
volume that leak, and the server that is just being made, which no state holds yet.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from reconciler.engine import processes
from reconciler.kernel.clock import SystemClock
from reconciler.kernel.errors import RefusedError
from reconciler.model.finding import Finding, FindingKind, Verdict
from reconciler.model.plan import ActionStatus, Plan
from reconciler.simulator import FaultRule
from tests.e2e.broken_fleet import Base, fleet, make_base
from tests.e2e.product import PROJECT, SCOPE_UUID, STACK
from tests.e2e.rig import Rig

pytestmark = pytest.mark.engine

CLOCK = SystemClock()
LEFTOVER_OR_GONE = (FindingKind.MISSING, FindingKind.DETACHED, FindingKind.ORPHAN)


@dataclass(frozen=True)
class Held:
    """An update that stands still, and the plan that was made before it began. `made`: the cloud
    has the new server already, and nobody was told."""

    rig: Rig
    update: subprocess.Popen[str]
    plan: Plan
    made: bool

    def release(self) -> str:
        self.rig.simulator.faults.release("held")
        text, _ = self.update.communicate(timeout=120)
        assert self.update.returncode == 0, text
        return text


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    return make_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(params=["before the create", "after the create", "refresh"])
def held(request: pytest.FixtureRequest, base: Base, tmp_path: Path) -> Iterator[Held]:
    with base.copy(tmp_path) as rig:
        if request.param == "refresh":
            update = _refresh(rig)
        else:
            update = _up(rig, action="hold" if request.param == "before the create" else "hold_answer")
        assert processes.wait_until(lambda: _is_held(rig), seconds=60, clock=CLOCK), "nothing was held"
        yield Held(rig, update, base.plan, made=request.param == "after the create")
        rig.simulator.faults.release()


def _up(rig: Rig, *, action: Literal["hold", "hold_answer"]) -> subprocess.Popen[str]:
    """One machine more. It leaves a pending operation beside the lock."""
    rule = FaultRule(name="held", method="POST", path="/instance/v1/zones/*/servers", action=action)
    rig.simulator.faults.add(rule)
    return rig.start_up(fleet(range(4)))


def _refresh(rig: Rig) -> subprocess.Popen[str]:
    """A person's own refresh, which will drop the machine that is gone. Its lock is all that tells of it."""
    path = f"/instance/v1/zones/*/servers/{rig.provider_ids()['linux-0-server']}"
    rig.simulator.faults.add(FaultRule(name="held", method="GET", path=path, times=1, action="hold"))
    (rig.empty / "Pulumi.yaml").write_text(f"name: {PROJECT}\nruntime: python\n")
    argv = ["pulumi", "refresh", "--yes", "--skip-preview", "--run-program=false", "--non-interactive"]
    env = {"PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true"}
    return rig.start([*argv, "--stack", f"organization/{STACK}"], cwd=rig.empty, env=env)


def _is_held(rig: Rig) -> bool:
    return bool(rig.lock_files()) and any(count["fired"] for count in rig.simulator.faults.counts())


def acted_on(findings: Sequence[Finding]) -> list[str]:
    return [f"{one.kind}: {one.reason}" for one in findings if one.verdict is Verdict.ACT]


def _newborn(rig: Rig) -> set[str]:
    """Servers that the cloud has and no state holds."""
    with rig.simulator.editing() as world:
        return {server.id for server in world.servers} - set(rig.provider_ids().values())


def test_nothing_of_the_project_is_acted_on_and_the_lock_is_left_alone(held: Held) -> None:
    rig = held.rig
    locks, checkpoint, changes = rig.lock_files(), rig.checkpoint_file.read_bytes(), rig.mutating_calls()
    store = rig.product.store()
    _, findings = rig.product.sweep(store)
    plan = rig.product.plan(store)
    assert {FindingKind.MISSING, FindingKind.DETACHED} <= {one.kind for one in findings}
    assert acted_on(findings) == []
    assert {one.verdict for one in findings} == {Verdict.WAIT}
    assert _newborn(rig) <= {subject.id for one in findings for subject in one.subjects}
    assert bool(_newborn(rig)) is held.made
    assert plan.actions == ()
    assert rig.lock_files() == locks
    assert rig.checkpoint_file.read_bytes() == checkpoint
    assert rig.mutating_calls() == changes
    store.close()
    held.release()


def test_a_plan_from_before_it_starts_no_write_of_pulumi_and_deletes_nothing(held: Held) -> None:
    rig = held.rig
    locks, checkpoint, changes = rig.lock_files(), rig.checkpoint_file.read_bytes(), rig.mutating_calls()
    store = rig.product.store()
    with rig.product.cloud() as cloud:
        try:
            outcomes = rig.product.applier(store, cloud).apply(held.plan).outcomes
        except RefusedError:
            outcomes = ()
    assert ActionStatus.DONE not in {one.status for one in outcomes if one.action.kind.value != "tag"}
    assert store.open_deletions(SCOPE_UUID) == ()
    assert rig.lock_files() == locks
    assert rig.checkpoint_file.read_bytes() == checkpoint
    assert [call for call in rig.mutating_calls() if call not in changes and not call.startswith("PATCH")] == []
    store.close()
    held.release()


def test_afterwards_everything_is_normal(held: Held) -> None:
    rig = held.rig
    store = rig.product.store()
    rig.product.sweep(store)
    held.release()
    assert rig.lock_files() == []
    rig.clock.advance(7200)
    _, findings = rig.product.sweep(store)
    assert {one.verdict for one in findings if one.kind in LEFTOVER_OR_GONE} == {Verdict.ACT}
    with rig.product.cloud() as cloud:
        outcome = rig.product.applier(store, cloud).apply(rig.product.plan(store))
    assert {one.status for one in outcome.outcomes} == {ActionStatus.DONE}
    _, left = rig.product.sweep(store)
    assert acted_on(left) == []
    assert rig.strays() == []
    store.close()

"""What was not read, or is being written to, is no reason to act (rules 1, 3 and 15)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.diff.exit import sweep_exit
from reconciler.kernel.errors import EXIT_DRIFT, EXIT_INCOMPLETE
from reconciler.model.finding import Finding, FindingKind, Verdict
from reconciler.model.inventory import Presence
from reconciler.model.plan import Mode
from reconciler.model.resources import Kind, Ref
from reconciler.model.scope import Ownership
from reconciler.model.state import Lock
from reconciler.simulator import ZONE, FaultRule, Request
from tests.apply.rig import STACK, Rig, slot_tags


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    made = Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}", ownership=Ownership.TAGS)
    made.apply(mode=Mode.REPAIR)
    return made


def broken(rig: Rig) -> None:
    """A machine is gone and an address leaks; both are old enough to act on."""
    rig.stranger("kill_server", server="linux-1")
    rig.stranger("add_ip", tags=list(slot_tags(1)))
    rig.sweep()
    rig.clock.advance(7200)


def acting(findings: tuple[Finding, ...]) -> set[FindingKind]:
    return {one.kind for one in findings if one.verdict is Verdict.ACT}


def test_the_broken_world_is_acted_on_when_everything_was_read(rig: Rig) -> None:
    broken(rig)
    world, findings = rig.sweep()
    assert acting(findings) == {FindingKind.MISSING, FindingKind.DETACHED}
    assert sweep_exit(world, findings) == EXIT_DRIFT


@pytest.mark.parametrize("status", [403, 429, 500])
def test_a_list_that_failed_makes_nothing_missing(rig: Rig, status: int) -> None:
    broken(rig)
    rig.simulator.faults.add(FaultRule(method="GET", path="**/servers", action="status", status=status))
    world, findings = rig.sweep()
    assert FindingKind.MISSING not in acting(findings)
    assert sweep_exit(world, findings) == EXIT_INCOMPLETE


def test_an_incomplete_list_proves_no_absence(rig: Rig) -> None:
    ref = Ref(Kind.SERVER, ZONE, rig.workers[1].server)
    rig.stranger("kill_server", server="linux-1")
    rig.simulator.faults.add(FaultRule(method="GET", path="**/servers", action="status", status=500))
    world, _ = rig.sweep()
    bare = replace(world.inventory, probes={})
    assert bare.presence(ref) is Presence.UNKNOWN


def test_one_unreadable_stack_and_nothing_is_an_orphan(rig: Rig) -> None:
    broken(rig)
    rig.scope = replace(rig.scope, stacks=(STACK, "fleet/other"))
    rig.engine.unreadable["fleet/other"] = "the bucket is gone"
    _, findings = rig.sweep()
    assert FindingKind.DETACHED not in acting(findings)
    assert FindingKind.ORPHAN not in acting(findings)


def test_a_locked_stack_turns_its_findings_into_wait(rig: Rig) -> None:
    broken(rig)
    rig.engine.add(replace(rig.engine.states[STACK], locks=(Lock(created_by="ann@ci", pid=7),)))
    world, findings = rig.sweep()
    assert acting(findings) == set()
    assert {one.verdict for one in findings if one.kind in (FindingKind.MISSING, FindingKind.DETACHED)} == {
        Verdict.WAIT
    }
    assert sweep_exit(world, findings) == EXIT_INCOMPLETE


def test_a_state_that_moved_while_the_inventory_was_read_is_being_written_to(rig: Rig) -> None:
    broken(rig)
    moved: list[str] = []

    def move(request: Request) -> None:
        if not moved and request.path.endswith("/ips"):
            moved.append(request.path)
            rig.engine.add(replace(rig.engine.states[STACK], serial="moved"))

    rig.simulator.before.append(move)
    _, findings = rig.sweep()
    assert acting(findings) == set()

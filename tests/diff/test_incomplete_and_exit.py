"""What was not read, and the exit status of a sweep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reconciler.diff import diff
from reconciler.diff.exit import sweep_exit
from reconciler.model.desired import Desired
from reconciler.model.finding import FindingKind, Verdict
from reconciler.model.inventory import Inventory
from reconciler.model.memory import NO_MEMORY
from reconciler.model.resources import Kind
from reconciler.model.state import Lock, UnreadStack
from reconciler.model.world import World
from tests.builders import ZONE, absent, found, machine, only, server, state, world

ONE = machine(0)


def exit_of(in_world: World) -> int:
    return sweep_exit(in_world, diff(in_world))


def test_a_scan_that_was_not_read_to_its_end_is_said_with_its_reason() -> None:
    finding = only(world(broken={Kind.IP: "HTTP 403: permissions_denied"}))
    assert (finding.kind, finding.verdict) == (FindingKind.INCOMPLETE, Verdict.UNKNOWN)
    assert (finding.subjects[0].kind, finding.subjects[0].zone) == ("ip", ZONE)
    assert "403" in finding.reason


def test_a_kind_that_is_not_offered_in_a_zone_is_no_gap() -> None:
    in_world = world(broken={Kind.NIC: "not offered"})
    scans = {key: replace(scan, offered=key[0] is not Kind.NIC) for key, scan in in_world.inventory.scans.items()}
    assert found(replace(in_world, inventory=Inventory(scans))) == []


def test_a_stack_that_could_not_be_read_is_said_with_its_code() -> None:
    finding = only(world(unread=(UnreadStack(stack="ci/x", code="RC0508", reason="no such stack"),)))
    assert (finding.kind, finding.stack, finding.reason) == (FindingKind.INCOMPLETE, "ci/x", "RC0508: no such stack")


def test_an_output_that_could_not_be_read_is_said() -> None:
    finding = only(world(desired=Desired(problems=("stack ci/prod: broken",))))
    assert (finding.kind, finding.verdict) == (FindingKind.INCOMPLETE, Verdict.UNKNOWN)


CALM = world(*ONE.cloud, states=[state(*ONE.entries)])
MISSING = world(ONE.root, ONE.ip, states=[state(*ONE.entries)], probes=[absent(ONE.server)])
LOCKED = (Lock(created_by="ann@ci"),)


@pytest.mark.parametrize(
    ("in_world", "status"),
    [
        (CALM, 0),
        (world(server("theirs")), 0),
        (MISSING, 2),
        (replace(MISSING, states={"ci/prod": state(*ONE.entries, locks=LOCKED)}), 7),
        (replace(CALM, states={"ci/prod": state(*ONE.entries, locks=LOCKED)}), 7),
        (replace(CALM, memory=NO_MEMORY), 7),
        (replace(MISSING, memory=NO_MEMORY), 7),
        (world(broken={Kind.IP: "HTTP 503"}), 7),
        (world(unread=(UnreadStack(stack="ci/x", code="RC0508", reason="gone"),)), 7),
    ],
    ids=[
        "in order",
        "only a stranger's",
        "drift",
        "drift that waits for a lock",
        "a lock and nothing else",
        "no memory",
        "drift without a memory",
        "a list not read",
        "a stack not read",
    ],
)
def test_the_exit_status_says_the_worst_that_is_known(in_world: World, status: int) -> None:
    assert exit_of(in_world) == status

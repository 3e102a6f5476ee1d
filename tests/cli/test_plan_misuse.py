"""A plan file in the wrong hands, at the wrong time or in the wrong place: exit 6, the precise reason, no touch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.kernel.errors import RefusedError
from reconciler.plan import load
from tests.cli.conftest import Run
from tests.fakes.estate import STACK, FakeWorld, scope_named


@pytest.fixture
def path(run: Run, world: FakeWorld, tmp_path: Path) -> Path:
    """A plan that destroys an address and forgets another."""
    world.leftover_ip()
    world.vanished_ip()
    assert run("plan", "--out", "plan.json").status == 2
    return tmp_path / "plan.json"


def refused(run: Run, world: FakeWorld, *argv: str, code: str, reason: str) -> None:
    ran = run("apply", "plan.json", *argv)
    assert (ran.status, f"error[{code}]" in ran.err, reason in ran.err) == (6, True, True), ran.err
    assert (world.cloud_port.destroyed, world.engine_port.refreshed, world.store_port.runs) == ([], [], {})


def flipped(data: bytes, place: int, bit: int) -> bytes:
    return data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :]


def test_every_byte_of_a_plan_file_counts(path: Path) -> None:
    """Bits flipped one at a time: refused, or the very same plan."""
    data = path.read_bytes()
    meant = load(data.decode())
    accepted = []
    for place in range(len(data)):
        for bit in (0, 1, 5, 7):  # digits, case, and what is no ASCII
            try:
                text = flipped(data, place, bit).decode("utf-8")
                if load(text) != meant:
                    accepted.append((place, bit))
            except (UnicodeDecodeError, RefusedError):
                continue
    assert accepted == []
    assert len(data) > 1000


def test_a_plan_file_with_any_byte_changed_is_refused_by_apply(run: Run, world: FakeWorld, path: Path) -> None:
    """Each byte once, through the command line; the bit goes round with the place."""
    data = path.read_bytes()
    statuses = set()
    for place in range(len(data)):
        path.write_bytes(flipped(data, place, place % 7))
        statuses.add(run("apply", "plan.json").status)
    assert statuses == {6}
    assert (world.cloud_port.destroyed, world.engine_port.refreshed, world.store_port.runs) == ([], [], {})
    path.write_bytes(data)
    assert run("apply", "plan.json").status == 0


@pytest.mark.parametrize("cut", [1, 2, 100])
def test_a_plan_file_that_was_cut_or_grew_is_refused(run: Run, world: FakeWorld, path: Path, cut: int) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    assert run("apply", "plan.json").status == 6
    path.write_bytes(data + b" " * cut)
    assert run("apply", "plan.json").status == 6
    assert world.store_port.runs == {}


def test_line_ends_of_another_system_are_no_edit(run: Run, path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert run("apply", "plan.json").status == 0


def test_a_plan_that_was_edited_and_given_a_fitting_digest_is_not_registered(
    run: Run, world: FakeWorld, path: Path
) -> None:
    """The digest is no signature: what makes a plan is that this database knows it."""
    from reconciler.plan import canonical

    plan = load(path.read_text())
    path.write_text(canonical(replace(plan, actions=plan.actions[:1], id="another")))
    refused(run, world, code="RC0605", reason="never registered in this database")


def test_an_unregistered_plan_is_refused(run: Run, world: FakeWorld, path: Path) -> None:
    world.store_port.plans.clear()
    refused(run, world, code="RC0605", reason="never registered in this database")


def test_an_expired_plan_is_refused_with_its_time(run: Run, world: FakeWorld, path: Path) -> None:
    world.clock_now.advance(3601)
    refused(run, world, code="RC0604", reason="the plan expired at 20")


def test_a_plan_from_the_future_is_refused(run: Run, world: FakeWorld, path: Path) -> None:
    from reconciler.kernel.clock import VirtualClock

    world.clock_now = VirtualClock(start_ms=world.clock_now.now_ms() - 120_000)
    refused(run, world, code="RC0604", reason="from the future")


def test_an_applied_plan_is_refused(run: Run, world: FakeWorld, path: Path) -> None:
    assert run("apply", "plan.json").status == 0
    ran = run("apply", "plan.json")
    assert (ran.status, "error[RC0606]" in ran.err, "applied already" in ran.err) == (6, True, True)


def test_a_plan_of_a_scope_that_is_not_declared_here_is_refused(run: Run, world: FakeWorld, path: Path) -> None:
    world.scopes = (scope_named("gpu", 2),)
    refused(run, world, code="RC0145", reason="scope demo, which this configuration does not declare")


def test_a_scope_of_the_same_name_is_another_scope(run: Run, world: FakeWorld, path: Path) -> None:
    world.scopes = (scope_named("demo", 2),)
    refused(run, world, code="RC0145", reason="does not declare")


@pytest.mark.parametrize("mode", ["observe", "repair"])
def test_a_plan_file_does_no_more_than_the_mode_on_the_command_line(
    run: Run, world: FakeWorld, path: Path, mode: str
) -> None:
    refused(run, world, "--mode", mode, code="RC0140", reason=f"mode {mode}")
    assert run("apply", "plan.json", "--mode", "prune").status == 0


def test_a_plan_file_for_another_scope_than_the_chosen_one_is_refused(run: Run, world: FakeWorld, path: Path) -> None:
    mine = world.scopes[0]
    world.scopes = (mine, scope_named("other", 2))
    refused(run, world, "--scope", "other", code="RC0149", reason="--scope leaves out")
    assert run("apply", "plan.json", "--scope", mine.name).status == 0


def test_a_plan_file_beside_a_scope_that_does_not_exist_is_a_mistake(run: Run, world: FakeWorld, path: Path) -> None:
    ran = run("apply", "plan.json", "--scope", "misspelt")
    assert (ran.status, "RC0109" in ran.err, world.cloud_port.destroyed) == (64, True, [])


def retagged(world: FakeWorld) -> None:
    ((ref, ip),) = world.cloud_port.resources.items()
    world.cloud_port.resources[ref] = replace(ip, tags=("mine",))


def taken_away(world: FakeWorld) -> None:
    world.cloud_port.resources.clear()


def state_moved(world: FakeWorld) -> None:
    world.engine_port.states[STACK] = replace(world.engine_port.states[STACK], serial="s2")


@pytest.mark.parametrize(
    ("change", "reason"),
    [(retagged, "has another tags"), (taken_away, "is gone"), (state_moved, f"the state of {STACK} has changed")],
    ids=["retagged", "gone", "state"],
)
def test_a_stale_plan_is_refused_and_says_what_changed(
    run: Run, world: FakeWorld, path: Path, change: Callable[[FakeWorld], None], reason: str
) -> None:
    change(world)
    refused(run, world, code="RC0608", reason=reason)


def test_a_plan_made_on_the_spot_skips_what_moves_under_it(run: Run, world: FakeWorld) -> None:
    """Nobody reviewed it, so nothing is lost by doing the rest; a file is refused as a whole."""
    ip = world.leftover_ip()
    probe, seen = world.cloud_port.probe, []

    def attach(ref: object) -> object:
        seen.append(ref)
        world.cloud_port.resources[ip.ref] = replace(ip, server_id="somebody", state="attached")
        return probe(ref)  # type: ignore[arg-type]

    world.cloud_port.probe = attach  # type: ignore[method-assign, assignment]
    assert run("apply", "-y").status == 4
    assert (seen, world.cloud_port.destroyed) == ([ip.ref], [])

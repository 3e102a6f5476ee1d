"""`unlock`: a stale lock goes, a live one stays, and nobody else's is touched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from reconciler.kernel.clock import VirtualClock
from reconciler.model.state import LiveProcess, Lock, StackState
from reconciler.ports.engine import LockEvidence
from tests.cli.conftest import Run
from tests.fakes.estate import HOUR_MS, STACK, FakeWorld


def lock(world: FakeWorld, source: str = "a.json", *, age_ms: int = 2 * HOUR_MS, **evidence: Any) -> Lock:
    created = world.clock_now.now_ms() - age_ms
    held = Lock(created_by="ci@host-1", pid=4711, created_ms=created, source=source)
    state = world.engine_port.states[STACK]
    world.engine_port.add(replace(state, locks=(*state.locks, held)))
    world.engine_port.holders[source] = LockEvidence(**{"lock": held, "here": True, "alive": False, **evidence})
    return held


def locks(world: FakeWorld) -> list[str]:
    return [held.source for held in world.engine_port.states[STACK].locks]


@dataclass
class Meanwhile(VirtualClock):
    """Somebody does something while the state is watched."""

    do: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        super().__init__()

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.do()


def test_a_lock_whose_process_is_gone_is_removed(run: Run, world: FakeWorld) -> None:
    lock(world)
    ran = run("unlock", STACK, "-y")
    assert (ran.status, locks(world)) == (0, [])
    assert "removed 1 lock(s)" in ran.out
    for part in ("ci@host-1 (pid 4711)", "that process is gone", "2 h ago"):
        assert part in ran.err


def test_what_was_done_is_logged(run: Run, world: FakeWorld) -> None:
    lock(world)
    assert "event='unlocked'" in run("unlock", STACK, "-y").err


def test_a_lock_whose_process_is_alive_stays(run: Run, world: FakeWorld) -> None:
    lock(world, alive=True)
    ran = run("unlock", STACK, "-y")
    assert (ran.status, "RC0661" in ran.err, locks(world)) == (6, True, ["a.json"])


def test_one_live_lock_keeps_the_dead_one_too(run: Run, world: FakeWorld) -> None:
    lock(world, "a.json")
    lock(world, "b.json", alive=True)
    assert (run("unlock", STACK, "-y").status, locks(world)) == (6, ["a.json", "b.json"])


@pytest.mark.parametrize(
    ("here", "age_ms", "status"), [(False, HOUR_MS - 1, 6), (False, HOUR_MS, 0), (True, 60_000, 6)]
)
def test_a_lock_that_cannot_be_judged_from_here_must_be_old(
    run: Run, world: FakeWorld, here: bool, age_ms: int, status: int
) -> None:
    lock(world, age_ms=age_ms, here=here, alive=None)
    ran = run("unlock", STACK, "-y", "--wait", "0s")
    assert (ran.status, "RC0662" in ran.err) == (status, status == 6)


def test_a_lock_without_an_age_counts_as_young(run: Run, world: FakeWorld) -> None:
    held = lock(world)
    nameless = replace(held, created_ms=None)
    state = world.engine_port.states[STACK]
    world.engine_port.add(replace(state, locks=(nameless,)))
    world.engine_port.holders["a.json"] = LockEvidence(lock=nameless, here=None, alive=None)
    assert run("unlock", STACK, "-y").status == 6


def test_the_age_can_be_chosen(run: Run, world: FakeWorld) -> None:
    lock(world, age_ms=1000, here=False, alive=None)
    assert run("unlock", STACK, "-y", "--min-age", "0s").status == 0


def test_a_state_that_moves_while_it_is_watched_has_somebody_at_work(run: Run, world: FakeWorld) -> None:
    def write() -> None:
        world.engine_port.add(replace(world.engine_port.states[STACK], serial="s2"))

    world.clock_now = Meanwhile(do=write)
    lock(world)
    ran = run("unlock", STACK, "-y")
    assert (ran.status, "its state moved" in ran.err, locks(world)) == (6, True, ["a.json"])


def test_a_state_that_is_written_without_a_change_moves_too(run: Run, world: FakeWorld) -> None:
    def write() -> None:
        world.engine_port.add(replace(world.engine_port.states[STACK], written_ms=2))

    world.clock_now = Meanwhile(do=write)
    lock(world)
    assert run("unlock", STACK, "-y").status == 6


def test_a_lock_that_is_taken_while_another_is_watched_stops_it(run: Run, world: FakeWorld) -> None:
    def take() -> None:
        lock(world, "b.json")

    world.clock_now = Meanwhile(do=take)
    lock(world)
    ran = run("unlock", STACK, "-y")
    assert (ran.status, "another lock was taken" in ran.err) == (6, True)
    assert locks(world) == ["a.json", "b.json"]


def test_a_lock_that_goes_away_by_itself_is_nothing_to_do(run: Run, world: FakeWorld) -> None:
    def end() -> None:
        world.engine_port.add(replace(world.engine_port.states[STACK], locks=()))

    world.clock_now = Meanwhile(do=end)
    lock(world)
    ran = run("unlock", STACK, "-y")
    assert (ran.status, "is not locked" in ran.out) == (0, True)


def test_an_unlocked_stack_is_0_and_nothing_is_waited_for(run: Run, world: FakeWorld) -> None:
    before = world.clock_now.monotonic()
    assert run("unlock", STACK, "-y").status == 0
    assert world.clock_now.monotonic() == before


def test_nobody_to_ask_is_a_refusal(run: Run, world: FakeWorld) -> None:
    lock(world)
    ran = run("unlock", STACK)
    assert (ran.status, "RC0664" in ran.err, locks(world)) == (6, True, ["a.json"])


def test_where_only_the_cli_reaches_the_lock_its_command_is_named(run: Run, world: FakeWorld) -> None:
    lock(world)
    world.engine_port.add(replace(world.engine_port.states[STACK], locks_known=False))
    ran = run("unlock", STACK, "-y")
    assert (ran.status, f"pulumi cancel --stack {STACK}" in ran.err) == (6, True)


def test_a_plugin_that_outlived_the_cli_is_warned_of(run: Run, world: FakeWorld) -> None:
    lock(world)
    world.engine_port.processes[STACK] = (LiveProcess(pid=99, name="pulumi-resource-scaleway", why="it is tied"),)
    ran = run("unlock", STACK, "-y", "-j")
    assert (ran.status, "pid 99" in ran.err) == (0, True)
    assert [one["pid"] for one in ran.document["alive"]] == [99]
    assert [one["lock"] for one in ran.document["removed"]] == ["a.json"]


def test_a_wrong_length_of_time_is_a_usage_error(run: Run) -> None:
    assert run("unlock", STACK, "--wait", "soon").status == 64


def test_a_stack_that_does_not_exist_is_an_error(run: Run, world: FakeWorld) -> None:
    world.engine_port.states = {}
    assert run("unlock", STACK).status == 1


def test_another_stacks_lock_stays(run: Run, world: FakeWorld) -> None:
    lock(world)
    world.engine_port.add(StackState("demo/other", "s", 0, locks=(Lock(created_by="x@y", source="o.json"),)))
    run("unlock", STACK, "-y")
    assert [held.source for held in world.engine_port.states["demo/other"].locks] == ["o.json"]


class Killed(BaseException):
    """What a SIGKILL leaves is what stands; nothing behind it runs."""


@pytest.mark.parametrize("calls", range(3))
@pytest.mark.parametrize("done", [False, True], ids=["before the call", "after it"])
def test_an_unlock_that_is_killed_at_any_point_ends_as_an_undisturbed_one(
    run: Run, world: FakeWorld, monkeypatch: pytest.MonkeyPatch, calls: int, done: bool
) -> None:
    for source in ("a.json", "b.json", "c.json"):
        lock(world, source)
    release, seen = world.engine_port.release_lock, list[str]()

    def dying(stack: str, held: Lock) -> None:
        seen.append(held.source)
        if len(seen) == calls + 1:
            if done:
                release(stack, held)
            raise Killed
        release(stack, held)

    with monkeypatch.context() as patch:
        patch.setattr(world.engine_port, "release_lock", dying)
        with pytest.raises(Killed):
            run("unlock", STACK, "-y")
    assert len(locks(world)) == 3 - calls - done
    resources = world.engine_port.states[STACK].resources
    ran = run("unlock", STACK, "-y")
    assert (ran.status, locks(world), world.engine_port.states[STACK].resources) == (0, [], resources)

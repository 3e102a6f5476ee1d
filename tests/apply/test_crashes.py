"""A run that dies at any named point and is resumed ends in the same world as one that nobody disturbed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.model.plan import ActionStatus, Mode
from reconciler.model.scope import Ownership
from tests.apply.rig import Rig, slot_tags


class Killed(BaseException):
    """The process ends here: nothing above may catch it, and nothing after it runs."""


def break_world(rig: Rig) -> None:
    """A tagged, remembered fleet; then a machine and its root part, an IP leaks, and two hours go by."""
    rig.apply(mode=Mode.REPAIR)
    rig.sweep()
    rig.stranger("kill_server", server="linux-1")
    rig.stranger("add_ip", tags=list(slot_tags(1)))
    rig.stranger("set_tags", id=rig.workers[2].server, tags=["somebody-else"])
    rig.sweep()
    rig.clock.advance(7200)


def run_to_the_end(rig: Rig, *, mode: Mode) -> None:
    """What an operator does after a crash: the same command again, until it has nothing more to do."""
    for _ in range(4):
        rig.clock.advance(120)  # a dead run's lease runs out
        rig.applier().resume()
        outcome = rig.apply(mode=mode)
        if not outcome.plan.actions:
            return
    raise AssertionError(f"never quiet: {[str(action.refs) for action in outcome.plan.actions]}")


def recorded_steps(folder: Path) -> list[str]:
    rig = Rig(folder=folder, url=f"sqlite:///{folder / 'probe.db'}", ownership=Ownership.TAGS)
    break_world(rig)
    steps: list[str] = []
    rig.applier(checkpoint=steps.append).apply(rig.plan())
    return steps


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    steps = recorded_steps(folder)
    rig = Rig(folder=folder, url=f"sqlite:///{folder / 'memory.db'}", ownership=Ownership.TAGS)
    break_world(rig)
    outcome = rig.apply()
    assert {one.status for one in outcome.outcomes} == {ActionStatus.DONE}
    run_to_the_end(rig, mode=Mode.PRUNE)
    return rig.picture(), steps


def kill_at(number: int) -> Callable[[str], None]:
    seen = 0

    def checkpoint(name: str) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            raise Killed(name)

    return checkpoint


def test_every_step_has_a_crash_point(undisturbed: tuple[str, list[str]]) -> None:
    """The journal names what cannot be taken back before and after it happens."""
    _, steps = undisturbed
    for name in ("tag.tagging", "tag.tagged", "refresh.refreshing", "refresh.child", "refresh.refreshed"):
        assert name in steps
    for name in ("destroy.deciding", "destroy.decided", "destroy.sending", "destroy.sent", "destroy.absent"):
        assert name in steps


def test_a_run_killed_at_any_point_ends_in_the_same_world(undisturbed: tuple[str, list[str]], tmp_path: Path) -> None:
    expected, steps = undisturbed
    for number, name in enumerate(steps, start=1):
        folder = tmp_path / str(number)
        folder.mkdir()
        rig = Rig(folder=folder, url=f"sqlite:///{folder / 'memory.db'}", ownership=Ownership.TAGS)
        break_world(rig)
        with pytest.raises(Killed):
            rig.applier(checkpoint=kill_at(number)).apply(rig.plan())
        rig.store.close()
        rig.store, rig.cloud = rig.new_store(), rig.new_cloud()  # a new process remembers nothing
        run_to_the_end(rig, mode=Mode.PRUNE)
        assert rig.picture() == expected, f"killed at step {number}, {name}"
        assert rig.store.open_deletions(rig.scope.uuid) == ()


def test_a_second_kill_while_resuming_changes_nothing(undisturbed: tuple[str, list[str]], tmp_path: Path) -> None:
    expected, steps = undisturbed
    first = steps.index("destroy.decided") + 1
    for second in range(1, 8):
        folder = tmp_path / str(second)
        folder.mkdir()
        rig = Rig(folder=folder, url=f"sqlite:///{folder / 'memory.db'}", ownership=Ownership.TAGS)
        break_world(rig)
        with pytest.raises(Killed):
            rig.applier(checkpoint=kill_at(first)).apply(rig.plan())
        rig.clock.advance(120)
        with contextlib.suppress(Killed):
            rig.applier(checkpoint=kill_at(second)).resume()
        run_to_the_end(rig, mode=Mode.PRUNE)
        assert rig.picture() == expected, f"killed again at step {second}"

"""A run that writes rows and dies at any named point ends, resumed, in the same world as one that nobody disturbed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.model.finding import ActionKind
from reconciler.model.memory import Written
from reconciler.model.plan import ActionStatus, Mode
from tests.apply.rig import SCOPE_UUID, Rig
from tests.apply.test_crashes import Killed, kill_at, run_to_the_end
from tests.records.staff import W1, W2, fail, intend, machine, recorded, rows, staffed
from tests.store.counting import counting
from tests.store.place import Place

W3, W4 = (f"0198f0a0-0000-7000-8000-00000000000{number}" for number in (3, 4))


def break_world(rig: Rig) -> None:
    """One worker that failed, one without a row, one whose answer was lost, one that was never made."""
    rig.apply(mode=Mode.REPAIR)
    recorded(rig, W1)
    rig.sweep()
    fail(rig, W1)
    machine(rig, W2, name="burst-2")
    intend(rig, W3)
    machine(rig, W3, name="burst-3")
    intend(rig, W4)
    rig.sweep()
    rig.clock.advance(7200)


def picture(rig: Rig) -> tuple[str, list[tuple[str, str, str | None]], list[str]]:
    """The cloud and the state, the rows, and who has ended."""
    view = rig.records.read(SCOPE_UUID)
    kept = [(one.id, one.state.value, one.machine.id if one.machine else None) for one in view.workers]
    return rig.picture(), kept, sorted(rig.records.ended(SCOPE_UUID, [W1, W2, W3, W4]))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, list[str]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    rig = staffed(folder, replicas=1)
    break_world(rig)
    steps: list[str] = []
    outcome = rig.applier(checkpoint=steps.append).apply(rig.plan())
    kinds = {one.action.kind for one in outcome.outcomes}
    assert kinds == {ActionKind.RECORD, ActionKind.ATTACH, ActionKind.PURGE, ActionKind.DESTROY}
    assert {one.status for one in outcome.outcomes} == {ActionStatus.DONE}
    run_to_the_end(rig, mode=Mode.PRUNE)
    return picture(rig), steps


def test_every_write_of_a_row_has_a_crash_point_on_either_side(undisturbed: tuple[object, list[str]]) -> None:
    _, steps = undisturbed
    for before, after in (("recording", "recorded"), ("attaching", "attached"), ("purging", "purged")):
        kind = {"recording": "record", "attaching": "attach", "purging": "purge"}[before]
        assert f"{kind}.{before}" in steps
        assert f"{kind}.{after}" in steps
    assert {"destroy.decided", "destroy.absent", "destroy.purging", "destroy.purged"} <= set(steps)


def test_a_run_killed_at_any_point_ends_in_the_same_world(
    undisturbed: tuple[object, list[str]], tmp_path: Path
) -> None:
    expected, steps = undisturbed
    for number, name in enumerate(steps, start=1):
        folder = tmp_path / str(number)
        folder.mkdir()
        rig = staffed(folder, replicas=1)
        break_world(rig)
        with pytest.raises(Killed):
            rig.applier(checkpoint=kill_at(number)).apply(rig.plan())
        rig.store.close()
        rig.store, rig.cloud = rig.new_store(), rig.new_cloud()  # a new process remembers nothing
        run_to_the_end(rig, mode=Mode.PRUNE)
        assert picture(rig) == expected, f"killed at step {number}, {name}"
        assert rig.store.open_deletions(SCOPE_UUID) == ()


def killed_after_commit(rig: Rig, name: str) -> Callable[[], None]:
    """The answer of a commit is lost: the write is there, and the process does not know."""
    workers = rig.store.workers
    write = getattr(workers, name)

    def lost(*args: object, **kwargs: object) -> None:
        write(*args, **kwargs)
        raise Killed(name)

    setattr(workers, name, lost)
    return lambda: setattr(workers, name, write)


@pytest.mark.parametrize("name", ["record", "attach", "purge"])
def test_a_write_whose_answer_was_lost_is_done_once(
    undisturbed: tuple[object, list[str]], tmp_path: Path, name: str
) -> None:
    expected, _ = undisturbed
    rig = staffed(tmp_path, replicas=1)
    break_world(rig)
    plan = rig.plan()
    mend = killed_after_commit(rig, name)
    with pytest.raises(Killed):
        rig.applier().apply(plan)
    mend()
    run_to_the_end(rig, mode=Mode.PRUNE)
    assert picture(rig) == expected


# -- a quiet world


@pytest.fixture
def quiet(place: Place, tmp_path: Path) -> Rig:
    rig = staffed(tmp_path, url=place.url, replicas=1)
    rig.apply(mode=Mode.REPAIR)
    recorded(rig, W1)
    rig.sweep()
    return rig


def test_a_sweep_of_a_quiet_world_with_rows_writes_its_own_row_and_nothing_else(quiet: Rig) -> None:
    """Rule 14, by the database's own counters."""
    with counting(quiet.store) as counted:
        _, findings = quiet.sweep()
    assert quiet.kinds(findings) == []
    assert (quiet.written, counted.total) == (Written(inserted=1, updated=0, deleted=0), 1)


def test_a_second_apply_of_a_quiet_world_with_rows_has_nothing_to_do(quiet: Rig) -> None:
    again = quiet.apply()
    assert (again.plan.actions, rows(quiet)) == ((), [W1])

"""A real `apply` that is killed at any step and run again ends where an undisturbed one does.

Everything is real but the cloud: the engine, the provider, the client, the database, and SIGKILL. One world is made
once: a fleet whose machine is gone, an address and a root volume that leak, a root volume that lost its tags. Each step
gets a copy of it: the backend's files, the database, the simulated cloud and the clock.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from reconciler.store import upgrade
from tests.e2e.broken_fleet import Base, make_base
from tests.e2e.product import SCOPE_UUID
from tests.e2e.rig import ROOT, Rig
from tools.postgres import Cluster, PostgresUnavailable, temporary_cluster

pytestmark = pytest.mark.engine

PARTS = 4
_CHILD_SECONDS = 200


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    return make_base(tmp_path_factory.mktemp("base"))


# -- children


def child(rig: Rig, **job: Any) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "tests.e2e.apply_child", json.dumps(job)]
    started = rig.start(argv, cwd=rig.empty, env={"PYTHONPATH": str(ROOT)})
    output, _ = started.communicate(timeout=_CHILD_SECONDS)
    return subprocess.CompletedProcess(argv, started.returncode, output, "")


def apply_killed(rig: Rig, number: int) -> None:
    done = child(rig, plan=str(rig.root / "plan.json"), kill_at=number)
    assert done.returncode == -signal.SIGKILL, f"step {number} was not reached: {done.stdout}"


def finish(rig: Rig) -> str:
    """A dead run's lease has run out; a new process goes on."""
    rig.clock.advance(120)
    if rig.database.startswith("postgresql"):  # its leases go by its own clock, which cannot be moved
        engine = create_engine(rig.database)
        with engine.begin() as connection:
            connection.execute(text("UPDATE leases SET expires_ms = 0"))
        engine.dispose()
    done = child(rig)
    assert done.returncode == 0, done.stdout
    return done.stdout


def picture(rig: Rig) -> str:
    """Everything that is left: the cloud's records, the state, open deletions, locks, processes."""
    with rig.simulator.editing() as world:
        cloud = {
            kind: sorted((record.id, sorted(getattr(record, "tags", ()))) for record in table)
            for kind, table in world.tables().items()
        }
    store = rig.product.store()
    deletions = [str(one.target) for one in store.open_deletions(SCOPE_UUID)]
    unfinished = store.unfinished_run(SCOPE_UUID)
    store.close()
    left = {
        "cloud": cloud,
        "state": sorted(rig.provider_ids()),
        "open deletions": deletions,
        "unfinished run": unfinished.run_id if unfinished is not None else None,
        "locks": [path.name for path in rig.lock_files()],
        "processes": rig.strays(),
    }
    return json.dumps(left, sort_keys=True, indent=1)


def killed_and_resumed(rig: Rig, number: int, *, expected: Undisturbed) -> None:
    with rig:
        apply_killed(rig, number)
        said = finish(rig)
        name = expected.steps[number - 1]
        assert picture(rig) == expected.picture, f"killed at step {number}, {name}:\n{said}"


@dataclass(frozen=True)
class Undisturbed:
    picture: str
    steps: tuple[str, ...]


def not_disturbed(rig: Rig) -> Undisturbed:
    with rig:
        steps = rig.root / "steps"
        done = child(rig, plan=str(rig.root / "plan.json"), steps=str(steps))
        assert done.returncode == 0, done.stdout
        finish(rig)
        return Undisturbed(picture(rig), tuple(steps.read_text().split()))


@pytest.fixture(scope="module")
def undisturbed(base: Base, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return not_disturbed(base.copy(tmp_path_factory.mktemp("undisturbed")))


def test_an_undisturbed_run_leaves_nothing_behind(undisturbed: Undisturbed) -> None:
    left = json.loads(undisturbed.picture)
    assert (left["open deletions"], left["unfinished run"], left["locks"], left["processes"]) == ([], None, [], [])
    held = [name for name in left["state"] if name.startswith("linux")]
    assert held == ["linux-0", "linux-0-server", "linux-1", "linux-2", "linux-2-server"]
    assert {kind: len(records) for kind, records in left["cloud"].items() if records} == {
        "server": 2, "ip": 3, "ipam_ip": 3, "block_volume": 2, "security_group": 1,
    }  # fmt: skip


def test_every_step_that_cannot_be_taken_back_is_among_those_that_are_killed(undisturbed: Undisturbed) -> None:
    expected = {"run.begun", "run.finished"}
    expected |= {f"tag.{step}" for step in ("started", "tagging", "tagged", "finished")}
    expected |= {f"refresh.{step}" for step in ("started", "refreshing", "child", "refreshed", "finished")}
    expected |= {
        f"destroy.{step}" for step in ("started", "deciding", "decided", "sending", "sent", "absent", "finished")
    }
    assert expected <= set(undisturbed.steps)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_run_that_is_killed_at_any_step_ends_in_the_same_world(
    part: int, base: Base, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    for number in range(1, len(undisturbed.steps) + 1):
        if number % PARTS == part:
            killed_and_resumed(base.copy(tmp_path / f"{number}"), number, expected=undisturbed)


# -- the same on PostgreSQL, where a lease and a decision go by another clock and other locks


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    try:
        with temporary_cluster() as made:
            yield made
    except PostgresUnavailable as error:
        pytest.skip(str(error))


def numbers(steps: Sequence[str], names: Sequence[str]) -> list[int]:
    return [steps.index(name) + 1 for name in names]


@pytest.mark.postgres
def test_a_run_that_is_killed_ends_in_the_same_world_on_postgresql(cluster: Cluster, tmp_path: Path) -> None:
    first = cluster.create_database("base")
    upgrade(first)
    base = make_base(tmp_path / "base", database=first)

    def rig(name: str) -> Rig:
        cluster.sql(f'CREATE DATABASE "{name}" TEMPLATE base')
        return base.copy(tmp_path / name, database=cluster.url(name))

    expected = not_disturbed(rig("undisturbed"))
    for number in numbers(expected.steps, ("refresh.child", "destroy.decided", "destroy.sent", "destroy.absent")):
        killed_and_resumed(rig(f"step{number}"), number, expected=expected)

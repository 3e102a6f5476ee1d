"""Who may still be at work for a stack, found with processes that really run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.engine import locks, processes, survivors
from reconciler.engine.backend import Backend, backend_of
from reconciler.engine.stacks import StackName
from reconciler.kernel.clock import SystemClock
from reconciler.model.state import LiveProcess, Lock
from tests.engine.test_locks import NAME, put

pytestmark = pytest.mark.skipif(not processes.has_proc(), reason="environments are read from /proc")

CLOCK = SystemClock()


class Nursery:
    """Starts programs that have a name and arguments of Pulumi's and do nothing; ends them."""

    def __init__(self, root: Path) -> None:
        self._root, self._children = root, []  # type: ignore[var-annotated]
        self.backend = backend_of(f"file://{root / 'state'}", env={}, cwd=root)

    def start(self, program: str, *args: str, **env: str) -> int:
        """The pid of a program of that name that waits."""
        script = self._root / program
        if not script.exists():
            shutil.copy(sys.executable, script)
        home = {"PYTHONHOME": sys.base_prefix, "LD_LIBRARY_PATH": str(Path(sys.base_prefix) / "lib")}
        child = subprocess.Popen(
            [str(script), "-c", "import sys,time\nprint('up',flush=True)\ntime.sleep(600)", *args],
            env={**home, **env},
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        self._children.append(child)
        return child.pid

    def end(self) -> None:
        for child in self._children:
            child.kill()
            child.wait()
            child.stdout.close()

    def live(
        self, name: StackName = NAME, backend: Backend | None = None, *, own_pid: int = -1
    ) -> dict[int, LiveProcess]:
        mine = {child.pid for child in self._children}
        found = survivors.live(name, backend or self.backend, own_pid=own_pid)
        return {process.pid: process for process in found if process.pid in mine}


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    made = Nursery(tmp_path)
    yield made
    made.end()


def here(nursery: Nursery) -> dict[str, str]:
    return {"PULUMI_BACKEND_URL": nursery.backend.url}


def test_a_plugin_of_this_backend_counts(nursery: Nursery) -> None:
    pid = nursery.start("pulumi-resource-scaleway", PULUMI_PROJECT="proj", **here(nursery))
    found = nursery.live()[pid]
    assert (found.name, found.why) == ("pulumi-resource-scaleway", "its environment names this backend")
    assert found.started_ms is not None
    assert abs(found.started_ms - CLOCK.now_ms()) < 60_000


def test_a_plugin_that_says_nothing_of_itself_counts(nursery: Nursery) -> None:
    pid = nursery.start("pulumi-resource-scaleway")
    assert nursery.live()[pid].why == "nothing rules it out"


def test_a_plugin_of_another_backend_does_not(nursery: Nursery) -> None:
    nursery.start("pulumi-resource-scaleway", PULUMI_BACKEND_URL="file:///somewhere/else")
    nursery.start("pulumi-resource-scaleway", PULUMI_BACKEND_URL="s3://bucket")
    assert nursery.live() == {}


def test_a_plugin_of_another_project_does_not(nursery: Nursery) -> None:
    nursery.start("pulumi-resource-scaleway", PULUMI_PROJECT="other", **here(nursery))
    assert nursery.live() == {}


def test_a_backend_that_is_written_in_another_way_is_the_same(nursery: Nursery, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "state")
    pid = nursery.start("pulumi-resource-scaleway", PULUMI_BACKEND_URL=f"file://{tmp_path / 'link'}?no_tmp_dir=true")
    assert pid in nursery.live()


def test_a_setting_in_the_url_of_a_bucket_makes_no_other_bucket(nursery: Nursery) -> None:
    pid = nursery.start("pulumi-resource-scaleway", PULUMI_BACKEND_URL="s3://bucket/")
    assert pid in nursery.live(backend=Backend("s3://bucket?region=fr-par"))


def test_a_cli_counts_while_it_can_make_things(nursery: Nursery) -> None:
    up = nursery.start("pulumi", "--non-interactive", "up", "--yes", **here(nursery))
    nursery.start("pulumi", "stack", "export", **here(nursery))
    nursery.start("pulumi", "preview", **here(nursery))
    assert list(nursery.live()) == [up]


@pytest.mark.parametrize("words", [("--stack", "other"), ("--stack=o/proj/other",), ("-s", "other")])
def test_a_cli_that_names_another_stack_does_not(nursery: Nursery, words: tuple[str, ...]) -> None:
    nursery.start("pulumi", "up", *words, **here(nursery))
    assert nursery.live() == {}


def test_a_cli_that_names_this_stack_does(nursery: Nursery) -> None:
    pid = nursery.start("pulumi", "up", "--stack", "organization/proj/dev", **here(nursery))
    assert pid in nursery.live()


def test_a_language_host_needs_a_tie(nursery: Nursery) -> None:
    tied = nursery.start("pulumi-language-python", **here(nursery))
    nursery.start("pulumi-language-nodejs")
    assert list(nursery.live()) == [tied]


def test_another_program_is_none_of_this(nursery: Nursery) -> None:
    nursery.start("pulumi-resource-aws", **here(nursery))
    assert nursery.live() == {}


def test_a_reading_child_of_our_own_is_left_out(nursery: Nursery) -> None:
    nursery.start("pulumi", "refresh", **here(nursery))
    assert nursery.live() != {}
    assert nursery.live(own_pid=os.getpid()) == {}


# -- who took a lock


def lock_of(pid: int | None, *, created_ms: int | None = None, host: str | None = None) -> Lock:
    created = CLOCK.now_ms() + 1 if created_ms is None else created_ms
    return Lock(created_by=f"ci@{host or locks.host()}", pid=pid, created_ms=created, source="a.json")


def test_a_process_that_runs_and_is_older_than_its_lock_is_alive(nursery: Nursery) -> None:
    job = {"CI_JOB_URL": "https://gitlab.example/j/1"}
    evidence = survivors.evidence(lock_of(nursery.start("pulumi", "up", "--config", "k=secret", **job)), sees_all=True)
    assert (evidence.here, evidence.alive) == (True, True)
    assert (evidence.command, evidence.job) == ("pulumi up", "https://gitlab.example/j/1")


def test_a_process_that_is_gone_is_dead(nursery: Nursery) -> None:
    pid = nursery.start("pulumi", "up")
    nursery.end()
    assert survivors.evidence(lock_of(pid), sees_all=True).alive is False


def test_a_pid_that_was_given_again_is_not_the_process(nursery: Nursery) -> None:
    pid = nursery.start("pulumi", "up")
    old = lock_of(pid, created_ms=CLOCK.now_ms() - 3_600_000)
    assert survivors.evidence(old, sees_all=True).alive is False


def test_inside_a_container_what_is_not_seen_may_live(nursery: Nursery) -> None:
    pid = nursery.start("pulumi", "up")
    nursery.end()
    assert survivors.evidence(lock_of(pid), sees_all=False).alive is None


@pytest.mark.parametrize(
    ("lock", "here"),
    [
        (lock_of(1, host="elsewhere"), False),
        (lock_of(None), True),
        (Lock(created_by="unknown", source="a.json"), None),
    ],
)
def test_what_is_not_told_is_not_known(lock: Lock, here: bool | None) -> None:
    evidence = survivors.evidence(lock, sees_all=True)
    assert (evidence.here, evidence.alive) == (here, None)


def test_a_github_job_is_named_by_its_run() -> None:
    environ = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "7"}
    assert survivors.job_of(environ) == "https://github.com/o/r/actions/runs/7"
    assert survivors.job_of({"HOME": "/root"}) == ""


# -- the lock's own file


def test_exactly_this_lock_is_released(tmp_path: Path) -> None:
    first, second = put(tmp_path, "a.json"), put(tmp_path, "b.json", pid=2)
    attributes = first.with_name("a.json.attrs")
    attributes.write_text("{}")
    held = {lock.source: lock for lock in locks.read(tmp_path, NAME)}
    assert locks.release(tmp_path, NAME, held["a.json"])
    assert (first.exists(), attributes.exists(), second.exists()) == (False, False, True)


def test_a_lock_that_was_taken_anew_under_the_same_name_stays(tmp_path: Path) -> None:
    path = put(tmp_path, "a.json")
    (held,) = locks.read(tmp_path, NAME)
    put(tmp_path, "a.json", pid=2)
    assert not locks.release(tmp_path, NAME, held)
    assert path.exists()


def test_a_lock_that_is_gone_is_not_released_again(tmp_path: Path) -> None:
    path = put(tmp_path, "a.json")
    (held,) = locks.read(tmp_path, NAME)
    path.unlink()
    assert not locks.release(tmp_path, NAME, held)

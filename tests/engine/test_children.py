"""A child of an earlier run is waited for, ended at the deadline, and its lock is given back."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.engine import children, locks, processes
from reconciler.engine.cli import EngineLimits
from reconciler.engine.processes import MARK_VARIABLE
from reconciler.kernel.clock import SystemClock
from reconciler.kernel.errors import RefusedError
from reconciler.ports.engine import ChildProcess
from tests.engine.fakes import FakePulumi

MARK = "0123456789abcdef"
LIMITS = EngineLimits(await_seconds=0.5, grace_seconds=0.5)


class Child:
    """A stand-in for a CLI of an earlier run, with a plugin in a group of its own."""

    def __init__(self, code: str, *, mark: bool) -> None:
        program = (
            "import subprocess, sys, signal, time\n"
            "p = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'], process_group=0)\n"
            f"print(p.pid, flush=True)\n{code}"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-c", program, *(children.message(MARK) if mark else ())],
            env={**os.environ, MARK_VARIABLE: MARK} if mark else dict(os.environ),
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.plugin = int(self.process.stdout.readline())

    def entry(self, **changes: object) -> ChildProcess:
        entry = ChildProcess(
            pid=self.process.pid,
            started_ms=processes.started_ms(self.process.pid) or 0,
            stack="organization/proj/dev",
            argv=processes.command_line(self.process.pid) or (),
            host=locks.host(),
        )
        return dataclasses.replace(entry, **changes)  # type: ignore[arg-type]

    def close(self) -> None:
        processes.kill_session(self.process.pid, clock=SystemClock())
        self.process.communicate()


@pytest.fixture
def made() -> Iterator[list[Child]]:
    found: list[Child] = []
    yield found
    for child in found:
        child.close()


def start(made: list[Child], code: str = "time.sleep(60)", *, mark: bool = True) -> Child:
    made.append(Child(code, mark=mark))
    return made[-1]


def lock_of(fake: FakePulumi, pid: int, name: str = "a.json", *, timestamp: str = "") -> Path:
    stamp = timestamp or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return fake.lock(name, pid=pid, username="ci", hostname=locks.host(), timestamp=stamp)


def test_a_child_that_hangs_is_ended_with_its_plugin_and_its_lock(fake: FakePulumi, made: list[Child]) -> None:
    child = start(made, "signal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(60)")
    ours, other = lock_of(fake, child.process.pid), lock_of(fake, 1, "other.json")
    assert fake.engine(limits=LIMITS).await_child(child.entry()) is True
    assert processes.find(child.process.pid) is None
    assert processes.find(child.plugin) is None
    assert not ours.exists()
    assert other.exists()


def test_a_plugin_that_outlived_its_cli_is_ended(fake: FakePulumi, made: list[Child]) -> None:
    child = start(made)
    entry = child.entry()
    ours = lock_of(fake, child.process.pid)
    child.process.kill()
    child.process.wait()
    assert processes.find(child.plugin) is not None
    assert fake.engine(limits=LIMITS).await_child(entry) is True
    assert processes.find(child.plugin) is None
    assert not ours.exists()


def test_a_child_that_ends_in_time_is_not_touched(fake: FakePulumi, made: list[Child]) -> None:
    child = start(made, "p.kill(); p.wait(); time.sleep(0.3); sys.exit(5)")
    assert fake.engine(limits=EngineLimits(await_seconds=30)).await_child(child.entry()) is True
    assert child.process.wait() == 5


def test_a_stranger_with_the_pid_of_a_child_lives_on(fake: FakePulumi, made: list[Child]) -> None:
    child = start(made)
    entry = child.entry(argv=("pulumi", "refresh", *children.message("fedcba9876543210")))
    assert fake.engine(limits=LIMITS).await_child(entry) is True
    assert processes.find(child.process.pid) is not None
    assert processes.find(child.plugin) is not None


def test_a_stranger_with_the_arguments_of_a_child_and_another_start_lives_on(
    fake: FakePulumi, made: list[Child]
) -> None:
    child = start(made, mark=False)
    entry = child.entry(started_ms=1_700_000_000_000)
    assert fake.engine(limits=LIMITS).await_child(entry) is True
    assert processes.find(child.process.pid) is not None
    assert processes.find(child.plugin) is not None


def test_a_lock_of_the_same_pid_from_before_the_child_stays(fake: FakePulumi, made: list[Child]) -> None:
    child = start(made)
    old = lock_of(fake, child.process.pid, timestamp="2020-01-01T00:00:00Z")
    assert fake.engine(limits=LIMITS).await_child(child.entry()) is True
    assert old.exists()


def test_a_lock_of_a_pid_that_somebody_else_has_now_stays(fake: FakePulumi, made: list[Child]) -> None:
    stranger = start(made)
    path = lock_of(fake, stranger.process.pid)
    entry = stranger.entry(argv=("pulumi", "refresh", *children.message("fedcba9876543210")))
    assert fake.engine(limits=LIMITS).await_child(entry) is True
    assert path.exists()


def test_a_child_of_another_host_cannot_be_settled_here(fake: FakePulumi, made: list[Child]) -> None:
    child = start(made)
    path = lock_of(fake, child.process.pid)
    assert fake.engine(limits=LIMITS).await_child(child.entry(host="elsewhere")) is False
    assert processes.find(child.process.pid) is not None
    assert path.exists()


def test_a_killed_child_on_an_object_store_leaves_a_lock_that_is_named(fake: FakePulumi, made: list[Child]) -> None:
    child = start(made, "signal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(60)")
    with pytest.raises(RefusedError) as caught:
        fake.engine(limits=LIMITS, backend="s3://bucket").await_child(child.entry())
    assert caught.value.code == "RC0612"
    assert "pulumi cancel" in caught.value.hint
    assert processes.find(child.process.pid) is None


def test_a_child_that_is_long_gone_is_gone(fake: FakePulumi) -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as ended:
        ended.wait()
    entry = ChildProcess(pid=ended.pid, started_ms=1, stack="proj/dev", argv=("pulumi",))
    assert fake.engine(limits=LIMITS).await_child(entry) is True


def test_the_mark_is_in_the_arguments() -> None:
    assert children.mark_of(("pulumi", "refresh", *children.message(MARK), "--color")) == MARK
    assert children.mark_of(("pulumi", "refresh")) == ""


def test_an_entry_survives_a_journal() -> None:
    entry = ChildProcess(pid=1, started_ms=2, stack="a/b/c", argv=("x", "y"), host="h")
    stored = json.loads(json.dumps(dataclasses.asdict(entry)))
    assert ChildProcess(**{**stored, "argv": tuple(stored["argv"])}) == entry

"""A child has a deadline, a bound on its output, and leaves nobody behind."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from reconciler.engine import processes
from reconciler.engine.process import Finished, Runner
from reconciler.kernel.clock import SystemClock
from reconciler.kernel.errors import EngineError, InternalError
from reconciler.kernel.guards import transaction

CLOCK = SystemClock()


def run(code: str, *, deadline: float = 30, limit: int = 1 << 20, grace: float = 5, **more: object) -> Finished:
    return Runner(clock=CLOCK, grace_seconds=grace).run(
        [sys.executable, "-S", "-c", code],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        cwd=Path("/"),
        deadline_seconds=deadline,
        limit=limit,
        **more,  # type: ignore[arg-type]
    )


def gone(pid: int) -> bool:
    return processes.find(pid) is None


def test_output_and_status_come_back() -> None:
    finished = run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert (finished.status, bytes(finished.stdout), finished.stderr) == (7, b"out\n", "err\n")
    assert not finished.timed_out
    assert not finished.truncated


def test_a_child_that_heeds_sigint_ends_by_itself_at_the_deadline() -> None:
    finished = run(
        "import signal,sys,time\n"
        "signal.signal(signal.SIGINT, lambda *_: (print('bye'), sys.exit(3)))\n"
        "print('ready')\ntime.sleep(60)",
        deadline=1,
    )
    assert finished.timed_out
    assert not finished.killed
    assert (finished.status, bytes(finished.stdout)) == (3, b"ready\nbye\n")


def test_a_child_that_ignores_sigint_is_killed_after_the_grace() -> None:
    finished = run(
        "import signal,time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('ready')\ntime.sleep(60)",
        deadline=1,
        grace=0.2,
    )
    assert finished.timed_out
    assert finished.killed
    assert finished.status == -signal.SIGKILL


# As the CLI starts a plugin: in a process group of its own, which outlives a killed leader.
PLUGIN = (
    "import subprocess,sys,time,signal,os\n"
    "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "p = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'], process_group=0,\n"
    "                     stdout={out}, stderr=subprocess.DEVNULL)\n"
    "print(p.pid)\n"
)


@pytest.mark.parametrize("out", ["subprocess.DEVNULL", "None"], ids=["closed", "holds-the-pipe"])
def test_a_plugin_in_a_group_of_its_own_is_killed_with_the_child(out: str) -> None:
    finished = run(PLUGIN.format(out=out) + "time.sleep(60)", deadline=1, grace=0.2)
    assert finished.killed
    assert gone(int(finished.stdout))


def test_a_plugin_that_outlives_a_child_that_ended_well_is_killed() -> None:
    finished = run(PLUGIN.format(out="None"))
    assert finished.status == 0
    assert gone(int(finished.stdout))


def test_output_over_the_bound_is_read_and_thrown_away() -> None:
    finished = run("import sys\nfor _ in range(64): sys.stdout.write('x' * 65536)", limit=100_000)
    assert finished.status == 0  # it would hang on a full pipe if nobody read on
    assert finished.truncated
    assert finished.stdout == b"x" * 100_000


def test_a_flood_on_both_pipes_does_not_block_the_child() -> None:
    finished = run("import sys\nfor _ in range(64):\n sys.stderr.write('e' * 65536)\n sys.stdout.write('o' * 65536)")
    assert finished.status == 0
    assert len(finished.stderr) == 1 << 20


def test_lines_are_handed_on_whole_and_in_order() -> None:
    seen: list[bytes] = []
    finished = run("print('a' * 100_000)\nprint('b')\nprint('c', end='')", on_line=seen.append)
    assert seen == [b"a" * 100_000, b"b", b"c"]
    assert finished.stdout == b""


def test_an_endless_line_is_bounded() -> None:
    seen: list[bytes] = []
    finished = run("import sys\nfor _ in range(64): sys.stdout.write('x' * 65536)", limit=200_000, on_line=seen.append)
    assert finished.truncated
    assert all(len(line) <= 200_000 + 65_536 for line in seen)


def test_an_error_while_a_line_is_handled_is_raised_after_the_child_has_ended() -> None:
    def fail(line: bytes) -> None:
        raise ValueError(line.decode())

    with pytest.raises(ValueError, match="first"):
        run("print('first'); print('second')", on_line=fail)


def test_the_child_is_ended_when_its_start_cannot_be_noted() -> None:
    pids: list[int] = []

    def fail(pid: int, started_ms: int) -> None:
        pids.append(pid)
        raise OSError("the journal is full")

    with pytest.raises(OSError, match="journal"):
        run("import time; time.sleep(60)", on_start=fail)
    assert gone(pids[0])


def test_the_start_is_noted_while_the_child_runs() -> None:
    seen: list[tuple[bool, int]] = []
    run(
        "import time; time.sleep(60)",
        deadline=0.2,
        on_start=lambda pid, started: seen.append((processes.find(pid) is not None, started)),
    )
    running, started_ms = seen[0]
    assert running
    assert abs(started_ms - CLOCK.now_ms()) < 60_000


def test_no_child_is_started_inside_a_transaction() -> None:
    with transaction("claims"), pytest.raises(InternalError) as caught:
        run("print()")
    assert caught.value.code == "RC0901"


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(EngineError, match="no-such-pulumi") as caught:
        Runner(clock=CLOCK).run(["/no-such-pulumi"], env={}, cwd=Path("/"), deadline_seconds=1, limit=1)
    assert caught.value.code == "RC0501"


def test_a_zombie_counts_as_gone() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    try:
        assert processes.find(pid) is None
        assert pid not in {process.pid for process in processes.table()}
    finally:
        os.waitpid(pid, 0)


def test_a_session_is_cleared_of_marked_processes_only() -> None:
    """What a reused session id holds is a stranger's unless it carries our mark."""
    code = "import os,sys,subprocess\np = subprocess.Popen(['sleep', '60'])\nprint(p.pid, flush=True)\np.wait()"
    import subprocess

    with subprocess.Popen(
        [sys.executable, "-S", "-c", code],
        env={**os.environ, processes.MARK_VARIABLE: "mine"},
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as leader:
        assert leader.stdout is not None
        child = int(leader.stdout.readline())
        assert processes.kill_session(leader.pid, clock=CLOCK, mark="another's")
        assert not gone(child)
        assert processes.kill_session(leader.pid, clock=CLOCK, mark="mine")
        assert gone(child)

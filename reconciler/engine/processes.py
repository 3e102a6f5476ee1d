"""Which processes belong to a child of ours, and how to end all of them.

The Pulumi CLI puts each plugin into a process group of its own, so killing the CLI's group leaves the provider alive,
adopted by init and still talking to the cloud. What they share is the *session*: we start the CLI in a new one, its
id is the CLI's pid, and a plugin never leaves it. So a child is ended by session. A session id cannot be used again
while a member lives, but a pid can once all are gone; `belongs` therefore also wants our mark, which the child and
everything that it starts carry in their environment.

Without `/proc` (macOS) the members are the descendants and the group, from `ps`: a plugin whose CLI has already died
cannot be found there.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reconciler.kernel.clock import Clock

MARK_VARIABLE: Final = "RECONCILER_CHILD"
_PROC: Final = Path("/proc")
_POLL_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Process:
    """One line of the process table. `session` is 0 where the system does not tell it."""

    pid: int
    parent: int
    group: int
    session: int
    state: str
    start_ticks: int = 0

    @property
    def dead(self) -> bool:
        """A zombie runs no code; it waits for a parent that may never ask."""
        return self.state in ("Z", "X")


def has_proc() -> bool:
    return (_PROC / "self" / "stat").exists()


def _from_proc(pid: int) -> Process | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name is in parentheses and may hold blanks and parentheses itself: what counts begins after the last one.
    fields = text.rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    return Process(pid, int(fields[1]), int(fields[2]), int(fields[3]), fields[0], int(fields[19]))


def _from_ps() -> list[Process]:
    run = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat="], capture_output=True, text=True, timeout=20, check=False
    )
    rows = (line.split() for line in run.stdout.splitlines())
    return [Process(int(row[0]), int(row[1]), int(row[2]), 0, row[3][0]) for row in rows if len(row) >= 4]


def table() -> list[Process]:
    """All processes, the dead left out."""
    if not has_proc():
        return [process for process in _from_ps() if not process.dead]
    pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    found = [process for pid in pids if (process := _from_proc(pid)) is not None]
    return [process for process in found if not process.dead]


def find(pid: int) -> Process | None:
    """The process with this pid, if it runs."""
    if has_proc():
        process = _from_proc(pid)
        return None if process is None or process.dead else process
    return next((process for process in table() if process.pid == pid), None)


def members(leader: int) -> list[Process]:
    """The child and all that it started: its session, and where that is not told its group and its descendants."""
    everything = table()
    if has_proc():
        return [process for process in everything if process.session == leader]
    family = {leader}
    grew = True
    while grew:
        fresh = {p.pid for p in everything if p.pid not in family and (p.parent in family or p.group in family)}
        family |= fresh
        grew = bool(fresh)
    return [process for process in everything if process.pid in family]


def command_line(pid: int) -> tuple[str, ...] | None:
    """The argument list of a process; None when it cannot be read."""
    try:
        if has_proc():
            raw = (_PROC / str(pid) / "cmdline").read_bytes()
            return tuple(part.decode(errors="replace") for part in raw.split(b"\0")[:-1])
        run = subprocess.run(
            ["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, timeout=20, check=False
        )
        return tuple(run.stdout.split()) or None
    except OSError:
        return None


def belongs(pid: int, mark: str) -> bool | None:
    """Whether the environment of a process holds our mark; None when it has none to show, as in the middle of an
    exec. False when it may not be read: then it runs as somebody else."""
    try:
        raw = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return f"{MARK_VARIABLE}={mark}".encode() in raw.split(b"\0") if raw else None


def started_ms(pid: int) -> int | None:
    """When a process began, epoch milliseconds by the kernel's clock (to about a second); None when not told."""
    process = _from_proc(pid) if has_proc() else None
    if process is None:
        return None
    try:
        lines = (_PROC / "stat").read_text().splitlines()
        boot = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
    except (OSError, StopIteration, ValueError):
        return None
    return boot * 1000 + process.start_ticks * 1000 // os.sysconf("SC_CLK_TCK")


def send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def wait_until(ready: Callable[[], bool], *, seconds: float, clock: Clock) -> bool:
    """Whether `ready` came true within that time."""
    end = clock.monotonic() + seconds
    while not ready():
        if clock.monotonic() >= end:
            return False
        clock.sleep(_POLL_SECONDS)
    return True


def kill_session(leader: int, *, clock: Clock, seconds: float = 5.0, mark: str = "") -> bool:
    """SIGKILL to every process of the child's session, again until none is left. True when none is.

    With a mark (not empty) only those that carry it are touched: the way to end what an earlier run left behind.
    """

    def left() -> tuple[list[int], list[int]]:
        """(ours, undecided)"""
        pids = [process.pid for process in members(leader)]
        if not mark:
            return pids, []
        answers = [(pid, belongs(pid, mark)) for pid in pids]
        return [pid for pid, ours in answers if ours], [pid for pid, ours in answers if ours is None]

    def emptied() -> bool:
        ours, undecided = left()
        send(ours, signal.SIGKILL)
        return not ours and not undecided

    return wait_until(emptied, seconds=seconds, clock=clock) or not left()[0]

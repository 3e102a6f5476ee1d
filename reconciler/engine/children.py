"""A child of an earlier run of ours: wait for it, end it at the deadline, and give back its lock and no other.

Its journal entry has pid, start, stack and arguments. A pid is used again by the system, so a running process is that
child only if its start and its arguments are those of the entry; the last argument is a mark that was made for this
child alone. The mark is also in the environment of everything that it started, which is how a plugin that outlived
the CLI is told from a stranger in a session with the same number.

The gate of that child died with the run that started it, so its refresh can read nothing and changes nothing.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Final

from reconciler.engine import locks, processes
from reconciler.engine.backend import Backend
from reconciler.engine.stacks import StackName
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import RefusedError
from reconciler.ports.engine import ChildProcess

MESSAGE: Final = "reconciler-refresh:"  # no blank in it: `ps` does not quote
# The kernel counts from boot in ticks and tells the time of boot in whole seconds, which a clock step moves.
_START_SLACK_MS: Final = 5_000


def message(mark: str) -> list[str]:
    """The arguments that carry the mark: the update's own message, which shows in the stack's history too."""
    return ["--message", MESSAGE + mark]


def mark_of(argv: tuple[str, ...]) -> str:
    """The mark in an argument list; empty when it has none."""
    return next((item.removeprefix(MESSAGE) for item in argv if item.startswith(MESSAGE)), "")


def is_running(child: ChildProcess) -> bool:
    """Whether that very process still runs; a pid that is somebody else's now does not count."""
    if processes.find(child.pid) is None:
        return False
    started = processes.started_ms(child.pid)
    if started is not None and abs(started - child.started_ms) > _START_SLACK_MS:
        return False
    return processes.command_line(child.pid) == child.argv


def settle(
    child: ChildProcess, *, name: StackName, backend: Backend, clock: Clock, seconds: float, grace: float
) -> bool:
    """Wait for a child, end it at the deadline, clear its lock. True when nothing of it is left.

    False: it runs on another host, or could not be killed. Raises RefusedError RC0612 when it had to be killed and
    holds a lock that cannot be cleared from here.
    """
    if child.host and child.host != locks.host():
        return False
    killed = False
    if not processes.wait_until(lambda: not is_running(child), seconds=seconds, clock=clock):
        processes.send([child.pid], signal.SIGINT)
        processes.wait_until(lambda: not is_running(child), seconds=grace, clock=clock)
        killed = is_running(child)
    if not _sweep(child, clock=clock):
        return False
    clear(backend, name, pid=child.pid, since_ms=child.started_ms, killed=killed)
    return True


def _sweep(child: ChildProcess, *, clock: Clock) -> bool:
    """End what is left: the child itself, and plugins that outlived it."""
    if is_running(child):
        return processes.kill_session(child.pid, clock=clock)
    mark = mark_of(child.argv)
    return not mark or processes.kill_session(child.pid, clock=clock, mark=mark)


def clear(backend: Backend, name: StackName, *, pid: int, since_ms: int, killed: bool) -> None:
    """Remove the lock of a process that has ended. Raises RefusedError RC0612 when it was killed and its lock is out
    of reach; a child that ended by itself gave its lock back itself."""
    root: Path | None = backend.directory
    if root is not None:
        if processes.find(pid) is None:  # else the pid is somebody else's by now, and so may the lock be
            locks.remove(root, name, pid=pid, since_ms=since_ms)
    elif killed:
        raise RefusedError(
            f"the refresh of {name.short} (pid {pid}) was killed and its lock is in a place that only the CLI reaches",
            code="RC0612",
            hint=f"When nothing else works on this stack, run `pulumi cancel --stack {name}`: it removes every lock.",
        )

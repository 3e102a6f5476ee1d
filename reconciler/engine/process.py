"""Runs one child with a deadline and bounded output (rule 17, docs/rules.md).

The child leads a session of its own, so that a Ctrl-C meant for us does not reach it and so that all it starts can be
found again. At the deadline it gets SIGINT, which lets the CLI finish the read in flight, write what it has and give
its lock back; after the grace everything in the session gets SIGKILL. Both pipes are drained by threads until they
close, and what goes over the bound is read and thrown away: a child that is not read from would hang.

There is no parent-death signal on purpose. If we are killed, a refresh in flight loses its gate, reads nothing more,
changes nothing (a refused connection is an error, never "gone"). Whether it gives its lock back is not certain: both
were seen, and a CLI that dies at its next write to our broken pipe leaves the lock, and its plugin. So each child is in
the journal, and the next run ends what is left of it and clears that lock alone (`children`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from reconciler.engine.processes import kill_session, members, started_ms, wait_until
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import EngineError
from reconciler.kernel.guards import assert_outside_transaction

_CHUNK: Final = 1 << 16
_STDERR_LIMIT: Final = 1 << 20
# How long a child's own children may take to end after it, before they are ended.
_SETTLE_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a child ended. `status` is negative for a signal; `truncated` when stdout went over its bound."""

    pid: int
    status: int
    stdout: bytearray
    stderr: str
    seconds: float
    timed_out: bool
    killed: bool
    truncated: bool


class _Drain(threading.Thread):
    """Reads one pipe to its end. Keeps the first `limit` bytes, or hands on whole lines and keeps nothing."""

    def __init__(self, pipe: IO[bytes], *, limit: int, on_line: Callable[[bytes], None] | None = None) -> None:
        super().__init__(daemon=True, name="reconciler-drain")
        self._pipe, self._limit, self._on_line = pipe, limit, on_line
        self._kept = bytearray()
        self.truncated = False
        self.error: Exception | None = None

    @property
    def kept(self) -> bytearray:
        return self._kept

    def run(self) -> None:
        with suppress(OSError, ValueError):  # the pipe is closed under us when a stray process held it open
            while chunk := self._pipe.read1(_CHUNK):  # type: ignore[attr-defined]  # Popen's pipes are BufferedReaders
                self._take(chunk)
            if self._on_line is not None and self._kept:
                self._line(bytes(self._kept))
                self._kept.clear()

    def _take(self, chunk: bytes) -> None:
        if self._on_line is None:
            room = self._limit - len(self._kept)
            self.truncated |= len(chunk) > room
            self._kept += chunk[: max(room, 0)]
            return
        self._kept += chunk
        if b"\n" in chunk:
            *lines, rest = bytes(self._kept).split(b"\n")
            for line in lines:
                self._line(line)
            self._kept = bytearray(rest)
        if len(self._kept) > self._limit:  # one endless line
            self.truncated = True
            self._kept.clear()

    def _line(self, line: bytes) -> None:
        if self._on_line is None or self.error is not None:
            return
        try:
            self._on_line(line)
        except Exception as error:  # raised again by whoever waits; a dead drain would hang the child
            self.error = error


def _exited(child: subprocess.Popen[bytes]) -> bool:
    """Whether the child has ended, without reaping it: until it is reaped nobody else can get its session id."""
    if child.returncode is not None:
        return True
    if not hasattr(os, "waitid"):
        return child.poll() is not None
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


class Runner:
    """Starts children. `grace_seconds`: from SIGINT to SIGKILL."""

    def __init__(self, *, clock: Clock, grace_seconds: float = 20.0) -> None:
        self._clock, self._grace = clock, grace_seconds

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        deadline_seconds: float,
        limit: int,
        on_line: Callable[[bytes], None] | None = None,
        on_start: Callable[[int, int], None] | None = None,
    ) -> Finished:
        """Run to the end. `on_start(pid, started_ms)` is called once the child runs and before it is waited for.

        `limit` bounds stdout in bytes, or with `on_line` one line of it. Raises EngineError RC0501 when the program
        cannot be started, and what `on_start` or `on_line` raised, after the child has been ended.
        """
        assert_outside_transaction(argv[0])
        begun = self._clock.monotonic()
        child = self._spawn(argv, env=env, cwd=cwd)
        assert child.stdout is not None and child.stderr is not None  # noqa: PT018
        out, err = _Drain(child.stdout, limit=limit, on_line=on_line), _Drain(child.stderr, limit=_STDERR_LIMIT)
        out.start()
        err.start()
        try:
            if on_start is not None:
                on_start(child.pid, started_ms(child.pid) or self._clock.now_ms())
            timed_out = not self._wait(child, deadline_seconds)
        except BaseException:
            self._end(child)
            raise
        finally:
            killed = self._clean_up(child, (out, err))
        if out.error is not None:
            raise out.error
        return Finished(
            pid=child.pid,
            status=child.returncode,
            stdout=out.kept,
            stderr=err.kept.decode(errors="replace"),
            seconds=self._clock.monotonic() - begun,
            timed_out=timed_out,
            killed=killed,
            truncated=out.truncated,
        )

    def _spawn(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                list(argv),
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineError(
                f"{Path(argv[0]).name} could not be started in {cwd}: {error.strerror or error}",
                code="RC0501",
                hint="Install the Pulumi CLI and put it on PATH; `reconciler doctor` shows what was found.",
            ) from error

    def _wait(self, child: subprocess.Popen[bytes], seconds: float) -> bool:
        """Whether it ended by itself in time; at the deadline it is ended."""
        if wait_until(lambda: _exited(child), seconds=seconds, clock=self._clock):
            return True
        self._end(child)
        return False

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        """SIGINT to the leader, for it tells its plugins itself; then SIGKILL to all."""
        if not _exited(child):
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGINT)
            wait_until(lambda: _exited(child), seconds=self._grace, clock=self._clock)

    def _clean_up(self, child: subprocess.Popen[bytes], drains: tuple[_Drain, _Drain]) -> bool:
        """No process of the session and no pipe is left. True when the leader itself had to be killed."""
        killed = not _exited(child)
        if not killed:
            wait_until(lambda: not members(child.pid), seconds=_SETTLE_SECONDS, clock=self._clock)
        empty = kill_session(child.pid, clock=self._clock)
        child.wait()
        for drain in drains:
            drain.join(_SETTLE_SECONDS)
        for drain, pipe in zip(drains, (child.stdout, child.stderr), strict=True):
            # A process that left the session may hold the pipe: then it stays with its daemon thread, for closing it
            # here would wait for that thread's lock.
            if pipe is not None and not drain.is_alive():
                pipe.close()
        if not empty:
            raise EngineError(
                f"a process of child {child.pid} could not be killed",
                code="RC0516",
                hint=f"Look at `ps -s {child.pid}`: a process that waits for a disk cannot be ended.",
            )
        return killed

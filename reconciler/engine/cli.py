"""The Pulumi CLI as a function: arguments in, bytes out, typed errors.

Every command is non-interactive, colourless and bounded in time and output. Commands that only read run in the
directory that the caller chose, as `pulumi` typed there would (its `Pulumi.yaml` may name the backend); the backend is
asked for once and then given to every child by `PULUMI_BACKEND_URL`, so that a refresh in a made-up project directory
means the same state.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reconciler.engine import locks, shapes
from reconciler.engine.backend import Backend, backend_of
from reconciler.engine.environment import Scrubber, child_environment
from reconciler.engine.failures import failure
from reconciler.engine.process import Finished, Runner
from reconciler.engine.stacks import StackName
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import EngineError
from reconciler.kernel.randomness import Randomness
from reconciler.ports.engine import ChildProcess

_MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLimits:
    """Deadlines in seconds, bounds in bytes. `grace_seconds` is from SIGINT to SIGKILL."""

    read_seconds: float = 120.0
    preview_seconds: float = 900.0
    refresh_seconds: float = 600.0
    await_seconds: float = 600.0
    grace_seconds: float = 20.0
    export_bytes: int = 1024 * _MEGABYTE
    line_bytes: int = 64 * _MEGABYTE


class PulumiCli:
    """One CLI, one environment, one backend. `directory` is where reading commands run."""

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        backend: str | None,
        directory: Path,
        clock: Clock,
        randomness: Randomness,
        limits: EngineLimits,
    ) -> None:
        self._env, self._directory, self._limits = dict(env), directory, limits
        self._randomness = randomness
        self._asked = backend or env.get("PULUMI_BACKEND_URL") or None
        self._backend: Backend | None = None
        self._lock = threading.Lock()
        self._runner = Runner(clock=clock, grace_seconds=limits.grace_seconds)
        self.scrubber = Scrubber(env)

    @property
    def limits(self) -> EngineLimits:
        return self._limits

    @property
    def directory(self) -> Path:
        return self._directory

    @property
    def env(self) -> Mapping[str, str]:
        return self._env

    def binary(self) -> str | None:
        """Where `pulumi` is on the PATH of the environment; None when it is not."""
        return shutil.which("pulumi", path=self._env.get("PATH"))

    def required(self) -> str:
        binary = self.binary()
        if binary is None:
            raise EngineError(
                "the Pulumi CLI is not on PATH",
                code="RC0501",
                hint="Install it (https://www.pulumi.com/docs/install/); `reconciler doctor` shows what was found.",
            )
        return binary

    def backend(self) -> Backend:
        """Where the state is: as configured, or where the CLI is logged in. Raises EngineError RC0509, RC0510."""
        with self._lock:
            if self._backend is None:
                url = self._asked or self._logged_in()
                self._backend = backend_of(url, env=self._env, cwd=self._directory)
            return self._backend

    def _logged_in(self) -> str:
        argv = [self.required(), "whoami", "--json", "--non-interactive", "--color", "never"]
        finished = self._execute(argv, cwd=self._directory, env=child_environment(self._env, backend=None))
        self._require(finished, what="`pulumi whoami`")
        url = shapes.parse_object(finished.stdout, what="the answer of `pulumi whoami`").get("url")
        if not isinstance(url, str) or not url:
            raise EngineError(
                "`pulumi whoami` names no backend",
                code="RC0510",
                hint="Set [state] backend_url or PULUMI_BACKEND_URL, or run `pulumi login`.",
            )
        return url

    def output(self, *args: str) -> bytearray:
        """Stdout of a reading command. Raises the error that the command's failure means; RC0507 over the bound."""
        argv = [self.required(), *args, "--non-interactive", "--color", "never"]
        finished = self._execute(argv, cwd=self._directory, env=self.environment())
        self._require(finished, what=f"`pulumi {' '.join(args[:2])}`")
        return finished.stdout

    def environment(self, *, mark: str = "", **extra: str) -> dict[str, str]:
        return child_environment(self._env, backend=self.backend().url, mark=mark, **extra)

    def version(self) -> str:
        """What `pulumi version` prints; asks no backend."""
        argv = [self.required(), "version"]
        finished = self._execute(argv, cwd=self._directory, env=child_environment(self._env, backend=None))
        self._require(finished, what="`pulumi version`")
        return finished.stdout.decode(errors="replace").strip()

    def new_mark(self) -> str:
        """A text that only one child of ours carries, in its arguments and in its environment."""
        return f"{self._randomness.bits(64):016x}"

    def child(self, *, pid: int, started_ms: int, name: StackName, argv: tuple[str, ...]) -> ChildProcess:
        return ChildProcess(pid=pid, started_ms=started_ms, stack=str(name), argv=argv, host=locks.host())

    def _execute(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Finished:
        limits = self._limits
        return self._runner.run(argv, env=env, cwd=cwd, deadline_seconds=limits.read_seconds, limit=limits.export_bytes)

    def stream(
        self,
        args: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        deadline_seconds: float,
        on_line: Callable[[bytes], None],
        on_start: Callable[[int, int, tuple[str, ...]], None] | None = None,
    ) -> Finished:
        """Run a command that prints events, one per line. `on_start(pid, started_ms, argv)`."""
        argv = (self.required(), *args, "--non-interactive", "--color", "never")
        return self._runner.run(
            argv,
            env=env,
            cwd=cwd,
            deadline_seconds=deadline_seconds,
            limit=self._limits.line_bytes,
            on_line=on_line,
            on_start=None if on_start is None else lambda pid, started: on_start(pid, started, argv),
        )

    def _require(self, finished: Finished, *, what: str) -> None:
        if finished.timed_out or finished.status != 0:
            raise failure(finished, what=what, scrubber=self.scrubber)
        if finished.truncated:
            raise EngineError(
                f"{what} printed more than {self._limits.export_bytes >> 20} MiB",
                code="RC0507",
                hint="Split the stack: a state of that size is slow for Pulumi itself.",
            )

"""The command line inside a case: the product as it is, with another world behind its doors."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from reconciler.cases.doors import KILLED_EXIT, Doors, Killed, Ran
from reconciler.cli.composition import RealWorld, Runtime
from reconciler.cli.main import main
from reconciler.cli.options import Globals
from reconciler.cli.table import COMMANDS
from reconciler.config.settings import Settings
from reconciler.kernel.clock import Clock
from reconciler.kernel.executor import Executor, SerialExecutor
from reconciler.kernel.randomness import Randomness
from reconciler.model.scope import Scope
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import Engine
from reconciler.ports.store import Lease, Store
from reconciler.store import SqlStore

# What a case may run: everything but what starts worlds of its own.
COMMANDS_OF_CASES: Final = frozenset(COMMANDS) - {"simulate", "demo", "completion", "serve", "run"}


class CaseWorld(RealWorld):
    """The real world but for time, chance, the network and the engine. One item after the other, so that the same case
    is the same run."""

    def __init__(self, doors: Doors) -> None:
        super().__init__(doors.environ)
        self._doors = doors
        self._dead = False

    def clock(self) -> Clock:
        return self._doors.clock

    def randomness(self) -> Randomness:
        return self._doors.randomness

    def executor(self) -> Executor:
        return SerialExecutor()

    def settings(self, options: Globals, *, need_scopes: bool) -> Settings:
        from reconciler.config.load import load_settings

        flags = {"output.color": options.color}
        return load_settings(
            Path.cwd(), environ=self._doors.environ, config=options.config, flags=flags, need_scopes=need_scopes
        )

    def cloud(self, scope: Scope, runtime: Runtime) -> Cloud:
        from reconciler.cloud import ScalewayCloud, load_credentials

        return ScalewayCloud(
            load_credentials(self._doors.environ, project=scope.project),
            clock=runtime.clock,
            randomness=runtime.randomness,
            executor=runtime.executor,
            transport=self._doors.transport,
        )

    def engine(self, runtime: Runtime) -> Engine:
        return super().engine(runtime) if self._doors.engine is None else self._doors.engine()

    def store(self, runtime: Runtime) -> Store:
        opened = super().store(runtime)
        assert isinstance(opened, SqlStore)
        return _MortalStore(opened, runtime, dead=lambda: self._dead)

    def checkpoint(self, name: str) -> None:
        """Told by a run of `apply`; the case may end the process here."""
        try:
            self._doors.checkpoint(name)
        except Killed:
            self._dead = True
            raise


class _MortalStore(SqlStore):
    """A store whose process may have died: then it gives nothing back on the way out, as a killed one would not."""

    def __init__(self, opened: SqlStore, runtime: Runtime, *, dead: Callable[[], bool]) -> None:
        super().__init__(opened.database, clock=runtime.clock, ids=runtime.ids)
        self._dead = dead

    def release_lease(self, lease: Lease) -> None:
        if not self._dead():
            super().release_lease(lease)


def invoke(argv: Sequence[str], doors: Doors) -> Ran:
    """Run one command line in a case's world, in its folder. The working directory, stdout and stderr belong to the
    process while it runs, so a process runs one at a time."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(doors.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exit_status = main(list(argv), adapters=CaseWorld(doors))
        except Killed:
            exit_status = KILLED_EXIT
    return Ran(exit=exit_status, stdout=out.getvalue(), stderr=err.getvalue())

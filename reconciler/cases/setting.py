"""What stands for the world when a case runs: how time passes, how the cloud is reached, whose engine it is."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from reconciler.cases.model import Case, LockDecl
from reconciler.kernel.clock import Clock, SharedClock, VirtualClock
from reconciler.kernel.errors import EngineError

TOOLS: Final = ("pulumi", "pulumi-resource-scaleway")
_SLACK_SECONDS: Final = 300  # the real engine takes its time, and the clock goes on meanwhile


class Mode(StrEnum):
    """Everything in this process; the cloud over loopback HTTP; with that the real engine and provider as well."""

    MODEL = "model"
    HTTP = "http"
    ENGINE = "engine"


class MovableClock(Clock, Protocol):
    def advance(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """`tools`: the variables with which the real engine is found (PATH, PULUMI_HOME)."""

    mode: Mode = Mode.MODEL
    tools: Mapping[str, str] = field(default_factory=dict)

    @property
    def http(self) -> bool:
        return self.mode is not Mode.MODEL

    @property
    def real_engine(self) -> bool:
        return self.mode is Mode.ENGINE

    @property
    def instant(self) -> bool:
        """With real time nobody waits a minute for a machine to stop."""
        return self.real_engine

    @property
    def slack_seconds(self) -> int:
        return _SLACK_SECONDS if self.real_engine else 0

    def clock(self, start_ms: int, *, folder: Path) -> MovableClock:
        """A clock that shows `start_ms`. Real processes run on the machine's, moved by a file that all of them read."""
        if not self.real_engine:
            return VirtualClock(start_ms=start_ms)
        clock = SharedClock(folder / "clock.json")
        clock.advance((start_ms - clock.now_ms()) / 1000)
        return clock

    def fitted(self, case: Case, clock: Clock) -> Case:
        """The case as it runs here: with real time its start is now."""
        return replace(case, start_ms=clock.now_ms()) if self.real_engine else case

    def require_tools(self) -> None:
        """Raises EngineError RC0817 when the real engine is not there."""
        missing = [tool for tool in TOOLS if shutil.which(tool, path=self.tools.get("PATH", "")) is None]
        if self.real_engine and missing:
            raise EngineError(
                f"`--engine` runs the real Pulumi engine, and PATH lacks {' and '.join(missing)}",
                code="RC0817",
                hint="In the source tree `python3 tools/toolchain.py ensure` gets both.",
            )


def unplayable(case: Case) -> str | None:
    """Why the real engine cannot play a case; None when it can."""
    if case.no_engine is not None:
        return case.no_engine
    if case.processes:
        return "it tells of processes that are not there"
    locks = [stack.now.lock for stack in case.stacks] + [
        one.lock for step in case.steps for one in step.stacks.values()
    ]
    if any(lock is not None and _told(lock) for lock in locks):
        return "it tells of a lock's process that is not there"
    if any(step.kill is not None and step.kill.endswith(".child") for step in case.steps):
        return "it dies while a child of the engine runs"
    return None


def _told(lock: LockDecl) -> bool:
    return lock.here or lock.alive is not None or bool(lock.command or lock.job)

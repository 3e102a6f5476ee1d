"""What a case hands to the command line, and what it gets back. The command line fulfils `Invoke`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from reconciler.kernel.clock import Clock
from reconciler.kernel.randomness import Randomness
from reconciler.ports.engine import Engine

if TYPE_CHECKING:
    import httpx2

KILLED_EXIT: Final = 137  # what a shell says of a process that was killed with SIGKILL


class Killed(BaseException):
    """The process ends here. Not an Exception, so that nothing on the way takes it for an error of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """The world of one command. `transport` and `engine` are None where the real ones do. `checkpoint` is called with
    the name of each step that the journal holds, and may raise `Killed`."""

    folder: Path
    environ: Mapping[str, str]
    clock: Clock
    randomness: Randomness
    checkpoint: Callable[[str], None]
    transport: httpx2.BaseTransport | None
    engine: Callable[[], Engine] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended. Killed by its case: `KILLED_EXIT`."""

    exit: int
    stdout: str
    stderr: str


class Invoke(Protocol):
    def __call__(self, argv: Sequence[str], doors: Doors) -> Ran: ...

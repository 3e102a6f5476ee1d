"""Ctrl-C once finishes the current item, twice stops at once.

An action that was begun has a decision behind it that nobody takes back, so the polite way to stop is between two
actions. The first SIGINT or SIGTERM only raises a flag that the run asks for between items; the second raises
KeyboardInterrupt, and the journal carries what was left open.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from reconciler.kernel.errors import EXIT_SIGINT, EXIT_SIGTERM


class Stop:
    """Asked by the run between items. `exit_status` is 130 or 143 once a signal came."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._signal: int | None = None

    def __call__(self) -> bool:
        return self._signal is not None

    @property
    def exit_status(self) -> int:
        return EXIT_SIGTERM if self._signal == signal.SIGTERM else EXIT_SIGINT

    def arrived(self, number: int, _: FrameType | None) -> None:
        """The signal handler."""
        if self._signal is not None:
            raise KeyboardInterrupt
        self._signal = number
        self._tell("stopping after the current item; once more stops at once")


@contextmanager
def patient_stop(tell: Callable[[str], None]) -> Iterator[Stop]:
    """Handle SIGINT and SIGTERM as above while the block runs; outside the main thread nothing is changed."""
    stop = Stop(tell)
    before: dict[signal.Signals, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, stop.arrived)
    except ValueError:
        before = {}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

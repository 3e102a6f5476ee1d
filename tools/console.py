"""What the scripts in this directory print, and how they fail.

Results go to stdout, one line, for other programs to read. Progress goes to stderr. An error is two lines there,
`error[RC80xx]: what happened` and `hint: what to do`, and exit status 1.
"""

from __future__ import annotations

import sys
import time


class ToolError(Exception):
    """Something that the user can mend. `code` is RC80 and two digits, `hint` says what to do."""

    def __init__(self, message: str, *, code: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint

    def report(self) -> int:
        """Print the error on stderr and return the exit status."""
        print(f"error[{self.code}]: {self}\nhint: {self.hint}", file=sys.stderr, flush=True)
        return 1


def say(text: str) -> None:
    """One line of progress on stderr."""
    print(f"  {text}", file=sys.stderr, flush=True)


class Stopwatch:
    """Time since its creation, as people read it."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def __str__(self) -> str:
        seconds = int(time.monotonic() - self._start)
        return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"

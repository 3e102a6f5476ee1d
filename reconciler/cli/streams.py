"""stdin, stdout and stderr as a program may rely on them.

Started with one of them closed (`>&-`, some supervisors), Python leaves the stream None and the number free: `print` to
a stderr that is None goes to stdout, into somebody's JSON, and the next file that is opened, which may be the database,
gets the number that children and libraries write to. So each closed one becomes the null device before anything else.

Names and tags may hold what the encoding of a terminal does not know. Such a character is written as its escape: a
result with an escape in it is worth more than none, above all after something was done.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from reconciler.kernel.errors import ReconcilerError

_STANDARD: Final = ("stdin", "stdout", "stderr")


def prepare() -> None:
    """Call it first of all; a second call changes nothing."""
    for number, name in enumerate(_STANDARD):
        if getattr(sys, name) is None:
            _null(number, name)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _null(number: int, name: str) -> None:
    mode = os.O_RDONLY if name == "stdin" else os.O_WRONLY
    try:
        os.fstat(number)
    except OSError:
        opened = os.open(os.devnull, mode)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
    else:
        number = os.open(os.devnull, mode)  # something else has that number by now
    _in_place(number, name)


def _in_place(number: int, name: str) -> None:
    stream = open(number, "r" if name == "stdin" else "w", encoding="utf-8")  # noqa: SIM115  # for good
    setattr(sys, name, stream)


def flush() -> None:
    """What is left in stdout. Raises BrokenPipeError, and ReconcilerError RC0104 when it cannot be written."""
    with to_stdout():
        sys.stdout.flush()


@contextmanager
def to_stdout() -> Iterator[None]:
    """Writing a result: BrokenPipeError stays as it is, any other OSError is ReconcilerError RC0104."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        _give_up()
        reason = error.strerror or type(error).__name__
        raise ReconcilerError(
            f"the result cannot be written to stdout: {reason}",
            code="RC0104",
            hint="Make room and look again: what was done, was done.",
        ) from None


def _give_up() -> None:
    """What is still in the buffer would only fail again at the exit, and change the status there."""
    with suppress(OSError, ValueError):
        opened = os.open(os.devnull, os.O_WRONLY)
        os.dup2(opened, sys.stdout.fileno())
        os.close(opened)

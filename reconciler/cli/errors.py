"""How an error looks on stderr: `error[RC0123]: text`, then `hint: text`, each on one line."""

from __future__ import annotations

import contextlib
import sys
import traceback
from typing import Final

from reconciler.kernel.text import visible

_TEXT_LIMIT: Final = 4000


def say(text: str) -> None:
    """A line on stderr; a closed stderr is no error of its own."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr)


def show_error(*, code: str, message: str, hint: str) -> None:
    say(f"error[{code}]: {visible(message, limit=_TEXT_LIMIT)}")
    say(f"hint: {visible(hint, limit=_TEXT_LIMIT)}")


def show_trace(error: BaseException) -> None:
    say("".join(traceback.format_exception(error)).rstrip())

"""Patterns of a user's policy, matched in linear time and bounded memory whatever they are (RE2).

A pattern is a user's text and a tag is a stranger's; with a backtracking engine the two together can hang a sweep. A
pattern fits a whole tag or value, so that `prod` is no substring match. Globs are what they are elsewhere.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final

import re2

LONGEST: Final = 200
_MEMORY: Final = 1 << 20


class PatternError(ValueError):
    """A pattern that RE2 does not take, or one that is too long. The message never repeats the pattern."""


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    options.dot_nl = True  # a tag may hold a line break, and `.*` means all of it
    return re2.compile(pattern, options)


def check_pattern(pattern: str, *, groups: int | None = None) -> str:
    """The pattern itself. Raises PatternError for one that is too long, invalid, or has another number of groups."""
    if not pattern or len(pattern) > LONGEST:
        raise PatternError(f"a pattern has 1 to {LONGEST} characters")
    try:
        compiled = _compiled(pattern)
    except (re2.error, UnicodeEncodeError) as error:
        why = error.args[0] if error.args else ""
        text = why.decode(errors="replace") if isinstance(why, bytes) else "it is not Unicode"
        # RE2 quotes what it stumbles over after a colon; a pattern may hold what nobody should print.
        raise PatternError(f"RE2 does not take this pattern: {text.partition(':')[0]}") from None
    if groups is not None and compiled.groups != groups:
        raise PatternError(f"this pattern needs exactly {groups} group in parentheses, for the value")
    return pattern


def matches(pattern: str, text: str) -> bool:
    return _compiled(pattern).fullmatch(_unicode(text)) is not None


def captured(pattern: str, text: str) -> str | None:
    """What the one group of the pattern holds; None where the pattern does not fit the whole text."""
    found = _compiled(pattern).fullmatch(_unicode(text))
    value = found.group(1) if found is not None else None
    return value if isinstance(value, str) else None


def glob(patterns: tuple[str, ...], text: str) -> bool:
    """Whether any of the globs fits, with case."""
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _unicode(text: str) -> str:
    """Half a surrogate pair can come out of a checkpoint, and RE2 reads UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")

"""Mistakes in a configuration: each one with its place, all of them in one error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.config.settings import KeyPath
from reconciler.kernel.errors import ConfigError

ALL_HINT = "`reconciler config validate` lists all of them."


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake. `where`: file and line, variable, or `command line`; `path` is empty for the whole document."""

    code: str
    path: KeyPath
    message: str
    hint: str
    where: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, dotted(self.path), self.message) if part)


class InvalidConfig(ConfigError):
    """At least one mistake. The error speaks of the first; `problems` has them all, in the order of the document."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first, more = self.problems[0], len(self.problems) - 1
        text = str(first) if not more else f"{first} (and {more} more)"
        hint = first.hint if not more else f"{first.hint} {ALL_HINT}"
        super().__init__(text, code=first.code, hint=hint)


def dotted(path: KeyPath) -> str:
    """`scope[0].never.tags`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")

"""What is wrong with a case, by file and line; all of it in one error."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reconciler.kernel.errors import ConfigError
from reconciler.kernel.text import visible

_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A place in the file, counted from 1."""

    line: int = 0
    column: int = 0


NOWHERE: Final = Mark()


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake, with what to do about it."""

    code: str
    message: str
    hint: str
    mark: Mark = NOWHERE


class InvalidCase(ConfigError):
    """At least one mistake in a case file. `problems` has all of them, in the order of the file; the message has them
    one a line."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        self.name = name
        self.problems = tuple(sorted(problems, key=lambda problem: problem.mark))
        first, more = self.problems[0], len(self.problems) - 1
        told = f"{place(name, first)}: {first.message}" + (f" (and {more} more)" if more else "")
        super().__init__(told, code=first.code, hint=first.hint)

    def lines(self) -> Iterable[str]:
        """`file:line: [code] message` with its hint, for each problem."""
        for problem in self.problems[:_SHOWN]:
            yield f"{place(self.name, problem)}: [{problem.code}] {visible(problem.message, limit=400)}"
            yield f"  hint: {visible(problem.hint, limit=400)}"
        if len(self.problems) > _SHOWN:
            yield f"{self.name}: and {len(self.problems) - _SHOWN} more"


class Problems:
    """Collects mistakes while a case is read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._found: list[Problem] = []

    def add(self, code: str, mark: Mark, message: str, *, hint: str) -> None:
        self._found.append(Problem(code=code, message=message, hint=hint, mark=mark))

    def __bool__(self) -> bool:
        return bool(self._found)

    def raise_any(self) -> None:
        """Raises InvalidCase when anything was added."""
        if self._found:
            raise InvalidCase(self.name, self._found)


def place(name: str, problem: Problem) -> str:
    return f"{name}:{problem.mark.line}" if problem.mark.line else name


def meant(word: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """A hint: the word that was probably meant, or what there is."""
    names = list(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if close:
        return f"Did you mean `{close[0]}`?"
    return otherwise or ("One of: " + ", ".join(names) + "." if names else "There is none.")

"""The rows of `tests/cases/rows.toml`.

A row is one thing that went wrong once, or can. Its verdict says what shows that it does not happen here: a case that
plays it, a test that shows it better than a case could, or nothing yet, and then what has to come first. A row without
any of these is a mistake in the file: nothing is left out silently.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
CASES: Final = ROOT / "tests" / "cases"
VERDICTS: Final = ("case", "test", "later", "not-applicable")
# What each verdict cannot do without.
_NEEDS: Final = {"case": "cases", "test": "tests", "later": "first", "not-applicable": "why"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row. `cases` are files below tests/cases, `tests` are pytest node ids."""

    id: str
    what: str
    verdict: str
    cases: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    first: str = ""
    why: str = ""

    @property
    def group(self) -> str:
        return self.id[0]

    def missing(self) -> str | None:
        """The key that its verdict needs and that it lacks."""
        needed = _NEEDS[self.verdict]
        return None if getattr(self, needed) else needed


def _row(entry: Mapping[str, Any]) -> Row:
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Row(**given)


def rows() -> Sequence[Row]:
    """All rows in the order of the file. Raises TypeError for a key that no row has."""
    return tuple(_row(entry) for entry in tomllib.loads((CASES / "rows.toml").read_text())["row"])

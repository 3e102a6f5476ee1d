"""What a report says, apart from the medium: paragraphs and tables of styled text.

Renderers build blocks from model values and never touch a terminal. `plain` turns blocks into text, `terminal` into
rich objects. Both pass every character through `kernel.text.visible` at the last moment, so that no renderer can
forget it, and neither knows a markup language, so that `[red]` in a tag is five characters and no colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from reconciler.kernel.text import visible

_CELL_LIMIT: Final = 2000


@dataclass(frozen=True, slots=True)
class Span:
    """Some text and how it looks where looks exist: `bold`, `dim`, `red`, … (rich style words)."""

    text: str
    style: str = ""

    @property
    def safe(self) -> str:
        """The text as it may be shown: one line, nothing that steers a terminal."""
        return visible(self.text, limit=_CELL_LIMIT)


@dataclass(frozen=True, slots=True)
class Para:
    """One line. `indent` in spaces."""

    spans: tuple[Span, ...]
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; `right` are the columns that are aligned to the right. The last column is free in width."""

    header: tuple[str, ...]
    rows: tuple[tuple[Span, ...], ...]
    right: frozenset[int] = frozenset()
    indent: int = 0


Block: TypeAlias = Para | Table


def line(*parts: Span | str, indent: int = 0) -> Para:
    """A paragraph of spans; a plain string is an unstyled one."""
    return Para(tuple(part if isinstance(part, Span) else Span(part) for part in parts), indent)


BLANK: Final = Para(())

"""Blocks on a terminal, through rich: the layout of plain.py with colours, and a last column that folds.

A cell is never cut: where the last column has room beside the others its text folds there, and where it has none the
terminal wraps the line. rich is imported inside, because a pipe never needs it (80 ms). Text goes in as `Text` objects
with a style, never as markup, so that brackets and emoji codes in a name are shown as they are.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Final

from reconciler.report.layout import Block, Para, Span, Table
from reconciler.report.plain import GAP, padded, to_text, widths_of

if TYPE_CHECKING:
    from rich.text import Text

_ROOM: Final = 30  # columns that the last one must have before it is worth folding into


def emit(blocks: Sequence[Block], *, stream: IO[str], color: bool) -> None:
    """Write blocks to a stream: through rich with `color`, else as plain text."""
    if not color:
        stream.write(to_text(blocks))
        return
    from rich.console import Console

    console = Console(file=stream, force_terminal=True, highlight=False, markup=False, emoji=False)
    wide = console.width if stream.isatty() else None  # a pipe has no width of its own
    for block in blocks:
        for row in [_line(block)] if isinstance(block, Para) else _table(block, wide=wide):
            console.print(row, soft_wrap=True)


def _line(block: Para) -> Text:
    from rich.text import Text

    text = Text(" " * block.indent)
    for span in block.spans:
        text.append(span.safe, style=span.style or None)
    return text


def _table(block: Table, *, wide: int | None) -> Iterator[Text]:
    widths = widths_of(block)
    before = block.indent + sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
    room = wide - before if wide is not None and wide - before >= _ROOM else None
    rows = list(block.rows)
    if any(block.header):
        rows.insert(0, tuple(Span(name, "dim") for name in block.header))
    for row in rows:
        yield from _row(block, row, widths, before=before, room=room)


def _row(block: Table, row: tuple[Span, ...], widths: list[int], *, before: int, room: int | None) -> Iterator[Text]:
    from rich.text import Text

    text = Text(" " * block.indent)
    for index, (cell, wide) in enumerate(zip(row[:-1], widths, strict=False)):
        text.append(padded(cell.safe, wide, right=index in block.right), style=cell.style or None)
        text.append(GAP)
    last = row[-1]
    first, *more = (textwrap.wrap(last.safe, room) if room is not None else None) or [last.safe]
    text.append(first, style=last.style or None)
    yield text
    for part in more:
        yield Text(" " * before).append(part, style=last.style or None)

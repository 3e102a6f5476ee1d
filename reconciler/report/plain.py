"""Blocks as text for files, pipes and logs: aligned by spaces, no colour, no wrapping."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

from reconciler.report.layout import Block, Para, Table

GAP: Final = "  "


def to_text(blocks: Sequence[Block]) -> str:
    """One line per paragraph or row, each with a newline at its end."""
    lines: list[str] = []
    for block in blocks:
        lines += [_para(block)] if isinstance(block, Para) else _table(block)
    return "".join(f"{text.rstrip()}\n" for text in lines)


def _para(block: Para) -> str:
    return " " * block.indent + "".join(span.safe for span in block.spans)


def _table(block: Table) -> list[str]:
    rows = [tuple(cell.safe for cell in row) for row in block.rows]
    if any(block.header):
        rows.insert(0, block.header)
    widths = widths_of(block)
    return [" " * block.indent + _row(row, widths, block.right) for row in rows]


def _row(row: tuple[str, ...], widths: list[int], right: frozenset[int]) -> str:
    cells = zip(row, widths, strict=True)
    return GAP.join(padded(text, wide, right=index in right) for index, (text, wide) in enumerate(cells))


def widths_of(block: Table) -> list[int]:
    """Columns that each column takes."""
    rows = [tuple(cell.safe for cell in row) for row in block.rows]
    return [max(map(width, column)) for column in zip(block.header, *rows, strict=True)]


def padded(text: str, wide: int, *, right: bool) -> str:
    padding = " " * (wide - width(text))
    return padding + text if right else text + padding


def width(text: str) -> int:
    """Columns that the text takes: wide East Asian characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )

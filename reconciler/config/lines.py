"""On which line of a TOML text a key is. The parser in the standard library does not say.

The text is known to be valid TOML when this is asked, so a small scanner is enough: table headers, keys at the
beginning of a line, and a way to skip strings and arrays that go over several lines. A key inside an inline table has
no line of its own: `line_of` answers with the line of the nearest key around it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from reconciler.config.settings import KeyPath

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_ARRAY_TABLE = re.compile(rf"\s*\[\[\s*({_DOTTED})\s*\]\]")
_TABLE = re.compile(rf"\s*\[\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")


def key_lines(text: str) -> dict[KeyPath, int]:
    """Key path -> line, counted from 1, for every key and table header of a valid TOML text."""
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    inside = _Inside()
    for number, line in enumerate(text.split("\n"), start=1):
        if inside.value:
            inside.read(line)
        elif match := _ARRAY_TABLE.match(line):
            table = _element(_parts(match[1]), counts)
            lines[table] = number
        elif match := _TABLE.match(line):
            table = _indexed(_parts(match[1]), counts)
            lines[table] = number
        elif match := _KEY.match(line):
            path = (*table, *_parts(match[1]))
            for length in range(len(table) + 1, len(path) + 1):
                lines.setdefault(path[:length], number)
            inside.read(line[match.end() :])
    return lines


def line_of(path: KeyPath, lines: Mapping[KeyPath, int]) -> int | None:
    """The line of the key, or of the nearest key around it."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, text))


def _indexed(parts: tuple[str, ...], counts: Mapping[KeyPath, int]) -> KeyPath:
    """The path with the index of the newest element after every part that is an array of tables."""
    path: KeyPath = ()
    for part in parts:
        path = (*path, part)
        if path in counts:
            path = (*path, counts[path])
    return path


def _element(parts: tuple[str, ...], counts: dict[KeyPath, int]) -> KeyPath:
    array = (*_indexed(parts[:-1], counts), parts[-1])
    counts[array] = counts.get(array, -1) + 1
    return (*array, counts[array])


class _Inside:
    """Whether the scanner is inside a value that goes on in the next line."""

    def __init__(self) -> None:
        self.quote = ""  # the triple quote that has to be closed
        self.depth = 0  # of brackets

    @property
    def value(self) -> bool:
        return bool(self.quote) or self.depth > 0

    def read(self, line: str) -> None:
        at = 0
        while at < len(line):
            at = self._in_string(line, at) if self.quote else self._outside(line, at)

    def _in_string(self, line: str, at: int) -> int:
        if line[at] == "\\" and self.quote[0] == '"':
            return at + 2
        if line.startswith(self.quote, at):
            end = at + 3
            while end < len(line) and line[end] == self.quote[0]:  # up to two more quotes belong to the text
                end += 1
            self.quote = ""
            return end
        return at + 1

    def _outside(self, line: str, at: int) -> int:
        char = line[at]
        if char == "#":
            return len(line)
        if char in "\"'":
            if line.startswith(char * 3, at):
                self.quote = char * 3
                return at + 3
            return _after_string(line, at)
        self.depth += (char in "[{") - (char in "]}")
        return at + 1


def _after_string(line: str, at: int) -> int:
    quote, end = line[at], at + 1
    while end < len(line) and line[end] != quote:
        end += 2 if line[end] == "\\" and quote == '"' else 1
    return end + 1

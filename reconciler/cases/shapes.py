"""Shapes: what a value of a case may be. Each reads a YAML node, names mistakes by line, and describes itself as JSON
Schema and in words, so that reader, published schema and reference cannot disagree. Here the single values; lists and
mappings are in `compound`.

A shape answers `BAD` for what it could not read; the problem is noted, and reading goes on with the rest of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import yaml

from reconciler.cases import units
from reconciler.cases.problems import Mark, Problems, meant
from reconciler.cases.source import mark_of
from reconciler.kernel.clock import parse_instant

_TAG: Final = "tag:yaml.org,2002:"
Schema = dict[str, Any]


class _Bad:
    def __repr__(self) -> str:
        return "BAD"


BAD: Final = _Bad()


class Shape(Protocol):
    @property
    def words(self) -> str:
        """For the reference: `text`, `a list of names`."""
        ...

    def read(self, node: yaml.Node, problems: Problems) -> Any: ...

    def schema(self) -> Schema: ...


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping that was read: values by key, with the place of each."""

    values: Mapping[str, Any]
    marks: Mapping[str, Mark]
    mark: Mark

    def get(self, key: str, default: Any = None) -> Any:
        return self.values.get(key, default)

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def at(self, key: str) -> Mark:
        return self.marks.get(key, self.mark)


@dataclass(frozen=True, slots=True)
class Marked:
    """A value with its place, and those of what is inside it, by path."""

    value: Any
    mark: Mark
    places: Mapping[tuple[str | int, ...], Mark] = field(default_factory=dict)

    def nearest(self, path: Sequence[str | int]) -> Mark:
        """The place of what is at `path`, or of the nearest thing around it."""
        for length in range(len(path), 0, -1):
            if tuple(path[:length]) in self.places:
                return self.places[tuple(path[:length])]
        return self.mark


def tag_of(node: yaml.Node) -> str:
    return node.tag.removeprefix(_TAG)


def told(node: yaml.Node) -> str:
    """What a node is, for messages."""
    names = {"map": "a mapping", "seq": "a list", "bool": "yes or no", "null": "nothing", "timestamp": "a time"}
    return names.get(tag_of(node)) or (f"{node.value!r}" if isinstance(node, yaml.ScalarNode) else tag_of(node))


def wrong(problems: Problems, node: yaml.Node, expected: str, *, hint: str = "") -> _Bad:
    problems.add(
        "RC0802",
        mark_of(node),
        f"{told(node)} where {expected} belongs",
        hint=hint or "docs/cases.md, section Reference.",
    )
    return BAD


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value: `tags` are the YAML types that it may have, `parse` makes the value of the text."""

    words: str
    tags: tuple[str, ...]
    parse: Callable[[str], Any]
    json: Mapping[str, Any]
    unit: str = ""  # examples, for the hint when a unit is wrong
    hint: str = ""

    def read(self, node: yaml.Node, problems: Problems) -> Any:
        if not isinstance(node, yaml.ScalarNode) or tag_of(node) not in self.tags:
            return wrong(problems, node, self.words, hint=self.hint or (f"Like {self.unit}." if self.unit else ""))
        try:
            return self.parse(node.value)
        except ValueError as error:
            code = "RC0803" if self.unit else "RC0802"
            problems.add(code, mark_of(node), str(error), hint=f"Like {self.unit}." if self.unit else self.hint)
            return BAD

    def schema(self) -> Schema:
        return dict(self.json)


def flag(text: str) -> bool:
    """YAML's yes and no."""
    return text.lower() in ("yes", "true", "on")


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(f"{text} is below 0")
    return value


def _printable(text: str) -> str:
    if not text:
        raise ValueError("an empty text")
    return text


_DURATION_WORDS: Final = "a length of time"
TEXT: Final = Scalar(
    "text",
    ("str",),
    _printable,
    {"type": "string", "minLength": 1},
    hint="Text; quote what looks like a number or a date.",
)
FLAG: Final = Scalar("yes or no", ("bool",), flag, {"type": "boolean"}, hint="`yes` or `no`.")
COUNT: Final = Scalar("a whole number", ("int",), _count, {"type": "integer", "minimum": 0}, hint="0, 1, 2, …")
DURATION: Final = Scalar(
    _DURATION_WORDS,
    ("str", "int"),
    units.seconds,
    {"type": ["string", "integer"], "pattern": "^(0|(\\d+d)?(\\d+h)?(\\d+m)?(\\d+s)?)$"},
    unit="`90s`, `15m`, `1h30m` or `2d`",
)
SIZE: Final = Scalar(
    "a size",
    ("str",),
    units.size,
    {"type": "string", "pattern": "^\\d+ *(GB|TB)$"},
    unit="`20 GB`; Scaleway counts in decimal GB",
)
MONEY: Final = Scalar(
    "a price",
    ("str",),
    units.eur_month,
    {"type": "string", "pattern": "^\\d+(\\.\\d+)? *EUR/(month|hour)$"},
    unit="`2.92 EUR/month` or `0.004 EUR/hour`",
)
INSTANT: Final = Scalar(
    "an instant",
    ("timestamp", "str"),
    parse_instant,
    {"type": "string", "format": "date-time"},
    unit="`2026-11-30T00:00:00Z`",
)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words."""

    choices: tuple[str, ...]

    @property
    def words(self) -> str:
        return " or ".join(f"`{one}`" for one in self.choices)

    def read(self, node: yaml.Node, problems: Problems) -> Any:
        if isinstance(node, yaml.ScalarNode) and node.value in self.choices:
            return node.value
        hint = meant(node.value, self.choices) if isinstance(node, yaml.ScalarNode) else ""
        return wrong(problems, node, self.words, hint=hint or f"One of: {', '.join(self.choices)}.")

    def schema(self) -> Schema:
        return {"enum": list(self.choices)}


@dataclass(frozen=True, slots=True)
class Name:
    """A name, kept with its place, so that one that leads nowhere can be shown."""

    words: str = "a name"

    def read(self, node: yaml.Node, problems: Problems) -> Any:
        found = TEXT.read(node, problems)
        return BAD if found is BAD else Marked(found, mark_of(node))

    def schema(self) -> Schema:
        return TEXT.schema()

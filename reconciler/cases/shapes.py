"""Shapes: what a value of a case may be. Each reads a YAML node, names mistakes by line, and describes itself as JSON
Schema and in words, so that reader, published schema and reference cannot disagree.

A shape answers `BAD` for what it could not read; the problem is noted, and reading goes on with the rest of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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


def _flag(text: str) -> bool:
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
FLAG: Final = Scalar("yes or no", ("bool",), _flag, {"type": "boolean"}, hint="`yes` or `no`.")
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


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list. With `lone` a single value is a list of one."""

    item: Shape
    lone: bool = False
    least: int = 0

    @property
    def words(self) -> str:
        return f"{self.item.words}, or a list of them" if self.lone else f"a list of: {self.item.words}"

    def read(self, node: yaml.Node, problems: Problems) -> Any:
        if not isinstance(node, yaml.SequenceNode):
            if not self.lone:
                return wrong(problems, node, self.words, hint="A list is `[a, b]`, or lines that begin with `- `.")
            nodes: Sequence[yaml.Node] = [node]
        else:
            nodes = node.value
        if len(nodes) < self.least:
            problems.add("RC0802", mark_of(node), "an empty list", hint=f"At least {self.least}.")
            return BAD
        items = [self.item.read(one, problems) for one in nodes]
        return BAD if any(one is BAD for one in items) else tuple(items)

    def schema(self) -> Schema:
        listed: Schema = {"type": "array", "items": self.item.schema()}
        if self.least:
            listed["minItems"] = self.least
        return {"anyOf": [self.item.schema(), listed]} if self.lone else listed


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping with keys of the author's own. Read as `Fields`."""

    item: Shape
    words: str = "a mapping"

    def read(self, node: yaml.Node, problems: Problems) -> Any:
        entries = pairs(node, problems, expected=self.words)
        if entries is None:
            return BAD
        values = {key: self.item.read(value, problems) for key, (_, value) in entries.items()}
        marks = {key: mark for key, (mark, _) in entries.items()}
        return BAD if any(one is BAD for one in values.values()) else Fields(values, marks, mark_of(node))

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self.item.schema()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a `Record`: its shape, whether it must be there, and its line in the reference."""

    shape: Shape
    help: str
    required: bool = False
    default: str = ""  # in words, for the reference


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping with known keys. `one_of`: exactly one of these keys must be there."""

    title: str
    keys: Mapping[str, Key]
    one_of: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return self.title

    def read(self, node: yaml.Node, problems: Problems) -> Any:
        entries = pairs(node, problems, expected=f"a mapping ({self.title})")
        if entries is None:
            return BAD
        values: dict[str, Any] = {}
        for key, (mark, value) in entries.items():
            if key not in self.keys:
                hint = meant(key, self.keys, otherwise=f"{self.title} has: {', '.join(self.keys)}.")
                problems.add("RC0801", mark, f"unknown key `{key}` in {self.title}", hint=hint)
                values[key] = BAD
            else:
                values[key] = self.keys[key].shape.read(value, problems)
        complete = self._complete(entries.keys(), mark_of(node), problems)
        if not complete or any(value is BAD for value in values.values()):
            return BAD
        return Fields(values, {key: mark for key, (mark, _) in entries.items()}, mark_of(node))

    def _complete(self, given: Any, mark: Mark, problems: Problems) -> bool:
        complete = True
        for key, known in self.keys.items():
            if known.required and key not in given:
                problems.add("RC0808", mark, f"{self.title} lacks `{key}`", hint=f"{key}: {known.help}")
                complete = False
        chosen = [key for key in self.one_of if key in given]
        if self.one_of and len(chosen) != 1:
            what = f"has {' and '.join(f'`{key}`' for key in chosen)} at once" if chosen else "says nothing"
            problems.add("RC0808", mark, f"{self.title} {what}", hint=f"Exactly one of: {', '.join(self.one_of)}.")
            complete = False
        return complete

    def schema(self) -> Schema:
        properties = {key: {**known.shape.schema(), "description": known.help} for key, known in self.keys.items()}
        made: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
        required = [key for key, known in self.keys.items() if known.required]
        if required:
            made["required"] = required
        if self.one_of:
            made["oneOf"] = [{"required": [key]} for key in self.one_of]
        return made


@dataclass(frozen=True, slots=True)
class OneOf:
    """Alternatives, told apart by the type of the node: (YAML types, shape)."""

    alternatives: tuple[tuple[tuple[str, ...], Shape], ...]

    @property
    def words(self) -> str:
        return ", or ".join(shape.words for _, shape in self.alternatives)

    def read(self, node: yaml.Node, problems: Problems) -> Any:
        for tags, shape in self.alternatives:
            if tag_of(node) in tags:
                return shape.read(node, problems)
        return wrong(problems, node, self.words)

    def schema(self) -> Schema:
        return {"anyOf": [shape.schema() for _, shape in self.alternatives]}


@dataclass(frozen=True, slots=True)
class Plain:
    """Any value, as JSON would have it; somebody else checks it. Read as `Marked`."""

    words: str
    type: str  # JSON Schema's word

    def read(self, node: yaml.Node, problems: Problems) -> Any:
        value = plain(node, problems)
        if value is BAD:
            return BAD
        kinds = {"object": dict, "array": list}
        if self.type in kinds and not isinstance(value, kinds[self.type]):
            return wrong(problems, node, self.words)
        return Marked(value, mark_of(node), dict(_places(node)))

    def schema(self) -> Schema:
        return {"type": self.type} if self.type else {}


def _places(node: yaml.Node, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Mark]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*path, key.value), mark_of(key)
            yield from _places(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield (*path, index), mark_of(item)
            yield from _places(item, (*path, index))


def plain(node: yaml.Node, problems: Problems) -> Any:
    """A node as plain JSON values."""
    if isinstance(node, yaml.MappingNode):
        entries = pairs(node, problems, expected="a mapping")
        if entries is None:
            return BAD
        found = {key: plain(value, problems) for key, (_, value) in entries.items()}
        return BAD if any(one is BAD for one in found.values()) else found
    if isinstance(node, yaml.SequenceNode):
        items = [plain(one, problems) for one in node.value]
        return BAD if any(one is BAD for one in items) else items
    match tag_of(node):
        case "str" | "timestamp":
            return node.value
        case "bool":
            return _flag(node.value)
        case "null":
            return None
        case "int" | "float" as tag:
            try:
                return int(node.value) if tag == "int" else float(node.value)
            except ValueError:
                return wrong(problems, node, "a plain number")
        case _:
            return wrong(problems, node, "a plain value")


def pairs(node: yaml.Node, problems: Problems, *, expected: str) -> dict[str, tuple[Mark, yaml.Node]] | None:
    """Key -> (its place, its value). Notes what is no mapping (RC0802) and a key that is there twice (RC0806)."""
    if not isinstance(node, yaml.MappingNode):
        wrong(problems, node, expected, hint="A mapping is `key: value`, a line each, or `{key: value}`.")
        return None
    entries: dict[str, tuple[Mark, yaml.Node]] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            wrong(problems, key, "a key")
            continue
        mark = mark_of(key)
        if key.value in entries:
            first = entries[key.value][0].line
            problems.add(
                "RC0806", mark, f"`{key.value}` is there twice, first in line {first}", hint="Keep one of them."
            )
            continue
        entries[key.value] = (mark, value)
    return entries

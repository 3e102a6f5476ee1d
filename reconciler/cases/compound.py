"""Shapes of lists and mappings, and of values that somebody else checks. See `shapes`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from reconciler.cases.problems import Mark, Problems, meant
from reconciler.cases.shapes import BAD, Fields, Marked, Schema, Shape, flag, tag_of, wrong
from reconciler.cases.source import mark_of


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

    def _complete(self, given: Collection[str], mark: Mark, problems: Problems) -> bool:
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
            return flag(node.value)
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

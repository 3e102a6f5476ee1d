"""A YAML or TOML text as plain values, with the line of every key. Nothing in it is believed yet.

YAML is read as JSON with comments: no anchors (a few lines of them make a document of a billion values), no tags, and
a key twice in one mapping is an error, where the usual reader keeps the last without a word.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from reconciler.config.lines import key_lines
from reconciler.config.settings import KeyPath

LARGEST: Final = 1_000_000


class TextError(ValueError):
    """A text that cannot be read. `code` and `line` as far as they are known. Never repeats what the text says."""

    def __init__(self, message: str, *, code: str, line: int | None = None, path: KeyPath = ()) -> None:
        super().__init__(message)
        self.message, self.code, self.line, self.path = message, code, line, path


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The values, and the line of each key path."""

    value: Any
    lines: Mapping[KeyPath, int]


def read_text(text: str, *, is_toml: bool) -> Read:
    """Raises TextError RC0831 (not TOML or YAML, or too large), RC0832 (a key twice) or RC0833 (anchors)."""
    if len(text) > LARGEST:
        raise TextError("it is larger than a megabyte", code="RC0831")
    return _toml(text) if is_toml else _yaml(text)


def _toml(text: str) -> Read:
    try:
        return Read(value=tomllib.loads(text), lines=key_lines(text))
    except tomllib.TOMLDecodeError as error:
        where = str(error).rpartition(" (at ")[2].rstrip(")")
        line = where.partition("line ")[2].partition(",")[0]
        raise TextError("it is not TOML", code="RC0831", line=int(line) if line.isdigit() else None) from None
    except (RecursionError, ValueError):  # ten thousand brackets, or as many digits
        raise TextError("it is not TOML that can be read", code="RC0831") from None


def _yaml(text: str) -> Read:
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                line = event.start_mark.line + 1 if event.start_mark else None
                raise TextError("anchors and aliases are not taken", code="RC0833", line=line)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        lines: dict[KeyPath, int] = {}
        if root is not None:
            _walk(root, (), lines)
        return Read(value=yaml.load(text, Loader=yaml.SafeLoader), lines=lines)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise TextError("it is not YAML", code="RC0831", line=mark.line + 1 if mark else None) from None
    except (RecursionError, ValueError) as error:
        if isinstance(error, TextError):
            raise
        raise TextError("it is not YAML that can be read", code="RC0831") from None


def _walk(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int]) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            here = (*path, str(getattr(key, "value", "")))
            if here in lines:
                raise TextError("this key is there twice", code="RC0832", line=key.start_mark.line + 1, path=here)
            lines[here] = key.start_mark.line + 1
            _walk(child, here, lines)
    elif isinstance(node, yaml.SequenceNode):
        for number, child in enumerate(node.value):
            lines[*path, number] = child.start_mark.line + 1
            _walk(child, (*path, number), lines)

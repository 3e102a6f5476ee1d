"""The layers, merged, with a way back from every key to the place that set it.

Tables are merged key by key, anything else is replaced. Variables: `RECONCILER_STATE__WORK_DIR` is `state.work_dir`;
lists and tables are JSON. An unset and an empty variable are the same. Other programs may use the prefix too, so a
variable without `__` that resembles no key is left alone; one that resembles a key is an error, because with
`RECONCILER_DATABSE_URL` the run would go on with another database.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.config.discover import ConfigFile
from reconciler.config.document import Document, is_text
from reconciler.config.errors import Problem
from reconciler.config.lines import key_lines, line_of
from reconciler.config.settings import KeyPath, Layer, Origin

PREFIX: Final = "RECONCILER_"
# Variables of the product that are no settings, and of its test tools.
_NO_SETTINGS: Final = ("RECONCILER_CONFIG", "RECONCILER_CLOCK_FILE", "RECONCILER_CHILD")
_NO_SETTINGS_PREFIX: Final = ("RECONCILER_TOOLCHAIN_", "RECONCILER_TEST_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One layer: its values, and where each of them is."""

    layer: Layer
    name: str
    data: Mapping[str, Any] = field(repr=False)  # may hold a database's password
    prefix: tuple[str, ...] = ()
    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    def origin(self, path: KeyPath) -> Origin:
        if self.layer is Layer.ENVIRONMENT:
            return Origin(self.layer, _variable(path, self.data))
        line = line_of((*self.prefix, *path), self.lines) if path else None
        return Origin(self.layer, f"{self.name}:{line}" if line else self.name)


@dataclass(frozen=True, slots=True)
class Layers:
    """All layers, the lowest first."""

    sources: tuple[Source, ...]

    def merged(self) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for source in self.sources:
            result = _merge(result, source.data)
        return result

    def origin(self, path: KeyPath) -> Origin:
        """Where the value at `path` was set; the default's origin when nowhere."""
        for source in reversed(self.sources):
            if _depth(source.data, path) == len(path):
                return source.origin(path)
            if _is_list_above(source.data, path):
                break  # this list replaced the lower layers' one, and the rest of its element is default
        return Origin(Layer.DEFAULT)

    def nearest(self, path: KeyPath) -> Origin:
        """Where `path` would be set: the layer that has most of the way to it, the highest of those; else the file."""
        best = max(reversed(self.sources), key=lambda source: _depth(source.data, path), default=None)
        if best is not None and _depth(best.data, path) > 0:
            return best.origin(path)
        files = [source.origin(()) for source in self.sources if source.layer is Layer.FILE]
        return files[0] if files else Origin(Layer.DEFAULT)


def from_file(found: ConfigFile, *, layer: Layer) -> Source:
    return Source(layer=layer, name=str(found.path), data=found.data, prefix=found.prefix, lines=key_lines(found.text))


def from_flags(flags: Mapping[str, object]) -> Source:
    """`flags`: dotted key -> value; None means that the flag was not given."""
    data: dict[str, Any] = {}
    for key, value in flags.items():
        if value is not None:
            _put(data, key.split("."), value)
    return Source(layer=Layer.FLAG, name="command line", data=data)


def from_environment(environ: Mapping[str, str]) -> tuple[Source, list[Problem]]:
    """The variables that set something, and those that look as if they meant to."""
    data: dict[str, Any] = {}
    problems: list[Problem] = []
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in _NO_SETTINGS or name.startswith(_NO_SETTINGS_PREFIX):
            continue
        path = name.removeprefix(PREFIX).lower().split("__")
        if not environ[name]:
            continue
        if path[0] not in Document.model_fields:
            problems += _stray(name, path)
            continue
        _put(data, path, _value(environ[name], tuple(path)))
    return Source(layer=Layer.ENVIRONMENT, name="environment", data=data), problems


def leaves(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """Every value in a document with its path; a list of plain values counts as one."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def _stray(name: str, path: Sequence[str]) -> list[Problem]:
    close = difflib.get_close_matches(path[0], list(Document.model_fields), n=1, cutoff=0.75)
    if not close and len(path) == 1:
        return []
    meant = "__".join([PREFIX + close[0].upper(), *(part.upper() for part in path[1:])]) if close else ""
    hint = f"Did you mean {meant}?" if meant else "docs/configuration.md lists every key."
    return [Problem(code="RC0113", path=tuple(path), message="unknown key", hint=hint, where=name)]


def _value(text: str, path: tuple[str, ...]) -> object:
    if is_text(path):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _variable(path: KeyPath, data: Mapping[str, Any]) -> str:
    """The variable that set `path`: the parts that are keys, up to the first list or value."""
    names: list[str] = []
    value: object = data
    for part in path:
        if not isinstance(part, str) or not isinstance(value, Mapping):
            break
        names.append(part.upper())
        value = value.get(part)
    return PREFIX + "__".join(names)


def _put(data: dict[str, Any], path: Sequence[str], value: object) -> None:
    for part in path[:-1]:
        inner = data.get(part)
        if not isinstance(inner, dict):
            inner = data[part] = {}
        data = inner
    old = data.get(path[-1])
    # RECONCILER_LIMITS and RECONCILER_LIMITS__SHRINK_PERCENT may both be set: the longer name is the closer one.
    data[path[-1]] = _merge(value, old) if isinstance(old, dict) and isinstance(value, Mapping) else value


def _merge(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(low)
    for key, value in high.items():
        old = result.get(key)
        result[key] = _merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def _depth(data: object, path: KeyPath) -> int:
    """How many parts of `path` exist in `data`."""
    for depth, part in enumerate(path):
        if isinstance(part, int):
            if not isinstance(data, list) or part >= len(data):
                return depth
            data = data[part]
        else:
            if not isinstance(data, Mapping) or part not in data:
                return depth
            data = data[part]
    return len(path)


def _is_list_above(data: object, path: KeyPath) -> bool:
    return any(isinstance(part, int) and _depth(data, path[:at]) == at for at, part in enumerate(path))

"""Records as JSON objects: fields by name, what has its default left out, strict about keys and types.

Reading is planned once per class: which type each field is, and what turns the JSON form into it. A world file of a
hundred thousand workers has seven hundred thousand lines, and asking the type hints about every field of every line
was most of the time of loading one (docs/design/simulator.md).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from reconciler.kernel.clock import parse_instant

Read = Callable[[Any], Any]


class Unknown(Exception):  # not a fault of ours: becomes RC7003
    """A key that the class does not have."""


class Mistyped(Exception):  # becomes RC7004
    """A value of the wrong type, or none where one is needed."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """`plain`: fields whose JSON form is taken as it is when it has this very type. `reads`: all fields."""

    names: tuple[str, ...]
    required: frozenset[str]
    plain: Mapping[str, type]
    reads: Mapping[str, Read]


def encode(value: Any) -> Any:
    """A record as JSON, without what has its default value."""
    if is_dataclass(value) and not isinstance(value, type):
        shown = {}
        for name, default in _defaults(type(value)):
            given = getattr(value, name)
            if given != default:
                shown[name] = given if isinstance(given, str | int) else encode(given)
        return shown
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    return value


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    return tuple((item.name, item.default) for item in fields(kind))


def decode(kind: type, value: Any) -> Any:
    """A dataclass from JSON. Raises Unknown before Mistyped, and for what is missing before what is wrong."""
    if not isinstance(value, dict):
        raise Mistyped(f"{kind.__name__} is an object")
    plan = _plan(kind)
    plain, reads = plan.plain, plan.reads
    try:
        read = {name: given if plain.get(name) is type(given) else reads[name](given) for name, given in value.items()}
        if plan.required <= read.keys():
            return kind(**read)
    except (KeyError, Mistyped):
        _refuse_keys(plan, value)
        raise
    _refuse_keys(plan, value)
    return None  # what is missing was refused in the line before


def _refuse_keys(plan: _Plan, value: Mapping[str, Any]) -> None:
    if strange := sorted(value.keys() - plan.reads.keys()):
        raise Unknown(f"unknown key {strange[0]!r}; known are {', '.join(plan.names)}") from None
    missing = [name for name in plan.names if name in plan.required and name not in value]
    if missing:
        raise Mistyped(f"{missing[0]} is missing") from None


@cache
def _plan(kind: type) -> _Plan:
    hints, items = get_type_hints(kind), fields(kind)
    return _Plan(
        names=tuple(item.name for item in items),
        required=frozenset(item.name for item in items if item.default is MISSING and item.default_factory is MISSING),
        plain={item.name: plain for item in items if (plain := _plain(hints[item.name])) is not None},
        reads={item.name: _reader(item.name, hints[item.name]) for item in items},
    )


def _plain(hint: Any) -> type | None:
    """str for `str` and `str | None`; None for what has to be turned into something."""
    inner = _inner(hint)
    return inner if inner in (str, int, bool, float) else None


def _inner(hint: Any) -> Any:
    """What `X | None` holds; any other hint itself."""
    if get_origin(hint) in (Union, UnionType):
        return next(item for item in get_args(hint) if item is not NoneType)
    return hint


def _reader(name: str, hint: Any) -> Read:
    inner = _inner(hint)
    read = _reader_of_one(name, inner)
    if inner is hint:
        return read
    return lambda given: None if given is None else read(given)


def _reader_of_one(name: str, hint: Any) -> Read:
    if get_origin(hint) in (tuple, frozenset):
        return _sequence(name, hint)
    if is_dataclass(hint) and isinstance(hint, type):
        return lambda given: decode(hint, given)
    if hint is bytes:
        return lambda given: _bytes(name, given)
    if hint is int and name.endswith("_ms"):
        return lambda given: _instant(name, given)
    return lambda given: _exactly(name, hint, given)


def _exactly(name: str, hint: Any, given: Any) -> Any:
    if type(given) is not hint:
        raise Mistyped(f"{name} is {hint.__name__}, not {json.dumps(given)}")
    return given


def _instant(name: str, given: Any) -> int:
    if not isinstance(given, str):
        return int(_exactly(name, int, given))
    try:
        return parse_instant(given)
    except ValueError as error:
        raise Mistyped(f"{name} is epoch milliseconds or an RFC 3339 time") from error


def _sequence(name: str, hint: Any) -> Read:
    args, many = get_args(hint), get_origin(hint)
    whole = many is frozenset or (len(args) == 2 and args[1] is Ellipsis)
    reads = [_reader(name, arg) for arg in args if arg is not Ellipsis]
    plain = _plain(args[0]) if whole else None

    def read(given: Any) -> Any:
        if not isinstance(given, list):
            raise Mistyped(f"{name} is a list")
        if whole:
            if all(type(item) is plain for item in given):
                return many(given)
            return many(reads[0](item) for item in given)
        if len(reads) != len(given):
            raise Mistyped(f"{name} holds lists of {len(reads)}")
        return tuple(one(item) for one, item in zip(reads, given, strict=True))

    return read


def _bytes(name: str, given: Any) -> bytes:
    """A text, or `{"base64": ...}` for what is none."""
    if isinstance(given, str):
        return given.encode()
    if isinstance(given, dict) and set(given) == {"base64"} and isinstance(given["base64"], str):
        try:
            return base64.b64decode(given["base64"], validate=True)
        except ValueError as error:
            raise Mistyped(f"{name} is not base64") from error
    raise Mistyped(f"{name} is a text or an object with base64")

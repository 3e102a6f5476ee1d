"""Records as JSON objects: fields by name, what has its default left out, strict about keys and types.

Reading is planned once per class: which type each field is, and what turns the JSON form into it. A world file of a
hundred thousand workers has seven hundred thousand lines, and asking the type hints about every field of every line
was most of the time of loading one (docs/design/simulator.md).
"""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from itertools import repeat
from operator import call
from types import MemberDescriptorType, NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from reconciler.kernel.clock import parse_instant

Read = Callable[[Any], Any]


class Unknown(Exception):  # not a fault of ours: becomes RC7003
    """A key that the class does not have."""


class Mistyped(Exception):  # becomes RC7004
    """A value of the wrong type, or none where one is needed."""


Shape = tuple[tuple[str, ...], tuple[type, ...]]
_MANY: Final = 1000


@dataclass(frozen=True, slots=True)
class _Plan:
    """`plain`: fields whose JSON form is taken as it is when it has this very type. `reads`: all fields.

    `shapes` remembers what was found out about objects with the same keys and types: the names of the fields that
    still have to be read, one by one. A file has a few shapes and many lines.
    """

    names: tuple[str, ...]
    required: frozenset[str]
    plain: Mapping[str, type]
    reads: Mapping[str, Read]
    build: Callable[[dict[str, Any]], Any]
    shapes: dict[Shape, tuple[str, ...]] = field(default_factory=dict)


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
    shape = (tuple(value), tuple(map(type, value.values())))
    left = plan.shapes.get(shape)
    if left is None:
        left = _learn(plan, shape)
    read = value.copy()
    for name in left:
        read[name] = plan.reads[name](value[name])
    return plan.build(read)


def _learn(plan: _Plan, shape: Shape) -> tuple[str, ...]:
    """The fields that have to be read. Raises Unknown or Mistyped for keys that no object of this class has."""
    names, types = shape
    if strange := sorted(set(names) - plan.reads.keys()):
        raise Unknown(f"unknown key {strange[0]!r}; known are {', '.join(plan.names)}")
    if missing := [name for name in plan.names if name in plan.required and name not in names]:
        raise Mistyped(f"{missing[0]} is missing")
    left = tuple(name for name, given in zip(names, types, strict=True) if plan.plain.get(name) is not given)
    if len(plan.shapes) < _MANY:
        plan.shapes[shape] = left
    return left


@cache
def _plan(kind: type) -> _Plan:
    hints, items = get_type_hints(kind), fields(kind)
    return _Plan(
        names=tuple(item.name for item in items),
        required=frozenset(item.name for item in items if item.default is MISSING and item.default_factory is MISSING),
        plain={item.name: plain for item in items if (plain := _plain(hints[item.name])) is not None},
        reads={item.name: _reader(item.name, hints[item.name]) for item in items},
        build=_builder(kind),
    )


def _builder(kind: type) -> Callable[[dict[str, Any]], Any]:
    """What makes an object out of its fields, checked ones, those with defaults perhaps missing.

    For a class with slots whose `__init__` does nothing but set them: by the slots themselves, in one pass that never
    enters the interpreter. The generated `__init__` of a frozen class sets one field at a time by
    `object.__setattr__`, and that alone was a third of the time of loading a large world.
    """
    items = fields(kind)
    names, defaults = [item.name for item in items], [item.default for item in items]
    slots = [kind.__dict__.get(name) for name in names]
    special = hasattr(kind, "__post_init__") or any(item.default_factory is not MISSING for item in items)
    if special or not all(isinstance(slot, MemberDescriptorType) for slot in slots):
        return lambda read: kind(**read)
    setters = [slot.__set__ for slot in slots if slot is not None]

    def build(read: dict[str, Any]) -> Any:
        made: Any = object.__new__(kind)
        deque(map(call, setters, repeat(made), map(read.get, names, defaults)), maxlen=0)
        return made

    return build


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

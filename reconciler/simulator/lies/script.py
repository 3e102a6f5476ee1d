"""Scripts: timed steps, so that a world and what is said of it change while a client is at work.

A step has a moment and does one or more of four things: operations of strangers (`strangers`), lies added, all lies
replaced, lies cleared by name. A stranger whose target is gone by then has come too late: that is noted, not raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from reconciler.kernel.errors import ConfigError
from reconciler.simulator.lies.lie import Lie
from reconciler.simulator.mint import Mint
from reconciler.simulator.strangers import OPERATIONS, mutate
from reconciler.simulator.wire import Json
from reconciler.simulator.world import World

if TYPE_CHECKING:
    from reconciler.simulator.lies.book import LieBook

_KEYS: Final = ("at_ms", "mutate", "add", "set", "clear")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What happens `at_ms` after the script was begun, in the order of the fields."""

    at_ms: int
    mutate: tuple[Mapping[str, Any], ...] = ()
    clear: tuple[str, ...] = ()
    set: tuple[Lie, ...] | None = None
    add: tuple[Lie, ...] = field(default=())


def step_from_json(value: Any) -> Step:
    """Raises ConfigError RC7045 for a step that cannot be, RC7040 for a lie in it."""
    if not isinstance(value, dict):
        raise _bad("a step is an object")
    if strange := sorted(set(value) - set(_KEYS)):
        raise _bad(f"unknown key {strange[0]!r}; known are {', '.join(_KEYS)}")
    at_ms = value.get("at_ms")
    if type(at_ms) is not int or at_ms < 0:
        raise _bad("at_ms is a whole number of milliseconds from 0 on")
    if len(value) == 1:
        raise _bad("a step does something: mutate, add, set or clear")
    return Step(
        at_ms=at_ms,
        mutate=tuple(_operation(item) for item in _list(value.get("mutate", []))),
        clear=_names(value.get("clear", [])),
        set=_lies(value["set"]) if "set" in value else None,
        add=_lies(value.get("add", [])),
    )


def do_step(step: Step, book: LieBook, world: World, mint: Mint, *, now_ms: int) -> list[str]:
    """Carry a step out; returns what went wrong, a line for each operation that came too late."""
    late = []
    for change in step.mutate:
        try:
            mutate(world, mint, dict(change), now_ms=now_ms)
        except ConfigError as error:
            late.append(f"{change['op']}: {error.message}")
    for name in step.clear:
        book.clear(name)
    if step.set is not None:
        book.clear()
    for lie in (*(step.set or ()), *step.add):
        book.add(lie)
    return late


def _lies(value: Any) -> tuple[Lie, ...]:
    from reconciler.simulator.lies.decode import lie_from_json  # decode needs the catalogue, which needs no scripts

    return tuple(lie_from_json(item) for item in _list(value))


def _list(value: Any) -> list[Any]:
    """A list, or one thing in the place of a list of one."""
    return value if isinstance(value, list) else [value]


def _names(value: Any) -> tuple[str, ...]:
    names = _list(value)
    if not all(isinstance(name, str) for name in names):
        raise _bad("clear names lies")
    return tuple(names)


def _operation(value: Any) -> Json:
    if not isinstance(value, dict) or value.get("op") not in OPERATIONS:
        raise _bad(f'mutate holds operations of strangers: {{"op": one of {", ".join(OPERATIONS)}, ...}}')
    return value


def _bad(message: str) -> ConfigError:
    return ConfigError(
        f"script of lies: {message}", code="RC7045", hint="docs/simulator.md, section Scripts, shows one."
    )

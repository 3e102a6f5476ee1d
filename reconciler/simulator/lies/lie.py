"""A lie as a value: its kind, which requests it is told to, when, and the arguments of its kind.

It can be read from JSON and written to it; what it does is in the behaviour of its kind (`behaviour`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Which requests (or, where a lie is about events, which objects), and which of those.

    `methods`, `path` (a glob as in fault rules; or `re:` and a regular expression), `kinds` (what is asked for, in the
    words of world files), `zones` (or regions), `ids` (the object of a request by id; in a list, the objects that the
    lie is about). Empty means any.
    `nth` (1 is the first match) or `every`, after `skip` matches, at most `times`; `probability` of each that is left.
    `after_ms` and `until_ms` count on the simulator's clock from the moment at which the lie was set.
    """

    methods: tuple[str, ...] = ()
    path: str = ""
    kinds: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    nth: tuple[int, ...] = ()
    every: int = 0
    skip: int = 0
    times: int = 0
    probability: float = 1.0
    after_ms: int = 0
    until_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lie:
    """One lie. `args` holds every key of its kind (`LIES[kind].keys`), with defaults filled in."""

    kind: str
    name: str = ""
    match: Match = field(default_factory=Match)
    args: Mapping[str, Any] = field(default_factory=dict)

    def number(self, key: str) -> int:
        return int(self.args[key])

    def share(self, key: str) -> float:
        return float(self.args[key])

    def flag(self, key: str) -> bool:
        return bool(self.args[key])

    def text(self, key: str) -> str:
        return str(self.args[key])

    def words(self, key: str) -> tuple[str, ...]:
        return tuple(self.args[key])


MATCH_KEYS = tuple(item.name for item in fields(Match))


def lie_to_json(lie: Lie) -> dict[str, Any]:
    """The form that `lie_from_json` reads back to an equal lie; what has its default is left out, but for arguments."""
    plain = Match()
    shown: dict[str, Any] = {"lie": lie.kind}
    if lie.name:
        shown["name"] = lie.name
    for name in MATCH_KEYS:
        value = getattr(lie.match, name)
        if value != getattr(plain, name):
            shown[name] = list(value) if isinstance(value, tuple) else value
    return {**shown, **{name: list(value) if isinstance(value, tuple) else value for name, value in lie.args.items()}}

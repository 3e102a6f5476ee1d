"""Lies from JSON, checked as a whole; and random ones, for worlds that are generated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from reconciler.kernel.randomness import Randomness
from reconciler.simulator.defaults import REGIONS, ZONES
from reconciler.simulator.faults import path_pattern
from reconciler.simulator.lies.behaviour import LieKind
from reconciler.simulator.lies.capacity import LEAVES
from reconciler.simulator.lies.catalogue import LIES
from reconciler.simulator.lies.keys import pick, read, wrong
from reconciler.simulator.lies.lie import Lie, Match
from reconciler.simulator.world import KIND_OF

KINDS: Final = tuple(KIND_OF.values())
_LISTS: Final = {
    "methods": ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
    "kinds": KINDS,
    "zones": (*ZONES, *REGIONS),
}
_NUMBERS: Final = ("every", "skip", "times", "after_ms")
MATCH: Final[Mapping[str, str]] = {
    "name": "for the counts, and to clear it by",
    "methods": "which methods",
    "path": "a glob: `*` within one segment, `**` across them; or `re:` and a regular expression",
    "kinds": f"which kinds of objects are asked for: {', '.join(KINDS)}",
    "zones": "which zones, or regions",
    "ids": "which object; for a list, the objects that the lie is about",
    "nth": "which matches, from 1: `[2, 5]`",
    "every": "each n-th match",
    "skip": "leave the first ones alone",
    "times": "stop after so many",
    "probability": "the chance of each match that is left",
    "after_ms": "not before this time after the lie was set, on the simulator's clock",
    "until_ms": "and not from this time on",
}


def lie_from_json(value: Any) -> Lie:
    """A lie from the admin API, a case or a script: `{"lie": KIND, ...}`.

    Raises ConfigError RC7040 that names the unknown key, the wrong type or the combination that cannot be.
    """
    if not isinstance(value, dict):
        raise wrong("a lie is an object")
    kind = LIES.get(value["lie"]) if isinstance(value.get("lie"), str) else None
    if kind is None:
        raise wrong(f"lie is one of {', '.join(LIES)}, not {value.get('lie')!r}")
    for name in value:
        if name != "lie" and name not in MATCH and name not in kind.keys:
            raise wrong(f"lie {kind.name}: unknown key {name!r}; known are {', '.join([*MATCH, *kind.keys])}")
    given = {name: item for name, item in value.items() if name in kind.keys}
    lie = Lie(
        kind=kind.name,
        name=_text(kind, "name", value.get("name", "")),
        match=_match(kind, value),
        args=read(kind.name, kind.keys, given),
    )
    problem = _impossible(lie.match) or kind.check(lie)
    if problem:
        raise wrong(f"lie {kind.name}: {problem}")
    return lie


def _match(kind: LieKind, value: Mapping[str, Any]) -> Match:
    until = value.get("until_ms")
    if until is not None:
        until = _number(kind, "until_ms", until)
    probability = value.get("probability", 1.0)
    if type(probability) not in (int, float) or not 0 < probability <= 1:
        raise wrong(f"lie {kind.name}: probability is a number above 0 and at most 1")
    path = _text(kind, "path", value.get("path", ""))
    try:
        path_pattern(path)
    except re.error as error:
        raise wrong(f"lie {kind.name}: path is no regular expression: {error}") from error
    nth = value.get("nth", [])
    if not isinstance(nth, list | tuple) or not all(type(item) is int and item > 0 for item in nth):
        raise wrong(f"lie {kind.name}: nth is a list of whole numbers from 1 on")
    words = {name: _words(kind, name, value.get(name, []), known) for name, known in _LISTS.items()}
    numbers = {name: _number(kind, name, value.get(name, 0)) for name in _NUMBERS}
    return Match(
        methods=words["methods"],
        path=path,
        kinds=words["kinds"],
        zones=words["zones"],
        ids=_words(kind, "ids", value.get("ids", []), None),
        nth=tuple(nth),
        every=numbers["every"],
        skip=numbers["skip"],
        times=numbers["times"],
        probability=float(probability),
        after_ms=numbers["after_ms"],
        until_ms=until,
    )


def _words(kind: LieKind, name: str, value: Any, known: tuple[str, ...] | None) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise wrong(f"lie {kind.name}: {name} is a list of texts")
    strange = [item for item in value if known is not None and item not in known]
    if strange:
        raise wrong(f"lie {kind.name}: {name} has {strange[0]!r}; known are {', '.join(known or ())}")
    return tuple(value)


def _number(kind: LieKind, name: str, value: Any) -> int:
    if type(value) is not int or value < 0:
        raise wrong(f"lie {kind.name}: {name} is a whole number from 0 on")
    return value


def _text(kind: LieKind, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise wrong(f"lie {kind.name}: {name} is a text")
    return value


def _impossible(match: Match) -> str:
    """What excludes each other among the keys that all kinds share."""
    if match.nth and match.every:
        return "nth and every exclude each other"
    if match.until_ms is not None and match.until_ms <= match.after_ms:
        return "until_ms is not after after_ms, so the lie is never told"
    return ""


# --- Random lies -----------------------------------------------------------------------------------------------------

_TIMES: Final = (0, 1, 1, 3, 10)
_CHANCES: Final = (1.0, 1.0, 0.5, 0.1)
_UNTIL: Final = (None, 60_000, 600_000)
_STEP_LEAVES: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "ip": ((), ("ip",)),
    "volume": ((), ("block_volume",), ("volume",)),
    "server": ((), ("ip",), ("block_volume",), ("ip", "block_volume"), ("server",), LEAVES[:4]),
    "nic": ((), ("ipam_ip",), ("private_nic", "ipam_ip")),
}


def sample_lie(kind: str, randomness: Randomness) -> Lie:
    """A random valid lie of a kind (a key of `LIES`): the same one for the same randomness.

    It is about every object and zone; how often and how long it is told is random, and it need not end by itself.
    """
    described = LIES[kind]
    for _ in range(100):
        args = {name: key.sample(randomness) for name, key in described.keys.items()}
        if "leaves" in args:
            args["leaves"] = pick(_STEP_LEAVES.get(args["step"], ((),)), randomness)
        match = {
            "times": pick(_TIMES, randomness),
            "probability": pick(_CHANCES, randomness),
            "until_ms": pick(_UNTIL, randomness),
        }
        sent = {**match, **args}
        problem = described.check(Lie(kind=kind, args=args))
        if not problem:
            return lie_from_json({"lie": kind, "name": kind, **{k: v for k, v in sent.items() if v is not None}})
    raise AssertionError(f"no valid sample of {kind}")  # every kind has one: a test draws thousands

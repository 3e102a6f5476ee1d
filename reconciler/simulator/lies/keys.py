"""The keys of a lie: what type each has, which values are sensible, what it is when nobody says.

One description serves four readers: the check of what a case or the admin API sends, the catalogue that the
documentation and `simulate` show, the values in force, and the generator of random lies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from reconciler.kernel.errors import ConfigError
from reconciler.kernel.randomness import Randomness

Type = Literal["number", "share", "flag", "text", "choice", "choices"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key. `choices` are the words of `choice` (one of them) and `choices` (a list of them).

    number: a whole number from `low` to `high`. share: a number from 0 to 1. `samples`: what a random lie may have;
    without them a random lie takes the default.
    """

    type: Type
    default: Any
    doc: str
    low: int = 0
    high: int = 10**12
    choices: tuple[str, ...] = ()
    samples: tuple[Any, ...] = ()

    def fits(self, value: Any) -> bool:
        match self.type:
            case "number":
                return type(value) is int and self.low <= value <= self.high
            case "share":
                return type(value) in (int, float) and 0 <= value <= 1
            case "flag":
                return type(value) is bool
            case "text":
                return isinstance(value, str)
            case "choice":
                return isinstance(value, str) and value in self.choices
            case "choices":
                return isinstance(value, list | tuple) and all(item in self.choices for item in value)

    @property
    def wanted(self) -> str:
        """What the value must be, for an error."""
        match self.type:
            case "number":
                return f"a whole number from {self.low} to {self.high}"
            case "share":
                return "a number from 0 to 1"
            case "flag":
                return "true or false"
            case "text":
                return "a text"
            case "choice":
                return f"one of {', '.join(self.choices)}"
            case "choices":
                return f"a list of {', '.join(self.choices)}"

    def sample(self, randomness: Randomness) -> Any:
        return pick(self.samples, randomness) if self.samples else self.default


def pick(values: tuple[Any, ...], randomness: Randomness) -> Any:
    """One of them, each as likely as the next."""
    return values[min(int(randomness.uniform(0, len(values))), len(values) - 1)]


def read(kind: str, keys: Mapping[str, Key], given: Mapping[str, Any]) -> dict[str, Any]:
    """Every key of `keys`, from what was given or by default. Raises ConfigError RC7040."""
    for name, value in given.items():
        key = keys[name]
        if not key.fits(value):
            raise wrong(f"lie {kind}: {name} is {key.wanted}, not {json.dumps(value, default=str)}")
    return {name: _frozen(given.get(name, key.default)) for name, key in keys.items()}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def wrong(message: str) -> ConfigError:
    return ConfigError(message, code="RC7040", hint=HINT)


HINT: Final = "docs/simulator.md, section Lies, lists the kinds and their keys."

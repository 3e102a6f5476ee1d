"""The checks of everything beside tags: each asks for one fact of the item."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from reconciler.model.money import NANO
from reconciler.model.policy import (
    AllowedTypes,
    AllowedZones,
    DeletionProtection,
    MaxImageAge,
    MaxLifetime,
    MaxPrice,
    MaxSize,
    NoPublicIp,
)
from reconciler.policy.item import Fact, Facts, Item, Unknown
from reconciler.policy.patterns import glob
from reconciler.policy.verdict import Failing, NotTold

T = TypeVar("T")
GB = 1_000_000_000
_DAY = 86_400_000
Result = Failing | NotTold | None


def fact_check(check: object, item: Item, facts: Facts) -> Result:
    """The verdict of a check that is not about tags. Raises TypeError for one that is."""
    match check:
        case NoPublicIp():
            return _told(item.public_ip, "public-ip", lambda has: "it has a public IP" if has else None)
        case AllowedTypes(types=types):
            return _told(item.commercial_type, "type", lambda name: _not_among(name, types, "type"))
        case AllowedZones(zones=zones):
            return _told(item.zone, "zone", lambda name: _not_among(name, zones, "zone"))
        case MaxSize(gb=gb):
            return _told(item.size, "size", lambda size: _too_big(size, gb))
        case MaxPrice(hour_nanos=most):
            return _told(item.hour_nanos, "price", lambda nanos: _too_dear(nanos, most))
        case MaxLifetime(seconds=seconds):
            return _told(item.created_ms, "age", lambda born: _too_old(born, seconds, facts, "it is"))
        case MaxImageAge(seconds=seconds):
            return _told(item.image_created_ms, "image", lambda born: _too_old(born, seconds, facts, "its image is"))
        case DeletionProtection(protected=wanted):
            return _told(item.protected, "protected", lambda has: _protection(has, wanted))
        case _:
            raise TypeError(type(check).__name__)


def _told(value: Fact[T], facet: str, judge: Callable[[T], str | None]) -> Result:
    if isinstance(value, Unknown):
        return Failing(text=f"its {facet} is not known yet, so it cannot be judged", facet=facet, doubtful=True)
    if value is None:
        return NotTold(f"its {facet} is not told here")
    text = judge(value)
    return Failing(text=text, facet=facet) if text is not None else None


def _not_among(name: str, allowed: tuple[str, ...], what: str) -> str | None:
    return None if glob(allowed, name) else f"{what} `{name}` is not among {', '.join(allowed)}"


def _too_big(size: int, gb: int) -> str | None:
    return f"{size / GB:g} GB, and {gb} GB is the most" if size > gb * GB else None


def _too_dear(nanos: int, most: int) -> str | None:
    return f"{nanos / NANO:g} EUR an hour, and {most / NANO:g} is the most" if nanos > most else None


def _too_old(born_ms: int, seconds: int, facts: Facts, what: str) -> str | None:
    age = facts.now_ms - born_ms
    if age <= seconds * 1000:
        return None
    return f"{what} {age / _DAY:.1f} days old, and {seconds / 86_400:g} is the most"


def _protection(has: bool, wanted: bool) -> str | None:
    if has is wanted:
        return None
    return "it is not protected against deletion" if wanted else "it is protected against deletion"

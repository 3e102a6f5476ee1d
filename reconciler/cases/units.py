"""Lengths of time, sizes and money as people write them. A number without its unit is refused, for it means nothing."""

from __future__ import annotations

import re
from typing import Final

from reconciler.config import durations

_SIZE: Final = re.compile(r"(\d+)\s*(GB|TB)")
_MONEY: Final = re.compile(r"(\d+(?:\.\d+)?)\s*EUR/(month|hour)")
_BYTES: Final = {"GB": 10**9, "TB": 10**12}
_HOURS_PER_MONTH: Final = 730


def seconds(text: str) -> int:
    """`90s`, `15m`, `1h30m`, `2d`. Raises ValueError."""
    if text.isdigit() and text != "0":
        raise ValueError(f"{text} of what? A length of time has a unit")
    return durations.seconds(int(text) if text == "0" else text)


def size(text: str) -> int:
    """Bytes of `20 GB`. Scaleway's GB are decimal, so `GiB` is refused. Raises ValueError."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no size")
    return int(match[1]) * _BYTES[match[2]]


def eur_month(text: str) -> float:
    """EUR a month of `2.92 EUR/month` or `0.004 EUR/hour`; a month is 730 hours. Raises ValueError."""
    match = _MONEY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no price")
    return float(match[1]) * (_HOURS_PER_MONTH if match[2] == "hour" else 1)

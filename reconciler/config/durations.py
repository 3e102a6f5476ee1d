"""Lengths of time as people write them: `90s`, `15m`, `1h30m`, `2d`, or a whole number of seconds."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_FORM: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_MOST: Final = 366 * 86_400


def seconds(value: object) -> int:
    """Seconds of a length of time, 0 to 366 days. Raises ValueError for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        total = value
    elif isinstance(value, str) and value and (match := _FORM.fullmatch(value)):
        total = sum(int(number) * unit for number, unit in zip(match.groups("0"), _UNITS.values(), strict=True))
    else:
        raise ValueError('a length of time is like "90s", "15m" or "1h30m"')
    if not 0 <= total <= _MOST:
        raise ValueError("a length of time is 0 to 366 days")
    return total


def text(total: int) -> str:
    """The shortest spelling: `15m`, `1h30m`, `0s`."""
    parts = []
    for unit, size in _UNITS.items():
        count, total = divmod(total, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"

"""The recorded cassettes: one test of the provider or of the command line tool each, in the order of the wire.

The rows of a cassette lie apart in the files, by product; `seq` is the order in which they were answered. A recorded
answer has its own date, in whole seconds, so exchanges within one second are told apart by their order only.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Final

from tests.simulator import recordings

SOURCES: Final = ("provider", "cli")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its recorded answer. `at_ms` is the moment of the replay: the answer's date, strictly rising."""

    seq: int
    at_ms: int
    method: str
    path: str
    query: str
    sent: str = field(repr=False)
    status: int
    answer: str = field(repr=False)
    headers: frozenset[str]
    rate_limited: bool

    @property
    def product(self) -> str:
        return "/".join(self.path.split("/")[1:3])

    @property
    def body_lost(self) -> bool:
        """Some recordings of the command line tool lack what was sent; no such call works without a body."""
        return self.method in {"POST", "PATCH", "PUT"} and not self.sent.strip() and not self.path.endswith("/export")

    def json(self) -> Any:
        """The recorded answer, or None where it is no JSON."""
        return parsed(self.answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cassette:
    source: str
    name: str
    exchanges: tuple[Exchange, ...] = field(repr=False)

    @property
    def begins_ms(self) -> int:
        return self.exchanges[0].at_ms


def parsed(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


@cache
def cassettes(source: str) -> tuple[Cassette, ...]:
    """Every cassette of one file. Raises AssertionError where the recordings are absent."""
    path = recordings.directory()
    assert path is not None
    rows: dict[str, list[dict[str, Any]]] = {}
    with gzip.open(path / f"{source}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            rows.setdefault(row["cassette"], []).append(row)
    return tuple(Cassette(source=source, name=name, exchanges=_exchanges(found)) for name, found in rows.items())


def _exchanges(rows: list[dict[str, Any]]) -> tuple[Exchange, ...]:
    found, now_ms = [], 0
    for row in sorted(rows, key=lambda row: int(row["seq"])):
        now_ms = max(now_ms + 2, int(parsedate_to_datetime(row["date"]).timestamp() * 1000))
        found.append(_exchange(row, now_ms))
    return tuple(found)


def _exchange(row: dict[str, Any], at_ms: int) -> Exchange:
    return Exchange(
        seq=int(row["seq"]),
        at_ms=at_ms,
        method=row["method"],
        path=row["path"],
        query=row["query"] or "",
        sent=row["request_body"] or "",
        status=int(row["status"]),
        answer=row["response_body"] or "",
        headers=frozenset(name for name in ("x_total_count", "link", "location") if row.get(name)),
        rate_limited=bool(row.get("ratelimited")),
    )

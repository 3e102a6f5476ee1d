"""Recorded answers of the live API, where this machine has them.

`RECONCILER_TEST_DATA` names the directory; without it one beside the checkout is looked for. Where neither is there,
the tests that compare with recordings are skipped, as one counted skip.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def directory() -> Path | None:
    named = os.environ.get("RECONCILER_TEST_DATA")
    path = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"
    found = path / "scaleway-recordings"
    return found if (found / "provider.jsonl.gz").is_file() else None


@cache
def _records(name: str) -> tuple[dict[str, Any], ...]:
    path = directory()
    assert path is not None
    with gzip.open(path / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)


def template(path: str) -> str:
    """The path with ids, zones and regions as placeholders."""
    path = _UUID.sub("{id}", path)
    return re.sub(r"(zones|regions)/[a-z0-9-]+", r"\1/{place}", path)


def answers(method: str, wanted: str, *, status: int = 200, since: str = "2026-07") -> Iterator[dict[str, Any]]:
    """Recorded exchanges of the provider, not older than `since` (year-month)."""
    for record in _records("provider"):
        asked = (record["method"], record["status"]) == (method, status) and template(record["path"]) == wanted
        if asked and _month(record["date"]) >= since:
            yield record


def bodies(method: str, wanted: str, *, status: int = 200, since: str = "2026-07") -> list[Any]:
    return [json.loads(record["response_body"]) for record in answers(method, wanted, status=status, since=since)]


def _month(date: str) -> str:
    """`Thu, 30 Jul 2026 ...` -> `2026-07`."""
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    _, _, month, year = date.split()[:4]
    return f"{year}-{months.index(month) + 1:02d}"


def shape(value: Any) -> Any:
    """Keys and JSON types, nothing else; lists by their first element."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__

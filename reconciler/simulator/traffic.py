"""What has been asked of a simulator: counts per route, and the last requests.

The log holds method, path, query and status. Neither tokens nor bodies are kept, so no user data can be read from it.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import asdict, dataclass

from reconciler.simulator.wire import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`route` is "" for a request that no route serves; `fault` names the rule's action, if one met it."""

    number: int
    at_ms: int
    method: str
    path: str
    query: str
    status: int
    route: str
    fault: str = ""


class Traffic:
    """Thread-safe."""

    def __init__(self, *, keep: int = 10_000) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._log: deque[Entry] = deque(maxlen=keep)
        self._total = self._mutating = self._numbers = 0

    def next_number(self) -> int:
        with self._lock:
            self._numbers += 1
            return self._numbers

    def record(self, entry: Entry) -> None:
        with self._lock:
            self._total += 1
            self._mutating += entry.method not in {"GET", "HEAD"}
            if entry.route:
                self._calls[f"{entry.method} {entry.route}"] += 1
            else:
                self._unknown[f"{entry.method} {entry.path}"] += 1
            self._log.append(entry)

    def reset(self) -> None:
        with self._lock:
            self._calls.clear()
            self._unknown.clear()
            self._log.clear()
            self._total = self._mutating = 0

    def entries(self, last: int | None = None) -> list[Entry]:
        with self._lock:
            found = list(self._log)
        return found if last is None else found[-last:] if last else []

    def calls(self) -> dict[str, int]:
        """`"GET /instance/v1/zones/{zone}/servers"` -> how often."""
        with self._lock:
            return dict(sorted(self._calls.items()))

    def unknown(self) -> dict[str, int]:
        with self._lock:
            return dict(sorted(self._unknown.items()))

    def stats(self) -> Json:
        with self._lock:
            return {
                "total": self._total,
                "mutating": self._mutating,
                "calls": dict(sorted(self._calls.items())),
                "unknown": dict(sorted(self._unknown.items())),
            }


def entry_json(entry: Entry) -> Json:
    return asdict(entry)

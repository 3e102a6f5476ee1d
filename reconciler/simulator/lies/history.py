"""What the world was a moment ago: kept only while a lie needs it, and only as long as it does."""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.simulator.world import Change


class History:
    """The last changes, oldest first."""

    def __init__(self) -> None:
        self._changes: list[Change] = []
        self._keep_ms = 0

    def keep(self, duration_ms: int) -> None:
        self._keep_ms = duration_ms

    def extend(self, changes: Iterable[Change]) -> None:
        if self._keep_ms > 0:
            self._changes.extend(changes)

    def forget(self, now_ms: int) -> None:
        """Drop what is older than anybody asks for."""
        if not self._changes or self._changes[0].at_ms > now_ms - self._keep_ms:
            return
        kept = next((n for n, item in enumerate(self._changes) if item.at_ms > now_ms - self._keep_ms), None)
        self._changes = [] if kept is None else self._changes[kept:]

    def clear(self) -> None:
        self._changes.clear()

    def since(self, kind: str, after_ms: int) -> dict[str, Change]:
        """id -> its first change after a moment: `old` of it is what the object was at that moment."""
        first: dict[str, Change] = {}
        for item in self._changes:
            if item.kind == kind and item.at_ms > after_ms:
                first.setdefault(item.id, item)
        return first

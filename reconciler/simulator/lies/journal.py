"""What one request has changed, so that it can be undone: the basis of every lie about an outcome.

A simulator that accepts a deletion and does nothing must answer exactly as if it had done it. So it does it, keeps the
answer, and takes it back: every record as it was and in its old place in every order, every transition as scheduled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from reconciler.simulator.tables import Table
from reconciler.simulator.world import Change, World


class Journal:
    def __init__(self, world: World) -> None:
        self.changes: list[Change] = []
        self._world = world
        self._pending = world.pending()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Write down whatever happens meanwhile."""
        self._world.watch(self.changes)
        try:
            yield
        finally:
            self._world.unwatch(self.changes)

    def before(self) -> dict[tuple[str, str], Any]:
        """(kind, id) -> the record as it was when this journal began, None where there was none."""
        first: dict[tuple[str, str], Any] = {}
        for change in self.changes:
            first.setdefault((change.kind, change.id), change.old)
        return first

    def created(self) -> list[tuple[str, Any]]:
        """(kind, record) of what exists now and did not before, as it is now."""
        tables = self._world.tables()
        found = [(kind, tables[kind].get(record_id)) for (kind, record_id), old in self.before().items() if old is None]
        return [(kind, record) for kind, record in found if record is not None]

    def removed(self) -> tuple[Any, ...]:
        """What was there before and is no more, as it was."""
        tables = self._world.tables()
        return tuple(old for (kind, item), old in self.before().items() if old is not None and item not in tables[kind])

    def undo(self) -> None:
        """The world as it was when this journal began."""
        tables = self._world.tables()
        for change in reversed(self.changes):
            table: Table[Any] = tables[change.kind]
            if change.old is None:
                table.remove(change.id)
            else:
                table.put(change.old, order=change.order)
        self._world.replace_pending(self._pending)
        self.changes = []

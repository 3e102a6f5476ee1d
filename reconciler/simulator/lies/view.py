"""A view: a world that is not the true one, for one read.

It shares everything with the true world but the tables that a lie bends. Those are laid over the true ones: objects
that this read shall not see, and objects that it shall see otherwise, or at all. Nothing is written through a view.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reconciler.simulator.records import IndexKey
from reconciler.simulator.tables import Entry, Table
from reconciler.simulator.world import World

Hides = Callable[[str], bool]


class View:
    """Bend tables by `table(kind)`, then give `world()` to the handler."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._bent: dict[str, BentTable] = {}

    def table(self, kind: str) -> BentTable:
        if kind not in self._bent:
            self._bent[kind] = BentTable(self._world.tables()[kind])
        return self._bent[kind]

    def world(self) -> World:
        """The true world where nothing was bent, else one like it with the bent tables in place."""
        return self._world.seen_as(self._bent) if self._bent else self._world


class BentTable(Table[Any]):
    """A table as a lie shows it. Reading only: what is asked of the true table is asked of this one."""

    def __init__(self, true: Table[Any]) -> None:
        super().__init__()
        self._true = true
        self._hides: list[Hides] = []
        self._shown: dict[str, tuple[Any, Entry]] = {}
        self._hidden: set[str] = set()

    def hide_where(self, hides: Hides) -> None:
        self._hides.append(hides)

    def hide(self, record_id: str) -> None:
        self._hidden.add(record_id)
        self._shown.pop(record_id, None)

    def show(self, record: Any, *, order: int = 0) -> None:
        """Show this in place of what has its id, or beside everything else. `order` as in `Table.put`."""
        known = self._true.entry(record.id)
        sequence = order if known is None else known[1]
        self._shown[record.id] = (record, (record.created_ms, sequence, record.id))
        self._hidden.discard(record.id)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Any]:
        gone = self._gone()
        kept = [(self._true.entry(record.id), record) for record in self._true if not gone(record.id)]
        return iter([record for _, record in sorted([*kept, *self._visible()], key=lambda pair: pair[0] or ())])

    def __contains__(self, record_id: object) -> bool:
        return self.get(record_id) is not None

    def get(self, record_id: object) -> Any:
        if not isinstance(record_id, str):
            return None
        if record_id in self._shown:
            return None if any(hides(record_id) for hides in self._hides) else self._shown[record_id][0]
        return None if self._gone()(record_id) else self._true.get(record_id)

    def put(self, record: Any, *, order: int | None = None) -> Any:
        return self._true.put(record, order=order)

    def remove(self, record_id: str) -> Any:
        return self._true.remove(record_id)

    def count(self, *key: str) -> int:
        return len(self.entries(key))

    def under(self, *key: str, newest_first: bool = False) -> list[Any]:
        entries = self.entries(key)
        return [self._record(entry) for entry in (reversed(entries) if newest_first else entries)]

    def page(self, key: IndexKey, *, newest_first: bool, offset: int, limit: int) -> list[Any]:
        entries = self.entries(key)
        if newest_first:
            end = max(0, len(entries) - offset)
            return [self._record(entry) for entry in reversed(entries[max(0, end - limit) : end])]
        return [self._record(entry) for entry in entries[offset : offset + limit]]

    def entries(self, key: IndexKey) -> list[Entry]:
        gone, entries = self._gone(), self._true.entries(key)
        found = [entry for entry in entries if not gone(entry[2])] if self._bends() else list(entries)
        for entry, record in self._visible():
            if key in record.index_keys():
                found.insert(bisect_left(found, entry), entry)
        return found

    def _bends(self) -> bool:
        return bool(self._hides or self._hidden or self._shown)

    def _gone(self) -> Hides:
        """Whether the true record of an id is not to be seen, for being hidden or for being shown otherwise."""
        hidden, shown, hides = self._hidden, self._shown, self._hides
        return lambda item: item in hidden or item in shown or any(test(item) for test in hides)

    def _visible(self) -> list[tuple[Entry, Any]]:
        shown: Mapping[str, tuple[Any, Entry]] = self._shown
        return [(entry, record) for record, entry in shown.values() if not any(test(record.id) for test in self._hides)]

    def _record(self, entry: Entry) -> Any:
        shown = self._shown.get(entry[2])
        return self._true.get(entry[2]) if shown is None else shown[0]

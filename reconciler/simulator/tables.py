"""One table per kind, with ordered indexes.

An index is a list of entries `(created_ms, sequence, id)` kept sorted, one list per key that a list call can ask for
(a zone, a project in a zone, a tag, a server). So a page is a slice, whatever the size of the world, and nothing is
sorted per call. Objects are mostly born in order of time, so an insertion is mostly an append.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from reconciler.simulator.records import IndexKey

Entry = tuple[int, int, str]


class Record(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def created_ms(self) -> int: ...

    def index_keys(self) -> list[IndexKey]: ...


R = TypeVar("R", bound=Record)


class Table(Generic[R]):
    def __init__(self) -> None:
        self._records: dict[str, R] = {}
        self._entries: dict[str, Entry] = {}
        self._indexes: dict[IndexKey, list[Entry]] = {}
        self._sequence = 0
        # Told before each change: what was (None: nothing), what will be, and its place among those of its age.
        self.watch: Callable[[R | None, R | None, int], None] | None = None

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[R]:
        """All records, oldest first."""
        return iter([self._records[entry[2]] for entry in sorted(self._entries.values())])

    def __contains__(self, record_id: object) -> bool:
        return isinstance(record_id, str) and record_id in self._records

    def get(self, record_id: object) -> R | None:
        """None for what is no id at all, such as a list that a client sent in the place of one."""
        return self._records.get(record_id) if isinstance(record_id, str) else None

    def put(self, record: R, *, order: int | None = None) -> R:
        """Insert, or replace what has the same id (which keeps its place in every order).

        `order` is the place among objects of its age of one that was here before and comes back.
        """
        old = self._records.get(record.id)
        if self.watch is not None:
            self.watch(old, record, self._sequence + 1 if old is None else self._entries[record.id][1])
        if old is None:
            self._sequence += 1
            entry = (record.created_ms, self._sequence if order is None else order, record.id)
            self._link(entry, record.index_keys())
        elif old.created_ms != record.created_ms:
            entry = (record.created_ms, self._entries[record.id][1], record.id)
            self._unlink(self._entries[record.id], old.index_keys())
            self._link(entry, record.index_keys())
        else:
            entry = self._entries[record.id]
            before, after = set(old.index_keys()), set(record.index_keys())
            self._unlink(entry, before - after)
            self._link(entry, after - before)
        self._records[record.id] = record
        self._entries[record.id] = entry
        return record

    def remove(self, record_id: str) -> R | None:
        record = self._records.get(record_id)
        if record is None:
            return None
        entry = self._entries[record_id]
        if self.watch is not None:
            self.watch(record, None, entry[1])
        del self._records[record_id], self._entries[record_id]
        self._unlink(entry, record.index_keys())
        return record

    def count(self, *key: str) -> int:
        return len(self._indexes.get(key, ()))

    def under(self, *key: str, newest_first: bool = False) -> list[R]:
        """Every record under an index key, in order of creation."""
        entries = self._indexes.get(key, [])
        return [self._records[entry[2]] for entry in (reversed(entries) if newest_first else entries)]

    def page(self, key: IndexKey, *, newest_first: bool, offset: int, limit: int) -> list[R]:
        """A slice of an index, without touching the rest of it."""
        entries = self._indexes.get(key, [])
        if newest_first:
            end = len(entries) - offset
            part = entries[max(0, end - limit) : max(0, end)][::-1]
        else:
            part = entries[offset : offset + limit]
        return [self._records[entry[2]] for entry in part]

    def entries(self, key: IndexKey) -> list[Entry]:
        """The entries under an index key, oldest first; not to be changed."""
        return self._indexes.get(key, [])

    def entry(self, record_id: str) -> Entry | None:
        return self._entries.get(record_id)

    def _link(self, entry: Entry, keys: list[IndexKey] | set[IndexKey]) -> None:
        indexes = self._indexes
        for key in keys:
            entries = indexes.get(key)
            if entries is None:
                indexes[key] = [entry]
            elif entries[-1] < entry:
                entries.append(entry)
            else:
                insort(entries, entry)

    def _unlink(self, entry: Entry, keys: list[IndexKey] | set[IndexKey]) -> None:
        for key in keys:
            entries = self._indexes[key]
            del entries[bisect_left(entries, entry)]
            if not entries:
                del self._indexes[key]

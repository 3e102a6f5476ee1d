"""How many rows a store's next units of work really write, by the database's own counters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, event

from reconciler.store import SqlStore

# The view shows what this session has not reported yet, earlier transactions included: only differences mean anything.
_TUPLES = (
    "SELECT coalesce(sum(n_tup_ins), 0), coalesce(sum(n_tup_upd), 0), coalesce(sum(n_tup_del), 0) "
    "FROM pg_stat_xact_user_tables"
)


@dataclass
class Counted:
    """`total` on both databases; the three kinds on PostgreSQL only."""

    total: int = 0
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None


@contextmanager
def counting(store: SqlStore) -> Iterator[Counted]:
    """Adds up what the transactions inside the block wrote, from their begin to right before their commit."""
    counted, engine = Counted(), store.database.engine
    started: dict[int, tuple[int, ...]] = {}

    def counters(driver: Any) -> tuple[int, ...]:
        if store.database.sqlite:
            return (driver.total_changes,)
        return tuple(int(number) for number in driver.execute(_TUPLES).fetchone())

    def begin(connection: Connection) -> None:
        driver = connection.connection.dbapi_connection
        started[id(driver)] = counters(driver)

    def commit(connection: Connection) -> None:
        driver: Any = connection.connection.dbapi_connection
        wrote = [now - then for now, then in zip(counters(driver), started[id(driver)], strict=True)]
        counted.total += sum(wrote)
        if not store.database.sqlite:
            counted.inserted = (counted.inserted or 0) + wrote[0]
            counted.updated = (counted.updated or 0) + wrote[1]
            counted.deleted = (counted.deleted or 0) + wrote[2]

    event.listen(engine, "begin", begin)
    event.listen(engine, "commit", commit)
    try:
        yield counted
    finally:
        event.remove(engine, "begin", begin)
        event.remove(engine, "commit", commit)

"""Row locks, in one place.

`with_for_update` is silently compiled to nothing on SQLite (where BEGIN IMMEDIATE has locked the whole file already),
and its `key_share` means the wrong lock on PostgreSQL. So nobody else in the product calls it: a test looks.

The order of locks, everywhere: scope, lease, deletion_claims, fleets, workers, provider_resources, adoptions, runs;
several rows of one table by id. The scope's row is the mutex of the deletion protocol: decisions, extensions, strikes
and finalisations of one scope run one after the other, which makes the rate rail exact. Holds do not take it; for them
the resource's row and the composite key decide. As a mutex it is locked FOR NO KEY UPDATE, which a new row that merely
refers to the scope does not wait for; a resource's row is locked FOR UPDATE, because an uncommitted hold on it must be
waited for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from reconciler.kernel.errors import InternalError
from reconciler.store.tables import scopes
from reconciler.store.unit import UNIT


class Lock(StrEnum):
    ROW = "for update"
    SHARED = "for share"
    MUTEX = "for no key update"


def locked(connection: Connection, statement: Select[Any], *, step: str, lock: Lock = Lock.ROW) -> Sequence[Row[Any]]:
    """The rows, locked until the unit of work ends; order the statement by id when it may match several.

    `step` names the statement, so that a test can stop a unit of work right before or after it.
    """
    if connection.get_execution_options().get(UNIT) != "write":
        raise InternalError(f"{step}: a lock outside a unit of work that writes", code="RC0902")
    # SQLAlchemy's `key_share` without `read` is FOR NO KEY UPDATE
    locking = statement.with_for_update(read=lock is Lock.SHARED, key_share=lock is Lock.MUTEX)
    return connection.execute(locking, execution_options={"step": step}).all()


def insert_missing(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert the rows that break no unique constraint; how many went in."""
    if not rows:
        return 0
    make = sqlite_insert if connection.dialect.name == "sqlite" else postgresql_insert
    statement = make(table).values(list(rows)).on_conflict_do_nothing()
    # SQLAlchemy forgets the count of an INSERT unless it is asked to keep it
    return connection.execute(statement, execution_options={"preserve_rowcount": True}).rowcount


def lock_scope(connection: Connection, scope: str, *, now_ms: int) -> int:
    """Lock the scope's row, which is made on first use; how many rows were inserted (0 or 1)."""
    statement = select(scopes.c.id).where(scopes.c.id == scope)
    if locked(connection, statement, step="scope.lock", lock=Lock.MUTEX):
        return 0
    inserted = insert_missing(connection, scopes, [{"id": scope, "noted_ms": now_ms}])
    locked(connection, statement, step="scope.lock_new", lock=Lock.MUTEX)
    return inserted

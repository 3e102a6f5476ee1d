"""Reading deletions: rows to values, without a lock and without a licence.

`Deletion.refs` are all ids that were ever captured, `struck` the ones among them that the deletion lost again. Which of
them may be destroyed is said by a warrant alone.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, func, select

from reconciler.model.resources import Kind, Ref
from reconciler.model.warrant import Deletion, DeletionStage
from reconciler.store.resources import ref_of
from reconciler.store.tables import deletion_claims, deletion_refs
from reconciler.store.unit import Database

HOUR_MS = 3_600_000


def open_deletions(database: Database, scope: str) -> tuple[Deletion, ...]:
    """All open deletions of a scope, oldest first."""
    claims = deletion_claims.c
    statement = select(deletion_claims).where(claims.scope_id == scope, claims.finished_ms.is_(None))
    ordered = statement.order_by(claims.decided_ms, claims.id)
    return database.read("open_deletions", lambda connection: _deletions(connection, connection.execute(ordered).all()))


def deletion_of(database: Database, deletion_id: str) -> Deletion | None:
    """Open or finished; None when there never was one."""
    statement = select(deletion_claims).where(deletion_claims.c.id == deletion_id)
    found = database.read("deletion_of", lambda connection: _deletions(connection, connection.execute(statement).all()))
    return found[0] if found else None


def target_of(row: Row[Any]) -> Ref:
    return Ref(Kind(row.target_kind), row.target_zone, row.target_id)


def refs_in(connection: Connection, deletion_id: str) -> tuple[Row[Any], ...]:
    """All captured ids of a deletion, struck ones included, in order."""
    table = deletion_refs.c
    statement = select(deletion_refs).where(table.deletion_id == deletion_id)
    return tuple(connection.execute(statement.order_by(table.kind, table.zone, table.provider_id)).all())


def decided_since(connection: Connection, scope: str, since_ms: int) -> int:
    """How many deletions of a scope were decided after an instant: what the rate rail counts."""
    table = deletion_claims.c
    statement = select(func.count()).where(table.scope_id == scope, table.decided_ms > since_ms)
    return int(connection.execute(statement).scalar_one())


def _deletions(connection: Connection, rows: Collection[Row[Any]]) -> tuple[Deletion, ...]:
    refs: dict[str, list[Row[Any]]] = {row.id: [] for row in rows}
    table = deletion_refs.c
    wanted = list(refs)
    for start in range(0, len(wanted), 500):
        statement = select(deletion_refs).where(table.deletion_id.in_(wanted[start : start + 500]))
        for row in connection.execute(statement.order_by(table.kind, table.zone, table.provider_id)):
            refs[row.deletion_id].append(row)
    return tuple(_deletion(row, refs[row.id]) for row in rows)


def _deletion(row: Row[Any], refs: Collection[Row[Any]]) -> Deletion:
    return Deletion(
        id=row.id,
        scope=row.scope_id,
        target=target_of(row),
        reason=row.reason,
        finding_id=row.finding_id,
        refs=tuple(ref_of(ref) for ref in refs),
        struck=tuple(ref_of(ref) for ref in refs if ref.struck_ms is not None),
        stage=DeletionStage(row.stage),
        attempts=row.attempts,
        fence_token=row.fence_token,
        decided_ms=row.decided_ms,
        next_attempt_ms=row.next_attempt_ms,
        last_error=row.last_error,
        hour_nanos=row.hour_nanos,
    )

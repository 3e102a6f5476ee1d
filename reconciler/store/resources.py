"""The rows of things that may be destroyed: noted, locked, asked about.

A resource gets a row when somebody first wants to hold or to destroy it; the inventory itself is not stored. The row's
id is our own, so that a resource whose doomed row went away and that is noted again is a new thing to every hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, TypeAlias

from sqlalchemy import ColumnElement, Connection, Row, Table, select, tuple_, update

from reconciler.kernel.errors import StoreError
from reconciler.kernel.ids import Ids
from reconciler.model.resources import Kind, Ref
from reconciler.store.locks import insert_missing, locked
from reconciler.store.tables import orphan_resources, provider_resources

_ROUNDS: Final = 3
Noted: TypeAlias = Mapping[Ref, Row[Any]]


def ref_of(row: Row[Any]) -> Ref:
    """The identity in a row with the columns kind, zone and provider_id."""
    return Ref(Kind(row.kind), row.zone, row.provider_id)


def ref_values(ref: Ref) -> dict[str, str]:
    return {"kind": ref.kind.value, "zone": ref.zone, "provider_id": ref.id}


def is_ref(table: Table, ref: Ref) -> ColumnElement[bool]:
    return (table.c.kind == ref.kind.value) & (table.c.zone == ref.zone) & (table.c.provider_id == ref.id)


def note_and_lock(connection: Connection, refs: Collection[Ref], *, scope: str, ids: Ids, now_ms: int) -> Noted:
    """A row for each ref, made where there is none, locked in the order of ids. `live` is NULL for a doomed one.

    New rows go in by the order of refs: two units of work that note the same resources wait for each other and never
    in a circle. A row that was there and is removed while we wait for its lock (its deletion was finalised) is made
    anew in a second round.
    """
    ordered = sorted(set(refs))
    table = provider_resources.c
    wanted = tuple_(table.kind, table.zone, table.provider_id).in_([(r.kind.value, r.zone, r.id) for r in ordered])
    statement = select(provider_resources).where(wanted).order_by(table.id)
    for _ in range(_ROUNDS):
        rows = [{"id": ids.new(), "scope_id": scope, **ref_values(ref), "noted_ms": now_ms} for ref in ordered]
        insert_missing(connection, provider_resources, rows)
        noted = {ref_of(row): row for row in locked(connection, statement, step="resources.lock")}
        if len(noted) == len(ordered):
            return noted
    raise StoreError("resources come and go faster than they can be locked", code="RC0205", hint="Run again.")


def eligible(connection: Connection, noted: Noted) -> frozenset[Ref]:
    """Which of the locked resources may be doomed, by the one view.

    This has to be a statement of its own, after the locks: it then sees whatever was committed while we waited. In one
    statement with the lock or the update, PostgreSQL answers from the snapshot of before the wait.
    """
    by_id = {row.id: ref for ref, row in noted.items()}
    statement = select(orphan_resources.c.id).where(orphan_resources.c.id.in_(by_id))
    found = connection.execute(statement, execution_options={"step": "resources.eligible"})
    return frozenset(by_id[row.id] for row in found)


def doom(connection: Connection, rows: Collection[Row[Any]], *, deletion_id: str) -> None:
    """Set `live` to NULL. A hold that the view did not know of breaks the composite key here (ConstraintBroken)."""
    table = provider_resources
    statement = (
        update(table)
        .where(table.c.id.in_([row.id for row in rows]), table.c.live == 1)
        .values(live=None, deletion_id=deletion_id)
    )
    changed = connection.execute(statement, execution_options={"step": "resources.doom"}).rowcount
    if changed != len(rows):
        raise StoreError(f"{changed} of {len(rows)} resources were doomed under their locks", code="RC0216")

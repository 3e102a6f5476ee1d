"""Read the rows of workers, before the inventory and after it.

What is read first is what `missing` rests on, what is read last is what keeps a machine from being an orphan (rule 3).
Rows that cannot be read are a value, and only a 401 stops a sweep. The second read also asks which workers of the
inventory had a row once: a machine that comes up late is not one whose row was lost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reconciler.diff.recorded import workers_of
from reconciler.kernel.errors import AuthenticationError, ReconcilerError
from reconciler.model.inventory import Inventory
from reconciler.model.records import RecordsView, UnreadRecords
from reconciler.model.resources import Kind
from reconciler.ports.records import Records
from reconciler.records.none import NoRecords

NO_ROWS: Final[Records] = NoRecords()


def read_rows(records: Records, scope: str) -> RecordsView:
    """All rows of a scope, or why they were not read."""
    try:
        return records.read(scope)
    except AuthenticationError:
        raise
    except ReconcilerError as error:
        return _unread(records, error)


def read_rows_again(records: Records, scope: str, inventory: Inventory) -> RecordsView:
    """The second read, with what became of the workers that the inventory names and no row has."""
    view = read_rows(records, scope)
    if view.unread is not None or not view.expected:
        return view
    known = {row.id for row in view.workers}
    named = {worker for server in inventory.of_kind(Kind.SERVER) for worker in workers_of(server.tags)}
    try:
        return replace(view, ended=records.ended(scope, named - known))
    except AuthenticationError:
        raise
    except ReconcilerError as error:
        return _unread(records, error)


def _unread(records: Records, error: ReconcilerError) -> RecordsView:
    return RecordsView(adapter=records.adapter, unread=UnreadRecords(code=error.code, reason=error.message))

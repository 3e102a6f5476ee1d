"""The journal of a run: append-only, numbered without a gap.

It is what a killed `apply` is resumed from, so an entry is committed before the step it announces. Numbers are given
under the lock of the run's row: two threads of one run never share one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, insert, select

from reconciler.kernel.clock import Clock
from reconciler.ports.store import JournalEntry
from reconciler.store.locks import locked
from reconciler.store.plans import unknown_run
from reconciler.store.tables import journal, runs
from reconciler.store.text import storable_json
from reconciler.store.unit import Database


class Journal:
    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def add(self, run_id: str, *, action_id: str, step: str, details: Mapping[str, Any]) -> None:
        """Raises StoreError RC0219 for a run that was never begun; TypeError for details that are no JSON."""
        row = {"run_id": run_id, "action_id": action_id, "step": step, "details": storable_json(details)}

        def work(connection: Connection) -> None:
            if not locked(connection, select(runs.c.id).where(runs.c.id == run_id), step="runs.lock"):
                raise unknown_run(run_id)
            last = connection.execute(select(func.max(journal.c.seq)).where(journal.c.run_id == run_id)).scalar_one()
            connection.execute(insert(journal).values(**row, seq=(last or 0) + 1, at_ms=self._clock.now_ms()))

        self._database.write("journal", work)

    def of(self, run_id: str) -> tuple[JournalEntry, ...]:
        """In the order of writing; empty for an unknown run."""
        statement = select(journal).where(journal.c.run_id == run_id).order_by(journal.c.seq)
        rows = self._database.read("journal_of", lambda connection: connection.execute(statement).all())
        return tuple(
            JournalEntry(
                run_id=row.run_id,
                seq=row.seq,
                action_id=row.action_id,
                step=row.step,
                at_ms=row.at_ms,
                details=row.details,
            )
            for row in rows
        )

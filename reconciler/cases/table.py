"""The rows of a case, in the product's own tables.

Nothing of the product writes an intent yet, so a row is put into the table as a provisioner would have committed it.
What follows is the product's own: a row gets its machine by `attach`, which makes the hold, and ends by `purge`, which
leaves the tombstone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from reconciler.cases.model import FleetDecl, RowDecl
from reconciler.cases.names import REVISION, SCOPE_UUID, id_of
from reconciler.kernel.clock import Clock
from reconciler.kernel.ids import Ids
from reconciler.kernel.randomness import SeededRandomness
from reconciler.model.records import WorkerRow
from reconciler.model.resources import Kind, Ref
from reconciler.records.native import NativeRecords
from reconciler.store import SqlStore, open_store
from reconciler.store.tables import fleets, scopes, workers

_HOLDER: Final = "the past of a case"
_LEASE_SECONDS: Final = 60.0


class Table:
    """The rows of one database; `start_ms` is what the ages of a case count from."""

    def __init__(self, url: str, *, clock: Clock, seed: int, start_ms: int) -> None:
        self._url, self._clock, self._start_ms = url, clock, start_ms
        self._ids = Ids(clock=clock, randomness=SeededRandomness(seed))

    @contextlib.contextmanager
    def _open(self) -> Iterator[SqlStore]:
        store = open_store(self._url, clock=self._clock, ids=self._ids, create=True)
        with contextlib.closing(store):
            yield store

    def write(self, row: RowDecl, fleet: FleetDecl | None, *, stack: str) -> None:
        """A row comes into being now. `fleet` None: no stack declares it."""
        zone = "fr-par-1" if fleet is None else fleet.zone
        with self._open() as store:
            store.database.write("a row of a case", lambda connection: self._insert(connection, row, zone, stack))
            lease = store.acquire_lease(f"apply:{SCOPE_UUID}", holder=_HOLDER, ttl_seconds=_LEASE_SECONDS)
            records = NativeRecords(store)
            try:
                if row.machine is not None:
                    machine = Ref(Kind.SERVER, zone, id_of(row.machine))
                    records.attach(SCOPE_UUID, self._read(records, row), machine, lease=lease)
                    store.database.write("a row of a case", lambda connection: self._settle(connection, row))
                if row.ended is not None:
                    records.purge(SCOPE_UUID, self._read(records, row), why=row.ended, lease=lease)
            finally:
                store.release_lease(lease)

    def _read(self, records: NativeRecords, row: RowDecl) -> WorkerRow:
        found = records.read(SCOPE_UUID).row(id_of(row.worker))
        assert found is not None  # it was written a moment ago
        return found

    def _insert(self, connection: Connection, row: RowDecl, zone: str, stack: str) -> None:
        now, fleet_id = self._clock.now_ms(), id_of(f"fleet {row.fleet}")
        if connection.execute(select(scopes.c.id).where(scopes.c.id == SCOPE_UUID)).one_or_none() is None:
            connection.execute(insert(scopes).values(id=SCOPE_UUID, noted_ms=now))
        if connection.execute(select(fleets.c.id).where(fleets.c.id == fleet_id)).one_or_none() is None:
            declared = {"name": row.fleet, "stack": stack, "controller": "elastic", "revision": REVISION}
            connection.execute(insert(fleets).values(id=fleet_id, scope_id=SCOPE_UUID, declared_ms=now, **declared))
        values: dict[str, Any] = {
            "id": id_of(row.worker),
            "scope_id": SCOPE_UUID,
            "fleet_id": fleet_id,
            "zone": zone,
            "revision": REVISION,
            "state": row.state if row.machine is None and row.ended is None else "provisioning",
            "create_sent_ms": None if row.sent is None else self._start_ms - row.sent * 1000,
            "changed_ms": now,
        }
        connection.execute(insert(workers).values(values))

    def _settle(self, connection: Connection, row: RowDecl) -> None:
        """What the provisioner and the agent wrote since: the create was answered when it was sent."""
        now = self._clock.now_ms()
        values: dict[str, Any] = {"state": row.state, "changed_ms": now}
        values["create_confirmed_ms"] = None if row.sent is None else self._start_ms - row.sent * 1000
        if row.state in ("ready", "busy"):
            values["ready_ms"] = now
        connection.execute(update(workers).where(workers.c.id == id_of(row.worker)).values(values))

    def rows(self, labels: Mapping[str, str]) -> dict[str, tuple[str, str | None]]:
        """Worker -> (state, machine), in the names of the case; every row that has not ended."""
        with self._open() as store:
            found = NativeRecords(store).read(SCOPE_UUID).workers
        return {
            labels.get(row.id, row.id): (
                row.state.value,
                None if row.machine is None else labels.get(row.machine.id, row.machine.id),
            )
            for row in found
        }

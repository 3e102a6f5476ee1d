"""A database with rows of workers, and raw ways to put a row where no operation of the product puts one yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reconciler.model.desired import FleetSpec
from reconciler.model.records import NewWorker, WorkerRow
from reconciler.model.resources import Ref
from reconciler.model.warrant import Warrant
from reconciler.ports.store import Lease
from reconciler.records.native import NativeRecords
from reconciler.store import SqlStore
from tests.records.rows import elastic
from tests.store.place import PROJECT, SCOPE, ZONE, Place, lead, ref

WORKER = "0198f0a0-0000-7000-8000-000000000001"
OTHER = "0198f0a0-0000-7000-8000-000000000002"
MACHINE = ref(1)


def new(worker: str = WORKER, machine: Ref = MACHINE, **changes: Any) -> NewWorker:
    given: dict[str, Any] = {"id": worker, "zone": ZONE, "revision": "0123456789ab", "machine": machine}
    return NewWorker(**(given | changes))


@dataclass
class Desk:
    """One process on a place, with the lease."""

    place: Place
    store: SqlStore
    lease: Lease

    @classmethod
    def on(cls, place: Place) -> Desk:
        store = place.store()
        return cls(place, store, lead(store))

    @property
    def records(self) -> NativeRecords:
        return NativeRecords(self.store)

    def record(self, worker: str = WORKER, machine: Ref = MACHINE, *, fleet: FleetSpec | None = None) -> WorkerRow:
        return self.records.record(SCOPE, new(worker, machine), fleet=fleet or elastic(), lease=self.lease)

    def intend(self, worker: str = WORKER, *, state: str = "provisioning", sent_ms: int | None = 1) -> WorkerRow:
        """A row without a machine, as a provisioner writes it before it sends its create."""
        self._fleet()
        self.place.sql(
            "INSERT INTO workers (id, scope_id, fleet_id, zone, revision, state, create_sent_ms, changed_ms) "
            "VALUES (:id, :scope, :fleet, :zone, 'r', :state, :sent, 1)",
            id=worker,
            scope=SCOPE,
            fleet=elastic().uid,
            zone=ZONE,
            state=state,
            sent=sent_ms,
        )
        return self.row(worker)

    def _fleet(self) -> None:
        """The fleet's row, by way of a worker that comes and goes."""
        if self.place.count("fleets"):
            return
        passing = self.record("passing", ref(999))
        self.records.purge(SCOPE, passing, why="it was never meant", lease=self.lease)

    def doom(self, row: WorkerRow, *children: Ref, store: SqlStore | None = None) -> Warrant:
        """Decide the deletion of a row's machine, and of the row with it."""
        assert row.machine is not None
        return (store or self.store).decide_deletion(
            scope=SCOPE,
            project=PROJECT,
            target=row.machine,
            children=children,
            reason="it failed",
            finding_id="f" * 32,
            hour_nanos=1,
            lease=self.lease,
            per_hour=100,
            worker=row,
        )

    def row(self, worker: str = WORKER) -> WorkerRow:
        found = self.records.read(SCOPE).row(worker)
        assert found is not None
        return found

    def set(self, worker: str = WORKER, **values: Any) -> WorkerRow:
        """What an agent or a provisioner would write."""
        assignments = ", ".join(f"{name} = :{name}" for name in values)
        self.place.sql(
            f"UPDATE workers SET {assignments}, changed_ms = changed_ms + 1 WHERE id = :id", id=worker, **values
        )
        return self.row(worker)

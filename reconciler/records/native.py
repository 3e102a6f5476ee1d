"""Rows in our own tables, beside the deletion protocol, so that the database itself holds what they record.

The units of work are the store's; what is added here is what the port asks of every adapter: a machine is a server in
the row's own zone, and a worker's id is one that a tag can carry.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from reconciler.kernel.errors import RefusedError
from reconciler.model.desired import FleetSpec
from reconciler.model.records import NewWorker, RecordsView, Tombstone, WorkerRow
from reconciler.model.resources import Kind, Ref
from reconciler.ports.store import Lease
from reconciler.store import SqlStore
from reconciler.store.worker_rows import NATIVE


class NativeRecords:
    """`reconciler.ports.records.Records` over a `SqlStore`."""

    def __init__(self, store: SqlStore) -> None:
        self._workers = store.workers

    @property
    def adapter(self) -> str:
        return NATIVE

    def read(self, scope: str) -> RecordsView:
        return self._workers.read(scope)

    def ended(self, scope: str, workers: Collection[str]) -> Mapping[str, Tombstone]:
        return self._workers.ended(scope, workers)

    def record(self, scope: str, new: NewWorker, *, fleet: FleetSpec, lease: Lease) -> WorkerRow:
        """Raises RefusedError RC0562 as well, for what is no worker's machine."""
        _require_server(new.machine, zone=new.zone)
        return self._workers.record(scope, new, fleet=fleet, lease=lease)

    def attach(self, scope: str, row: WorkerRow, machine: Ref, *, lease: Lease) -> WorkerRow:
        """Raises RefusedError RC0562 as well, for what is no worker's machine."""
        _require_server(machine, zone=row.zone)
        return self._workers.attach(scope, row, machine, lease=lease)

    def purge(self, scope: str, row: WorkerRow, *, why: str, lease: Lease) -> None:
        self._workers.purge(scope, row, why=why, lease=lease)


def _require_server(machine: Ref, *, zone: str) -> None:
    if machine.kind is not Kind.SERVER or machine.zone != zone:
        raise RefusedError(
            f"{machine} is no server in {zone}, so it is not the machine of a worker there",
            code="RC0562",
            hint="Nothing was written.",
        )

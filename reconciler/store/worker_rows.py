"""Reading the rows of workers: to values, without a lock.

The machine of a row is found through its resource. After a deletion has finished that row is gone, and the deletion's
target says which machine it was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, select

from reconciler.model.memory import Recorded
from reconciler.model.records import FleetRow, RecordsView, Tombstone, WorkerRow, WorkerState
from reconciler.model.resources import Kind, Ref
from reconciler.store.resources import ref_of
from reconciler.store.tables import deletion_claims, fleets, provider_resources, worker_tombstones, workers
from reconciler.store.unit import Database

NATIVE: Final = "native"
_BATCH: Final = 500


def read_rows(database: Database, scope: str, *, now_ms: int) -> RecordsView:
    """Everything of one scope, from one snapshot."""

    def work(connection: Connection) -> RecordsView:
        rows = connection.execute(rows_statement().where(workers.c.scope_id == scope).order_by(workers.c.id)).all()
        declared = connection.execute(select(fleets).where(fleets.c.scope_id == scope).order_by(fleets.c.id)).all()
        return RecordsView(
            adapter=NATIVE, read_ms=now_ms, workers=tuple(map(worker_row, rows)), fleets=tuple(map(_fleet, declared))
        )

    return database.read("records", work)


def read_ended(database: Database, scope: str, ids: Collection[str]) -> Mapping[str, Tombstone]:
    wanted, table = sorted(set(ids)), worker_tombstones.c

    def work(connection: Connection) -> dict[str, Tombstone]:
        found: dict[str, Tombstone] = {}
        for start in range(0, len(wanted), _BATCH):
            some = table.id.in_(wanted[start : start + _BATCH])
            for row in connection.execute(select(worker_tombstones).where(table.scope_id == scope, some)):
                found[row.id] = Tombstone(
                    worker=row.id, zone=row.zone, machine_id=row.machine_id, buried_ms=row.buried_ms, why=row.why
                )
        return found

    return database.read("tombstones", work) if wanted else {}


def read_recorded(connection: Connection) -> dict[Ref, Recorded]:
    """Machines that rows of any scope name: a provider id means the same thing in every scope."""
    columns = (provider_resources.c.kind, provider_resources.c.zone, provider_resources.c.provider_id)
    statement: Select[Any] = select(workers.c.id.label("worker"), workers.c.live, *columns).join(
        provider_resources, provider_resources.c.id == workers.c.resource_id
    )
    ordered = statement.order_by(workers.c.live.is_(None).desc(), workers.c.id)  # of two, the live one speaks
    return {ref_of(row): Recorded(worker=row.worker, holds=row.live == 1) for row in connection.execute(ordered)}


def rows_statement() -> Select[Any]:
    """Rows of workers with what belongs to each: `worker_row` makes the value."""
    resource, deletion = provider_resources.c, deletion_claims.c
    return (
        select(
            workers,
            fleets.c.name.label("fleet_name"),
            resource.kind,
            resource.zone.label("machine_zone"),
            resource.provider_id,
            deletion.target_kind,
            deletion.target_zone,
            deletion.target_id,
            deletion.finished_ms,
        )
        .join(fleets, fleets.c.id == workers.c.fleet_id)
        .outerjoin(provider_resources, resource.id == workers.c.resource_id)
        .outerjoin(deletion_claims, deletion.id == workers.c.deletion_id)
    )


def worker_row(row: Row[Any]) -> WorkerRow:
    return WorkerRow(
        id=row.id,
        fleet_id=row.fleet_id,
        fleet=row.fleet_name,
        zone=row.zone,
        revision=row.revision,
        state=WorkerState(row.state),
        changed_ms=row.changed_ms,
        machine=_machine(row),
        create_sent_ms=row.create_sent_ms,
        create_confirmed_ms=row.create_confirmed_ms,
        ready_ms=row.ready_ms,
        failure=row.failure,
        deletion_id=row.deletion_id,
        deletion_finished=row.finished_ms is not None,
    )


def _machine(row: Row[Any]) -> Ref | None:
    if row.provider_id is not None:
        return Ref(Kind(row.kind), row.machine_zone, row.provider_id)
    if row.target_id is not None:
        return Ref(Kind(row.target_kind), row.target_zone, row.target_id)
    return None


def _fleet(row: Row[Any]) -> FleetRow:
    return FleetRow(
        id=row.id,
        name=row.name,
        stack=row.stack,
        controller=row.controller,
        revision=row.revision,
        declared_ms=row.declared_ms,
        retired_ms=row.retired_ms,
    )

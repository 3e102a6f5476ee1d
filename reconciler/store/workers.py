"""Writing the rows of workers: record, attach, purge; and the half of a decision that dooms a row.

Each is one transaction in the order of locks.py: the scope's mutex, the lease, fleets, the worker's row, the resource.
A write names the row as its caller judged it; another one by then is refused, because what was judged is not there any
more. The hold on a machine is taken under the lock of the resource's row, and the composite key stands behind it:
whoever commits first of a decision and a row wins, and the other is refused.

A row's end is its tombstone. Nothing brings a worker back: a row for a worker that ended is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, delete, insert, select, update

from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import RefusedError
from reconciler.kernel.ids import Ids
from reconciler.model.desired import FleetSpec
from reconciler.model.records import NewWorker, RecordsView, Tombstone, WorkerRow, WorkerState
from reconciler.model.resources import Ref
from reconciler.ports.store import Lease
from reconciler.store.failures import Broken, ConstraintBroken
from reconciler.store.leases import fence
from reconciler.store.locks import lock_scope, locked
from reconciler.store.resources import eligible, note_and_lock
from reconciler.store.tables import fleets, provider_resources, worker_tombstones, workers
from reconciler.store.text import storable
from reconciler.store.unit import Database
from reconciler.store.worker_rows import read_ended, read_rows, rows_statement, worker_row

Result = TypeVar("Result")

_TEXT_LIMIT = 2_000
_AGAIN = "Look at the world again; nothing was written."


class Workers:
    def __init__(self, database: Database, *, clock: Clock, ids: Ids) -> None:
        self._database, self._clock, self._ids = database, clock, ids

    def read(self, scope: str) -> RecordsView:
        return read_rows(self._database, scope, now_ms=self._clock.now_ms())

    def ended(self, scope: str, ids: Collection[str]) -> Mapping[str, Tombstone]:
        return read_ended(self._database, scope, ids)

    def record(self, scope: str, new: NewWorker, *, fleet: FleetSpec, lease: Lease) -> WorkerRow:
        """See the port. Raises RefusedError RC0232 to RC0236."""

        def work(connection: Connection) -> WorkerRow:
            row = _locked(connection, new.id)
            if row is not None:
                if row.live and row.machine == new.machine and _scope_of(connection, new.id) == scope:
                    return row
                raise RefusedError(f"worker {new.id} has a row already", code="RC0232", hint=_AGAIN)
            if _is_ended(connection, new.id):
                raise RefusedError(f"the row of worker {new.id} has ended", code="RC0233", hint=_NOT_BACK)
            self._declare(connection, scope, fleet)
            resource = self._machine(connection, scope, new.machine, worker=new.id)
            values: dict[str, Any] = {
                "id": new.id,
                "scope_id": scope,
                "fleet_id": fleet.uid,
                "zone": new.zone,
                "revision": storable(new.revision),
                "state": new.state.value,
                "resource_id": resource.id,
                "resource_live": 1,
                "changed_ms": self._clock.now_ms(),
            }
            connection.execute(insert(workers).values(values), execution_options={"step": "workers.insert"})
            return _there(connection, new.id)

        return self._write("record_worker", scope, lease, work, machine=new.machine)

    def attach(self, scope: str, row: WorkerRow, machine: Ref, *, lease: Lease) -> WorkerRow:
        """See the port. Raises RefusedError RC0230, RC0231, RC0234, RC0235."""

        def work(connection: Connection) -> WorkerRow:
            now = _locked(connection, row.id)
            if now is not None and now.live and now.machine == machine:
                return now
            current = _same(now, row)
            if not current.live or current.machine is not None:
                raise _moved(row)
            resource = self._machine(connection, scope, machine, worker=row.id)
            state = WorkerState.BOOTSTRAPPING if row.state is WorkerState.PROVISIONING else row.state
            at = self._after(current)
            values = {"state": state.value, "create_confirmed_ms": at, "changed_ms": at}
            _change(connection, row.id, "workers.attach", resource_id=resource.id, resource_live=1, **values)
            return _there(connection, row.id)

        return self._write("attach_worker", scope, lease, work, machine=machine)

    def purge(self, scope: str, row: WorkerRow, *, why: str, lease: Lease) -> None:
        """See the port. Raises RefusedError RC0230, RC0231, RC0237."""

        def work(connection: Connection) -> None:
            now = _locked(connection, row.id)
            if now is None and _is_ended(connection, row.id):
                return
            current = _same(now, row)
            if not current.live and not current.deletion_finished:
                raise RefusedError(
                    f"the deletion {current.deletion_id} of worker {row.id} is not finished", code="RC0237", hint=_AGAIN
                )
            self._bury(connection, scope, current, why)

        self._write("purge_worker", scope, lease, work, machine=None)

    # -- inside the transactions

    def _bury(self, connection: Connection, scope: str, row: WorkerRow, why: str) -> None:
        values = {
            "id": row.id,
            "scope_id": scope,
            "fleet_id": row.fleet_id,
            "zone": row.zone,
            "revision": row.revision,
            "machine_id": row.machine.id if row.machine is not None else None,
            "deletion_id": row.deletion_id,
            "create_sent_ms": row.create_sent_ms,
            "why": storable(why, limit=_TEXT_LIMIT),
            "buried_ms": self._clock.now_ms(),
        }
        connection.execute(insert(worker_tombstones).values(values))
        connection.execute(delete(workers).where(workers.c.id == row.id), execution_options={"step": "workers.delete"})
        if row.live and row.machine is not None:
            # the resource's row was there for this hold; who else holds it keeps it
            noted = note_and_lock(connection, [row.machine], scope=scope, ids=self._ids, now_ms=self._clock.now_ms())
            if eligible(connection, noted):
                connection.execute(delete(provider_resources).where(provider_resources.c.id == noted[row.machine].id))

    def _declare(self, connection: Connection, scope: str, fleet: FleetSpec) -> None:
        """The fleet's row as it is declared now. Another declaration of its name is retired by it."""
        now, table = self._clock.now_ms(), fleets.c
        named = select(fleets).where((table.id == fleet.uid) | ((table.scope_id == scope) & (table.name == fleet.name)))
        known = {row.id: row for row in locked(connection, named.order_by(table.id), step="fleets.lock")}
        for row in known.values():
            if row.id != fleet.uid and row.retired_ms is None:
                connection.execute(update(fleets).where(table.id == row.id).values(retired_ms=now))
        mine = known.get(fleet.uid)
        facts = {
            "scope_id": scope,
            "name": storable(fleet.name),
            "stack": storable(fleet.stack),
            "controller": fleet.controller,
            "revision": storable(fleet.revision),
        }
        if mine is None:
            connection.execute(insert(fleets).values(id=fleet.uid, declared_ms=now, **facts))
            return
        if mine.scope_id != scope:
            raise RefusedError(f"the fleet {fleet.uid} belongs to another scope", code="RC0236", hint=_AGAIN)
        if mine.retired_ms is not None or any(mine._mapping[name] != value for name, value in facts.items()):
            connection.execute(update(fleets).where(table.id == fleet.uid).values(**facts, retired_ms=None))

    def _machine(self, connection: Connection, scope: str, machine: Ref, *, worker: str) -> Row[Any]:
        """The resource's row, locked, live and held by no other worker."""
        now = self._clock.now_ms()
        resource = note_and_lock(connection, [machine], scope=scope, ids=self._ids, now_ms=now)[machine]
        if resource.live is None:
            raise _doomed(machine)
        other = worker_on(connection, resource.id)
        if other is not None:
            raise _recorded_already(machine, other, worker)
        return resource

    def _after(self, row: WorkerRow) -> int:
        """Now, and never the time of the row's last change: a mark is not used twice."""
        return max(self._clock.now_ms(), row.changed_ms + 1)

    def _write(
        self,
        name: str,
        scope: str,
        lease: Lease,
        work: Callable[[Connection], Result],
        *,
        machine: Ref | None,
    ) -> Result:
        def fenced(connection: Connection) -> Result:
            lock_scope(connection, scope, now_ms=self._clock.now_ms())
            fence(connection, lease)
            return work(connection)

        try:
            return self._database.write(name, fenced)
        except ConstraintBroken as error:
            if machine is not None and error.broken is Broken.FOREIGN_KEY:
                raise _doomed(machine) from error
            if machine is not None and error.broken is Broken.UNIQUE:
                raise _recorded_already(machine, "another worker", "this one") from error
            raise


def doom_worker(connection: Connection, expected: WorkerRow, target: Ref, *, deletion_id: str, now_ms: int) -> None:
    """Let go of the machine and doom the row, in the decision's own transaction.

    Raises RefusedError RC0230, RC0231: the row is gone, or not the one that was judged, or records another machine.
    """
    current = _same(_locked(connection, expected.id), expected)
    if not current.live or current.machine != target:
        raise _moved(expected)
    statement = update(workers).where(workers.c.id == expected.id, workers.c.live == 1)
    changed = max(now_ms, current.changed_ms + 1)
    connection.execute(
        statement.values(live=None, deletion_id=deletion_id, resource_live=None, changed_ms=changed),
        execution_options={"step": "workers.doom"},
    )


def worker_on(connection: Connection, resource_id: str) -> str | None:
    """The worker whose row holds a resource."""
    statement = select(workers.c.id).where(workers.c.resource_id == resource_id, workers.c.resource_live == 1)
    found: str | None = connection.execute(statement).scalar_one_or_none()
    return found


def _locked(connection: Connection, worker: str) -> WorkerRow | None:
    """Lock first, then read in a statement of its own: it then sees whatever was committed while we waited."""
    if not locked(connection, select(workers.c.id).where(workers.c.id == worker), step="workers.lock"):
        return None
    return _there(connection, worker)


def _there(connection: Connection, worker: str) -> WorkerRow:
    return worker_row(connection.execute(rows_statement().where(workers.c.id == worker)).one())


def _scope_of(connection: Connection, worker: str) -> str:
    return str(connection.execute(select(workers.c.scope_id).where(workers.c.id == worker)).scalar_one())


def _is_ended(connection: Connection, worker: str) -> bool:
    statement = select(worker_tombstones.c.id).where(worker_tombstones.c.id == worker)
    return connection.execute(statement).one_or_none() is not None


def _same(now: WorkerRow | None, judged: WorkerRow) -> WorkerRow:
    if now is None:
        raise RefusedError(f"worker {judged.id} has no row any more", code="RC0230", hint=_AGAIN)
    if now.mark != judged.mark:
        raise _moved(judged)
    return now


def _change(connection: Connection, worker: str, step: str, **values: Any) -> None:
    connection.execute(update(workers).where(workers.c.id == worker).values(**values), execution_options={"step": step})


_NOT_BACK = "A machine that comes up after its row has ended is left over; a new worker has a new id."


def _moved(row: WorkerRow) -> RefusedError:
    return RefusedError(f"the row of worker {row.id} is another one by now", code="RC0231", hint=_AGAIN)


def _doomed(machine: Ref) -> RefusedError:
    hint = "A decision is never taken back; no row is written for it."
    return RefusedError(f"the deletion of {machine} is decided", code="RC0234", hint=hint)


def _recorded_already(machine: Ref, other: str, worker: str) -> RefusedError:
    return RefusedError(f"{machine} is the machine of {other}, and not of {worker}", code="RC0235", hint=_AGAIN)

"""What the rows of workers hold, and how long a row may stay as it is.

A live row holds its machine and what hangs on it, in every state that the row may be in and over both reads (rule 3): a
row that was there in either of them holds. It holds by the machine's id, and by the tag with the worker's id, which was
drawn for that row alone and is on the machine before its id is in the row. A doomed row holds nothing: its deletion is
decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from reconciler.model.desired import WORKER_TAG
from reconciler.model.memory import Memory, Recorded
from reconciler.model.records import RecordsView, WorkerRow, WorkerState
from reconciler.model.resources import Ref, Resource, Server, owner_server_id
from reconciler.model.scope import Scope

# From the answer of the create to the agent's first word that it is ready.
BOOTSTRAP_SECONDS: Final = 1_200


@dataclass(frozen=True)
class Rows:
    """Both reads of one scope's rows. Not slotted, for the cached indexes."""

    before: RecordsView
    now: RecordsView

    @cached_property
    def live(self) -> Mapping[str, WorkerRow]:
        """Worker -> its row, of rows that were live in either read; of two the second."""
        return {row.id: row for view in (self.before, self.now) for row in view.workers if row.live}

    @cached_property
    def by_machine(self) -> Mapping[str, WorkerRow]:
        """Server id -> the row that records it; a machine that only the first read names counts as well."""
        rows = [row for view in (self.before, self.now) for row in view.workers if row.live]
        return {row.machine.id: row for row in rows if row.machine is not None}

    @cached_property
    def _earlier(self) -> Mapping[str, WorkerRow]:
        return {row.id: row for row in self.before.workers}

    @cached_property
    def _doomed(self) -> Mapping[str, WorkerRow]:
        return {row.id: row for view in (self.before, self.now) for row in view.workers if not row.live}

    def holder(self, resource: Resource, memory: Memory) -> WorkerRow | None:
        """A live row that holds a machine, or what hangs on it or hung on it when it was last seen."""
        return next(self.holders(resource, memory), None)

    def holder_beside(self, resource: Resource, server: Ref, memory: Memory) -> WorkerRow | None:
        """A live row that holds it, other than the row of the machine that it hangs on: two may lay claim to one."""
        own = self.by_machine.get(server.id)
        return next((row for row in self.holders(resource, memory) if own is None or row.id != own.id), None)

    def holders(self, resource: Resource, memory: Memory) -> Iterator[WorkerRow]:
        """Every live row that holds it: tags and memory may name several."""
        line = memory.lineage.get(resource.ref)
        for id_ in (resource.id, owner_server_id(resource), line.server_id if line is not None else None):
            if id_ is not None and id_ in self.by_machine:
                yield self.by_machine[id_]
        yield from (self.live[worker] for worker in workers_of(resource.tags) if worker in self.live)

    def moved(self, row: WorkerRow) -> bool:
        """Whether somebody wrote the row while the inventory was read."""
        earlier = self._earlier.get(row.id)
        return earlier is None or earlier.mark != row.mark

    def ended(self, worker: str) -> str | None:
        """Why no row may be written for this worker; None when it never had a row that ended."""
        stone = self.now.ended.get(worker)
        if stone is not None:
            return f"the row of worker {worker} has ended: {stone.why}"
        return f"the deletion of worker {worker} is decided" if worker in self._doomed else None


def workers_of(tags: tuple[str, ...]) -> Iterator[str]:
    """Every worker that the tags name; more than one is somebody's doing, and each of them holds."""
    return (tag[len(WORKER_TAG) :] for tag in tags if tag.startswith(WORKER_TAG))


def bears(resource: Resource, worker: str) -> bool:
    """Exactly: case and spaces count."""
    return WORKER_TAG + worker in resource.tags


def with_rows(memory: Memory, rows: Rows) -> Memory:
    """The memory, with the machines that the rows of any adapter name."""
    found: dict[Ref, Recorded] = dict(memory.recorded)
    for row in (*rows.before.workers, *rows.now.workers):
        if row.machine is not None and (row.live or row.machine not in found):
            found[row.machine] = Recorded(worker=row.id, holds=row.live)
    return memory if found == memory.recorded else replace(memory, recorded=found)


def create_ends_ms(row: WorkerRow, *, scope: Scope) -> int:
    """Until when the create of a row may still be under way: the longest create, or the grace where that is longer.

    It counts from when the create was sent; of one that was not sent, from when the row was written.
    """
    since = row.create_sent_ms if row.create_sent_ms is not None else row.changed_ms
    return since + max(scope.create_seconds, scope.grace_seconds) * 1000


def not_made_by(row: WorkerRow, server: Server, *, scope: Scope) -> str | None:
    """Why a machine that carries the worker's id cannot be what its create made; None while it can.

    A tag is easily copied, and a row is a hard proof (rule 9), so a tag alone must not make the one of the other: when
    the provider made the machine is neither a tag nor a name. Both clocks may differ by what the rail allows.
    """
    if server.created_ms is None:
        return None
    slack = round(scope.limits.clock_skew_seconds * 1000)
    if row.create_sent_ms is not None and server.created_ms < row.create_sent_ms - slack:
        return "it was there before the create was sent"
    late = server.created_ms > create_ends_ms(row, scope=scope) + slack
    return "it was made after the create had come to its end" if late else None


def living(memory: Memory) -> frozenset[str]:
    """The workers whose rows hold machines by the memory's word, of whatever adapter and scope.

    Rows that are not read any more (another adapter, none) still say that a worker lives.
    """
    return frozenset(one.worker for one in memory.recorded.values() if one.holds)


def overdue(row: WorkerRow, *, scope: Scope, now_ms: int) -> str | None:
    """Why a row must not stay as it is; None while it may.

    A row that was written for a machine that was found has no create of ours, so no deadline runs against it.
    """
    if row.state is WorkerState.FAILED:
        return "it failed" if not row.failure else f"it failed: {row.failure}"
    if row.state is WorkerState.PROVISIONING and now_ms >= create_ends_ms(row, scope=scope):
        return "its create has not come to an end in time"
    confirmed = row.create_confirmed_ms if row.create_sent_ms is not None else None
    silent = confirmed is not None and now_ms >= confirmed + BOOTSTRAP_SECONDS * 1000
    return "it has not said in time that it is ready" if row.state is WorkerState.BOOTSTRAPPING and silent else None

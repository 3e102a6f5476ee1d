"""The records ledger as values: what rows say about workers and their fleets, and when it was read.

A *row* is one worker: written before its machine is created (an intent), or for a machine that was found. While it is
live it holds its machine, whatever state it is in. A *doomed* row belongs to a deletion; a row that ended is a
*tombstone*, kept so that a machine that comes up late is not taken for one whose row was lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from reconciler.model.resources import Ref

_LIVE: Final = "live"


class WorkerState(StrEnum):
    PROVISIONING = "provisioning"  # the create is to be sent, or is under way
    BOOTSTRAPPING = "bootstrapping"  # the machine is there and has not said that it is ready
    READY = "ready"
    BUSY = "busy"
    FAILED = "failed"

    @property
    def transient(self) -> bool:
        return self in (WorkerState.PROVISIONING, WorkerState.BOOTSTRAPPING)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """One row. `deletion_id` set: doomed, and `deletion_finished` says whether its machine is proved gone or spared."""

    id: str
    fleet_id: str
    fleet: str  # its name
    zone: str
    revision: str
    state: WorkerState
    changed_ms: int
    machine: Ref | None = None
    create_sent_ms: int | None = None
    create_confirmed_ms: int | None = None
    ready_ms: int | None = None
    failure: str | None = None
    deletion_id: str | None = None
    deletion_finished: bool = False

    @property
    def live(self) -> bool:
        return self.deletion_id is None

    @property
    def mark(self) -> str:
        """What a write compares: it changes whenever anybody writes the row."""
        machine = self.machine.id if self.machine is not None else "-"
        return f"{self.state.value} {machine} {self.deletion_id or _LIVE} {self.changed_ms}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWorker:
    """A row that is written for a machine that was found."""

    id: str
    zone: str
    revision: str
    machine: Ref
    state: WorkerState = WorkerState.BOOTSTRAPPING


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRow:
    """A declaration as it was last seen when a row was written for it. `id` is its uid."""

    id: str
    name: str
    stack: str
    controller: str
    revision: str
    declared_ms: int
    retired_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """A row that ended, and why."""

    worker: str
    zone: str
    machine_id: str | None
    buried_ms: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadRecords:
    """Rows that may hold something and could not be read: then nothing is an orphan."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsView:
    """One read of a scope's rows. `expected`: there are rows where elastic workers are (adapter `none` has none).

    `ended` is filled for the workers that the inventory names and no row has.
    """

    adapter: str = "none"
    read_ms: int = 0
    workers: tuple[WorkerRow, ...] = ()
    fleets: tuple[FleetRow, ...] = ()
    ended: Mapping[str, Tombstone] = field(default_factory=dict)
    unread: UnreadRecords | None = None

    @property
    def expected(self) -> bool:
        return self.adapter != "none"

    def row(self, worker: str) -> WorkerRow | None:
        return next((row for row in self.workers if row.id == worker), None)


NO_RECORDS: Final = RecordsView()


def is_live(mark: str) -> bool:
    """Whether a row was live when it had this mark."""
    return mark.split(" ")[2:3] == [_LIVE]


def machines_of(rows: Iterable[WorkerRow]) -> frozenset[Ref]:
    """The machines that live rows hold."""
    return frozenset(row.machine for row in rows if row.live and row.machine is not None)

"""No rows: adapter `none`, and an adapter whose rows are out of reach.

The two are apart. `none` is a setting: nobody expects a row, and its absence says nothing. Rows that are expected and
cannot be read are a ledger that was not read, which proves nothing and stops every orphan verdict.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NoReturn

from reconciler.kernel.errors import IncompleteError, RefusedError
from reconciler.model.desired import FleetSpec
from reconciler.model.records import NO_RECORDS, NewWorker, RecordsView, Tombstone, WorkerRow
from reconciler.model.resources import Ref
from reconciler.ports.store import Lease


class NoRecords:
    """Reads nothing and refuses every write with RefusedError RC0560."""

    adapter = "none"

    def read(self, scope: str) -> RecordsView:
        return NO_RECORDS

    def ended(self, scope: str, workers: Collection[str]) -> Mapping[str, Tombstone]:
        return {}

    def record(self, scope: str, new: NewWorker, *, fleet: FleetSpec, lease: Lease) -> WorkerRow:
        _refuse()

    def attach(self, scope: str, row: WorkerRow, machine: Ref, *, lease: Lease) -> WorkerRow:
        _refuse()

    def purge(self, scope: str, row: WorkerRow, *, why: str, lease: Lease) -> None:
        _refuse()


class UnavailableRecords:
    """Rows that are expected and cannot be reached: every call raises IncompleteError RC0561."""

    def __init__(self, adapter: str, reason: str) -> None:
        self.adapter, self._reason = adapter, reason

    def read(self, scope: str) -> RecordsView:
        self._fail()

    def ended(self, scope: str, workers: Collection[str]) -> Mapping[str, Tombstone]:
        self._fail()

    def record(self, scope: str, new: NewWorker, *, fleet: FleetSpec, lease: Lease) -> WorkerRow:
        self._fail()

    def attach(self, scope: str, row: WorkerRow, machine: Ref, *, lease: Lease) -> WorkerRow:
        self._fail()

    def purge(self, scope: str, row: WorkerRow, *, why: str, lease: Lease) -> None:
        self._fail()

    def _fail(self) -> NoReturn:
        raise IncompleteError(f"the rows of workers cannot be read: {self._reason}", code="RC0561")


def _refuse() -> NoReturn:
    raise RefusedError(
        "no rows of workers are kept here",
        code="RC0560",
        hint='Set `adapter = "native"` under [records] to keep them in the database.',
    )

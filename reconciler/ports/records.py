"""The records ledger, as the product sees it: rows about elastic workers, in our own tables or in nobody's.

Reads never write. A write names the row as it was judged and refuses another one (compare and set); it checks the lease
in its own transaction and may be repeated after an answer that was lost.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from reconciler.model.desired import FleetSpec
from reconciler.model.records import NewWorker, RecordsView, Tombstone, WorkerRow
from reconciler.model.resources import Ref
from reconciler.ports.store import Lease


class Records(Protocol):
    @property
    def adapter(self) -> str:
        """`native` or `none`."""
        ...

    def read(self, scope: str) -> RecordsView:
        """All rows of a scope, doomed ones included, from one snapshot. Raises ReconcilerError when they cannot be
        read, which is never the same as no rows."""
        ...

    def ended(self, scope: str, workers: Collection[str]) -> Mapping[str, Tombstone]:
        """Which of these workers had a row that ended."""
        ...

    def record(self, scope: str, new: NewWorker, *, fleet: FleetSpec, lease: Lease) -> WorkerRow:
        """Write the row of a machine that was found, and its fleet's as declared. The same again is the same row.

        Raises RefusedError RC0232 (a row of this id is there), RC0233 (it ended), RC0234 (the machine's deletion is
        decided), RC0235 (another row records the machine), RC0236 (the fleet is another scope's); NotLeaderError.
        """
        ...

    def attach(self, scope: str, row: WorkerRow, machine: Ref, *, lease: Lease) -> WorkerRow:
        """Give a row that has none its machine. The same again is the same row.

        Raises RefusedError RC0230 (there is no such row), RC0231 (it is another one by now), RC0234, RC0235;
        NotLeaderError.
        """
        ...

    def purge(self, scope: str, row: WorkerRow, *, why: str, lease: Lease) -> None:
        """End a row: it moves to a tombstone, and its hold goes with it. What ended before is done.

        The caller has proved that its machine is gone or never was. Of a doomed row nothing needs proving but that its
        deletion is finished. Raises RefusedError RC0230, RC0231, RC0237 (its deletion is not finished); NotLeaderError.
        """
        ...

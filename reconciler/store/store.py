"""The store as one object, and how it is opened.

`SqlStore` is `reconciler.ports.store.Store` over a database: one line per operation, each in the room that owns it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import StoreError
from reconciler.kernel.ids import Ids
from reconciler.model.approval import Approval
from reconciler.model.memory import Memory, Release, SweepRecord, Written
from reconciler.model.plan import Plan
from reconciler.model.records import WorkerRow
from reconciler.model.resources import Ref
from reconciler.model.warrant import Deletion, Warrant
from reconciler.ports.store import JournalEntry, Lease, PlanRow, RunRow
from reconciler.store import deletion_rows, urls
from reconciler.store.approvals import Approvals
from reconciler.store.claims import Request
from reconciler.store.deletions import Deletions
from reconciler.store.engine import make_engine
from reconciler.store.holds import Holds
from reconciler.store.journal import Journal
from reconciler.store.leases import Leases
from reconciler.store.memory import read_memory
from reconciler.store.plans import Plans
from reconciler.store.releases import Releases
from reconciler.store.schema import create_file, require_head, upgrade_database, version_of
from reconciler.store.sweeps import record_sweep
from reconciler.store.unit import Database
from reconciler.store.workers import Workers


def open_store(url: str, *, clock: Clock, ids: Ids, create: bool) -> SqlStore:
    """Open the database of a URL, with its schema at head.

    With `create`, a SQLite file is made and migrated on first use; PostgreSQL is only ever migrated by
    `reconciler db upgrade`. Raises ConfigError RC0210 (not a URL we take) and StoreError: RC0201 (not there, not
    reachable), RC0202 (read-only), RC0203 (schema newer than known), RC0204 (older, or none), RC0209 (SQLite on a
    network file system), RC0211 (no driver), RC0214 (another program's tables).
    """
    parsed = urls.parse(url)
    if urls.is_sqlite(parsed):
        path = urls.path_of(parsed)
        if create:
            create_file(path)
        elif not path.exists():
            raise StoreError(
                f"there is no database at {path}", code="RC0201", hint="Run `reconciler db upgrade` to make one."
            )
        else:
            urls.refuse_network_file_system(path)
    database = Database(make_engine(parsed), parsed, clock=clock)
    try:
        if create and database.sqlite and not version_of(database).is_head:
            upgrade_database(database)
        require_head(database)
    except BaseException:
        database.close()
        raise
    return SqlStore(database, clock=clock, ids=ids)


class SqlStore:
    """Threads may share one; `close` gives the connections back. `workers` are the rows of the records ledger, which
    the records room puts behind its port."""

    def __init__(self, database: Database, *, clock: Clock, ids: Ids) -> None:
        self.database, self._clock, self._ids = database, clock, ids
        self._leases = Leases(database, clock=clock)
        self._plans = Plans(database, clock=clock)
        self._approvals = Approvals(database)
        self._journal = Journal(database, clock=clock)
        self._holds = Holds(database, clock=clock, ids=ids)
        self._deletions = Deletions(database, clock=clock, ids=ids)
        self._releases = Releases(database, clock=clock, ids=ids)
        self.workers = Workers(database, clock=clock, ids=ids)

    def close(self) -> None:
        self.database.close()

    # -- memory of sweeps

    def memory(self, scope: str) -> Memory:
        return read_memory(self.database, scope, clock=self._clock)

    def record_sweep(self, record: SweepRecord) -> Written:
        return record_sweep(self.database, record, ids=self._ids)

    # -- lease

    def acquire_lease(self, name: str, *, holder: str, ttl_seconds: float) -> Lease:
        return self._leases.acquire(name, holder=holder, ttl_seconds=ttl_seconds)

    def renew_lease(self, lease: Lease, *, ttl_seconds: float) -> Lease:
        return self._leases.renew(lease, ttl_seconds=ttl_seconds)

    def release_lease(self, lease: Lease) -> None:
        self._leases.release(lease)

    # -- plans and journal

    def register_plan(self, plan: Plan, *, digest: str, canonical: str) -> None:
        self._plans.register(plan, digest=digest, canonical=canonical)

    def plan_status(self, digest: str) -> str | None:
        return self._plans.status(digest)

    def plans_named(self, prefix: str) -> tuple[PlanRow, ...]:
        return self._plans.named(prefix)

    def runs_of(self, digest: str) -> tuple[RunRow, ...]:
        return self._plans.runs_of(digest)

    def approve(self, approval: Approval) -> None:
        self._approvals.add(approval)

    def approvals(self, digest: str) -> tuple[Approval, ...]:
        return self._approvals.of(digest)

    def begin_run(self, *, run_id: str, plan: Plan, digest: str, canonical: str, lease: Lease) -> None:
        self._plans.begin_run(run_id, plan, digest=digest, canonical=canonical, lease=lease)

    def unfinished_run(self, scope: str) -> RunRow | None:
        return self._plans.unfinished(scope)

    def journal(self, run_id: str, *, action_id: str, step: str, details: Mapping[str, Any]) -> None:
        self._journal.add(run_id, action_id=action_id, step=step, details=details)

    def journal_of(self, run_id: str) -> tuple[JournalEntry, ...]:
        return self._journal.of(run_id)

    def finish_run(self, run_id: str, *, status: str) -> None:
        self._plans.finish_run(run_id, status=status)

    # -- the deletion protocol

    def decide_deletion(
        self,
        *,
        scope: str,
        project: str,
        target: Ref,
        children: Collection[Ref],
        reason: str,
        finding_id: str,
        hour_nanos: int,
        lease: Lease,
        per_hour: int,
        worker: WorkerRow | None = None,
    ) -> Warrant:
        request = Request(
            scope=scope,
            project=project,
            target=target,
            children=frozenset(children),
            reason=reason,
            finding_id=finding_id,
            hour_nanos=hour_nanos,
            per_hour=per_hour,
            worker=worker,
        )
        return self._deletions.decide(request, lease=lease)

    def extend_deletion(self, warrant: Warrant, *, found: Collection[Ref], lease: Lease) -> Warrant:
        return self._deletions.extend(warrant, found, lease=lease)

    def strike(self, warrant: Warrant, *, ref: Ref, why: str, lease: Lease) -> Warrant:
        return self._deletions.strike(warrant, ref, why, lease=lease)

    def note_sent(self, warrant: Warrant, *, lease: Lease) -> None:
        self._deletions.note_sent(warrant, lease=lease)

    def note_error(self, warrant: Warrant, *, error: str, retry_seconds: float, lease: Lease) -> None:
        self._deletions.note_error(warrant, error, retry_seconds, lease=lease)

    def finalise_deletion(self, warrant: Warrant, *, proved_absent: Collection[Ref], lease: Lease) -> bool:
        return self._deletions.finalise(warrant, proved_absent, lease=lease)

    def open_deletions(self, scope: str) -> tuple[Deletion, ...]:
        return deletion_rows.open_deletions(self.database, scope)

    def warrant_of(self, deletion: Deletion, *, lease: Lease) -> Warrant:
        return self._deletions.take_over(deletion, lease=lease)

    def deletion_of(self, deletion_id: str) -> Deletion | None:
        return deletion_rows.deletion_of(self.database, deletion_id)

    # -- holds

    def hold_for_adoption(self, *, scope: str, ref: Ref, stack: str, urn: str) -> str:
        return self._holds.acquire(scope=scope, ref=ref, stack=stack, urn=urn)

    def release_adoption(self, adoption_id: str) -> None:
        self._holds.release(adoption_id)

    # -- releases

    def begin_release(self, scope: str, items: Sequence[Release], *, by: str, reason: str) -> None:
        self._releases.note(scope, items, by=by, reason=reason)

    def finish_release(self, scope: str, refs: Collection[Ref]) -> None:
        self._releases.finish(scope, refs)

    def cancel_release(self, scope: str, refs: Collection[Ref]) -> None:
        self._releases.cancel(scope, refs)

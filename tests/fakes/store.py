"""A store in dicts, with the deletion protocol's order but none of its locking."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reconciler.kernel.clock import Clock, VirtualClock
from reconciler.kernel.errors import NotLeaderError, RefusedError, StoreError
from reconciler.model.approval import Approval
from reconciler.model.memory import CompleteSweep, Episode, Lineage, Memory, Release, SweepRecord, Written
from reconciler.model.plan import Plan
from reconciler.model.records import WorkerRow
from reconciler.model.resources import Ref
from reconciler.model.warrant import Deletion, DeletionStage, Warrant
from reconciler.ports.store import JournalEntry, Lease, PlanRow, RunRow


@dataclass
class FakeStore:
    """Knobs: `down` (every call raises), `read_only` (every write raises), `first_complete_ms` (how old the memory is),
    `leader` (somebody else who holds the lease)."""

    clock: Clock = field(default_factory=VirtualClock)
    down: bool = False
    read_only: bool = False
    leader: str | None = None
    first_complete_ms: int | None = None
    last_complete: CompleteSweep | None = None
    lineage: dict[Ref, Lineage] = field(default_factory=dict)
    unowned: dict[Ref, int] = field(default_factory=dict)
    episodes: dict[str, Episode] = field(default_factory=dict)
    sweeps: list[SweepRecord] = field(default_factory=list)
    plans: dict[str, str] = field(default_factory=dict)
    plan_rows: dict[str, PlanRow] = field(default_factory=dict)
    approved: list[Approval] = field(default_factory=list)
    runs: dict[str, RunRow] = field(default_factory=dict)
    entries: list[JournalEntry] = field(default_factory=list)
    deletions: dict[str, Deletion] = field(default_factory=dict)
    held: dict[str, Ref] = field(default_factory=dict)
    released: dict[Ref, Release] = field(default_factory=dict)
    token: int = 0

    # -- memory
    def memory(self, scope: str) -> Memory:
        self._read()
        return Memory(
            first_complete_ms=self.first_complete_ms,
            last_complete=self.last_complete,
            unowned_since=dict(self.unowned),
            lineage=dict(self.lineage),
            episodes=dict(self.episodes),
            held=frozenset(self.held.values()),
            released=dict(self.released),
            doomed=frozenset(ref for deletion in self.open_deletions(scope) for ref in deletion.refs),
        )

    def record_sweep(self, record: SweepRecord) -> Written:
        self._write()
        self.sweeps.append(record)
        self.lineage |= {found.ref: found for found in record.new_lineage}
        self.unowned |= dict(record.newly_unowned)
        for ref in record.owned_again:
            self.unowned.pop(ref, None)
        self._episodes(record)
        if record.complete:
            self.first_complete_ms = self.first_complete_ms or record.finished_ms
            self.last_complete = CompleteSweep(
                sweep_id=record.sweep_id, finished_ms=record.finished_ms, counts=record.counts, serials=record.serials
            )
        return Written(inserted=1)

    def _episodes(self, record: SweepRecord) -> None:
        found = {finding.id: finding for finding in record.findings}
        for gone in set(self.episodes) - set(found):
            if record.closable is None or gone in record.closable:
                del self.episodes[gone]
        for key, finding in found.items():
            opened = self.episodes[key].opened_ms if key in self.episodes else record.finished_ms
            self.episodes[key] = Episode(finding_id=key, verdict=finding.verdict.value, opened_ms=opened)

    # -- releases
    def begin_release(self, scope: str, items: Sequence[Release], *, by: str, reason: str) -> None:
        self._write()
        doomed = {ref for deletion in self.open_deletions(scope) for ref in deletion.refs}
        for item in items:
            if item.ref in doomed:
                raise RefusedError(f"the deletion of {item.ref} is decided", code="RC0686")
            begun = dataclasses.replace(item, begun_ms=self.clock.now_ms(), done_ms=None)
            self.released.setdefault(item.ref, begun)

    def finish_release(self, scope: str, refs: Collection[Ref]) -> None:
        self._write()
        for ref in refs:
            self.released[ref] = dataclasses.replace(self.released[ref], done_ms=self.clock.now_ms())

    def cancel_release(self, scope: str, refs: Collection[Ref]) -> None:
        self._write()
        for ref in refs:
            if self.released[ref].done_ms is None:
                del self.released[ref]

    # -- lease
    def acquire_lease(self, name: str, *, holder: str, ttl_seconds: float) -> Lease:
        self._write()
        if self.leader is not None:
            raise NotLeaderError(f"the lease {name!r} is held by {self.leader}")
        self.token += 1
        return Lease(name=name, holder=holder, token=self.token, expires_ms=self._expiry(ttl_seconds))

    def renew_lease(self, lease: Lease, *, ttl_seconds: float) -> Lease:
        self._write()
        return dataclasses.replace(lease, expires_ms=self._expiry(ttl_seconds))

    def release_lease(self, lease: Lease) -> None:
        self._write()

    def _expiry(self, ttl_seconds: float) -> int:
        return self.clock.now_ms() + int(ttl_seconds * 1000)

    # -- plans and journal
    def register_plan(self, plan: Plan, *, digest: str, canonical: str) -> None:
        self._write()
        self.plans.setdefault(digest, "registered")
        self.plan_rows[digest] = PlanRow(
            plan_id=plan.id,
            scope=plan.scope,
            digest=digest,
            canonical=canonical,
            registered_ms=self.clock.now_ms(),
        )

    def plan_status(self, digest: str) -> str | None:
        self._read()
        return self.plans.get(digest)

    def plans_named(self, prefix: str) -> tuple[PlanRow, ...]:
        self._read()
        return tuple(row for digest, row in self.plan_rows.items() if digest.startswith(prefix))[:3]

    def runs_of(self, digest: str) -> tuple[RunRow, ...]:
        self._read()
        return tuple(run for run in self.runs.values() if run.plan_digest == digest)

    def approve(self, approval: Approval) -> None:
        self._write()
        self.approved.append(approval)

    def approvals(self, digest: str) -> tuple[Approval, ...]:
        self._read()
        return tuple(approval for approval in self.approved if approval.digest == digest)

    def begin_run(self, *, run_id: str, plan: Plan, digest: str, canonical: str, lease: Lease) -> None:
        self._write()
        if self.plans.get(digest) == "applied":
            raise RefusedError("this plan was applied already", code="RC0605")
        self.runs[run_id] = RunRow(
            run_id=run_id,
            scope=plan.scope,
            plan_id=plan.id,
            plan_digest=digest,
            plan_json=canonical,
            status="running",
            started_ms=self.clock.now_ms(),
            finished_ms=None,
        )

    def unfinished_run(self, scope: str) -> RunRow | None:
        self._read()
        open_runs = [
            run for run in self.runs.values() if run.scope == scope and run.status in ("running", "interrupted")
        ]
        return open_runs[0] if open_runs else None

    def journal(self, run_id: str, *, action_id: str, step: str, details: Mapping[str, Any]) -> None:
        self._write()
        entry = JournalEntry(
            run_id=run_id,
            seq=len(self.entries),
            action_id=action_id,
            step=step,
            at_ms=self.clock.now_ms(),
            details=details,
        )
        self.entries.append(entry)

    def journal_of(self, run_id: str) -> tuple[JournalEntry, ...]:
        self._read()
        return tuple(entry for entry in self.entries if entry.run_id == run_id)

    def finish_run(self, run_id: str, *, status: str) -> None:
        self._write()
        row = self.runs[run_id]
        self.runs[run_id] = dataclasses.replace(row, status=status, finished_ms=self.clock.now_ms())
        self.plans[row.plan_digest] = "applied" if status == "done" else "partly-applied"

    # -- deletions
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
        self._write()
        if target in self.held.values():
            raise RefusedError(f"{target} is held by an adoption", code="RC0621")
        known = [d for d in self.open_deletions(scope) if d.target == target]
        deletion = (
            known[0]
            if known
            else Deletion(
                id=f"deletion-{len(self.deletions)}",
                scope=scope,
                target=target,
                reason=reason,
                finding_id=finding_id,
                refs=(target, *children),
                struck=(),
                stage=DeletionStage.CLAIMED,
                attempts=0,
                fence_token=lease.token,
                decided_ms=self.clock.now_ms(),
                next_attempt_ms=self.clock.now_ms(),
                hour_nanos=hour_nanos,
            )
        )
        self.deletions[deletion.id] = deletion
        return self._warrant(deletion, project=project)

    def extend_deletion(self, warrant: Warrant, *, found: Collection[Ref], lease: Lease) -> Warrant:
        return self._change(warrant, refs=tuple(dict.fromkeys((*self.deletions[warrant.deletion_id].refs, *found))))

    def strike(self, warrant: Warrant, *, ref: Ref, why: str, lease: Lease) -> Warrant:
        return self._change(warrant, struck=(*self.deletions[warrant.deletion_id].struck, ref))

    def note_sent(self, warrant: Warrant, *, lease: Lease) -> None:
        self._change(warrant, stage=DeletionStage.DELETE_SENT)

    def note_error(self, warrant: Warrant, *, error: str, retry_seconds: float, lease: Lease) -> None:
        attempts = self.deletions[warrant.deletion_id].attempts + 1
        self._change(warrant, last_error=error, attempts=attempts, next_attempt_ms=self._expiry(retry_seconds))

    def finalise_deletion(self, warrant: Warrant, *, proved_absent: Collection[Ref], lease: Lease) -> bool:
        deletion = self.deletions[warrant.deletion_id]
        if not set(deletion.refs) - set(deletion.struck) <= set(proved_absent):
            return False
        self._change(warrant, stage=DeletionStage.FINALIZED)
        return True

    def open_deletions(self, scope: str) -> tuple[Deletion, ...]:
        self._read()
        return tuple(d for d in self.deletions.values() if d.scope == scope and d.stage is not DeletionStage.FINALIZED)

    def warrant_of(self, deletion: Deletion, *, lease: Lease) -> Warrant:
        self._write()
        return self._warrant(deletion, project="")

    def deletion_of(self, deletion_id: str) -> Deletion | None:
        self._read()
        return self.deletions.get(deletion_id)

    def _change(self, warrant: Warrant, **changes: Any) -> Warrant:
        self._write()
        fresh = dataclasses.replace(self.deletions[warrant.deletion_id], **changes)
        self.deletions[warrant.deletion_id] = fresh
        return self._warrant(fresh, project=warrant.project)

    def _warrant(self, deletion: Deletion, *, project: str) -> Warrant:
        return Warrant(
            deletion_id=deletion.id,
            fence_token=deletion.fence_token,
            scope=deletion.scope,
            project=project,
            target=deletion.target,
            refs=frozenset(deletion.refs) - frozenset(deletion.struck),
        )

    # -- holds
    def hold_for_adoption(self, *, scope: str, ref: Ref, stack: str, urn: str) -> str:
        self._write()
        if any(ref in deletion.refs for deletion in self.open_deletions(scope)):
            raise RefusedError(f"a deletion of {ref} is decided", code="RC0623")
        held = next((key for key, other in self.held.items() if other == ref), None)
        if held is not None:
            return held
        key = f"adoption-{len(self.held)}"
        self.held[key] = ref
        return key

    def release_adoption(self, adoption_id: str) -> None:
        self._write()
        self.held.pop(adoption_id, None)

    def _read(self) -> None:
        if self.down:
            raise StoreError("the database does not answer", code="RC0201")

    def _write(self) -> None:
        self._read()
        if self.read_only:
            raise StoreError("the database is read-only", code="RC0202")

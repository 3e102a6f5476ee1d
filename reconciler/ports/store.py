"""The database, as the product sees it: memory of sweeps, plans, the apply journal, leases, the deletion protocol."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from reconciler.model.approval import Approval
from reconciler.model.memory import Memory, Release, SweepRecord, Written
from reconciler.model.plan import Plan
from reconciler.model.records import WorkerRow
from reconciler.model.resources import Ref
from reconciler.model.warrant import Deletion, Warrant


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write for a scope until `expires_ms`; `token` rises with every takeover and fences old holders."""

    name: str
    holder: str
    token: int
    expires_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One step of one action of one run. `details` is JSON: a child process, a deletion id, an outcome."""

    run_id: str
    seq: int
    action_id: str
    step: str
    at_ms: int
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run of `apply`. `status`: running, done, partial, failed, interrupted."""

    run_id: str
    scope: str
    plan_id: str
    plan_digest: str
    plan_json: str
    status: str
    started_ms: int
    finished_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """A plan as it was registered. `canonical` is the text of the plan file."""

    plan_id: str
    scope: str
    digest: str
    canonical: str
    registered_ms: int


class Store(Protocol):
    # -- memory of sweeps
    def memory(self, scope: str) -> Memory: ...

    def record_sweep(self, record: SweepRecord) -> Written:
        """One transaction: the sweep row, and only what changed in lineage, sightings and finding episodes."""
        ...

    # -- lease
    def acquire_lease(self, name: str, *, holder: str, ttl_seconds: float) -> Lease:
        """Raises NotLeaderError (RC0750) while somebody else holds it."""
        ...

    def renew_lease(self, lease: Lease, *, ttl_seconds: float) -> Lease: ...

    def release_lease(self, lease: Lease) -> None: ...

    # -- plans and journal
    def register_plan(self, plan: Plan, *, digest: str, canonical: str) -> None: ...

    def plan_status(self, digest: str) -> str | None:
        """`registered`, `applied`, `partly-applied`; None for a digest that was never registered here."""
        ...

    def plans_named(self, prefix: str) -> tuple[PlanRow, ...]:
        """Plans whose digest begins with these hex digits, oldest first; at most three, which is one too many."""
        ...

    def runs_of(self, digest: str) -> tuple[RunRow, ...]:
        """Every run of a plan, oldest first."""
        ...

    def approve(self, approval: Approval) -> None:
        """Raises RefusedError RC0605 (not registered), RC0606 (applied), both read under the scope's lock."""
        ...

    def approvals(self, digest: str) -> tuple[Approval, ...]:
        """Oldest first."""
        ...

    def begin_run(self, *, run_id: str, plan: Plan, digest: str, canonical: str, lease: Lease) -> None:
        """Raises RefusedError when this plan was applied already."""
        ...

    def unfinished_run(self, scope: str) -> RunRow | None: ...

    def journal(self, run_id: str, *, action_id: str, step: str, details: Mapping[str, Any]) -> None: ...

    def journal_of(self, run_id: str) -> tuple[JournalEntry, ...]: ...

    def finish_run(self, run_id: str, *, status: str) -> None: ...

    # -- the deletion protocol (rules 5 to 7)
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
        """Lock, evaluate the eligibility view in a second statement, set `live` to NULL on every ref, store the exact
        ids, commit. Idempotent: an open deletion of the same target gives its warrant again. Raises RefusedError RC0621
        (held by an adoption or a worker's row), RC0622 (rate rail), NotLeaderError (lease lost).

        `worker`: the row that records the target, as it was judged. It is doomed in the same transaction, which lets
        its hold go; RefusedError RC0230 or RC0231 when it is another one by then."""
        ...

    def extend_deletion(self, warrant: Warrant, *, found: Collection[Ref], lease: Lease) -> Warrant:
        """Ids found after the decision, added by a second fenced transaction."""
        ...

    def strike(self, warrant: Warrant, *, ref: Ref, why: str, lease: Lease) -> Warrant:
        """Take one id out of a deletion (rule 7 refused it), fenced. The decision never reverts: the resource's row,
        doomed as it is, goes away, and a later hold or decision makes a new row with an id of its own."""
        ...

    def note_sent(self, warrant: Warrant, *, lease: Lease) -> None: ...

    def note_error(self, warrant: Warrant, *, error: str, retry_seconds: float, lease: Lease) -> None: ...

    def finalise_deletion(self, warrant: Warrant, *, proved_absent: Collection[Ref], lease: Lease) -> bool:
        """Close it when every captured, not struck id is in `proved_absent`; False (nothing written) otherwise."""
        ...

    def open_deletions(self, scope: str) -> tuple[Deletion, ...]: ...

    def warrant_of(self, deletion: Deletion, *, lease: Lease) -> Warrant:
        """Take over an open deletion under the current lease token."""
        ...

    def deletion_of(self, deletion_id: str) -> Deletion | None: ...

    # -- holds
    def hold_for_adoption(self, *, scope: str, ref: Ref, stack: str, urn: str) -> str:
        """Acquire a hold on a resource. Raises RefusedError RC0623 when a deletion of it is decided."""
        ...

    def release_adoption(self, adoption_id: str) -> None: ...

    # -- releases
    def begin_release(self, scope: str, items: Sequence[Release], *, by: str, reason: str) -> None:
        """Note, before the state lets go of them, that these are nobody's to destroy any more. All or none; `begun_ms`
        and `done_ms` of the items do not count. Raises RefusedError RC0686 when a deletion of one is decided, RC0687
        when an adoption holds one."""
        ...

    def finish_release(self, scope: str, refs: Collection[Ref]) -> None:
        """Their owner tags are gone as well; from then on a state that holds one of them again ends its release."""
        ...

    def cancel_release(self, scope: str, refs: Collection[Ref]) -> None:
        """End releases that were begun and not finished, of what is still in its state."""
        ...

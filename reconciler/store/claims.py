"""Rows of `deletion_claims` and `deletion_refs`, and the refusals that they give reason for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, insert, select, update

from reconciler.kernel.errors import NotLeaderError, RefusedError, StoreError
from reconciler.model.records import WorkerRow
from reconciler.model.resources import Ref
from reconciler.model.warrant import DeletionStage
from reconciler.store.holds import hold_on
from reconciler.store.locks import locked
from reconciler.store.resources import Noted, ref_values
from reconciler.store.tables import deletion_claims, deletion_refs
from reconciler.store.text import storable
from reconciler.store.workers import worker_on

TEXT_LIMIT: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be decided. `hour_nanos` is what all refs cost an hour; `per_hour` is the rate rail of the scope.
    `worker`: the row that records the target, as it was judged; it is doomed with it."""

    scope: str
    project: str
    target: Ref
    children: frozenset[Ref]
    reason: str
    finding_id: str
    hour_nanos: int
    per_hour: int
    worker: WorkerRow | None = None

    @property
    def refs(self) -> frozenset[Ref]:
        return self.children | {self.target}


def new_claim(request: Request, deletion_id: str, token: int, now_ms: int) -> dict[str, Any]:
    return {
        "id": deletion_id,
        "scope_id": request.scope,
        "project": request.project,
        "target_kind": request.target.kind.value,
        "target_zone": request.target.zone,
        "target_id": request.target.id,
        "reason": storable(request.reason, limit=TEXT_LIMIT),
        "finding_id": request.finding_id,
        "hour_nanos": request.hour_nanos,
        "stage": DeletionStage.CLAIMED.value,
        "fence_token": token,
        "attempts": 0,
        "next_attempt_ms": now_ms,
        "decided_ms": now_ms,
    }


def capture(connection: Connection, deletion_id: str, refs: Collection[Ref], *, now_ms: int, **ended: Any) -> None:
    rows = [{"deletion_id": deletion_id, **ref_values(ref), "captured_ms": now_ms, **ended} for ref in sorted(refs)]
    connection.execute(insert(deletion_refs).values(rows))


def open_claim_on(connection: Connection, target: Ref) -> Row[Any] | None:
    table = deletion_claims.c
    is_target = (table.target_kind == target.kind.value) & (table.target_zone == target.zone)
    statement = select(deletion_claims).where(is_target, table.target_id == target.id, table.finished_ms.is_(None))
    rows = locked(connection, statement, step="claims.open")
    return rows[0] if rows else None


def lock_claim(connection: Connection, deletion_id: str) -> Row[Any]:
    statement = select(deletion_claims).where(deletion_claims.c.id == deletion_id)
    rows = locked(connection, statement, step="claims.lock")
    if not rows:
        raise StoreError(f"there is no deletion {deletion_id}", code="RC0218")
    return rows[0]


def change(connection: Connection, claim: Row[Any], **values: Any) -> None:
    statement = update(deletion_claims).where(deletion_claims.c.id == claim.id).values(**values)
    connection.execute(statement, execution_options={"step": "claims.change"})


def refusal(connection: Connection, ref: Ref, noted: Noted) -> RefusedError:
    """Why the view does not list this locked resource."""
    row = noted[ref]
    if row.deletion_id is not None:
        return doomed_already(ref, f"deletion {row.deletion_id}")
    worker = worker_on(connection, row.id)
    if worker is not None:
        return held(f"{ref} is the machine of worker {worker}")
    hold = hold_on(connection, row.id)
    return held(f"{ref} is held, or was released" if hold is None else f"{ref} is held for {hold.urn} of {hold.stack}")


def held(what: str) -> RefusedError:
    return RefusedError(what, code="RC0621", hint="Nothing was decided; what holds it goes first.")


def doomed_already(ref: Ref, by: str) -> RefusedError:
    hint = "That deletion goes on; what it strikes or leaves is found again by a later sweep."
    return RefusedError(f"{ref} is already part of {by}", code="RC0626", hint=hint)


def finished(claim: Row[Any]) -> RefusedError:
    return RefusedError(f"the deletion {claim.id} is finished", code="RC0627", hint="There is nothing left to do.")


def outdated(claim: Row[Any], token: int) -> NotLeaderError:
    return NotLeaderError(
        f"the deletion {claim.id} belongs to token {claim.fence_token}; this is token {token}",
        code="RC0753",
        hint="Another process took it over; nothing more is written by this one.",
    )

"""Approvals, append-only: who answered for which rails of which plan, when, why, and from which CI job.

Whether the plan may still be approved is read under the scope's lock, so that an approval never lands beside the run
that has just ended the plan.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, Row, insert, select

from reconciler.kernel.errors import RefusedError
from reconciler.model.approval import Approval, ApprovedRail, Approver
from reconciler.store.locks import lock_scope
from reconciler.store.plans import status_of
from reconciler.store.tables import approvals, plans
from reconciler.store.text import storable, storable_json
from reconciler.store.unit import Database

REASON_LIMIT: Final = 2_000
_NAME_LIMIT: Final = 200
_REMAKE: Final = "Look at the world again: `reconciler plan`."


class Approvals:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, approval: Approval) -> None:
        """Raises RefusedError RC0605 for a digest that is not registered, RC0606 for a plan that was applied."""

        def work(connection: Connection) -> None:
            lock_scope(connection, approval.scope, now_ms=approval.approved_ms)
            known = select(plans.c.id).where(plans.c.digest == approval.digest, plans.c.scope_id == approval.scope)
            plan_id = connection.execute(known).scalar_one_or_none()
            if plan_id is None:
                raise RefusedError("this plan was never registered in this database", code="RC0605", hint=_REMAKE)
            if status_of(connection, plan_id) == "applied":
                raise RefusedError("this plan was applied already", code="RC0606", hint=_REMAKE)
            connection.execute(insert(approvals).values(_values(approval)))

        self._database.write("approve", work)

    def of(self, digest: str) -> tuple[Approval, ...]:
        """Oldest first; empty for a digest that is not known."""
        statement = select(approvals).where(approvals.c.digest == digest)
        ordered = statement.order_by(approvals.c.approved_ms, approvals.c.id)
        return tuple(map(_approval, self._database.read("approvals", lambda c: c.execute(ordered).all())))


def _values(approval: Approval) -> dict[str, Any]:
    who = approval.approver
    return {
        "id": approval.id,
        "scope_id": approval.scope,
        "digest": approval.digest,
        "approver": storable(who.name, limit=_NAME_LIMIT),
        "host": storable(who.host, limit=_NAME_LIMIT),
        "ci_job": None if who.ci_job is None else storable(who.ci_job, limit=REASON_LIMIT),
        "reason": storable(approval.reason, limit=REASON_LIMIT),
        "rails": storable_json([{"name": r.name, "limit": r.limit, "value": r.value} for r in approval.rails]),
        "approved_ms": approval.approved_ms,
    }


def _approval(row: Row[Any]) -> Approval:
    return Approval(
        id=row.id,
        scope=row.scope_id,
        digest=row.digest,
        approver=Approver(name=row.approver, host=row.host, ci_job=row.ci_job),
        reason=row.reason,
        rails=tuple(ApprovedRail(name=one["name"], limit=one["limit"], value=one["value"]) for one in row.rails),
        approved_ms=row.approved_ms,
    )

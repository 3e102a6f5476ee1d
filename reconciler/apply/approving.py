"""Approve a plan that goes over a limit: a second command, with a reason, for exactly what this plan asks for.

An approval is refused where it could mean nothing (nothing is over a limit), where it could mean too much (a rail that
no word lifts), and where the plan could not be applied anyway.
"""

from __future__ import annotations

from reconciler.apply.admit import refuse_unusable
from reconciler.kernel.errors import RefusedError, UsageError
from reconciler.kernel.ids import Ids
from reconciler.model.approval import Approval, Approver
from reconciler.model.plan import Plan
from reconciler.model.scope import Scope
from reconciler.plan import digest
from reconciler.plan.approval import WHY_NOT, approvable, rails_of
from reconciler.ports.store import Store

REASON_LIMIT = 2_000


def approve(
    plan: Plan, *, reason: str, approver: Approver, scope: Scope, store: Store, ids: Ids, now_ms: int
) -> Approval:
    """Write it down and return it.

    Raises RefusedError RC0603 to RC0606 (as `apply` would), RC0630 (nothing to approve), RC0631 (a rail that no
    approval covers); UsageError RC0146 for a reason that says nothing or too much.
    """
    said = reason.strip()
    if not said or len(said) > REASON_LIMIT:
        raise UsageError(
            f"the reason has {len(said)} characters; it needs 1 to {REASON_LIMIT}",
            code="RC0146",
            hint="Say why this much is right: whoever looks at it next year was not there.",
        )
    mark = digest(plan)
    refuse_unusable(plan, digest=mark, scope=scope, store=store, now_ms=now_ms)
    _refuse_pointless(plan)
    approval = Approval(
        id=ids.new(),
        scope=plan.scope,
        digest=mark,
        approver=approver,
        reason=said,
        rails=rails_of(plan),
        approved_ms=now_ms,
    )
    store.approve(approval)
    return approval


def _refuse_pointless(plan: Plan) -> None:
    if not plan.blocked:
        raise RefusedError(
            "every limit holds: there is nothing to approve", code="RC0630", hint="`reconciler apply FILE` does it."
        )
    fixed = [f"{rail.name} ({rail.value:g} > {rail.limit:g})" for rail in plan.blocked if not approvable(rail.name)]
    if fixed:
        raise RefusedError(
            f"no approval covers {', '.join(fixed)}: {WHY_NOT}",
            code="RC0631",
            hint="Mend the cause, then plan again.",
        )

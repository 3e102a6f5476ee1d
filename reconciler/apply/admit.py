"""May this plan be applied at all? Asked once, before anything is touched; each refusal says why (exit 6).

A plan is refused when it is another scope's, expired, unknown to this store, applied before, over a limit that nobody
approved, or stale: the state of a stack that it writes has another serial than the one it was made from. A plan that
comes from a file, which is as old as its review, is held against its subjects too (staleness.py).
"""

from __future__ import annotations

from reconciler.apply.effects import NONE, Effects
from reconciler.apply.staleness import refuse_moved_stacks
from reconciler.kernel.clock import iso
from reconciler.kernel.errors import RefusedError
from reconciler.model.plan import Plan
from reconciler.model.scope import Scope
from reconciler.plan.approval import over_limit, uncovered
from reconciler.ports.engine import Engine
from reconciler.ports.store import Store

_REMAKE = "Look at the world again: `reconciler plan`."


def admit(
    plan: Plan, *, digest: str, scope: Scope, store: Store, engine: Engine, now_ms: int, effects: Effects = NONE
) -> None:
    """Raise RefusedError RC0603 to RC0609, or return."""
    refuse_unusable(plan, digest=digest, scope=scope, store=store, now_ms=now_ms)
    open_rails = uncovered(plan, store.approvals(digest) if plan.blocked else (), digest=digest)
    if open_rails:
        raise over_limit(open_rails)
    _refuse_modes(plan)
    refuse_moved_stacks(plan, engine=engine, effects=effects)


def refuse_unusable(plan: Plan, *, digest: str, scope: Scope, store: Store, now_ms: int) -> None:
    """What no word can mend, for `apply` and for an approval: RefusedError RC0603 to RC0606, or return."""
    if plan.scope != scope.uuid:
        raise RefusedError(f"the plan is for scope {plan.scope_name}, not {scope.name}", code="RC0603", hint=_REMAKE)
    status = store.plan_status(digest)
    if status is None:
        raise RefusedError("this plan was never registered in this database", code="RC0605", hint=_REMAKE)
    if status == "applied":
        raise RefusedError("this plan was applied already", code="RC0606", hint=_REMAKE)
    if now_ms > plan.expires_ms:
        raise RefusedError(f"the plan expired at {iso(plan.expires_ms)}", code="RC0604", hint=_REMAKE)
    if plan.created_ms > now_ms + round(scope.limits.clock_skew_seconds * 1000):
        raise RefusedError("the plan is from the future", code="RC0604", hint="The clocks differ: mend them first.")


def _refuse_modes(plan: Plan) -> None:
    for action in plan.actions:
        if not plan.mode.allows(action.kind):
            raise RefusedError(
                f"mode {plan.mode.value} does not allow {action.kind.value}",
                code="RC0609",
                hint="Make a plan in another mode.",
            )

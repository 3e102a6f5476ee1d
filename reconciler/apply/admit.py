"""May this plan be applied at all? Asked once, before anything is touched; each refusal says why (exit 6).

A plan is refused when it is another scope's, expired, unknown to this store, applied before, over a limit, or stale:
the state of a stack that it writes has another serial than the one it was made from.
"""

from __future__ import annotations

from reconciler.kernel.clock import iso
from reconciler.kernel.errors import RefusedError
from reconciler.model.finding import ActionKind
from reconciler.model.plan import Plan
from reconciler.model.scope import Scope
from reconciler.ports.engine import Engine
from reconciler.ports.store import Store

_REMAKE = "Look at the world again: `reconciler plan`."
_WRITES_STATE = frozenset({ActionKind.REFRESH, ActionKind.ADOPT, ActionKind.CLEAR})


def admit(plan: Plan, *, digest: str, scope: Scope, store: Store, engine: Engine, now_ms: int) -> None:
    """Raise RefusedError RC0603 to RC0609, or return."""
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
    if plan.blocked:
        worst = "; ".join(f"{rail.name}: {rail.value:g} > {rail.limit:g} ({rail.text})" for rail in plan.blocked)
        raise RefusedError(
            f"over a limit: {worst}",
            code="RC0607",
            hint="Nothing was touched. Check that the findings are true; then raise the limit in reconciler.toml.",
        )
    _refuse_modes(plan)
    _refuse_stale(plan, engine)


def _refuse_modes(plan: Plan) -> None:
    for action in plan.actions:
        if not plan.mode.allows(action.kind):
            raise RefusedError(
                f"mode {plan.mode.value} does not allow {action.kind.value}",
                code="RC0609",
                hint="Make a plan in another mode.",
            )


def _refuse_stale(plan: Plan, engine: Engine) -> None:
    stacks = {action.stack for action in plan.actions if action.kind in _WRITES_STATE and action.stack}
    for stack in sorted(stacks):
        state = engine.read(stack)
        if state.serial != plan.serials.get(stack):
            raise RefusedError(f"the plan is stale: the state of {stack} has changed", code="RC0608", hint=_REMAKE)

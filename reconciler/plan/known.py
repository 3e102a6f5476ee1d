"""What is known of a plan without a look at the world: whether it may be applied, as far as clock and database say.

`apply` looks again, and its word counts. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from reconciler.kernel.clock import iso
from reconciler.model.approval import Approval
from reconciler.model.memory import Memory
from reconciler.model.plan import Plan, RailCheck
from reconciler.plan.approval import uncovered


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """`state`: not-registered, registered, partly-applied, applied. `stale`: what later sweeps saw, in words."""

    state: str
    expired: bool
    stale: tuple[str, ...]
    over: tuple[RailCheck, ...]  # limits that do not hold and that nobody approved

    @property
    def may_be_applied(self) -> bool:
        return self.state in ("registered", "partly-applied") and not (self.expired or self.stale or self.over)


def known_of(
    plan: Plan,
    *,
    digest: str,
    status: str | None,
    approvals: Iterable[Approval],
    memory: Memory,
    begun: Collection[str],
    own_serials: Mapping[str, Collection[str]],
    now_ms: int,
) -> Known:
    """`status` as the store has it; `begun` and `own_serials` are what the plan did itself (apply/effects.py)."""
    done = status == "applied"
    return Known(
        state=status or "not-registered",
        expired=now_ms > plan.expires_ms,
        stale=() if done or status is None else tuple(_seen(plan, memory, begun, own_serials)),
        over=uncovered(plan, approvals, digest=digest),
    )


def _seen(
    plan: Plan, memory: Memory, begun: Collection[str], own_serials: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """What a sweep since then saw of the stacks that are written and of the findings that are acted on."""
    last = memory.last_complete
    if last is not None and last.finished_ms > plan.created_ms:
        written = {one.subject for action in plan.actions for one in action.conditions if one.kind == "serial"}
        for stack in sorted(written):
            serial = last.serials.get(stack)
            if serial is not None and serial != plan.serials.get(stack) and serial not in own_serials.get(stack, ()):
                yield f"the sweep at {iso(last.finished_ms)} saw another state of {stack}"
    if not memory.present:
        return
    for number, action in enumerate(plan.actions, start=1):
        if action.id not in begun and action.finding_id not in memory.episodes:
            yield f"action {number}: a later sweep did not find {action.finding_id[:8]} again"

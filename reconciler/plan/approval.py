"""Which rails a person may answer for, and which no word can lift. Pure.

A rail about the *size* of a plan asks "do you really mean that many?", and a person who looked can say yes. Any other
rail says that what was read cannot be relied on, or bounds what several runs do together: a yes would be a guess. So
the rails that can be approved are named here, and whatever is not named cannot be: a rail that is added later is out
of reach until somebody thinks about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from reconciler.kernel.errors import RefusedError
from reconciler.model.approval import Approval, ApprovedRail
from reconciler.model.plan import Plan, RailCheck
from reconciler.model.resources import Kind

_APPROVABLE: Final = frozenset(
    {
        *("count", "eur-month", "unpriced", "count-state", "percent-state", "lost-state", "count-rows", "percent-rows"),
        "count-policy",
        *(f"{amount}-{kind.value}" for amount in ("count", "percent") for kind in Kind),
    }
)

_TOUCHED: Final = "Nothing was touched."
_APPROVE: Final = "have it approved: `reconciler plan --out FILE`, `reconciler plan approve FILE --reason TEXT`"

WHY_NOT: Final = "it says that what was read cannot be relied on, or bounds several runs together"


def approvable(name: str) -> bool:
    """Can an approval cover a rail of this name? Sizes only: never a freeze, `memory`, `shrink-…` or `per-hour`."""
    return name in _APPROVABLE


def rails_of(plan: Plan) -> tuple[ApprovedRail, ...]:
    """What an approval of this plan has to say, in order of the rails."""
    return tuple(ApprovedRail(name=rail.name, limit=rail.limit, value=rail.value) for rail in plan.blocked)


def uncovered(plan: Plan, approvals: Iterable[Approval], *, digest: str) -> tuple[RailCheck, ...]:
    """The rails that do not hold and that no approval of this digest lists with this very limit and value."""
    covered = {rail for approval in approvals if approval.digest == digest for rail in approval.rails}
    return tuple(
        rail
        for rail in plan.blocked
        if not approvable(rail.name) or ApprovedRail(name=rail.name, limit=rail.limit, value=rail.value) not in covered
    )


def over_limit(rails: Iterable[RailCheck]) -> RefusedError:
    """RC0607 for rails that do not hold and are not approved, with what can be done about them."""
    over = tuple(rails)
    worst = "; ".join(f"{rail.name}: {rail.value:g} > {rail.limit:g} ({rail.text})" for rail in over)
    return RefusedError(f"over a limit: {worst}", code="RC0607", hint=_hint(over))


def _hint(over: tuple[RailCheck, ...]) -> str:
    fixed = [rail.name for rail in over if not approvable(rail.name)]
    if not fixed:
        return f"{_TOUCHED} Check that the findings are true; then {_APPROVE}, or raise the limit in reconciler.toml."
    return f"{_TOUCHED} No approval covers {', '.join(fixed)}: {WHY_NOT}; mend the cause, then plan again."

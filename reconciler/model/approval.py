"""An approval: somebody's word, with a reason, that one plan may go over limits that are about its size.

It is bound to a digest and lists the rails that did not hold, each with its limit and value. It says nothing about any
other plan, and nothing about another value of the same rail.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovedRail:
    """One rail that did not hold when the plan was made: the `value` that was found is above the `limit`."""

    name: str
    limit: float
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Approver:
    """Who says so: `name` and `host` as the process sees them, `ci_job` where it runs in CI. A claim, not a login."""

    name: str
    host: str
    ci_job: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One row, never changed."""

    id: str
    scope: str
    digest: str
    approver: Approver
    reason: str
    rails: tuple[ApprovedRail, ...]
    approved_ms: int

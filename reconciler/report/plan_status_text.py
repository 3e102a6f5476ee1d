"""What is known of a plan, and who approved it, for people and for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reconciler.kernel.clock import iso
from reconciler.model.approval import Approval
from reconciler.model.plan import Plan
from reconciler.plan.known import Known
from reconciler.ports.store import RunRow
from reconciler.report import phrases
from reconciler.report.layout import Block, Span, line

_UNKNOWN = "whether it is registered, applied, approved or stale is not known: there is no database to ask"


def render(
    plan: Plan, known: Known | None, *, runs: Sequence[RunRow], approvals: Sequence[Approval], now_ms: int
) -> list[Block]:
    """`known` None: the database did not answer."""
    if known is None:
        return [line(Span(_UNKNOWN, "magenta")), *_expiry(plan, now_ms=now_ms)]
    style = "green" if known.may_be_applied else "bold red"
    blocks: list[Block] = [line(Span("state: ", "dim"), Span(known.state.replace("-", " "), style))]
    blocks += _expiry(plan, now_ms=now_ms)
    blocks += [line(Span("stale: ", "dim"), Span(what, "bold red")) for what in known.stale]
    for run in runs:
        when = phrases.clock_text(run.started_ms, now_ms=now_ms)
        blocks.append(line(Span("run ", "dim"), f"{phrases.short(run.run_id)} {run.status}, begun {when}"))
    blocks += [block for approval in approvals for block in approval_lines(approval, now_ms=now_ms)]
    blocks += [
        line(Span("not approved: ", "bold red"), f"{rail.name} ({rail.value:g} > {rail.limit:g})")
        for rail in known.over
    ]
    return blocks


def approval_lines(approval: Approval, *, now_ms: int) -> list[Block]:
    who = approval.approver
    job = f", CI job {who.ci_job}" if who.ci_job else ""
    when = phrases.clock_text(approval.approved_ms, now_ms=now_ms)
    rails = ", ".join(f"{rail.name} ({rail.value:g} > {rail.limit:g})" for rail in approval.rails)
    return [
        line(Span("approved by ", "dim"), Span(who.name, "bold"), f" on {who.host}{job}, {when}: {rails}"),
        line(f"reason: {approval.reason}", indent=3),
    ]


def document(
    known: Known | None, *, digest: str, runs: Sequence[RunRow], approvals: Sequence[Approval]
) -> dict[str, Any]:
    """The same as JSON; `state` is null when the database did not answer."""
    return {
        "digest": digest,
        "state": None if known is None else known.state,
        "expired": None if known is None else known.expired,
        "stale": None if known is None else list(known.stale),
        "over": None if known is None else [rail.name for rail in known.over],
        "may_be_applied": None if known is None else known.may_be_applied,
        "runs": [{"id": run.run_id, "status": run.status, "started": iso(run.started_ms)} for run in runs],
        "approvals": [approval_entry(approval) for approval in approvals],
    }


def approval_entry(approval: Approval) -> dict[str, Any]:
    return {
        "id": approval.id,
        "digest": approval.digest,
        "approver": approval.approver.name,
        "host": approval.approver.host,
        "ci_job": approval.approver.ci_job,
        "reason": approval.reason,
        "approved": iso(approval.approved_ms),
        "rails": [{"name": one.name, "limit": one.limit, "value": one.value} for one in approval.rails],
    }


def _expiry(plan: Plan, *, now_ms: int) -> list[Block]:
    over = now_ms > plan.expires_ms
    word = "expired: " if over else "expires: "
    return [line(Span(word, "bold red" if over else "dim"), phrases.clock_text(plan.expires_ms, now_ms=now_ms))]

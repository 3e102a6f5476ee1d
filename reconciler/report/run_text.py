"""What `apply` came to, action by action."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from reconciler.model.plan import ActionOutcome, ActionStatus, RunOutcome
from reconciler.report import phrases
from reconciler.report.document import money
from reconciler.report.layout import BLANK, Block, Span, Table, line

RUN_SCHEMA_VERSION: Final = 1

_STYLE: Final = {
    ActionStatus.DONE: "green",
    ActionStatus.SKIPPED: "yellow",
    ActionStatus.WAITING: "cyan",
    ActionStatus.FAILED: "bold red",
}


def render(run: RunOutcome, *, full: bool = False) -> list[Block]:
    rows = tuple(_row(outcome, full=full) for outcome in run.outcomes)
    blocks: list[Block] = [line(Span("run ", "dim"), Span(run.run_id, "bold"))]
    if rows:
        blocks += [BLANK, Table(("STATUS", "ACTION", "SUBJECT", "WHAT HAPPENED"), rows)]
    blocks += [BLANK, _total(run)]
    if run.interrupted:
        blocks.append(line(Span("interrupted: the rest was not begun; `reconciler apply` goes on with it", "yellow")))
    return blocks


def _row(outcome: ActionOutcome, *, full: bool) -> tuple[Span, ...]:
    action = outcome.action
    refs = action.refs
    what = phrases.ref_text(refs[0], full=full) if refs else phrases.about(action, full=full) or "-"
    more = f" +{len(refs) - 1}" if len(refs) > 1 else ""
    text = f"{outcome.code}: {outcome.text}" if outcome.code else outcome.text
    if outcome.struck:
        text += f"; left alone: {', '.join(phrases.ref_text(ref, full=full) for ref in outcome.struck)}"
    status = Span(outcome.status.value, _STYLE[outcome.status])
    return status, Span(action.kind.value), Span(what + more, "bold"), Span(text)


def _total(run: RunOutcome) -> Block:
    counted = Counter(outcome.status for outcome in run.outcomes)
    parts = [f"{counted[status]} {status.value}" for status in ActionStatus if counted[status]]
    locked = f"; stack locks held for {run.lock_seconds:.1f} s" if run.lock_seconds else ""
    done = ", ".join(parts) or "nothing to do"
    return line(Span("total: ", "dim"), Span(done, "bold"), f"; saves {phrases.bill(run.saves)}{locked}")


def document(run: RunOutcome, *, exit_code: int) -> dict[str, Any]:
    """The run as plain JSON values."""
    return {
        "schema_version": RUN_SCHEMA_VERSION,
        "exit_code": exit_code,
        "run_id": run.run_id,
        "plan_id": run.plan.id,
        "scope": run.plan.scope_name,
        "interrupted": run.interrupted,
        "saves": money(run.saves),
        "lock_seconds": run.lock_seconds,
        "outcomes": [_entry(outcome) for outcome in run.outcomes],
    }


def _entry(outcome: ActionOutcome) -> dict[str, Any]:
    action = outcome.action
    return {
        "action_id": action.id,
        "action": action.kind.value,
        "finding_id": action.finding_id,
        "refs": [{"kind": ref.kind.value, "zone": ref.zone, "id": ref.id} for ref in action.refs],
        "urns": list(action.urns),
        "worker": action.worker,
        "status": outcome.status.value,
        "code": outcome.code,
        "text": outcome.text,
        "gone": [{"kind": ref.kind.value, "zone": ref.zone, "id": ref.id} for ref in outcome.refs_gone],
        "struck": [{"kind": ref.kind.value, "zone": ref.zone, "id": ref.id} for ref in outcome.struck],
        "saves": money(outcome.saves),
    }

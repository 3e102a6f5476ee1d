"""What was not read. It is unknown, not absent; it is never acted on and never counted as in sync."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.diff.context import Context
from reconciler.model.finding import ActionKind, Finding, FindingKind, Ledger, Subject, Verdict


def incomplete(context: Context) -> Iterator[Finding]:
    for scan in context.world.inventory.incomplete():
        if scan.offered:
            yield _finding(
                Subject(kind=scan.kind.value, zone=scan.zone),
                ledger=Ledger.INVENTORY,
                reason=scan.reason or "not read to the end",
                context=context,
            )
    for unread in context.world.unread:
        yield _finding(
            Subject(kind="stack", name=unread.stack, urn=unread.stack),
            ledger=Ledger.STATE,
            reason=f"{unread.code}: {unread.reason}",
            context=context,
            stack=unread.stack,
        )
    rows = context.world.unread_records
    if rows is not None:
        yield _finding(
            Subject(kind="records", name=context.world.records.adapter),
            ledger=Ledger.RECORDS,
            reason=f"{rows.code}: {rows.reason}",
            context=context,
        )
    for failed in context.world.failed_programs:
        yield _finding(
            Subject(kind="program", name=failed.stack, urn=failed.stack),
            ledger=Ledger.DESIRED,
            reason=f"{failed.code}: {failed.reason}; what the stack's outputs declare counts instead",
            context=context,
            stack=failed.stack,
        )
    for problem in context.world.desired.problems:
        yield _finding(Subject(kind="output", urn=problem), ledger=Ledger.DESIRED, reason=problem, context=context)


def _finding(subject: Subject, *, ledger: Ledger, reason: str, context: Context, stack: str | None = None) -> Finding:
    return Finding(
        kind=FindingKind.INCOMPLETE,
        subjects=(subject,),
        stack=stack,
        ledgers={ledger: "unread"},
        verdict=Verdict.UNKNOWN,
        action=ActionKind.NONE,
        reason=reason,
        rule="rule 1",
        evidence=(context.seen(reason, source=ledger.value),),
    )

"""Two plans side by side, for people and for machines."""

from __future__ import annotations

from typing import Any, Final

from reconciler.model.money import Cost
from reconciler.model.plan import Action, RailCheck
from reconciler.plan.compare import PlanDiff
from reconciler.report import phrases
from reconciler.report.layout import BLANK, Block, Span, Table, line

SCHEMA_VERSION: Final = 1


def render(diff: PlanDiff, *, full: bool = False) -> list[Block]:
    if diff.same:
        return [line("the two plans do the same, at the same price, within the same limits")]
    blocks: list[Block] = [line(head) for head in diff.heads]
    blocks += [line(Span("+ ", "green"), *_named(action, full=full)) for action in diff.added]
    blocks += [line(Span("- ", "red"), *_named(action, full=full)) for action in diff.removed]
    for changed in diff.changed:
        blocks.append(line(Span("~ ", "yellow"), *_named(changed.after, full=full)))
        blocks += [line(what, indent=4) for what in changed.what]
    if diff.rails:
        rows = tuple((Span(rail.name), _cell(rail.before), _cell(rail.after)) for rail in diff.rails)
        blocks += [BLANK, Table(("RAIL", "BEFORE", "AFTER"), rows)]
    blocks += [BLANK, line(Span("saves: ", "dim"), _saves(diff.saves_before), " -> ", _saves(diff.saves_after))]
    return blocks


def document(diff: PlanDiff, *, before: str, after: str) -> dict[str, Any]:
    """`before` and `after` are the digests."""
    return {
        "schema_version": SCHEMA_VERSION,
        "before": before,
        "after": after,
        "same": diff.same,
        "heads": list(diff.heads),
        "added": [_entry(action) for action in diff.added],
        "removed": [_entry(action) for action in diff.removed],
        "changed": [_entry(one.after) | {"what": list(one.what)} for one in diff.changed],
        "rails": [{"name": one.name, "before": _rail(one.before), "after": _rail(one.after)} for one in diff.rails],
        "saves_month": {"before": _money(diff.saves_before), "after": _money(diff.saves_after)},
    }


def _named(action: Action, *, full: bool) -> tuple[Span | str, ...]:
    what = ", ".join(phrases.ref_text(ref, full=full) for ref in action.refs) or ", ".join(action.urns)
    price = f"  {phrases.bill(action.cost)}" if action.cost.hour_nanos or action.cost.unpriced else ""
    return Span(action.kind.value, "bold"), f" {what}", Span(price, "dim")


def _cell(rail: RailCheck | None) -> Span:
    if rail is None:
        return Span("-", "dim")
    return Span(f"{rail.value:g} of {rail.limit:g}" + ("" if rail.ok else " BLOCKS"), "" if rail.ok else "bold red")


def _saves(cost: Cost) -> Span:
    return Span(phrases.bill(cost), "bold")


def _entry(action: Action) -> dict[str, Any]:
    return {
        "id": action.id,
        "kind": action.kind.value,
        "finding": action.finding_id,
        "refs": [str(ref) for ref in action.refs],
        "urns": list(action.urns),
        "month": _money(action.cost),
    }


def _rail(rail: RailCheck | None) -> dict[str, Any] | None:
    return None if rail is None else {"value": rail.value, "limit": rail.limit, "ok": rail.ok}


def _money(cost: Cost) -> dict[str, Any]:
    return {"amount": round(cost.month, 2), "currency": cost.currency, "unpriced": cost.unpriced}

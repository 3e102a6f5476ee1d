"""A plan for people: the actions in order with their conditions and price, the rails, and what is held back."""

from __future__ import annotations

from typing import Final

from reconciler.model.finding import ActionKind
from reconciler.model.plan import Action, Plan, RailCheck
from reconciler.plan.fingerprint import ENTRY, UNCHANGED
from reconciler.report import phrases
from reconciler.report.layout import BLANK, Block, Span, Table, line

_STYLE: Final = {
    ActionKind.DESTROY: "bold red",
    ActionKind.TAG: "green",
    ActionKind.REFRESH: "cyan",
    ActionKind.ADOPT: "green",
    ActionKind.CLEAR: "cyan",
    ActionKind.RECORD: "green",
    ActionKind.ATTACH: "green",
    ActionKind.PURGE: "yellow",
}
_HELD: Final = {
    "wait": "not yet: their time has not come",
    "ask": "a person decides: `reconciler explain` shows what",
    "unknown": "not proved: something could not be read",
    "act": "not allowed by this mode, or done by the user's own `pulumi up`",
}


def render(plan: Plan, *, now_ms: int, full: bool = False, digest: str | None = None) -> list[Block]:
    blocks: list[Block] = [_head(plan, now_ms=now_ms)]
    if plan.actions:
        for number, action in enumerate(plan.actions, start=1):
            blocks += [BLANK, *_action(number, action, full=full)]
    else:
        blocks.append(line("nothing to do"))
    blocks += [BLANK, *_rails(plan.rails), *_held_back(plan)]
    blocks.append(line(Span("saves: ", "dim"), Span(phrases.bill(plan.saves), "bold")))
    if digest is not None:
        blocks.append(line(Span(f"digest: {digest}", "dim")))
    return blocks


def _head(plan: Plan, *, now_ms: int) -> Block:
    left = phrases.span((plan.expires_ms - now_ms) / 1000)
    facts = f"  mode {plan.mode.value} · {phrases.count(len(plan.actions), 'action')} · valid for {left}"
    return line(
        Span("plan ", "dim"), Span(plan.id, "bold"), Span(" of scope ", "dim"), plan.scope_name, Span(facts, "dim")
    )


def _action(number: int, action: Action, *, full: bool) -> list[Block]:
    what = phrases.about(action, full=full)
    price = f"  {phrases.bill(action.cost)}" if action.cost.hour_nanos or action.cost.unpriced else ""
    blocks: list[Block] = [
        line(
            Span(f"{number}. "),
            Span(action.kind.value, _STYLE.get(action.kind, "bold")),
            f" {what}",
            Span(price, "dim"),
        ),
        line(f"{action.finding_kind.value} {phrases.short(action.finding_id)}: {action.reason}", indent=3),
    ]
    owner = phrases.owner(fleet=action.fleet, stack=action.stack)
    blocks.append(line(Span(f"owner {owner}; {action.rule or 'no rule'}", "dim"), indent=3))
    if action.refs:
        blocks += [line(Span(f"urn {urn}", "dim"), indent=3) for urn in action.urns]
    if action.kind is ActionKind.TAG:
        blocks += _tags(action)
    return blocks + _conditions(action)


def _conditions(action: Action) -> list[Block]:
    """One line each, but for fingerprints, which say the same of every subject and mean nothing to a reader."""
    blocks: list[Block] = []
    for condition in action.conditions:
        if condition.kind in (ENTRY, UNCHANGED):
            continue
        value = f" = {', '.join(condition.value.splitlines())}" if condition.value else ""
        blocks.append(line(Span(f"only if {condition.kind}: {condition.subject}{value}", "dim"), indent=3))
    for kind, noun in ((UNCHANGED, "resource"), (ENTRY, "state entry")):
        number = sum(condition.kind == kind for condition in action.conditions)
        if number:
            what = phrases.count(number, noun) if number == 1 or kind == UNCHANGED else f"{number} state entries"
            blocks.append(line(Span(f"only if unchanged since: {what}", "dim"), indent=3))
    return blocks


def _tags(action: Action) -> list[Block]:
    added = [tag for tag in action.tags_after if tag not in action.tags_before]
    removed = [tag for tag in action.tags_before if tag not in action.tags_after]
    return [
        *(line(Span(f"+ {tag}", "green"), indent=3) for tag in added),
        *(line(Span(f"- {tag}", "red"), indent=3) for tag in removed),
    ]


def _rails(rails: tuple[RailCheck, ...]) -> list[Block]:
    if not rails:
        return []
    rows = tuple(
        (
            Span("ok" if rail.ok else "BLOCKS", "green" if rail.ok else "bold red"),
            Span(rail.name),
            Span(f"{rail.value:g}"),
            Span(f"{rail.limit:g}"),
            Span(rail.text),
        )
        for rail in rails
    )
    return [Table(("RAIL", "NAME", "VALUE", "LIMIT", "MEANING"), rows, right=frozenset({2, 3})), BLANK]


def _held_back(plan: Plan) -> list[Block]:
    return [
        line(Span(f"held back: {phrases.count(number, 'finding')} with verdict {verdict}"), f" ({why})")
        for verdict, number in plan.held_back.items()
        if number and verdict != "none" and (why := _HELD.get(verdict, "not acted on"))
    ]

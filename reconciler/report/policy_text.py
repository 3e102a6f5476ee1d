"""Policy checks and rules for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from reconciler.kernel.clock import iso
from reconciler.model.policy import Policy, Rule, Severity
from reconciler.policy.item import Item
from reconciler.policy.verdict import Evaluation, Excepted, Violation
from reconciler.report import phrases
from reconciler.report.layout import BLANK, Block, Span, Table, line
from reconciler.report.policy_document import not_evaluated

_STYLE: Final = {Severity.ADVISORY: "yellow", Severity.MANDATORY: "bold red", Severity.REMEDIATE: "bold red"}
_HEADER: Final = ("SEVERITY", "RULE", "RESOURCE", "OWNER", "WHAT")


def render(evaluation: Evaluation, *, notes: Sequence[str] = (), full: bool = False) -> list[Block]:
    """The violations in a table, what is let through, and what was not evaluated. `full`: each of the latter, too."""
    blocks: list[Block] = []
    if evaluation.violations:
        rows = tuple(_row(one, full=full) for one in sorted(evaluation.violations, key=_key))
        blocks += [Table(_HEADER, rows), BLANK]
        hints = dict.fromkeys((one.rule.id, one.rule.hint) for one in evaluation.violations if one.rule.hint)
        blocks += [line(Span(f"hint for {rule}: {hint}", "dim")) for rule, hint in hints]
    if full:
        blocks += [_excepted(one, full=full) for one in evaluation.excepted]
    blocks += [
        line(Span("not evaluated: ", "magenta"), f"{entry['rule']}: {entry['reason']} ({_resources(entry)})")
        for entry in not_evaluated(evaluation)
    ]
    blocks += [line(Span(f"note: {note}", "dim")) for note in notes]
    blocks.append(_total(evaluation))
    return blocks


def _resources(entry: dict[str, Any]) -> str:
    return phrases.count(int(entry["resources"]), "resource")


def _key(violation: Violation) -> tuple[bool, str, str]:
    return not violation.severity.blocks, violation.rule.id, violation.item.identity


def _row(violation: Violation, *, full: bool) -> tuple[Span, ...]:
    severity = violation.severity
    return (
        Span(severity.value, _STYLE[severity]),
        Span(violation.rule.id),
        Span(_resource(violation.item, full=full), "bold"),
        Span(phrases.owner(fleet=violation.item.fleet, stack=violation.item.stack)),
        Span(violation.message),
    )


def _resource(item: Item, *, full: bool) -> str:
    if item.id is None:
        return item.urn if full and item.urn is not None else item.label
    zone = f"{item.zone}/" if isinstance(item.zone, str) else ""
    name = f" {item.name}" if item.name else ""
    return f"{item.kind.value} {zone}{item.id if full else phrases.short(item.id)}{name}"


def _excepted(one: Excepted, *, full: bool) -> Block:
    why = "in the baseline"
    if one.exception is not None:
        exception = one.exception
        why = f"{exception.reason} ({exception.owner}, until {iso(exception.expires_ms)[:10]})"
    text = f"{one.violation.rule.id}: {_resource(one.violation.item, full=full)}: {why}"
    return line(Span("let through: ", "cyan"), text)


def _total(evaluation: Evaluation) -> Block:
    blocking = sum(one.severity.blocks for one in evaluation.violations)
    found = phrases.count(len(evaluation.violations), "violation")
    advisory = len(evaluation.violations) - blocking
    parts = f" ({blocking} blocking, {advisory} advisory)" if evaluation.violations else ""
    rest = f"; {len(evaluation.excepted)} let through" if evaluation.excepted else ""
    judged = phrases.count(evaluation.judged, "judgement")
    return line(Span("total: ", "dim"), Span(f"{found}{parts}", "bold"), f" in {judged}{rest}")


def render_rules(policies: Sequence[Policy]) -> list[Block]:
    """`policy list`: every rule that counts, and where it comes from."""
    header = ("SEVERITY", "RULE", "CHECK", "KINDS", "FLEETS", "FROM")
    rows = tuple(
        (
            Span(rule.severity.value, _STYLE[rule.severity]),
            Span(rule.id, "bold"),
            Span(rule.check_name),
            Span(", ".join(rule.kinds)),
            Span(", ".join(rule.fleets) or "all"),
            Span(policy.source, "dim"),
        )
        for policy in policies
        for rule in policy.rules
    )
    return [Table(header, rows)] if rows else [line("no rules")]


def render_rule(rule: Rule, policy: Policy, *, now_ms: int) -> list[Block]:
    """`policy explain`: what one rule asks for, of what, and who is let through until when."""
    blocks: list[Block] = [line(Span(rule.id, "bold"), f"  {rule.check_name}, ", Span(rule.severity.value))]
    blocks.append(line(f"from {policy.source}", indent=2))
    blocks.append(
        line(f"about {', '.join(rule.kinds)} of {', '.join(rule.fleets) or 'every fleet and of none'}", indent=2)
    )
    blocks += [line(f"{name}: {value}", indent=2) for name, value in parameters(rule)]
    blocks += [
        line(f"{name}: {text}", indent=2) for name, text in (("message", rule.message), ("hint", rule.hint)) if text
    ]
    blocks += [line(_effect(rule), indent=2)]
    for one in policy.exceptions:
        if any(_fits(pattern, rule.id) for pattern in one.rules):
            state = "over" if now_ms >= one.expires_ms else "counts"
            until = iso(one.expires_ms)[:10]
            blocks.append(line(f"exception ({state}, until {until}): {one.reason}, {one.owner}", indent=2))
    blocks.append(line(Span(f"reference: docs/policy.md, {rule.check_name}", "dim"), indent=2))
    return blocks


def _fits(pattern: str, text: str) -> bool:
    from reconciler.policy.patterns import glob

    return glob((pattern,), text)


def parameters(rule: Rule) -> list[tuple[str, str]]:
    """The parameters of a check as a policy file has them."""
    found = []
    for field in fields(rule.check):
        value = getattr(rule.check, field.name)
        if value not in (None, ()):
            shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            found.append((field.name, shown))
    return found


def _effect(rule: Rule) -> str:
    match rule.severity:
        case Severity.ADVISORY:
            return "effect: shown, and counts for nothing"
        case Severity.MANDATORY:
            return "effect: blocks a preview with the pack, ends a check with 5"
        case Severity.REMEDIATE:
            return "effect: a preview with the pack adds what is missing; a check ends with 5"

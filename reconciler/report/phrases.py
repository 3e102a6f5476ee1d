"""The few phrases that all renderers share: money, spans of time, shortened ids, subjects."""

from __future__ import annotations

import re
from typing import Final

from reconciler.kernel.clock import iso
from reconciler.model.finding import ROW, Finding, Subject, Verdict
from reconciler.model.money import Cost
from reconciler.model.plan import Action
from reconciler.model.resources import Ref
from reconciler.report.layout import Span

_SHORT: Final = 8
_LABEL: Final = 28  # characters of a name on one line
_UUID: Final = re.compile(r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]+$")

VERDICT_STYLE: Final = {
    Verdict.ACT: "bold red",
    Verdict.ASK: "yellow",
    Verdict.WAIT: "cyan",
    Verdict.UNKNOWN: "magenta",
    Verdict.NONE: "dim",
}


def short(text: str) -> str:
    """The first eight characters of a UUID or a fingerprint; anything else as it is. Every command takes prefixes."""
    if _UUID.match(text) or (len(text) == 32 and text.isalnum()):
        return text[:_SHORT]
    return text


def euros(cost: Cost) -> str:
    """`12.34` a month in the cost's currency; `?` for a price that is not known; `-` for what costs nothing."""
    if not cost.hour_nanos:
        return "?" if cost.unpriced else "-"
    return f"{cost.month:.2f}" + ("+?" if cost.unpriced else "")


def bill(cost: Cost) -> str:
    """`12.34 EUR/month`, and how many prices are missing from it."""
    missing = f" (and {count(cost.unpriced, 'resource')} without a known price)" if cost.unpriced else ""
    return f"{cost.month:.2f} {cost.currency}/month{missing}"


def count(number: int, noun: str) -> str:
    """`1 finding`, `2 findings`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def span(seconds: float) -> str:
    """A length of time in its two largest units: `45 s`, `14 min`, `2 h 5 min`, `3 d 4 h`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h" + (f" {minutes} min" if minutes else "")
    days, hours = divmod(hours, 24)
    return f"{days} d" + (f" {hours} h" if hours else "")


def verdict(finding: Finding, *, now_ms: int) -> Span:
    """The verdict; a `wait` with the time that is left."""
    text = finding.verdict.value
    if finding.verdict is Verdict.WAIT and finding.wait_until_ms is not None:
        text = f"wait {span(max(0, finding.wait_until_ms - now_ms) / 1000)}"
    return Span(text, VERDICT_STYLE[finding.verdict])


def ref_text(ref: Ref, *, full: bool = False) -> str:
    return f"{ref.kind.value} {ref.zone}/{ref.id if full else short(ref.id)}"


def about(action: Action, *, full: bool = False) -> str:
    """What an action is about: its resources, else the row of a worker, else entries of a state."""
    if action.refs:
        return ", ".join(ref_text(ref, full=full) for ref in action.refs)
    if action.worker is not None:
        return f"worker {action.worker if full else short(action.worker)}"
    return ", ".join(action.urns)


def subject(value: Subject, *, full: bool = False) -> str:
    """`server fr-par-1/0f9d3b1c web-1`: kind, place and id, and the name that a person knows it by."""
    parts = [value.kind]
    if value.id is not None:
        identity = value.id if full else short(value.id)
        parts.append(f"{value.zone}/{identity}" if value.zone else identity)
    elif value.zone is not None:
        parts.append(value.zone)
    label = _label(value)
    if len(label) > _LABEL and not full:
        label = f"{label[: _LABEL - 1]}…"
    return " ".join([*parts, label] if label else parts)


def _label(value: Subject) -> str:
    """A server's own name, a row's fleet; of anything else the worker, since volumes are named after images."""
    last = value.urn.rsplit("::", 1)[-1] if value.urn else ""
    named = value.kind in ("server", ROW)
    first, second = (value.name, value.worker) if named else (value.worker, value.name)
    return first or second or last


def subjects(finding: Finding, *, full: bool = False) -> str:
    """The first subject, and how many more hang on it."""
    if not finding.subjects:
        return "-"
    more = len(finding.subjects) - 1
    return subject(finding.subjects[0], full=full) + (f" +{more}" if more else "")


def owner(*, fleet: str | None, stack: str | None) -> str:
    return "/".join(part for part in (stack, fleet) if part) or "-"


def clock_text(epoch_ms: int, *, now_ms: int) -> str:
    """`2026-11-30T01:02:03Z, 5 min ago`."""
    stamp = iso(epoch_ms)[:19] + "Z"
    gap = (now_ms - epoch_ms) / 1000
    return f"{stamp}, {span(gap)} ago" if gap >= 0 else f"{stamp}, in {span(-gap)}"

"""What was expected against what there is. Every difference becomes a `Failure` that shows both in the words of a case,
so that the actual side can be copied into it when it is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from reconciler.cases.model import Bound, Expected, RowLeft, Said
from reconciler.cases.problems import NOWHERE, Mark
from reconciler.simulator.faults import path_pattern
from reconciler.simulator.traffic import Entry

_SHOWN: Final = 600
_CENT: Final = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One thing that is not as the case says. `where`: the step or `the end`, with its line."""

    where: str
    what: str
    expected: tuple[str, ...] = ()
    actual: tuple[str, ...] = ()
    mark: Mark = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A finding of `drift`, in the words of a case."""

    label: str
    entry: Mapping[str, Any]
    others: tuple[str, ...]
    now_ms: int

    @property
    def verdict(self) -> str:
        return str(self.entry["verdict"])

    @property
    def action(self) -> str:
        return str(self.entry["action"])

    def __str__(self) -> str:
        return f"{self.label}: {self.verdict} {self.action}"


def seen(document: Mapping[str, Any], *, labels: Mapping[str, str], now_ms: int) -> list[Seen]:
    """All findings of a drift document."""
    found = []
    for entry in document["findings"]:
        subjects = [subject(one, labels) for one in entry["subjects"] or [{}]]
        label = f"{entry['kind']} {subjects[0]}"
        others = tuple(one for one in subjects[1:] if one != subjects[0])
        found.append(Seen(label=label, entry=entry, others=others, now_ms=now_ms))
    return found


def subject(one: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """A named thing, FLEET/SLOT, a stack, `KIND PLACE`, or what the URN calls it."""
    identity, urn = one.get("id"), one.get("urn")
    if isinstance(identity, str) and identity in labels:
        return labels[identity]
    if one.get("kind") == "slot":
        return str(one.get("worker"))
    if one.get("kind") in ("stack", "program") and urn and not urn.startswith("urn:"):
        return str(urn)
    if urn and urn.startswith("urn:"):
        return labels.get(urn) or str(urn.rpartition("::")[2])
    if identity:
        return f"{one.get('kind')} {str(identity)[:8]}"
    return " ".join(filter(None, (one.get("kind"), one.get("zone"))))


def compare(
    expected: Sequence[Expected], found: Sequence[Seen], *, exact: bool, slack: int = 0
) -> Iterator[tuple[str, str, str]]:
    """(what, expected, actual) for each difference. Without a mention, `unmanaged` findings are not looked at.
    `slack`: seconds that a wait may be shorter."""
    left = list(found)
    for one in expected:
        match = next((each for each in left if each.label == one.label), None)
        if match is None:
            near = [str(each) for each in found if each.label.split()[-1] == one.label.split()[-1]]
            yield "a finding is missing", _told(one), ", ".join(near) or "no finding about it"
            continue
        left.remove(match)
        for what, wanted, actual in _details(one, match, slack=slack):
            if wanted != actual:
                yield what, f"{one.label}: {wanted}", f"{match.label}: {actual}"
    if exact:
        for each in left:
            if each.entry["kind"] != "unmanaged":
                yield "a finding that was not expected", "", f"{each}  # {each.entry['reason']}"


def kinds(expected: Mapping[str, int], found: Sequence[Seen]) -> Iterator[tuple[str, str, str]]:
    """Findings by kind and number."""
    actual = Counter(str(one.entry["kind"]) for one in found)
    for kind in sorted({*expected, *actual}):
        if kind == "unmanaged" and kind not in expected:
            continue
        if expected.get(kind, 0) != actual[kind]:
            yield "another number of findings", f"{kind}: {expected.get(kind, 0)}", f"{kind}: {actual[kind]}"


def _told(one: Expected) -> str:
    return f"{one.label}: {one.verdict} {one.action or ''}".rstrip()


def _details(one: Expected, found: Seen, *, slack: int) -> Iterator[tuple[str, Any, Any]]:
    entry = found.entry
    wanted = f"{one.verdict} {one.action}" if one.action is not None else one.verdict
    actual = f"{found.verdict} {found.action}" if one.action is not None else found.verdict
    why = f"  # {entry['reason']}" if wanted != actual else ""
    yield "another verdict", wanted, actual + why
    if one.reason is not None and one.reason not in entry["reason"]:
        yield "another reason", one.reason, entry["reason"]
    if one.rule is not None and one.rule not in entry["rule"]:
        yield "another rule", one.rule, entry["rule"]
    if one.changed is not None:
        paths = sorted(each["path"] for each in entry["differences"])
        yield "other properties differ", ", ".join(sorted(one.changed)), ", ".join(paths)
    if one.others is not None:
        yield "other subjects", ", ".join(sorted(one.others)), ", ".join(sorted(found.others))
    if one.eur_month is not None:
        month = float(entry["cost"]["month"])
        close = abs(month - one.eur_month) <= _CENT
        yield "another price", f"{one.eur_month:.2f} EUR/month", f"{one.eur_month if close else month:.2f} EUR/month"
    if one.wait is not None:
        left = _wait(entry, found.now_ms)
        close = left is not None and one.wait - slack <= left <= one.wait
        told = "no end" if left is None else f"{one.wait if close else left}s"
        yield "another wait", f"{one.wait}s", told


def _wait(entry: Mapping[str, Any], now_ms: int) -> int | None:
    """Seconds until it is due."""
    until = entry["wait_until"]
    return None if until is None else round(datetime.fromisoformat(until).timestamp() - now_ms / 1000)


def rows(expected: Sequence[RowLeft], found: Mapping[str, tuple[str, str | None]]) -> Iterator[tuple[str, str, str]]:
    """All rows that are left. What is not said of a row is not looked at."""
    by_worker = {one.worker: one for one in expected}

    def told(worker: str, state: str | None, machine: str | None) -> str:
        said = by_worker.get(worker, RowLeft(worker=worker, state="", machine=""))
        shown = [state if said.state is not None else None, machine if said.machine is not None else None]
        return " ".join(["row of", worker, *filter(None, shown)])

    wanted = (told(one.worker, one.state, one.machine) for one in expected)
    yield from same_set("rows", wanted, (told(worker, *row) for worker, row in found.items()))


def same_set(what: str, expected: Iterable[str], actual: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """One difference a name, in both directions."""
    wanted, there = set(expected), set(actual)
    for name in sorted(there - wanted):
        yield f"{what}: not expected", "", name
    for name in sorted(wanted - there):
        yield f"{what}: missing", name, ""


def said(what: str, expected: Said, text: str) -> Iterator[tuple[str, str, str]]:
    for part in expected.has:
        if part not in text:
            yield f"{what} lacks a text", part, text[-_SHOWN:].strip()
    for part in expected.lacks:
        if part in text:
            yield f"{what} has a text that it must not have", "", part


def counted(bounds: Sequence[Bound], entries: Sequence[Entry]) -> Iterator[tuple[str, str, str]]:
    for bound in bounds:
        number = count(bound.counter, entries)
        holds = {"==": number == bound.number, "<=": number <= bound.number, ">=": number >= bound.number}
        if not holds[bound.relation]:
            relation = "" if bound.relation == "==" else f"{bound.relation} "
            yield f"calls: {bound.counter}", f"{relation}{bound.number}", str(number)


def count(counter: str, entries: Sequence[Entry]) -> int:
    """How many requests a counter counts; `METHOD PATH` with a glob, or a word."""
    method, _, path = counter.partition(" ")
    if path:
        pattern = path_pattern(path)
        return sum(entry.method == method and pattern.search(entry.path) is not None for entry in entries)
    match counter:
        case "total":
            return len(entries)
        case "mutating":
            return sum(entry.method not in ("GET", "HEAD") for entry in entries)
        case "lists":
            return sum(entry.method == "GET" and _is_list(entry) for entry in entries)
        case "posts" | "deletes" | "patches":
            # In lower case: the word for a deletion is nobody's but the door's (cloud/destroy.py).
            wanted = {"posts": "post", "deletes": "delete", "patches": "patch"}[counter]
            return sum(entry.method.lower() == wanted for entry in entries)
        case _:
            raise ValueError(counter)


def _is_list(entry: Entry) -> bool:
    return bool(entry.route) and not entry.route.endswith("}")

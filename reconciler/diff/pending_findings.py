"""The findings about interrupted operations, and what they leave for others to say.

The first subject is the pending entry itself, so that its episode is one from the first sweep to the last; what it may
have made comes after it, with its price. That resource is then no orphan besides: one difference is one finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reconciler.diff.authority import declared_tags
from reconciler.diff.context import Context, subject
from reconciler.diff.interrupted import Decision, Fate, Scene, decide, first_seen_ms
from reconciler.model.desired import FLEET_TAG, tag_value
from reconciler.model.finding import ActionKind, Evidence, Finding, FindingKind, Ledger, Subject, Verdict
from reconciler.model.resources import Ref, Resource, Server
from reconciler.model.state import StateResource

_VERDICT: Final = {
    Fate.WAIT: Verdict.WAIT,
    Fate.ASK: Verdict.ASK,
    Fate.UNKNOWN: Verdict.UNKNOWN,
    Fate.ADOPT: Verdict.ACT,
    Fate.ABSENT: Verdict.ACT,
    Fate.HELD: Verdict.ACT,
}
_ORDER: Final = {fate: place for place, fate in enumerate(Fate)}
_LEFTOVER: Final = frozenset({FindingKind.ORPHAN, FindingKind.DETACHED, FindingKind.UNMANAGED})


@dataclass(frozen=True, slots=True)
class Made:
    """A finding about an interrupted operation, and what it has surely made, parts included."""

    finding: Finding
    sure: frozenset[Ref]


def interrupted(context: Context) -> tuple[Made, ...]:
    """One finding for each entry that is pending in a state."""
    return tuple(_interrupted(context))


def _interrupted(context: Context) -> Iterator[Made]:
    for stack, state in sorted(context.world.states.items()):
        if not state.pending:
            continue
        decided: dict[tuple[str, str], Decision] = {}
        for decision in decide(_scene(stack, context)):
            # Two operations on one entry are one finding, and the less decided one speaks.
            key = (decision.operation.resource.urn, decision.operation.resource.id or "")
            other = decided.setdefault(key, decision)
            if _ORDER[decision.fate] < _ORDER[other.fate]:
                decided[key] = decision
        for decision in decided.values():
            finding = _finding(stack, decision, context)
            yield Made(finding, frozenset(finding.refs) if decision.sure else frozenset())


def _scene(stack: str, context: Context) -> Scene:
    world, by_kind = context.world, context.index.by_kind
    return Scene(
        state=world.states[stack],
        scope=world.scope,
        memory=world.memory,
        now_ms=context.now_ms,
        processes=world.processes.get(stack, ()),
        resources=lambda kind: by_kind[kind].values(),
        scan_of=lambda kind, place: world.inventory.scans.get((kind, place)),
        held=context.held,
        live=world.live_stacks.get(stack),
        unread=context.unread,
    )


def _finding(stack: str, decision: Decision, context: Context) -> Finding:
    resource, what = decision.operation.resource, decision.operation.operation
    parts = [part for one in decision.found for part in _parts(one, context)]
    return Finding(
        kind=FindingKind.INTERRUPTED,
        subjects=(
            entry_subject(resource),
            *(subject(one, urn=resource.urn, worker=context.worker_of(one.tags)) for one in decision.found),
            *(subject(part) for part in parts),
        ),
        stack=stack,
        ledgers=_ledgers(decision),
        verdict=_VERDICT[decision.fate],
        action=_action(decision),
        reason=decision.reason,
        rule="rule 15",
        wait_until_ms=decision.wait_until_ms,
        fleet=tag_value(declared_tags(resource), FLEET_TAG),
        cost=context.cost(*decision.found, *parts),
        evidence=tuple(_evidence(stack, what, resource, context)),
        witness=_WITNESS.get(decision.fate),
    )


def _parts(one: Resource, context: Context) -> list[Resource]:
    """What hangs on a server that it made, and is in no state either."""
    if not isinstance(one, Server):
        return []
    return [part for part in context.usage.children(one) if part.id not in context.held]


def _action(decision: Decision) -> ActionKind:
    if decision.fate is Fate.ADOPT:
        return ActionKind.ADOPT
    return ActionKind.CLEAR if decision.clears else ActionKind.NONE


_WITNESS: Final = {
    Fate.ADOPT: "it carries what the create sent, and no state holds it",
    Fate.ABSENT: "a complete list, the right to see it proved, without anything that fits",
    Fate.HELD: "the state's own entry",
}


def entry_subject(resource: StateResource) -> Subject:
    """The pending entry. It has no id while it is being created."""
    ref = resource.ref
    return Subject(
        kind=ref.kind.value if ref is not None else "stack",
        zone=ref.zone if ref is not None else None,
        id=ref.id if ref is not None else None,
        urn=resource.urn,
        name=resource.name,
    )


def _ledgers(decision: Decision) -> dict[str, str]:
    said: dict[str, str] = {Ledger.STATE: f"pending: {decision.operation.operation}"}
    if decision.found:
        said[Ledger.INVENTORY] = f"holds {len(decision.found)} that may be it"
    elif decision.fate is Fate.ABSENT:
        said[Ledger.INVENTORY] = "absent"
    return said


def _evidence(stack: str, what: str, resource: StateResource, context: Context) -> Iterator[Evidence]:
    yield context.seen(f"pending operation {what!r} in the state of {stack}", source="state")
    written = context.world.states[stack].written_ms
    if written is not None:
        yield Evidence(at_ms=written, source="state", text="the engine wrote this state last")
    since = first_seen_ms(resource, memory=context.memory, now_ms=context.now_ms)
    yield Evidence(at_ms=since, source="memory", text="first seen pending")
    processes = context.world.processes.get(stack, ())
    for process in processes:
        yield context.seen(f"{process.name} (pid {process.pid}) lives on this host: {process.why}", source="processes")
    if not processes:
        yield context.seen("no process of Pulumi's that could be its run lives on this host", source="processes")


def without_doubles(findings: Iterable[Finding], made: Iterable[Made]) -> Iterator[Finding]:
    """All findings; what an interrupted operation has surely made is no leftover besides."""
    ours = list(made)
    claimed = {ref for one in ours for ref in one.sure}
    for finding in findings:
        if finding.kind not in _LEFTOVER or not claimed & set(finding.refs[:1]):
            yield finding
    yield from (one.finding for one in ours)

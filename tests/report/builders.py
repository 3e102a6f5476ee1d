"""Sweeps by hand and by chance."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from reconciler.model.desired import Desired
from reconciler.model.finding import (
    ActionKind,
    Difference,
    Evidence,
    Finding,
    FindingKind,
    Ledger,
    Subject,
    Verdict,
)
from reconciler.model.inventory import Inventory, Right, Scan
from reconciler.model.memory import NO_MEMORY, Memory
from reconciler.model.money import Cost
from reconciler.model.resources import Kind
from reconciler.model.scope import Ownership, Scope
from reconciler.model.state import SECRET, Lock, StackState, UnreadStack
from reconciler.model.world import CoverageLine, Health, Sweep, World

NOW = 1_790_000_000_000
EVIL = "<b>\"'quote\n\x1b[31mred\u202egnp\u2069 [bold]x[/bold] :smile: \x07\u2028end"
SERVER_ID = "0f9d3b1c-0000-4000-8000-000000000001"


def scope(**changes: Any) -> Scope:
    given: dict[str, Any] = {
        "name": "ci",
        "uuid": "99999999-9999-4999-8999-999999999999",
        "project": "11111111-1111-4111-8111-111111111111",
        "zones": ("fr-par-1",),
    }
    return Scope(**(given | changes))


def scan(kind: Kind = Kind.SERVER, zone: str = "fr-par-1", **changes: Any) -> Scan:
    given: dict[str, Any] = {"complete": True, "right": Right.PROVED, "started_ms": NOW - 2000, "finished_ms": NOW}
    return Scan(kind=kind, zone=zone, **(given | changes))


def world(**changes: Any) -> World:
    given: dict[str, Any] = {
        "scope": scope(),
        "sweep_id": "sweep-1",
        "started_ms": NOW - 3200,
        "finished_ms": NOW,
        "inventory": Inventory({(Kind.SERVER, "fr-par-1"): scan()}),
        "memory": Memory(first_complete_ms=NOW - 10**7),
        "health": Health(calls=7, skew_seconds=0.1),
    }
    return World(**(given | changes))


def finding(**changes: Any) -> Finding:
    given: dict[str, Any] = {
        "kind": FindingKind.ORPHAN,
        "subjects": (Subject(kind="server", zone="fr-par-1", id=SERVER_ID, name="ci-1"),),
        "verdict": Verdict.ACT,
        "action": ActionKind.DESTROY,
        "reason": "running, ours by two proofs, in no ledger",
        "rule": "rule 9 (docs/rules.md)",
        "fleet": "linux",
        "stack": "ci/prod",
        "cost": Cost(hour_nanos=10_000_000, sources=("catalogue",)),
    }
    return Finding(**(given | changes))


def sweep(*findings: Finding, exit_status: int = 0, **changes: Any) -> Sweep:
    return Sweep(world=world(**changes), findings=findings, exit_status=exit_status)


# -- by chance

texts = st.one_of(st.sampled_from([EVIL, "", "ci-1", "\ud800", "日本語"]), st.text(max_size=20))
maybe_texts = st.none() | texts
instants = st.integers(min_value=0, max_value=2 * NOW)
jsons = st.recursive(
    st.none() | st.booleans() | st.floats() | texts | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
costs = st.builds(
    Cost,
    hour_nanos=st.integers(min_value=0, max_value=10**12),
    sources=st.lists(texts, max_size=2).map(tuple),
    unpriced=st.integers(min_value=0, max_value=3),
)
subjects = st.builds(
    Subject,
    kind=st.sampled_from(["server", "ip", "volume", "slot", "stack", "scan"]),
    zone=maybe_texts,
    id=maybe_texts,
    urn=maybe_texts,
    worker=maybe_texts,
    name=maybe_texts,
)
findings = st.builds(
    Finding,
    kind=st.sampled_from(FindingKind),
    subjects=st.lists(subjects, max_size=3).map(tuple),
    verdict=st.sampled_from(Verdict),
    action=st.sampled_from(ActionKind),
    reason=texts,
    rule=texts,
    fleet=maybe_texts,
    stack=maybe_texts,
    ledgers=st.dictionaries(st.sampled_from([ledger.value for ledger in Ledger]), texts),
    wait_until_ms=st.none() | instants,
    age_seconds=st.none() | st.integers(min_value=0, max_value=10**9),
    cost=costs,
    evidence=st.lists(st.builds(Evidence, at_ms=instants, source=texts, text=texts), max_size=2).map(tuple),
    witness=maybe_texts,
    differences=st.lists(st.builds(Difference, path=texts, state=jsons, cloud=jsons), max_size=2).map(tuple),
    tags_after=st.none() | st.lists(texts, max_size=2).map(tuple),
)
scans = st.builds(
    Scan,
    kind=st.sampled_from(Kind),
    zone=texts,
    started_ms=instants,
    finished_ms=instants,
    complete=st.booleans(),
    right=st.sampled_from(Right),
    reason=maybe_texts,
    offered=st.booleans(),
)
stacks = st.builds(
    StackState,
    stack=texts,
    serial=st.sampled_from(["a", "b"]),
    read_ms=instants,
    locks=st.lists(st.builds(Lock, created_by=texts, pid=st.none() | st.integers(1, 9)), max_size=1).map(tuple),
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    states = {state.stack: state for state in draw(st.lists(stacks, max_size=2))}
    return World(
        scope=scope(
            name=draw(texts), zones=tuple(draw(st.lists(texts, max_size=2))), ownership=draw(st.sampled_from(Ownership))
        ),
        sweep_id=draw(texts),
        started_ms=draw(instants),
        finished_ms=draw(instants),
        inventory=Inventory({(found.kind, found.zone): found for found in draw(st.lists(scans, max_size=3))}),
        memory=draw(st.sampled_from([NO_MEMORY, Memory(), Memory(first_complete_ms=NOW)])),
        desired=Desired(problems=tuple(draw(st.lists(texts, max_size=1)))),
        states=states,
        states_before=states if draw(st.booleans()) else {},
        unread=tuple(draw(st.lists(st.builds(UnreadStack, stack=texts, code=texts, reason=texts), max_size=1))),
        coverage=tuple(
            draw(st.lists(st.builds(CoverageLine, type=texts, how=texts, entries=st.integers(0, 99)), max_size=2))
        ),
        health=Health(calls=draw(st.integers(0, 99)), skew_seconds=draw(st.none() | st.floats(-99, 99))),
    )


sweeps = st.builds(
    Sweep,
    world=worlds(),
    findings=st.lists(findings, max_size=4).map(tuple),
    exit_status=st.sampled_from([0, 2, 7]),
)

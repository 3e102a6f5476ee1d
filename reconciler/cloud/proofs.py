"""Absence, proved by id and by list (rule 2).

For each id: a typed 404 by a GET in its own place, and then a complete scan, begun after that GET, that does not hold
it. The order matters: a list read before the GET could show a world in which the object was not there yet. A list
that still shows what the GET denies is a contradiction, and a contradiction is unknown.

An IP may answer 403 once it is gone (incident R009). Then two complete scans, both begun after the GET, both with the
right *proved*, must lack it. Anything else that is not a 200 leaves the id unknown.

One scan serves all ids of a kind in a place, so callers pass their ids together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from reconciler.cloud import probing
from reconciler.cloud.scanning import scan
from reconciler.cloud.transport import Api
from reconciler.kernel.executor import Executor
from reconciler.model.inventory import Presence, Probe, Right, Scan
from reconciler.model.resources import Kind, Ref

# The ids under proof are witnesses themselves; a few others show a lost right at once.
_OTHER_WITNESSES: Final = 3


def prove_absent(
    api: Api,
    refs: Collection[Ref],
    *,
    project: str,
    known_ids: Mapping[Kind, Collection[str]],
    executor: Executor,
) -> Mapping[Ref, Probe]:
    """A probe for each ref, ABSENT only where rule 2 holds. Raises AuthenticationError alone."""
    ordered = sorted(set(refs))
    outcomes = executor.map(lambda ref: probing.look(api, ref).probe, ordered)
    probes = {ref: outcome.unwrap() for ref, outcome in zip(ordered, outcomes, strict=True)}
    groups: dict[tuple[Kind, str], list[Ref]] = {}
    for ref, probe in probes.items():
        if probe.presence is Presence.ABSENT or _hidden(probe):
            groups.setdefault((ref.kind, ref.zone), []).append(ref)

    def settle(group: tuple[Kind, str]) -> list[Probe]:
        kind, locality = group
        pending = [probes[ref] for ref in groups[group]]
        return _settle(api, kind, locality, pending, project=project, known=known_ids.get(kind, ()))

    for outcome in executor.map(settle, sorted(groups)):
        for probe in outcome.unwrap():
            probes[probe.ref] = probe
    return probes


def _hidden(probe: Probe) -> bool:
    return probe.ref.kind is Kind.IP and probe.presence is Presence.UNKNOWN and probe.status == 403


def _settle(
    api: Api, kind: Kind, locality: str, pending: list[Probe], *, project: str, known: Collection[str]
) -> list[Probe]:
    had = {probe.ref.id: probe for probe in pending}
    # Ids under proof first: they are answered already and count as asked.
    others = [id_ for id_ in sorted(set(known)) if id_ not in had]

    def ask(ref: Ref) -> Probe:
        return had[ref.id] if ref.id in had else probing.look(api, ref).probe

    def read() -> Scan:
        return scan(api, kind, locality, project=project, known_ids=(*had, *others), ask=ask, limit=limit)

    limit = len(had) + _OTHER_WITNESSES
    scans = [read()]
    if any(_hidden(probe) for probe in pending) and scans[0].complete:
        scans.append(read())
    shown = {item.id for one in scans for item in one.items}
    return [_verdict(probe, scans, shown) for probe in pending]


def _verdict(probe: Probe, scans: list[Scan], shown: set[str]) -> Probe:
    first = scans[0]
    if probe.ref.id in shown:
        return _doubt(probe, "a list begun after the GET still shows it")
    broken = next((one for one in scans if not one.complete or not one.offered), None)
    if broken is not None:
        return _doubt(probe, f"no complete list: {broken.reason or 'the kind is not offered here'}")
    if probe.presence is Presence.ABSENT:
        if first.right in (Right.PROVED, Right.ASSUMED):
            return probe
        return _doubt(probe, f"the right to list is {first.right.value}")
    if len(scans) < 2 or any(one.right is not Right.PROVED for one in scans):
        return _doubt(probe, "403 by id, and the right to list is not proved")
    return Probe(
        ref=probe.ref,
        presence=Presence.ABSENT,
        at_ms=probe.at_ms,
        status=probe.status,
        reason="403 by id, and absent from two complete lists begun after it",
    )


def _doubt(probe: Probe, reason: str) -> Probe:
    return Probe(ref=probe.ref, presence=Presence.UNKNOWN, at_ms=probe.at_ms, status=probe.status, reason=reason)

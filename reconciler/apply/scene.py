"""What the decisions about a stack's interrupted operations rest on, read anew.

In the order that makes them true: the state, the processes that may still be at it, the inventory, every state again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reconciler.apply.setting import Setting, known_ids
from reconciler.diff.interrupted import Scene, kinds_of
from reconciler.model.inventory import Scan
from reconciler.model.resources import Kind, Resource
from reconciler.model.state import StackState
from reconciler.observe.survivors import survivors


@dataclass(frozen=True, slots=True)
class NoScene:
    """Why nothing can be decided now."""

    why: str


def scene_of(before: StackState, setting: Setting) -> Scene | NoScene:
    """`before`: the stack as it was read first."""
    stack = before.stack
    processes = survivors(setting.engine, [before])
    scans = _scans(before, setting)
    states, unread = setting.authorities()
    after = states.get(stack)
    if after is None:
        return NoScene(f"{stack} cannot be read again")
    if after.locks:
        return NoScene(f"{stack} is locked by {after.locks[0].created_by}")
    if after.serial != before.serial:
        return NoScene(f"the state of {stack} moved while it was looked at")
    return Scene(
        state=after,
        scope=setting.scope,
        memory=setting.memory(),
        now_ms=setting.clock.now_ms(),
        processes=processes.get(stack, ()),
        resources=lambda kind: _of_kind(scans, kind),
        scan_of=lambda kind, place: scans.get((kind, place)),
        held=frozenset(ref.id for state in states.values() for ref in state.by_ref),
        unread=", ".join(sorted(one.stack for one in unread)) or None,
    )


def _scans(state: StackState, setting: Setting) -> Mapping[tuple[Kind, str], Scan]:
    """The lists that may hold what the creates made. What the state holds in a place is the witness there."""
    known = known_ids({state.stack: state})
    here = {ref.id: ref.zone for ref in state.by_ref}
    jobs = [(kind, place) for kind, place in kinds_of(state.pending, state) if _looked_at(kind, place, setting)]

    def scan(job: tuple[Kind, str]) -> Scan:
        kind, place = job
        witnesses = sorted(id_ for id_ in known.get(kind, ()) if here[id_] == place)
        return setting.cloud.scan(kind, place, known_ids=witnesses)

    outcomes = setting.executor.map(scan, jobs)
    return {job: outcome.unwrap() for job, outcome in zip(jobs, outcomes, strict=True)}


def _looked_at(kind: Kind, place: str, setting: Setting) -> bool:
    return kind.regional or place in setting.scope.zones


def _of_kind(scans: Mapping[tuple[Kind, str], Scan], kind: Kind) -> Iterator[Resource]:
    for (of, _), scan in scans.items():
        if of is kind:
            yield from scan.items

"""Decide a deletion: look at the thing, then at everything that may own it, then commit (rules 3, 5 and 9).

Whatever changed since the plan was made ends in *skipped*: the next sweep makes a new finding of it, and nothing is
lost but time.
"""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.apply.guard import refusal
from reconciler.apply.setting import Setting, holder_of, no_word
from reconciler.diff.ownership import goes_with, grace_ends, in_use, settled
from reconciler.diff.recorded import Rows, living, workers_of
from reconciler.model.inventory import Presence
from reconciler.model.memory import Memory
from reconciler.model.plan import Action
from reconciler.model.records import WorkerRow
from reconciler.model.resources import Ip, Kind, Nic, Ref, Resource, Server, Volume
from reconciler.model.warrant import Warrant
from reconciler.plan.rows import mark_of


@dataclass(frozen=True, slots=True)
class Skip:
    """Why nothing was decided."""

    why: str


def decide(action: Action, setting: Setting) -> Warrant | Skip:
    """A committed decision, or the reason why there is none."""
    target = action.refs[0]
    probe = setting.cloud.probe(target)
    if probe.presence is Presence.ABSENT:
        return Skip("it is gone already")
    if probe.presence is Presence.UNKNOWN or probe.resource is None:
        return Skip(f"it cannot be read now: {probe.reason or probe.status}")
    memory = setting.memory()
    children = _capture(action, probe.resource, setting, memory)
    if isinstance(children, Skip):
        return children
    taken = (probe.resource, *children)
    refs = tuple(one.ref for one in taken)
    rows = setting.rows()  # after the inventory, like every authority
    row = rows.live.get(action.worker) if action.worker is not None else None
    reason = (
        _not_now(action, probe.resource, refs, setting, memory)
        or row_changed(action, row)
        or _recorded(action, taken, rows, memory)
        or _owned(refs, setting)
    )
    if reason is not None:
        return Skip(reason)
    setting.journal.write(action, "deciding", refs=[str(ref) for ref in refs])
    warrant = setting.store.decide_deletion(
        scope=setting.scope.uuid,
        project=setting.scope.project,
        target=target,
        children=refs[1:],
        reason=action.reason,
        finding_id=action.finding_id,
        hour_nanos=action.cost.hour_nanos,
        lease=setting.lease,
        per_hour=setting.scope.limits.per_hour,
        worker=row,
    )
    setting.journal.write(action, "decided", deletion_id=warrant.deletion_id)
    return warrant


def _capture(action: Action, target: Resource, setting: Setting, memory: Memory) -> tuple[Resource, ...] | Skip:
    """What goes with a server, read now. What the plan did not show is not taken along."""
    if not isinstance(target, Server):
        return ()
    planned = set(action.refs[1:])
    taken: list[Resource] = []
    for ref in children_of(target):
        probe = setting.cloud.probe(ref)
        if probe.presence is Presence.ABSENT:
            continue
        if probe.resource is None:
            return Skip(f"its {ref} cannot be read now: {probe.reason or probe.status}")
        child = probe.resource
        goes = goes_with(child, target, scope=setting.scope, memory=memory)
        if goes and (ref in planned or ref.kind is Kind.NIC):
            taken.append(child)
        elif ref.kind is Kind.INSTANCE_VOLUME:
            return Skip(f"its termination would destroy {ref}, which the plan did not show as ours")
    return tuple(taken)


def children_of(server: Server) -> tuple[Ref, ...]:
    """Everything that the server says it has, dynamic IPs left out: those go back to the provider by themselves."""
    return (
        *(Ref(slot.kind, server.zone, slot.id) for slot in server.volumes),
        *(Ref(Kind.IP, server.zone, ip_id) for ip_id in server.ip_ids),
        *(Ref(Kind.NIC, server.zone, nic_id) for nic_id in server.nic_ids),
    )


def row_changed(action: Action, row: WorkerRow | None) -> str | None:
    """Why the row that an action was planned for is not the one that is there now."""
    if action.worker is None:
        return None
    if row is None:
        return f"worker {action.worker} has no live row any more"
    return None if row.mark == mark_of(action) else f"the row of worker {action.worker} changed since the plan was made"


def _recorded(action: Action, taken: tuple[Resource, ...], rows: Rows, memory: Memory) -> str | None:
    """What a live row holds is destroyed by nobody else's deletion (rule 3)."""
    remembered = living(memory)
    for one in taken:
        workers = [row.id for row in rows.holders(one, memory)]
        workers += [worker for worker in workers_of(one.tags) if worker in remembered]
        for worker in workers:
            if worker != action.worker:
                return f"the row of worker {worker} holds {one.ref}"
    return None


def _not_now(action: Action, target: Resource, refs: tuple[Ref, ...], setting: Setting, memory: Memory) -> str | None:
    if isinstance(target, Ip | Volume | Nic) and in_use(target):
        return "it is in use now"
    if not settled(target):
        return "it is changing state now"
    due = grace_ends(target, scope=setting.scope, memory=memory, now_ms=setting.clock.now_ms())
    # What a row holds was never without an owner, so no grace runs for it: the row's own deadline has passed.
    if due > setting.clock.now_ms() and target.ref not in memory.doomed and action.worker is None:
        return "its grace has not passed"
    return refusal(
        target,
        target=target.ref,
        doomed=frozenset(refs),
        scope=setting.scope,
        memory=memory,
        worker=action.worker,
    )


def _owned(refs: tuple[Ref, ...], setting: Setting) -> str | None:
    """The authorities, read after the inventory: every stack, or no deletion."""
    states, unread = setting.authorities()
    return no_word(states, unread) or holder_of(states, refs)

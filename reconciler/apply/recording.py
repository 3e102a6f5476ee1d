"""Write the rows of workers: record a machine that was found, attach one to its row, end a row.

Each looks again, in the order of rule 3: the machine or the proof that there is none, then the rows and the stacks.
What is not as it was planned is skipped. The write itself compares the row with the one that was judged, under the
lease and in one transaction, and may be repeated: a run that was killed after it finds it done.
"""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.apply.deciding import row_changed
from reconciler.apply.setting import Setting, holder_of, known_ids, no_word
from reconciler.diff.declared import parse_desired
from reconciler.diff.machines import ELASTIC
from reconciler.diff.ownership import foreign_scope, has_owner_tags, never_reason, released_reason
from reconciler.diff.recorded import Rows, bears, create_ends_ms, not_made_by
from reconciler.model.desired import FLEET_TAG, REVISION_TAG, WORKER_TAG, FleetSpec, tag_value
from reconciler.model.inventory import Presence, Right
from reconciler.model.plan import Action, ActionOutcome, ActionStatus
from reconciler.model.records import NewWorker, WorkerRow
from reconciler.model.resources import Kind, Ref, Resource, Server
from reconciler.model.state import StackState
from reconciler.plan.rows import fleet_of


def record(action: Action, setting: Setting) -> ActionOutcome:
    """The row of a running machine that no row knows."""
    ref, worker = action.refs[0], action.worker or ""
    probe = setting.cloud.probe(ref)
    if probe.presence is not Presence.PRESENT or not isinstance(probe.resource, Server):
        return _skipped(action, f"{ref} is {probe.presence.value} now: {probe.reason or probe.status}")
    rows = setting.rows()
    held = rows.live.get(worker)
    if held is not None and held.machine == ref:
        return _done(action, "its row is there")
    states, why = _authorities(setting)
    fleet = _fleet(action, states, setting) if why is None else None
    reason = why or _not_ours(probe.resource, setting) or _not_its_worker(action, probe.resource)
    reason = reason or (_taken(probe.resource, rows, states, setting) if fleet is not None else "its fleet is gone")
    if reason is not None or fleet is None:
        return _skipped(action, reason or "")
    new = NewWorker(id=worker, zone=ref.zone, revision=tag_value(probe.resource.tags, REVISION_TAG) or "", machine=ref)
    setting.journal.write(action, "recording", worker=worker, ref=str(ref))
    setting.records.record(setting.scope.uuid, new, fleet=fleet, lease=setting.lease)
    setting.journal.write(action, "recorded", worker=worker)
    return _done(action, f"worker {worker} has a row")


def attach(action: Action, setting: Setting) -> ActionOutcome:
    """The machine of a row that has none: the only one that carries its id."""
    ref, worker = action.refs[0], action.worker or ""
    listed = _with_id(worker, ref.zone, setting)
    if isinstance(listed, str):
        return _skipped(action, listed)
    rows = setting.rows()
    row = rows.live.get(worker)
    if row is not None and row.machine == ref:
        return _done(action, "its row has it")
    reason = row_changed(action, row)
    if reason is not None or row is None:
        return _skipped(action, reason or "")
    if [one.ref for one in listed] != [ref]:
        return _skipped(action, f"{len(listed)} machines carry the id of worker {worker} now")
    states, why = _authorities(setting)
    reason = why or _early(row, setting) or not_made_by(row, listed[0], scope=setting.scope)
    reason = reason or _not_ours(listed[0], setting) or _taken(listed[0], rows, states, setting)
    if reason is not None:
        return _skipped(action, reason)
    setting.journal.write(action, "attaching", worker=worker, ref=str(ref))
    setting.records.attach(setting.scope.uuid, row, ref, lease=setting.lease)
    setting.journal.write(action, "attached", worker=worker)
    return _done(action, f"worker {worker} has its machine")


def purge(action: Action, setting: Setting) -> ActionOutcome:
    """The end of a row whose machine is proved gone, or never was, or whose deletion is finished."""
    worker = action.worker or ""
    view = setting.records.read(setting.scope.uuid)
    row = view.row(worker)
    if row is None and worker in setting.records.ended(setting.scope.uuid, [worker]):
        return _done(action, "its row has ended")
    if row is None:
        return _skipped(action, f"worker {worker} has no row any more")
    if row.live:
        reason = row_changed(action, row) or _still_there(row, setting)
    else:
        reason = None if row.deletion_finished else f"the deletion of worker {worker} is not finished"
    if reason is not None:
        return _skipped(action, reason)
    _end(action, row, action.reason, setting)
    return _done(action, f"the row of worker {worker} has ended")


def end_doomed_row(action: Action, setting: Setting) -> None:
    """After the machine of a doomed row is settled. What cannot be done now is done by a later sweep."""
    row = setting.records.read(setting.scope.uuid).row(action.worker or "")
    if row is not None and row.deletion_finished:
        _end(action, row, action.reason, setting)


def _end(action: Action, row: WorkerRow, why: str, setting: Setting) -> None:
    setting.journal.write(action, "purging", worker=row.id)
    setting.records.purge(setting.scope.uuid, row, why=why, lease=setting.lease)
    setting.journal.write(action, "purged", worker=row.id)


# -- what is looked at again


def _still_there(row: WorkerRow, setting: Setting) -> str | None:
    """Why the machine of a row is not proved gone, or not proved never to have been (rule 2)."""
    if row.machine is None:
        listed = _with_id(row.id, row.zone, setting)
        if isinstance(listed, str):
            return listed
        return f"{listed[0].ref} carries the id of worker {row.id}" if listed else _early(row, setting)
    states, _ = setting.authorities()
    known = known_ids(states)
    known.setdefault(Kind.SERVER, set()).update(ref.id for ref in _recorded_machines(setting))
    probe = setting.cloud.prove_absent([row.machine], known_ids=known).get(row.machine)
    if probe is not None and probe.presence is Presence.ABSENT:
        return None
    why = "not asked" if probe is None else probe.reason or f"status {probe.status}"
    return f"{row.machine} is not proved absent now: {why}"


def _with_id(worker: str, zone: str, setting: Setting) -> list[Server] | str:
    """The servers of a zone that carry the id, when its list was read whole; else why it proves nothing."""
    if zone not in setting.scope.zones:
        return f"{zone} is not among the zones of the scope"
    witnesses = [ref.id for ref in _recorded_machines(setting) if ref.zone == zone]
    scan = setting.cloud.scan(Kind.SERVER, zone, known_ids=witnesses)
    if not scan.complete:
        return f"servers of {zone} were not read whole: {scan.reason or 'no reason'}"
    if scan.right is not Right.PROVED and not (scan.right is Right.ASSUMED and scan.items):
        return f"nothing proves that the key may see servers of {zone}"
    servers = (one for one in scan.items if isinstance(one, Server))
    return [one for one in servers if bears(one, worker) and one.project == setting.scope.project]


def _recorded_machines(setting: Setting) -> list[Ref]:
    """Machines that rows hold: the witnesses that a list is not empty for lack of the right."""
    rows = setting.rows().live.values()
    return sorted(row.machine for row in rows if row.machine is not None)


def _early(row: WorkerRow, setting: Setting) -> str | None:
    if setting.clock.now_ms() < create_ends_ms(row, scope=setting.scope):
        return f"the create of worker {row.id} may still be carried out"
    return None


def _authorities(setting: Setting) -> tuple[Mapping[str, StackState], str | None]:
    states, unread = setting.authorities()
    return states, no_word(states, unread)


def _fleet(action: Action, states: Mapping[str, StackState], setting: Setting) -> FleetSpec | None:
    """The declaration that the row is for, as the stacks' outputs say now."""
    desired = parse_desired(states.values(), scope=setting.scope)
    if desired.problems:
        return None
    wanted = (action.fleet, fleet_of(action), ELASTIC)
    return next((one for one in desired.fleets if (one.name, one.uid, one.controller) == wanted), None)


def _not_ours(server: Resource, setting: Setting) -> str | None:
    scope = setting.scope
    if server.project != scope.project:
        return f"it belongs to project {server.project}"
    other = foreign_scope(server.tags, scope=scope)
    if other is not None:
        return f"it carries the owner tag of scope {other}"
    never = never_reason(server, scope=scope)
    return f"it is never touched ({never})" if never is not None else None


def _not_its_worker(action: Action, server: Server) -> str | None:
    tags = server.tags
    if server.state != "running":
        return f"it is {server.state} now"
    same = tag_value(tags, WORKER_TAG) == action.worker and tag_value(tags, FLEET_TAG) == action.fleet
    return None if same and tag_value(tags, REVISION_TAG) else "its owner tags changed since the plan was made"


def _taken(server: Resource, rows: Rows, states: Mapping[str, StackState], setting: Setting) -> str | None:
    """Who has it by now: a state, an adoption, a deletion, a release, another row."""
    ref, memory = server.ref, setting.memory()
    holder = holder_of(states, (ref,))
    if holder is not None:
        return holder
    if not has_owner_tags(server.tags, scope=setting.scope):
        return "it does not carry the owner tags of this scope any more"
    if ref in memory.doomed:
        return "its deletion is decided"
    if ref in memory.held:
        return "an adoption holds it"
    if ref in memory.released:
        return released_reason(memory.released[ref])
    row = rows.by_machine.get(server.id)
    return f"the row of worker {row.id} records it" if row is not None else None


def _skipped(action: Action, text: str) -> ActionOutcome:
    return ActionOutcome(action=action, status=ActionStatus.SKIPPED, text=text)


def _done(action: Action, text: str) -> ActionOutcome:
    return ActionOutcome(action=action, status=ActionStatus.DONE, text=text)

"""Take into Pulumi's state what runs already: the machine that an interrupted create made, or that fits a vacant slot.

A hold in the database forbids its deletion from before the first look to after the last one. The engine rehearses the
adoption on a copy of the stack, refuses with every difference between program and cloud, and reaches the cloud with no
call that changes anything. A run that was killed begins again with what is in the state by then.
"""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.apply.children import STILL_WRITING, earlier_ended, recorder
from reconciler.apply.scene import NoScene, scene_of
from reconciler.apply.setting import Setting, serial_now
from reconciler.diff.interrupted import Fate, decide
from reconciler.diff.ownership import foreign_scope, never_reason
from reconciler.kernel.errors import ReconcilerError, RefusedError
from reconciler.model.finding import FindingKind
from reconciler.model.inventory import Presence
from reconciler.model.plan import Action, ActionOutcome, ActionStatus
from reconciler.model.resources import Ref
from reconciler.model.state import StackState
from reconciler.ports.engine import AdoptingEngine, AdoptionRefused, Engine


def adopt(action: Action, setting: Setting) -> ActionOutcome:
    """Adopt the action's refs under its URNs."""
    engine = adopting(setting.engine)
    if not earlier_ended(action, setting, done="adopted"):
        return _outcome(action, ActionStatus.SKIPPED, STILL_WRITING)
    stack, targets = action.stack or "", dict(zip(action.urns, action.refs, strict=True))
    state = setting.engine.read(stack)
    if state.locks:
        return _outcome(action, ActionStatus.SKIPPED, f"{stack} is locked by {state.locks[0].created_by}")
    resumed = setting.journal.details(action, "adopting") is not None
    if not _is_in(targets, state):
        reason = (None if resumed else _undecided(action, targets, state, setting)) or _not_now(targets, stack, setting)
        if reason is not None:
            _release(action, targets, setting)
            return _outcome(action, ActionStatus.SKIPPED, reason)
    elif not _unfinished(targets, state):
        _release(action, targets, setting)
        return _outcome(action, ActionStatus.DONE, f"the state of {stack} holds it")
    return _run(action, setting, engine=engine, targets=targets)


def adopting(engine: Engine) -> AdoptingEngine:
    """The engine as one that adopts. Raises RefusedError RC0673 for one that cannot."""
    if not isinstance(engine, AdoptingEngine):
        raise RefusedError("this engine cannot adopt", code="RC0673", hint="Nothing was touched.")
    return engine


def _run(action: Action, setting: Setting, *, engine: AdoptingEngine, targets: Mapping[str, Ref]) -> ActionOutcome:
    stack = action.stack or ""
    setting.journal.write(action, "holding", refs=[str(ref) for ref in targets.values()])
    _hold(targets, stack, setting)
    setting.journal.write(action, "adopting", urns=list(targets))
    try:
        result = engine.adopt(stack, targets, on_child=recorder(action, setting))
    except AdoptionRefused as error:
        _release(action, targets, setting)
        return ActionOutcome(action=action, status=ActionStatus.SKIPPED, text=error.message, code=error.code)
    except ReconcilerError:
        _release(action, targets, setting)
        raise
    serial = serial_now(stack, setting)
    setting.journal.write(action, "adopted", lock_seconds=result.lock_seconds, stack=stack, serial=serial)
    _release(action, targets, setting)
    held = f"the lock of {stack} was held for {result.lock_seconds:.1f} s"
    return _outcome(action, ActionStatus.DONE, f"{len(targets)} taken into the state of {stack}; {held}")


def _hold(targets: Mapping[str, Ref], stack: str, setting: Setting) -> list[str]:
    """The holds, the same again where they are held already. Raises RefusedError RC0623 to RC0625."""
    taken: list[str] = []
    try:
        for urn, ref in targets.items():
            taken.append(setting.store.hold_for_adoption(scope=setting.scope.uuid, ref=ref, stack=stack, urn=urn))
    except RefusedError:
        for hold in taken:
            setting.store.release_adoption(hold)
        raise
    return taken


def _release(action: Action, targets: Mapping[str, Ref], setting: Setting) -> None:
    """Let go of what this run holds. A hold has no other name here than what it is for, so it is taken once more."""
    if setting.journal.details(action, "holding") is None:
        return
    for urn, ref in targets.items():
        try:
            hold = setting.store.hold_for_adoption(scope=setting.scope.uuid, ref=ref, stack=action.stack or "", urn=urn)
        except RefusedError:
            continue  # not held by us: a deletion was decided, or another adoption holds it
        setting.store.release_adoption(hold)


def _is_in(targets: Mapping[str, Ref], state: StackState) -> bool:
    return all(urn in state.by_urn and state.by_urn[urn].ref == ref for urn, ref in targets.items())


def _unfinished(targets: Mapping[str, Ref], state: StackState) -> bool:
    """A run that was killed may have left the entry beside the pending create, or an entry that is not whole."""
    pending = {one.resource.urn for one in state.pending}
    return any(urn in pending or state.by_urn[urn].init_errors for urn in targets)


def _undecided(action: Action, targets: Mapping[str, Ref], state: StackState, setting: Setting) -> str | None:
    """Why an interrupted create is not what made it, judged from what is read now; None when it is."""
    if action.finding_kind is not FindingKind.INTERRUPTED:
        return None
    scene = scene_of(state, setting)
    if isinstance(scene, NoScene):
        return scene.why
    decisions = {one.operation.resource.urn: one for one in decide(scene)}
    for urn, ref in targets.items():
        decision = decisions.get(urn)
        if decision is None:
            return f"{urn} is not pending any more"
        if decision.fate is not Fate.ADOPT or decision.found[0].ref != ref:
            return decision.reason
    return None


def _not_now(targets: Mapping[str, Ref], stack: str, setting: Setting) -> str | None:
    """Why these may not be adopted now, whatever the reason for it: each is looked at, then its owners."""
    for ref in targets.values():
        probe = setting.cloud.probe(ref)
        if probe.presence is not Presence.PRESENT or probe.resource is None:
            return f"{ref} is {probe.presence.value} now: {probe.reason or probe.status}"
        if probe.resource.project != setting.scope.project:
            return f"{ref} belongs to project {probe.resource.project}"
        other = foreign_scope(probe.resource.tags, scope=setting.scope)
        if other is not None:
            return f"{ref} carries the owner tag of scope {other}"
        never = never_reason(probe.resource, scope=setting.scope)
        if never is not None:
            return f"{ref} is never touched ({never})"
    states, unread = setting.authorities()
    if unread:
        return f"{unread[0].stack} may own it and cannot be read: {unread[0].reason}"
    for name, state in states.items():
        if state.locks:
            return f"{name} is being written to: locked by {state.locks[0].created_by}"
    return _owned(targets, states, stack)


def _owned(targets: Mapping[str, Ref], states: Mapping[str, StackState], stack: str) -> str | None:
    """An entry for one of the refs under another name, or for one of the URNs with another id."""
    for name, state in states.items():
        for urn, ref in targets.items():
            entry = state.by_ref.get(ref)
            if entry is not None and (name, entry.urn) != (stack, urn):
                return f"{ref} is in the state of {name} as {entry.urn}"
            other = state.by_urn.get(urn) if name == stack else None
            if other is not None and other.ref != ref:
                return f"the state of {stack} holds {other.id} for {urn}"
    return None


def _outcome(action: Action, status: ActionStatus, text: str) -> ActionOutcome:
    return ActionOutcome(action=action, status=status, text=text)

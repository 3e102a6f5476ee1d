"""Take pending operations out of a state that came to nothing, or that the state itself answers.

The entry is the only evidence that somebody asked for a machine, so everything is decided again from what is read now,
and the entries are in the journal before the engine writes. Creates go all at once: one of them that is neither adopted
nor proved absent keeps them all.
"""

from __future__ import annotations

from typing import Any

from reconciler.apply.children import STILL_WRITING, earlier_ended, recorder
from reconciler.apply.scene import NoScene, scene_of
from reconciler.apply.setting import Setting, serial_now
from reconciler.diff.interrupted import CREATING, Decision, decide
from reconciler.model.plan import Action, ActionOutcome, ActionStatus
from reconciler.model.state import PendingOperation, StackState
from reconciler.plan.pending import clears_creates, operations_of

_KEPT = ("name", "type", "zone", "tags", "projectId")  # of the inputs: what helps to find it again


def clear(action: Action, setting: Setting) -> ActionOutcome:
    """Clear one stack's entries of one flavour."""
    if not earlier_ended(action, setting, done="cleared"):
        return _outcome(action, ActionStatus.SKIPPED, STILL_WRITING)
    stack, wanted = action.stack or "", operations_of(action)
    state = setting.engine.read(stack)
    if state.locks:
        return _outcome(action, ActionStatus.SKIPPED, f"{stack} is locked by {state.locks[0].created_by}")
    goes = _goes(state, creates=clears_creates(action))
    if not _named(goes) & wanted:
        return _outcome(action, ActionStatus.DONE, "none of them is pending any more")
    reason = _not_now(goes, wanted, state, setting)
    if reason is not None:
        return _outcome(action, ActionStatus.SKIPPED, reason)
    setting.journal.write(action, "clearing", entries=[_entry(operation) for operation in goes])
    result = setting.engine.forget_pending(stack, _named(goes), on_child=recorder(action, setting))
    serial = serial_now(stack, setting)
    setting.journal.write(action, "cleared", lock_seconds=result.lock_seconds, stack=stack, serial=serial)
    held = f"the lock of {stack} was held for {result.lock_seconds:.1f} s"
    return _outcome(action, ActionStatus.DONE, f"{len(result.operations)} pending operation(s) cleared; {held}")


def _goes(state: StackState, *, creates: bool) -> list[PendingOperation]:
    """What the engine would drop: with a create everything that is pending."""
    return [one for one in state.pending if creates or one.operation != CREATING]


def _named(operations: list[PendingOperation]) -> set[tuple[str, str]]:
    return {(one.operation, one.resource.urn) for one in operations}


def _not_now(
    goes: list[PendingOperation], wanted: set[tuple[str, str]], state: StackState, setting: Setting
) -> str | None:
    """Why one of these may not be dropped now; None when all may."""
    stranger = next((one for one in goes if (one.operation, one.resource.urn) not in wanted), None)
    if stranger is not None:
        name = f"{stranger.operation} {stranger.resource.name}"
        return f"{name} would go with them, and is neither adopted nor proved absent"
    scene = scene_of(state, setting)
    if isinstance(scene, NoScene):
        return scene.why
    decisions = {(one.operation.operation, one.operation.resource.urn): one for one in decide(scene)}
    for operation in goes:
        decision = decisions.get((operation.operation, operation.resource.urn))
        if decision is None or not decision.clears:
            return _why(operation, decision)
    return None


def _why(operation: PendingOperation, decision: Decision | None) -> str:
    reason = "it was not judged" if decision is None else decision.reason
    return f"{operation.operation} {operation.resource.name} is not settled now: {reason}"


def _entry(operation: PendingOperation) -> dict[str, Any]:
    """What is known of the operation, without a secret."""
    resource = operation.resource
    inputs = {key: value for key in _KEPT if _plain(value := resource.inputs.get(key))}
    return {"operation": operation.operation, "urn": resource.urn, "id": resource.id, "inputs": inputs}


def _plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str)


def _outcome(action: Action, status: ActionStatus, text: str) -> ActionOutcome:
    return ActionOutcome(action=action, status=status, text=text)

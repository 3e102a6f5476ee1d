"""Gated targeted refresh: let Pulumi's own engine forget what is proved gone, or take in what changed.

What is to be forgotten is proved absent again, now; the engine's preview must want to drop nothing else; and the
refresh itself reads through the gate (rules 2 and 15). State is never written while somebody else writes it.
"""

from __future__ import annotations

from typing import Any

from reconciler.apply.effects import REFRESHED
from reconciler.apply.setting import Setting, known_ids
from reconciler.kernel.errors import EngineError
from reconciler.model.inventory import Presence
from reconciler.model.plan import Action, ActionOutcome, ActionStatus
from reconciler.model.resources import Ref
from reconciler.model.state import StackState
from reconciler.ports.engine import ChildProcess


def refresh(action: Action, setting: Setting) -> ActionOutcome:
    """Run one stack's refresh. A child of an earlier run of ours is waited for first."""
    _await_earlier_child(action, setting)
    stack = action.stack or ""
    state = setting.engine.read(stack)
    if state.locks:
        return _outcome(action, ActionStatus.SKIPPED, f"{stack} is locked by {state.locks[0].created_by}")
    forgets = any(condition.kind == "absent" for condition in action.conditions)
    if forgets and not any(urn in state.by_urn for urn in action.urns):
        return _outcome(action, ActionStatus.DONE, "the state holds none of it any more")
    resumed = setting.journal.details(action, "refreshing") is not None
    if not resumed and not _same_serial(action, state) and not setting.journal.wrote(stack, state.serial):
        return _outcome(action, ActionStatus.SKIPPED, f"the state of {stack} changed since the plan was made")
    if state.pending:
        return _outcome(action, ActionStatus.SKIPPED, f"{stack} has pending operations, which are settled first")
    urns = tuple(urn for urn in action.urns if urn in state.by_urn)
    if forgets:
        unproved = _unproved(urns, state, setting)
        if unproved is not None:
            return _outcome(action, ActionStatus.SKIPPED, unproved)
    return _run(action, setting, urns=urns, forgets=forgets)


def _run(action: Action, setting: Setting, *, urns: tuple[str, ...], forgets: bool) -> ActionOutcome:
    stack = action.stack or ""

    def on_child(child: ChildProcess) -> None:
        setting.journal.write(
            action, "child", pid=child.pid, started_ms=child.started_ms, stack=child.stack, argv=list(child.argv)
        )

    setting.journal.write(action, "refreshing", urns=list(urns))
    result = setting.engine.refresh(stack, urns, proved_absent=urns if forgets else (), on_child=on_child)
    setting.journal.write(
        action, REFRESHED, lock_seconds=result.lock_seconds, stack=stack, serial=_serial_now(stack, setting)
    )
    verb = "forgotten" if forgets else "taken in"
    held = f"the lock of {stack} was held for {result.lock_seconds:.1f} s"
    if result.failed:
        urn, why = next(iter(result.failed.items()))
        text = f"{len(result.failed)} of {len(urns)} could not be read and stay as they were ({urn}: {why}); {held}"
        return ActionOutcome(action=action, status=ActionStatus.FAILED, text=text, code="RC0512")
    return _outcome(action, ActionStatus.DONE, f"{len(urns)} {verb}; {held}")


def _serial_now(stack: str, setting: Setting) -> str | None:
    """What the state is after our own write, so that the plan's next action on this stack is not stale by it."""
    try:
        return setting.engine.read(stack).serial
    except EngineError:
        return None  # then the next one is; nothing is lost but time


def _await_earlier_child(action: Action, setting: Setting) -> None:
    details: Any = setting.journal.details(action, "child")
    if details is not None and setting.journal.details(action, REFRESHED) is None:
        setting.engine.await_child(
            ChildProcess(
                pid=details["pid"],
                started_ms=details["started_ms"],
                stack=details["stack"],
                argv=tuple(details["argv"]),
            )
        )


def _same_serial(action: Action, state: StackState) -> bool:
    return all(condition.value == state.serial for condition in action.conditions if condition.kind == "serial")


def _unproved(urns: tuple[str, ...], state: StackState, setting: Setting) -> str | None:
    """Why one of these is not proved absent now; None when all are."""
    refs: dict[Ref, str] = {}
    for urn in urns:
        ref = state.by_urn[urn].ref
        if ref is None:
            return f"{urn} has no id"
        refs[ref] = urn
    probes = setting.cloud.prove_absent(tuple(refs), known_ids=known_ids({state.stack: state}))
    for ref in refs:
        probe = probes.get(ref)
        if probe is None or probe.presence is not Presence.ABSENT:
            why = "not asked" if probe is None else probe.reason or f"status {probe.status}"
            return f"{ref} is not proved absent now: {why}"
    return None


def _outcome(action: Action, status: ActionStatus, text: str) -> ActionOutcome:
    return ActionOutcome(action=action, status=status, text=text)

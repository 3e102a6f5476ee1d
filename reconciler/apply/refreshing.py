"""Gated targeted refresh: let Pulumi's own engine forget what is proved gone, or take in what changed.

What is to be forgotten is proved absent again, now; the engine's preview must want to drop nothing else; and the
refresh itself reads through the gate (rules 2 and 15). State is never written while somebody else writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.apply.setting import Setting, known_ids, serial_now
from reconciler.model.inventory import Presence
from reconciler.model.plan import Action, ActionOutcome, ActionStatus
from reconciler.model.resources import Ref
from reconciler.model.state import StackState
from reconciler.ports.engine import ChildProcess


def refresh(action: Action, setting: Setting) -> ActionOutcome:
    """Run one stack's refresh. A child of an earlier run of ours is waited for first."""
    if not _earlier_child_ended(action, setting):
        return _outcome(action, ActionStatus.SKIPPED, "the process of an earlier run may still be writing this stack")
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
    proved: dict[str, str] = {}
    if forgets:
        unproved = _unproved(urns, state, setting)
        if unproved is not None:
            return _outcome(action, ActionStatus.SKIPPED, unproved)
        # By id as well: a URN that stands for another machine by the time of the refresh is not what was proved.
        proved = {urn: state.by_urn[urn].id or "" for urn in urns}
    return _run(action, setting, urns=urns, proved=proved)


def _run(action: Action, setting: Setting, *, urns: tuple[str, ...], proved: Mapping[str, str]) -> ActionOutcome:
    stack = action.stack or ""

    def on_child(child: ChildProcess) -> None:
        setting.journal.write(
            action,
            "child",
            pid=child.pid,
            started_ms=child.started_ms,
            stack=child.stack,
            argv=list(child.argv),
            host=child.host,
        )

    setting.journal.write(action, "refreshing", urns=list(urns))
    result = setting.engine.refresh(stack, urns, proved_absent=proved, on_child=on_child)
    setting.journal.write(
        action, "refreshed", lock_seconds=result.lock_seconds, stack=stack, serial=serial_now(stack, setting)
    )
    verb = "forgotten" if proved else "taken in"
    held = f"the lock of {stack} was held for {result.lock_seconds:.1f} s"
    if result.failed:
        urn, why = next(iter(result.failed.items()))
        text = f"{len(result.failed)} of {len(urns)} could not be read and stay as they were ({urn}: {why}); {held}"
        return ActionOutcome(action=action, status=ActionStatus.FAILED, text=text, code="RC0512")
    return _outcome(action, ActionStatus.DONE, f"{len(urns)} {verb}; {held}")


def _earlier_child_ended(action: Action, setting: Setting) -> bool:
    """Wait for the engine of a run that died. False when it runs on another host, or cannot be ended."""
    details: Any = setting.journal.details(action, "child")
    if details is None or setting.journal.details(action, "refreshed") is not None:
        return True
    return setting.engine.await_child(
        ChildProcess(
            pid=details["pid"],
            started_ms=details["started_ms"],
            stack=details["stack"],
            argv=tuple(details["argv"]),
            host=details["host"],
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

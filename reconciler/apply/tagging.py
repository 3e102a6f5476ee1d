"""Write tags: owner tags on a child, declared tags back on a machine.

PATCH replaces the whole list, so the list is read again first and written only while it is what the plan saw; the
cloud's own check (RC0420) closes the gap between this read and the write as far as the API lets anybody.

Owner tags are half of a proof that a thing is ours, and its memory of a state is the other half. So they are written
only while the state still holds it, or the machine that it hangs on: what a person has taken out of the state since the
plan was made is not made ours again.
"""

from __future__ import annotations

from reconciler.apply.setting import Setting, holder_of, no_word
from reconciler.model.inventory import Presence
from reconciler.model.plan import Action, ActionOutcome, ActionStatus
from reconciler.model.resources import Kind, Ref, Resource, owner_server_id


def write_tags(action: Action, setting: Setting) -> ActionOutcome:
    """Idempotent: a list that already is as wanted is done."""
    ref = action.refs[0]
    probe = setting.cloud.probe(ref)
    if probe.presence is not Presence.PRESENT or probe.resource is None:
        why = probe.reason or probe.status
        return _outcome(action, ActionStatus.SKIPPED, f"{ref} is {probe.presence.value} now: {why}")
    resource = probe.resource
    if resource.project != setting.scope.project:
        return _outcome(action, ActionStatus.SKIPPED, f"{ref} belongs to another project")
    if resource.tags == action.tags_after:
        return _outcome(action, ActionStatus.DONE, "the tags are there")
    if resource.tags != action.tags_before:
        return _outcome(action, ActionStatus.SKIPPED, "its tags changed since the plan was made")
    reason = _not_held(action, resource, setting)
    if reason is not None:
        return _outcome(action, ActionStatus.SKIPPED, reason)
    setting.journal.write(action, "tagging", tags=list(action.tags_after))
    setting.cloud.set_tags(ref, action.tags_after, expected=action.tags_before)
    setting.journal.write(action, "tagged")
    return _outcome(action, ActionStatus.DONE, f"{len(set(action.tags_after) - set(action.tags_before))} tag(s) added")


def _not_held(action: Action, resource: Resource, setting: Setting) -> str | None:
    """Why the stack of the plan does not answer for it any more. Raises what reading the stack raises."""
    stack, owner = action.stack or "", owner_server_id(resource)
    state = setting.state_lately(stack)
    wait = no_word({stack: state}, ())
    if wait is not None:
        return wait
    refs = (resource.ref,) if owner is None else (resource.ref, Ref(Kind.SERVER, resource.zone, owner))
    return None if holder_of({stack: state}, refs) is not None else f"the state of {stack} holds it no more"


def _outcome(action: Action, status: ActionStatus, text: str) -> ActionOutcome:
    return ActionOutcome(action=action, status=status, text=text)

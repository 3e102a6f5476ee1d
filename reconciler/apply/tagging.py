"""Write tags: owner tags on a child, declared tags back on a machine.

PATCH replaces the whole list, so the list is read again first and written only while it is what the plan saw; the
cloud's own check (RC0420) closes the gap between this read and the write as far as the API lets anybody.
"""

from __future__ import annotations

from reconciler.apply.setting import Setting
from reconciler.model.inventory import Presence
from reconciler.model.plan import Action, ActionOutcome, ActionStatus


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
    setting.journal.write(action, "tagging", tags=list(action.tags_after))
    setting.cloud.set_tags(ref, action.tags_after, expected=action.tags_before)
    setting.journal.write(action, "tagged")
    return _outcome(action, ActionStatus.DONE, f"{len(set(action.tags_after) - set(action.tags_before))} tag(s) added")


def _outcome(action: Action, status: ActionStatus, text: str) -> ActionOutcome:
    return ActionOutcome(action=action, status=status, text=text)

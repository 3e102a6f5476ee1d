"""What differs about resources that a stack's state holds: missing and changed.

Missing reads the authority first: the entry must be in both reads of the state, and the absence proved after them
(rules 2 and 3). A difference is acted on only while a GET by id confirms it. A stack that is being written to turns all
of it into `wait` (rule 15).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reconciler.diff.authority import Entry
from reconciler.diff.context import Context, entry_subject
from reconciler.diff.ownership import foreign_scope
from reconciler.diff.properties import blind, compare
from reconciler.diff.slots import slots, untagged_children
from reconciler.model.desired import FLEET_TAG, tag_value
from reconciler.model.finding import ActionKind, Difference, Evidence, Finding, FindingKind, Ledger, Verdict
from reconciler.model.inventory import Presence, Probe
from reconciler.model.resources import Kind, Ref, Resource


def managed(context: Context) -> Iterator[Finding]:
    """All findings about state entries and declared slots."""
    for entry, probe in context.join.unseen:
        yield _missing(entry, probe, context)
    yield from untagged_children(context)
    for entry, resource in context.join.differing:
        yield from _differing(entry, resource, context)
    yield from slots(context)


def _missing(entry: Entry, probe: Probe, context: Context) -> Finding:
    verdict, reason = _judge_missing(entry, probe, context)
    proved = probe.presence is Presence.ABSENT
    return Finding(
        kind=FindingKind.MISSING,
        subjects=(entry_subject(entry, worker=context.worker_of(entry.tags)),),
        fleet=tag_value(entry.tags, FLEET_TAG),
        stack=entry.stack,
        ledgers={Ledger.STATE: "present", Ledger.INVENTORY: "absent" if proved else "unknown"},
        verdict=verdict,
        action=ActionKind.REFRESH,
        reason=reason,
        rule="rules 1 to 3",
        evidence=(Evidence(at_ms=probe.at_ms, source="inventory", text=f"GET by id: {probe.status or probe.reason}"),),
        witness="a typed 404 by id, and a complete list begun after it" if proved else None,
    )


def _judge_missing(entry: Entry, probe: Probe, context: Context) -> tuple[Verdict, str]:
    if probe.presence is not Presence.ABSENT:
        return Verdict.UNKNOWN, f"not in the list, but not proved absent: {probe.reason or probe.status}"
    elsewhere = next((kind for kind in Kind if context.index.get(Ref(kind, entry.zone, entry.id)) is not None), None)
    if elsewhere is not None:
        # A volume keeps its id when it is migrated to Block Storage; the old API's 404 is true and means nothing.
        return Verdict.ASK, f"it is there as a {elsewhere.value}, and the state holds it as a {entry.kind.value}"
    if not _in_both_reads(entry, context):
        return Verdict.WAIT, "it came into the state while the inventory was read"
    hold = context.hold_for(entry.stack)
    if hold is not None:
        return Verdict.WAIT, hold
    return Verdict.ACT, "state holds it; it is proved absent"


def _in_both_reads(entry: Entry, context: Context) -> bool:
    before = context.world.states_before.get(entry.stack)
    earlier = before.by_urn.get(entry.resource.urn) if before is not None else None
    return earlier is not None and earlier.id == entry.resource.id


def _differing(entry: Entry, resource: Resource, context: Context) -> Iterator[Finding]:
    comparison = compare(entry.resource, resource, index=context.index, managed=context.held)
    if comparison.differences:
        probe = context.index.probed[entry.kind].get(entry.id)
        finding = _changed(entry, resource, comparison.differences, probe, context)
        yield _with_tags_restored(finding, entry, resource, context)


def _changed(
    entry: Entry, resource: Resource, differences: tuple[Difference, ...], probe: Probe | None, context: Context
) -> Finding:
    hold = context.hold_for(entry.stack)
    blinds = [blind(entry.resource, resource, difference) for difference in differences]
    paths = ", ".join(difference.path for difference in differences)
    if hold is not None:
        verdict, reason = Verdict.WAIT, hold
    elif probe is not None and probe.presence is Presence.UNKNOWN:
        verdict, reason = Verdict.UNKNOWN, f"{paths}: not confirmed by a GET: {probe.reason or probe.status}"
    elif all(blinds):
        verdict, reason = Verdict.ASK, f"{paths}: a refresh would not see it ({blinds[0]}); settle it by hand"
    else:
        verdict, reason = Verdict.ACT, f"{paths}: refresh takes it into the state; your next `pulumi up` settles it"
    return Finding(
        kind=FindingKind.CHANGED,
        subjects=(entry_subject(entry, worker=context.worker_of(entry.tags)),),
        fleet=tag_value(entry.tags, FLEET_TAG),
        stack=entry.stack,
        ledgers={Ledger.STATE: "differs", Ledger.INVENTORY: "differs"},
        verdict=verdict,
        action=ActionKind.NONE if all(blinds) else ActionKind.REFRESH,
        reason=reason,
        rule="rule 15",
        evidence=(context.seen(f"{paths} read from the listing of {entry.zone}"),),
        differences=differences,
    )


def _with_tags_restored(finding: Finding, entry: Entry, resource: Resource, context: Context) -> Finding:
    """The same finding, settled by writing declared tags back where any were lost.

    Before anything else is refreshed: a refresh would take the loss of the tags into the state.
    """
    ignored = entry.resource.ignore_changes
    declared = [tag for number, tag in enumerate(entry.tags) if f"tags[{number}]" not in ignored]
    lost = [tag for tag in declared if tag not in resource.tags]
    if not lost or "tags" in ignored or "*" in ignored:
        return finding
    restored = (*declared, *(tag for tag in resource.tags if tag not in declared))
    finding = replace(finding, action=ActionKind.TAG, tags_after=restored)
    if finding.verdict in (Verdict.WAIT, Verdict.UNKNOWN):
        return finding
    stranger = _not_ours_to_tag(resource, context)
    if stranger is not None:
        return replace(finding, verdict=Verdict.ASK, reason=f"declared tags are missing from it, but {stranger}")
    return replace(finding, verdict=Verdict.ACT, reason="declared tags are missing from it: written back")


def _not_ours_to_tag(resource: Resource, context: Context) -> str | None:
    if resource.project != context.scope.project:
        return f"it belongs to project {resource.project}"
    other = foreign_scope(resource.tags, scope=context.scope)
    if other is not None:
        return f"it carries the owner tag of scope {other}"
    never = context.never(resource)
    return f"it is never touched ({never})" if never is not None else None

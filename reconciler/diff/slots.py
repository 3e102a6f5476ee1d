"""What a declared machine should have and has not: a machine for each slot, owner tags on its children."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.diff.authority import Entry
from reconciler.diff.context import Context, entry_subject, subject
from reconciler.diff.ownership import foreign_scope, inline
from reconciler.model.desired import FLEET_TAG, OWNER_TAG, FleetSpec, tag_value
from reconciler.model.finding import ActionKind, Finding, FindingKind, Ledger, Subject, Verdict
from reconciler.model.resources import Kind, Server, Volume

_OWNER_PREFIX = f"{OWNER_TAG}:"


def slots(context: Context) -> Iterator[Finding]:
    """Vacant slots."""
    yield from _vacant(context)


def untagged_children(context: Context) -> Iterator[Finding]:
    """Children that a server's create made inline: the provider cannot tag a root volume, so the sweep does."""
    by_kind = context.index.by_kind
    for entry, declared in context.authority.owned:
        server = by_kind[Kind.SERVER].get(entry.id)
        if not isinstance(server, Server) or server.zone != entry.zone or entry.resource.external:
            continue
        for slot in server.volumes:
            child = by_kind[slot.kind].get(slot.id)
            if child is None or child.tags == declared or child.id in context.held:
                continue
            lost = [tag for tag in declared if tag not in child.tags and _is_owner_tag(tag)]
            if (
                lost
                and isinstance(child, Volume)
                and inline(child, server)
                and _may_be_tagged(child, declared, context)
            ):
                yield _untagged(entry, server, child, lost, context)


def _is_owner_tag(tag: str) -> bool:
    return tag == OWNER_TAG or tag.startswith(_OWNER_PREFIX)


def _may_be_tagged(child: Volume, declared: tuple[str, ...], context: Context) -> bool:
    """Not what is somebody else's, never touched, or says of itself that it belongs to another worker."""
    if child.project != context.scope.project or foreign_scope(child.tags, scope=context.scope) is not None:
        return False
    if any(_is_owner_tag(tag) and tag not in declared for tag in child.tags):
        return False
    if child.ref in context.memory.released:
        return False
    return context.never(child) is None


def _untagged(entry: Entry, server: Server, child: Volume, lost: list[str], context: Context) -> Finding:
    hold, worker = context.hold_for(entry.stack), context.worker_of(entry.tags)
    return Finding(
        kind=FindingKind.UNTAGGED_CHILD,
        subjects=(subject(child, worker=worker), entry_subject(entry, worker=worker)),
        fleet=tag_value(entry.tags, FLEET_TAG),
        stack=entry.stack,
        ledgers={Ledger.STATE: "present (its server)", Ledger.INVENTORY: "no owner tags"},
        verdict=Verdict.ACT if hold is None else Verdict.WAIT,
        action=ActionKind.TAG,
        reason=hold or f"made with server {server.name}, and carries {len(lost)} owner tag(s) less",
        rule="rule 9",
        evidence=(context.seen(f"attached to {server.ref} and as old as it"),),
        witness="the server that holds it is in the state",
        tags_after=(*child.tags, *lost),
    )


def _vacant(context: Context) -> Iterator[Finding]:
    filled = context.authority.servers
    for fleet in context.fleets.values():
        # The state of a fleet in a zone that was not looked at is not known, so neither are its slots.
        if fleet.controller != "static" or fleet.zone not in context.scope.zones:
            continue
        if fleet.stack in context.world.programs:  # the program itself says what is to be made
            continue
        for number in range(fleet.replicas or 0):
            if (fleet.name, str(number)) not in filled:
                yield _vacant_slot(fleet, number, context)


def _vacant_slot(fleet: FleetSpec, slot: int, context: Context) -> Finding:
    hold = context.hold_for(fleet.stack)
    return Finding(
        kind=FindingKind.VACANT,
        subjects=(Subject(kind="slot", zone=fleet.zone, worker=f"{fleet.name}/{slot}", urn=fleet.component_urn),),
        fleet=fleet.name,
        stack=fleet.stack,
        ledgers={Ledger.DESIRED: "declared", Ledger.STATE: "absent"},
        verdict=Verdict.ASK if hold is None else Verdict.WAIT,
        action=ActionKind.UP,
        reason=hold or f"slot {slot} of {fleet.replicas} has no machine; your `pulumi up` makes one",
        rule="rule 15",
        evidence=(context.seen(f"the output of {fleet.stack} declares {fleet.replicas} replicas", source="desired"),),
    )

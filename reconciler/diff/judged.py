"""What a policy judges in a sweep: what is ours for certain, each with the words in which the policy asks.

That is what a state holds, a machine that a live row records and that bears the row's worker tag, and what the create
of either made: its root volume and local storage, and the NICs that the state of the machine names. The provider cannot
tag those, and no program declares an elastic worker. What a person attached is theirs; what is left over has a finding
that ends with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from reconciler.diff.authority import Entry
from reconciler.diff.context import Context, entry_subject, subject
from reconciler.diff.ownership import foreign_scope, inline
from reconciler.diff.recorded import bears
from reconciler.diff.values import ids_of
from reconciler.model.desired import FLEET_TAG, tag_value
from reconciler.model.finding import Ledger, Subject
from reconciler.model.resources import Ip, Kind, Nic, Ref, Resource, Server, Volume
from reconciler.model.scope import FleetMatch
from reconciler.model.state import SECRET
from reconciler.policy.adapters.live import item_of
from reconciler.policy.adapters.lookups import Lookups, of_inventory
from reconciler.policy.effective import policies_for
from reconciler.policy.item import Facts, Item
from reconciler.policy.tags import fleet_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Why a resource is ours: the state entry or the row that holds it, or the machine that it is a child of.

    `tags`: as declared; of a row's machine as they are. `hold`: why nothing may be written now. `declared`: a program
    declares its tags, and would take off what it does not declare.
    """

    ref: Ref
    ledger: Ledger
    subject: Subject
    name: str
    tags: tuple[str, ...]
    declared: bool
    stack: str | None = None
    hold: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """`child`: it is a part of the machine that `base` holds, and no ledger holds it by itself."""

    resource: Resource
    base: Base
    child: bool
    item: Item


def facts_of(context: Context) -> Facts:
    return Facts(
        now_ms=context.now_ms,
        scope=context.scope.uuid,
        revisions={name: fleet.revision for name, fleet in context.fleets.items()},
    )


def judged(context: Context) -> Iterator[Judged]:
    """Everything that a policy judges: of the states in their order, then of the rows."""
    lookups = of_inventory(context.world.inventory, context.scope)
    yield from _of_states(context, lookups)
    yield from _of_rows(context, lookups)


def _of_states(context: Context, lookups: Lookups) -> Iterator[Judged]:
    by_kind = context.index.by_kind
    for entry in context.entries:
        found = by_kind[entry.kind].get(entry.id)
        if entry.resource.external or found is None or found.zone != entry.zone:
            continue
        if found.project != context.scope.project or foreign_scope(found.tags, scope=context.scope) is not None:
            continue
        fleet, base = _fleet(entry, found, context), _of_entry(entry, context)
        item = item_of(found, lookups, urn=entry.resource.urn, stack=entry.stack, fleet=fleet)
        yield Judged(resource=found, base=base, child=False, item=item)
        if isinstance(found, Server):
            children: tuple[Volume | Nic, ...] = (*_volumes(found, context), *_nics(found, entry, context))
            for child in children:
                # The root goes by the URN of its server, as it does in a preview, which knows no id yet.
                urn = entry.resource.urn if _is_root(child, entry) else None
                item = item_of(child, lookups, urn=urn, stack=entry.stack, fleet=fleet)
                yield Judged(resource=child, base=base, child=True, item=item)


def _of_entry(entry: Entry, context: Context) -> Base:
    ignored = entry.resource.ignore_changes
    return Base(
        ref=entry.ref,
        ledger=Ledger.STATE,
        subject=entry_subject(entry, worker=context.worker_of(entry.tags)),
        name=entry.resource.name,
        tags=entry.tags,
        declared=not ("tags" in ignored or "*" in ignored),
        stack=entry.stack,
        hold=context.hold_for(entry.stack),
    )


def _of_rows(context: Context, lookups: Lookups) -> Iterator[Judged]:
    """Two proofs: a live row records the machine, and the machine says so."""
    for name, row in sorted(context.rows.live.items()):
        machine = context.index.server(row.machine.id) if row.machine is not None else None
        if machine is None or not bears(machine, name) or not _unheld(machine, context):
            continue
        fleet = context.fleets.get(row.fleet)
        stack = fleet.stack if fleet is not None else None
        moved = "its row was written while the inventory was read" if context.rows.moved(row) else None
        base = Base(
            ref=machine.ref,
            ledger=Ledger.RECORDS,
            subject=subject(machine, worker=name),
            name=name,
            tags=machine.tags,
            declared=False,
            stack=stack,
            hold=moved or (context.hold_for(stack) if stack is not None else None),
        )
        made: tuple[Server | Volume | Ip, ...] = (
            machine,
            *_volumes(machine, context),
            *_addresses(machine, name, context),
        )
        for resource in made:
            item = item_of(resource, lookups, stack=stack, fleet=row.fleet)
            yield Judged(resource=resource, base=base, child=resource is not machine, item=item)


def strangers(context: Context) -> Iterator[Item]:
    """The rest of the project, in no ledger and not proved ours: only for a check that is asked for it."""
    lookups = of_inventory(context.world.inventory, context.scope)
    known = {one.resource.ref for one in judged(context)}
    for ref, resource in sorted(context.world.inventory.by_ref.items()):
        if ref not in known and ref.kind is not Kind.IPAM and resource.project == context.scope.project:
            yield item_of(resource, lookups)


def _is_root(resource: Resource, entry: Entry) -> bool:
    root = entry.resource.outputs.get("rootVolume")
    named = root.get("volumeId") if isinstance(root, dict) else None
    return isinstance(named, str) and named.rpartition("/")[2] == resource.id


def _volumes(server: Server, context: Context) -> Iterator[Volume]:
    """Those that the create of the server made."""
    for slot in server.volumes:
        volume = context.index.volume(slot.kind, slot.id)
        if volume is not None and inline(volume, server) and _unheld(volume, context):
            yield volume


def _addresses(server: Server, worker: str, context: Context) -> Iterator[Ip]:
    """Those that say themselves whose they are."""
    for ip_id in server.ip_ids:
        address = context.index.by_kind[Kind.IP].get(ip_id)
        if isinstance(address, Ip) and bears(address, worker) and _unheld(address, context):
            yield address


def _nics(server: Server, entry: Entry, context: Context) -> Iterator[Nic]:
    """Those in a network that the state of the server names."""
    declared = ids_of(entry.resource.outputs.get("privateNetworks"), key="pnId")
    networks = [] if declared is SECRET else declared
    for nic in context.index.nics_of.get(server.id, ()):
        if nic.private_network_id in networks and _unheld(nic, context):
            yield nic


def _unheld(child: Server | Volume | Ip | Nic, context: Context) -> bool:
    """In no state, in this project, and nobody else's."""
    return (
        child.id not in context.held
        and child.ref not in context.memory.released
        and child.project == context.scope.project
        and foreign_scope(child.tags, scope=context.scope) is None
    )


def _fleet(entry: Entry, resource: Resource, context: Context) -> str | None:
    """By our tag as declared or as it is, by a mapping of the policy, or by a fleet of the configuration."""
    named = tag_value(entry.tags, FLEET_TAG) or tag_value(resource.tags, FLEET_TAG)
    if named is not None:
        return named
    for policy in policies_for(context.world.policies, entry.stack):
        mapped = fleet_of(resource.tags, policy)
        if mapped is not None:
            return mapped
    return next((rule.name for rule in context.scope.fleets if _fits(rule, entry, resource)), None)


def _fits(rule: FleetMatch, entry: Entry, resource: Resource) -> bool:
    name = getattr(resource, "name", "") or ""
    signals = (
        any(fnmatchcase(entry.resource.urn, pattern) for pattern in rule.urns),
        any(tag in resource.tags for tag in rule.tags),
        bool(name) and any(fnmatchcase(name, pattern) for pattern in rule.names),
        isinstance(resource, Server) and resource.security_group_id in rule.security_groups,
    )
    return sum(signals) >= max(1, rule.require)

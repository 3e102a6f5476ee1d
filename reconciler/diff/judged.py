"""What a policy judges in a sweep: what is ours for certain, each with the words in which the policy asks.

That is what a state holds, and what the create of a machine of a state made: its root volume and local storage, and the
NICs that the state of the machine names. The provider cannot tag those, so no program can. What a person attached is
theirs; what is left over has a finding that ends with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from reconciler.diff.authority import Entry
from reconciler.diff.context import Context
from reconciler.diff.ownership import foreign_scope, inline
from reconciler.diff.values import ids_of
from reconciler.model.desired import FLEET_TAG, tag_value
from reconciler.model.resources import Kind, Nic, Resource, Server, Volume
from reconciler.model.scope import FleetMatch
from reconciler.model.state import SECRET
from reconciler.policy.adapters.live import item_of
from reconciler.policy.adapters.lookups import Lookups, of_inventory
from reconciler.policy.effective import policies_for
from reconciler.policy.item import Facts, Item
from reconciler.policy.tags import fleet_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """`entry`: that holds it, or that of the machine which it is a child of (`child`)."""

    resource: Resource
    entry: Entry
    child: bool
    item: Item


def facts_of(context: Context) -> Facts:
    return Facts(
        now_ms=context.now_ms,
        scope=context.scope.uuid,
        revisions={name: fleet.revision for name, fleet in context.fleets.items()},
    )


def judged(context: Context) -> Iterator[Judged]:
    """Everything that a policy judges, in the order of the states."""
    lookups = of_inventory(context.world.inventory, context.scope)
    by_kind = context.index.by_kind
    for entry in context.entries:
        found = by_kind[entry.kind].get(entry.id)
        if entry.resource.external or found is None or found.zone != entry.zone:
            continue
        if found.project != context.scope.project or foreign_scope(found.tags, scope=context.scope) is not None:
            continue
        fleet = _fleet(entry, found, context)
        yield _judged(found, entry, lookups, fleet=fleet, child=False)
        if isinstance(found, Server):
            for child in _children(found, entry, context):
                yield _judged(child, entry, lookups, fleet=fleet, child=True)


def strangers(context: Context) -> Iterator[Item]:
    """The rest of the project, in no ledger and not proved ours: only for a check that is asked for it."""
    lookups = of_inventory(context.world.inventory, context.scope)
    known = {one.resource.ref for one in judged(context)}
    for ref, resource in sorted(context.world.inventory.by_ref.items()):
        if ref not in known and ref.kind is not Kind.IPAM and resource.project == context.scope.project:
            yield item_of(resource, lookups)


def _judged(resource: Resource, entry: Entry, lookups: Lookups, *, fleet: str | None, child: bool) -> Judged:
    root = child and _is_root(resource, entry)
    urn = entry.resource.urn if root or not child else None
    item = item_of(resource, lookups, urn=urn, stack=entry.stack, fleet=fleet)
    return Judged(resource=resource, entry=entry, child=child, item=item)


def _is_root(resource: Resource, entry: Entry) -> bool:
    """The root volume goes by the URN of its server, as it does in a preview, which knows no id yet."""
    root = entry.resource.outputs.get("rootVolume")
    named = root.get("volumeId") if isinstance(root, dict) else None
    return isinstance(named, str) and named.rpartition("/")[2] == resource.id


def _children(server: Server, entry: Entry, context: Context) -> Iterator[Volume | Nic]:
    by_kind = context.index.by_kind
    for slot in server.volumes:
        volume = by_kind[slot.kind].get(slot.id)
        if isinstance(volume, Volume) and inline(volume, server) and _unheld(volume, context):
            yield volume
    declared = ids_of(entry.resource.outputs.get("privateNetworks"), key="pnId")
    networks = [] if declared is SECRET else declared
    for nic in context.index.nics_of.get(server.id, ()):
        if nic.private_network_id in networks and _unheld(nic, context):
            yield nic


def _unheld(child: Volume | Nic, context: Context) -> bool:
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

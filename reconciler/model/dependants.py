"""Which entries of a state need which: what leaves with one, or stays and keeps it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from reconciler.model.state import StateResource


def dependants(resources: Iterable[StateResource], urns: Collection[str]) -> tuple[str, ...]:
    """Every entry that needs one of these, directly or not, by dependency, parent or provider; sorted, without them."""
    entries = [item for item in resources if not item.pending_delete]
    gone, grown = set(urns), True
    while grown:
        more = {item.urn for item in entries if item.urn not in gone and not gone.isdisjoint(_needs(item))}
        gone |= more
        grown = bool(more)
    return tuple(sorted(gone - set(urns)))


def _needs(item: StateResource) -> set[str]:
    provider = {item.provider.rpartition("::")[0]} if item.provider else set()
    return {*item.dependencies, *provider, *({item.parent} if item.parent else ())}

"""Who uses what, among the things that no state holds.

Both sides are believed when they say *used*: what a server lists as its own is in use even where the child's own
listing calls it free, because the two APIs disagree while a volume is attached or detached (up to 66 s were recorded).
IPAM is a third witness for addresses.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from reconciler.diff.index import Index, own_refs
from reconciler.diff.ownership import inline
from reconciler.model.resources import Ip, Kind, Resource, Server, Volume, owner_server_id

_LOOSE_KINDS: Final = (Kind.IP, Kind.VOLUME, Kind.INSTANCE_VOLUME)


@dataclass(frozen=True)
class Usage:
    """`held` are the ids that any state holds. Not slotted, for the cached indexes."""

    index: Index
    held: Container[str]

    @cached_property
    def loose(self) -> tuple[Ip | Volume, ...]:
        """IPs and volumes that no state holds and that are no inline part of a machine in a state."""
        return tuple(self._loose())

    def _loose(self) -> Iterator[Ip | Volume]:
        held, servers = self.held, self.index.by_kind[Kind.SERVER]
        for kind in _LOOSE_KINDS:
            for child in self.index.by_kind[kind].values():
                if child.id in held or not isinstance(child, (Ip, Volume)):
                    continue
                owner = child.server_id
                if owner is not None and owner in held:
                    server = servers.get(owner)
                    if isinstance(server, Server) and inline(child, server):
                        continue
                yield child

    def children(self, server: Server) -> tuple[Resource, ...]:
        """All that says that it is attached to this server, which no state holds, or that the server says it has."""
        refs = {child.ref for child in self._attached.get(server.id, ())} | set(own_refs(server))
        return tuple(found for ref in sorted(refs) if (found := self.index.get(ref)) is not None)

    @cached_property
    def _attached(self) -> Mapping[str, list[Resource]]:
        found: dict[str, list[Resource]] = {}
        for kind in (*_LOOSE_KINDS, Kind.NIC):
            for child in self.index.by_kind[kind].values():
                owner = owner_server_id(child)
                if owner and owner not in self.held:
                    found.setdefault(owner, []).append(child)
        return found

    def listed_by(self, child_id: str) -> tuple[Server, ...]:
        """The servers that list it as their own, in a fixed order. More than one only while something moves."""
        return self._listed.get(child_id, ())

    @cached_property
    def _listed(self) -> Mapping[str, tuple[Server, ...]]:
        wanted = {child.id for child in self.loose}
        found: dict[str, list[Server]] = {}
        for server in self.index.by_kind[Kind.SERVER].values() if wanted else ():
            if isinstance(server, Server):
                for slot in server.volumes:
                    if slot.id in wanted:
                        found.setdefault(slot.id, []).append(server)
                for ip_id in server.ip_ids:
                    if ip_id in wanted:
                        found.setdefault(ip_id, []).append(server)
        return {key: tuple(sorted(servers, key=lambda server: server.id)) for key, servers in found.items()}

    def user_of(self, child: Ip | Volume) -> str | None:
        """Who else says that it uses this child, in words; None when nobody does."""
        servers = self.listed_by(child.id)
        if servers:
            return f"server {servers[0].name} ({servers[0].id}) lists it as its own"
        booking = self.index.booking(child) if isinstance(child, Ip) else None
        if booking is not None and booking.used:
            return f"IPAM has it in use by {booking.resource_type} {booking.resource_id}"
        return None

"""The inventory by kind and id.

Scaleway's ids are UUIDs that are never used again, so the id alone finds a thing; the zone is checked, not searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from reconciler.model.inventory import Inventory, Presence, Probe
from reconciler.model.resources import Ip, IpamAddress, Kind, Nic, Ref, Resource, Server, Volume


@dataclass(frozen=True)
class Index:
    """Not slotted, for the cached indexes. Each is built when it is first asked for."""

    inventory: Inventory

    @cached_property
    def by_kind(self) -> Mapping[Kind, Mapping[str, Resource]]:
        """What the scans hold, corrected by the probes: a GET that came later knows better than the list."""
        found: dict[Kind, dict[str, Resource]] = {kind: {} for kind in Kind}
        for scan in self.inventory.scans.values():
            table = found[scan.kind]
            for item in scan.items:
                table[item.id] = item
        for ref, probe in self.inventory.probes.items():
            if probe.presence is Presence.PRESENT and probe.resource is not None:
                found[ref.kind][ref.id] = probe.resource
            elif probe.presence is Presence.ABSENT:
                found[ref.kind].pop(ref.id, None)
        return found

    @cached_property
    def probed(self) -> Mapping[Kind, Mapping[str, Probe]]:
        found: dict[Kind, dict[str, Probe]] = {kind: {} for kind in Kind}
        for ref, probe in self.inventory.probes.items():
            found[ref.kind][ref.id] = probe
        return found

    def get(self, ref: Ref) -> Resource | None:
        found = self.by_kind[ref.kind].get(ref.id)
        return found if found is not None and found.zone == ref.zone else None

    def server(self, server_id: str | None) -> Server | None:
        found = self.by_kind[Kind.SERVER].get(server_id) if server_id is not None else None
        return found if isinstance(found, Server) else None

    def volume(self, slot_kind: Kind, volume_id: str) -> Volume | None:
        found = self.by_kind[slot_kind].get(volume_id)
        return found if isinstance(found, Volume) else None

    @cached_property
    def nics_of(self) -> Mapping[str, tuple[Nic, ...]]:
        """Server id -> its NICs."""
        found: dict[str, list[Nic]] = {}
        for nic in self.by_kind[Kind.NIC].values():
            if isinstance(nic, Nic) and nic.server_id:
                found.setdefault(nic.server_id, []).append(nic)
        return {owner: tuple(sorted(nics, key=lambda nic: nic.id)) for owner, nics in found.items()}

    def booking(self, ip: Ip) -> IpamAddress | None:
        """What IPAM has booked for a flexible IP."""
        found = self.by_kind[Kind.IPAM].get(ip.ipam_id) if ip.ipam_id is not None else None
        return found if isinstance(found, IpamAddress) else None


def own_refs(server: Server) -> tuple[Ref, ...]:
    """What a server's own listing says it has. Dynamic IPs go back to the provider by themselves and are left out."""
    return (
        *(Ref(slot.kind, server.zone, slot.id) for slot in server.volumes),
        *(Ref(Kind.IP, server.zone, ip_id) for ip_id in server.ip_ids),
        *(Ref(Kind.NIC, server.zone, nic_id) for nic_id in server.nic_ids),
    )

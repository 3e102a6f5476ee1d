"""What was read of the provider, and how far it can be believed.

A `Scan` is one complete or incomplete listing of one kind in one locality. A `Probe` is one GET by id. Unknown is
not absent: an incomplete scan proves the presence of what it holds and the absence of nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from reconciler.model.money import Price
from reconciler.model.resources import Kind, Ref, Resource


class Presence(StrEnum):
    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class Right(StrEnum):
    """Whether the credential may list a kind. `assumed`: the list answers 200, but no known id could be tried."""

    PROVED = "proved"
    ASSUMED = "assumed"
    DENIED = "denied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    kind: Kind
    zone: str
    started_ms: int
    finished_ms: int
    complete: bool
    right: Right = Right.UNKNOWN
    reason: str | None = None  # why it is not complete, in one sentence
    code: str | None = None  # of the error that kept it from being read at all, and what to do about that
    hint: str = ""
    offered: bool = True  # False: the kind is not offered in this zone, which is apart from denied
    passes: int = 1
    calls: int = 0
    items: tuple[Resource, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The answer to one GET by id.

    ABSENT needs a typed 404 (`{"type": "not_found", "resource": …}`) in the resource's own zone. Everything else that
    is not a 200 is UNKNOWN, 403 included: it hides both what is gone and what is not ours to see.
    """

    ref: Ref
    presence: Presence
    at_ms: int
    resource: Resource | None = None
    status: int | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Inventory:
    """All scans of one sweep, indexed. Not slotted, for the cached indexes."""

    scans: Mapping[tuple[Kind, str], Scan]
    prices: Mapping[tuple[str, str], Price] = field(default_factory=dict)  # (zone, commercial type or class)
    probes: Mapping[Ref, Probe] = field(default_factory=dict)

    @cached_property
    def by_ref(self) -> Mapping[Ref, Resource]:
        found: dict[Ref, Resource] = {}
        for scan in self.scans.values():
            for item in scan.items:
                found[item.ref] = item
        # A GET that came later knows better than the list: it finds what lagged, and it proves what is gone.
        for ref, probe in self.probes.items():
            if probe.presence is Presence.PRESENT and probe.resource is not None:
                found[ref] = probe.resource
            elif probe.presence is Presence.ABSENT:
                found.pop(ref, None)
        return found

    @cached_property
    def children_of(self) -> Mapping[str, tuple[Ref, ...]]:
        """Server id -> refs of everything that says it is attached to it or that the server says it has."""
        from reconciler.model.resources import Server, owner_server_id

        children: dict[str, set[Ref]] = {}
        for resource in self.by_ref.values():
            owner = owner_server_id(resource)
            if owner is not None:
                children.setdefault(owner, set()).add(resource.ref)
            if isinstance(resource, Server):
                mine = children.setdefault(resource.id, set())
                mine.update(Ref(slot.kind, resource.zone, slot.id) for slot in resource.volumes)
                mine.update(Ref(Kind.IP, resource.zone, ip_id) for ip_id in resource.ip_ids)
                mine.update(Ref(Kind.NIC, resource.zone, nic_id) for nic_id in resource.nic_ids)
        return {owner: tuple(sorted(refs)) for owner, refs in children.items()}

    def scan_of(self, ref: Ref) -> Scan | None:
        return self.scans.get((ref.kind, ref.zone))

    def presence(self, ref: Ref) -> Presence:
        """What the scans alone say: absent only from a complete scan with the right known."""
        if ref in self.by_ref:
            return Presence.PRESENT
        scan = self.scan_of(ref)
        if scan is None or not scan.complete or scan.right in (Right.DENIED, Right.UNKNOWN):
            return Presence.UNKNOWN
        return Presence.ABSENT

    def of_kind(self, kind: Kind) -> Iterator[Resource]:
        for (scan_kind, _), scan in self.scans.items():
            if scan_kind is kind:
                yield from scan.items

    def incomplete(self) -> tuple[Scan, ...]:
        return tuple(scan for scan in self.scans.values() if not scan.complete)

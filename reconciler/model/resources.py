"""What the provider runs and bills, as values.

One class per kind, with the fields that the join, the property comparison and the proofs need and no others. Field
names follow Scaleway's words; times are epoch milliseconds; sizes are bytes. `tags` keep the provider's order, because
PATCH replaces the whole list and the order is somebody's.

`Ref` is the identity: kind, locality, id. The locality is a zone (`fr-par-1`) for zonal kinds and a region (`fr-par`)
for IPAM addresses and private networks. Ids are UUIDs that Scaleway does not use again, so acting by id is acting on
that object and no other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias


class Kind(StrEnum):
    """A kind of provider resource. The values are what reports and the database show."""

    SERVER = "server"
    IP = "ip"
    VOLUME = "volume"  # Block Storage (SBS)
    INSTANCE_VOLUME = "instance_volume"  # l_ssd and scratch, the Instance API's own
    NIC = "nic"
    IPAM = "ipam"
    PRIVATE_NETWORK = "private_network"
    SNAPSHOT = "snapshot"
    IMAGE = "image"
    SECURITY_GROUP = "security_group"
    PLACEMENT_GROUP = "placement_group"

    @property
    def regional(self) -> bool:
        return self in (Kind.IPAM, Kind.PRIVATE_NETWORK)


def region_of(locality: str) -> str:
    """`fr-par` for `fr-par-1` and for `fr-par`."""
    head, _, tail = locality.rpartition("-")
    return head if tail.isdigit() and head else locality


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """Identity of one provider resource."""

    kind: Kind
    zone: str
    id: str

    def __str__(self) -> str:
        return f"{self.kind.value} {self.zone}/{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Common:
    id: str
    zone: str
    project: str
    tags: tuple[str, ...] = ()
    created_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeSlot:
    """One entry of a server's `volumes` map. For SBS the entry has no name, size or tags."""

    key: str
    id: str
    volume_type: str
    boot: bool = False

    @property
    def kind(self) -> Kind:
        return Kind.VOLUME if self.volume_type.startswith("sbs") else Kind.INSTANCE_VOLUME


@dataclass(frozen=True, slots=True, kw_only=True)
class Server(_Common):
    name: str
    state: str  # running, stopped, "stopped in place", starting, stopping, locked
    state_detail: str = ""
    commercial_type: str
    image_id: str | None = None
    volumes: tuple[VolumeSlot, ...] = ()
    ip_ids: tuple[str, ...] = ()  # attach order
    dynamic_ip_ids: tuple[str, ...] = ()  # released with the server, never deleted by us
    nic_ids: tuple[str, ...] = ()
    protected: bool = False
    security_group_id: str | None = None
    placement_group_id: str | None = None
    dynamic_ip_required: bool = False
    boot_type: str = "local"
    modified_ms: int | None = None

    @property
    def ref(self) -> Ref:
        return Ref(Kind.SERVER, self.zone, self.id)

    @property
    def root(self) -> VolumeSlot | None:
        """Slot "0", the root volume."""
        return next((slot for slot in self.volumes if slot.key == "0"), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ip(_Common):
    """A flexible IP. v1 has no creation date; `created_ms` is filled from IPAM by `ipam_id`, where that was read."""

    address: str | None = None
    prefix: str | None = None
    type: str = "routed_ipv4"
    state: str = "detached"  # detached, attached, pending, error
    server_id: str | None = None
    ipam_id: str | None = None
    reverse: str | None = None

    @property
    def ref(self) -> Ref:
        return Ref(Kind.IP, self.zone, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume(_Common):
    """A block volume, or (`kind` INSTANCE_VOLUME) an l_ssd or scratch volume."""

    kind: Kind = Kind.VOLUME
    name: str
    volume_type: str
    size: int
    iops: int | None = None
    status: str
    reference_ids: tuple[str, ...] = ()  # whatever holds it: servers, snapshots, anything
    server_id: str | None = None
    last_detached_ms: int | None = None
    parent_snapshot_id: str | None = None

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.zone, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic(_Common):
    server_id: str
    private_network_id: str
    mac_address: str | None = None
    status: str = "available"
    ipam_ids: tuple[str, ...] = ()

    @property
    def ref(self) -> Ref:
        return Ref(Kind.NIC, self.zone, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class IpamAddress(_Common):
    """An address booked in IPAM: of a flexible IP (`ipam_id`), of a NIC, or booked by a user."""

    address: str
    is_ipv6: bool = False
    resource_type: str | None = None
    resource_id: str | None = None

    @property
    def ref(self) -> Ref:
        return Ref(Kind.IPAM, self.zone, self.id)

    @property
    def used(self) -> bool:
        """Whether anything uses the address. IPAM books a free flexible IP under itself; all else is a user."""
        return self.resource_type not in (None, "", "unknown_type", "instance_ip")


@dataclass(frozen=True, slots=True, kw_only=True)
class Other(_Common):
    """A kind that is read by targeted GET only (private networks, groups, images) or listed to be shown."""

    kind: Kind
    name: str = ""
    details: tuple[tuple[str, str], ...] = field(default=())

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.zone, self.id)


Resource: TypeAlias = Server | Ip | Volume | Nic | IpamAddress | Other


def owner_server_id(resource: Resource) -> str | None:
    """The server that uses this child now, or None for a free one (and for servers and shared kinds)."""
    match resource:
        case Ip() | Volume() | Nic():
            return resource.server_id
        case _:
            return None

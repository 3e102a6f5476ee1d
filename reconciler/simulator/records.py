"""What exists in a simulated cloud, one frozen record per object.

A record is never changed in place: a change puts a new record under the same id (`dataclasses.replace`), so that what
one request has rendered cannot move under its feet. Times are epoch milliseconds UTC. A `place` is a zone
(`fr-par-1`) or, for IPAM, VPCs and private networks, a region (`fr-par`).

Who points at whom: children name their server (`FlexibleIp.server`, `Volume.server`, `Nic.server`,
`BlockVolume.reference`); a server names only its volume slots, because two APIs disagree about a volume that is being
detached: the server no longer lists it while Block Storage still says `in_use` / `detaching`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reconciler.simulator.defaults import PROJECT_ID, REGION, ZONE

IndexKey = tuple[str, ...]


def common_keys(place: str, project: str, tags: tuple[str, ...]) -> list[IndexKey]:
    keys: list[IndexKey] = [("in", place), ("of", place, project)]
    if tags:
        for tag in dict.fromkeys(tags):
            keys += [("tag", place, tag), ("tag", place, tag, project)]
    return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One entry of a server's `volumes` map, as the Instance API sees it."""

    key: str
    volume: str
    volume_type: str = "sbs_volume"
    boot: bool = False
    state: str = "available"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    id: str
    name: str
    zone: str = ZONE
    project: str = PROJECT_ID
    commercial_type: str = "DEV1-S"
    image: str | None = None
    tags: tuple[str, ...] = ()
    state: str = "running"
    state_detail: str = "booting kernel"
    protected: bool = False
    boot_type: str = "local"
    dynamic_ip_required: bool = False
    security_group: str | None = None
    placement_group: str | None = None
    slots: tuple[Slot, ...] = ()
    mac_address: str = "de:00:00:00:00:01"
    located: bool = True
    admin_key: str | None = None
    end_of_service: bool = False
    user_data: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    created_ms: int = 0
    updated_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        keys = common_keys(self.zone, self.project, self.tags)
        if self.security_group is not None:
            keys.append(("group", self.security_group))
        if self.placement_group is not None:
            keys.append(("placement", self.placement_group))
        return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class FlexibleIp:
    """A public address. The Instance API gives it no creation date; IPAM does, under `ipam_id`."""

    id: str
    zone: str = ZONE
    project: str = PROJECT_ID
    address: str | None = None
    prefix: str | None = None
    type: str = "routed_ipv4"
    server: str | None = None
    state: str = "detached"
    reverse: str | None = None
    tags: tuple[str, ...] = ()
    ipam_id: str = ""
    # A dynamic address comes and goes with the power of its server and is in no list of flexible ones.
    dynamic: bool = False
    attach_order: int = 0
    created_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        keys = [] if self.dynamic else common_keys(self.zone, self.project, self.tags)
        if self.server is not None:
            keys.append(("server", self.server))
        if self.address is not None:
            keys.append(("address", self.address))
        keys.append(("ipam", self.ipam_id or self.id))
        return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A local volume of the Instance API (`l_ssd` or `scratch`)."""

    id: str
    name: str
    zone: str = ZONE
    project: str = PROJECT_ID
    volume_type: str = "l_ssd"
    size: int = 20_000_000_000
    state: str = "available"
    server: str | None = None
    tags: tuple[str, ...] = ()
    created_ms: int = 0
    updated_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        keys = common_keys(self.zone, self.project, self.tags)
        if self.server is not None:
            keys.append(("server", self.server))
        return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The link from a block volume to the server that uses it."""

    id: str
    server: str
    status: str = "attached"
    created_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockVolume:
    id: str
    name: str
    zone: str = ZONE
    project: str = PROJECT_ID
    size: int = 10_000_000_000
    perf_iops: int = 5000
    status: str = "available"
    reference: Reference | None = None
    parent_snapshot: str | None = None
    tags: tuple[str, ...] = ()
    last_detached_ms: int | None = None
    created_ms: int = 0
    updated_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        keys = common_keys(self.zone, self.project, self.tags)
        if self.reference is not None:
            keys.append(("server", self.reference.server))
        return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """A private network interface. `state` is v2alpha1's; v1 says `syncing` for `attaching`."""

    id: str
    private_network: str
    zone: str = ZONE
    project: str = PROJECT_ID
    server: str | None = None
    mac_address: str = "02:00:00:00:00:01"
    state: str = "available"
    ipam_ips: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    created_ms: int = 0
    updated_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        keys = common_keys(self.zone, self.project, self.tags)
        keys.append(("network", self.private_network))
        if self.server is not None:
            keys.append(("server", self.server))
        return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class IpamResource:
    """What an IPAM address is attached to."""

    type: str
    id: str
    mac_address: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reverse:
    hostname: str
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IpamIp:
    """An address in IPAM: private (`private_network` and `subnet` set) or public (`zone` set)."""

    id: str
    address: str
    region: str = REGION
    project: str = PROJECT_ID
    is_ipv6: bool = False
    zone: str | None = None
    private_network: str | None = None
    subnet: str | None = None
    resource: IpamResource | None = None
    reverses: tuple[Reverse, ...] = ()
    tags: tuple[str, ...] = ()
    # Booked by a person: it outlives the interface that used it.
    booked: bool = True
    created_ms: int = 0
    updated_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        keys = common_keys(self.region, self.project, self.tags)
        keys.append(("address", self.address))
        if self.resource is not None:
            keys.append(("resource", self.resource.id))
        if self.private_network is not None:
            keys.append(("network", self.private_network))
        if self.subnet is not None:
            keys.append(("subnet", self.subnet))
        return keys

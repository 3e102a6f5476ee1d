"""The records that change rarely: networks, groups, images, snapshots. See `records` for what they have in common."""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.simulator.defaults import PROJECT_ID, REGION, ZONE
from reconciler.simulator.records import IndexKey, common_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    id: str
    subnet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateNetwork:
    id: str
    name: str
    vpc: str
    region: str = REGION
    project: str = PROJECT_ID
    tags: tuple[str, ...] = ()
    subnets: tuple[Subnet, ...] = ()
    default_route_propagation: bool = False
    created_ms: int = 0
    updated_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        return [*common_keys(self.region, self.project, self.tags), ("vpc", self.vpc)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vpc:
    id: str
    name: str
    region: str = REGION
    project: str = PROJECT_ID
    tags: tuple[str, ...] = ()
    is_default: bool = False
    routing_enabled: bool = True
    custom_routes: bool = True
    transitivity: bool = False
    created_ms: int = 0
    updated_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        keys = common_keys(self.region, self.project, self.tags)
        if self.is_default:
            keys.append(("default", self.region, self.project))
        return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a security group that a person wrote (the fixed mail rules are rendered, not stored)."""

    id: str
    protocol: str = "TCP"
    direction: str = "inbound"
    action: str = "accept"
    ip_range: str = "0.0.0.0/0"
    dest_port_from: int | None = None
    dest_port_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityGroup:
    id: str
    name: str
    zone: str = ZONE
    project: str = PROJECT_ID
    description: str | None = None
    tags: tuple[str, ...] = ()
    stateful: bool = True
    inbound_default_policy: str = "accept"
    outbound_default_policy: str = "accept"
    project_default: bool = False
    enable_default_security: bool = True
    rules: tuple[Rule, ...] = ()
    created_ms: int = 0
    updated_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        keys = common_keys(self.zone, self.project, self.tags)
        if self.project_default:
            keys.append(("default", self.zone, self.project))
        return keys


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementGroup:
    id: str
    name: str
    zone: str = ZONE
    project: str = PROJECT_ID
    policy_type: str = "max_availability"
    policy_mode: str = "optional"
    tags: tuple[str, ...] = ()
    created_ms: int = 0
    updated_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        return common_keys(self.zone, self.project, self.tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraVolume:
    """A further snapshot of an image, under its slot's key."""

    key: str
    snapshot: str
    volume_type: str = "sbs_snapshot"
    size: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image: only metadata over a root snapshot, which lives on when the image is deleted."""

    id: str
    name: str
    zone: str = ZONE
    project: str = PROJECT_ID
    organization: str = ""
    arch: str = "x86_64"
    root_snapshot: str = ""
    root_type: str = "sbs_snapshot"
    root_size: int = 10_000_000_000
    # The snapshot's name, shown for local storage only; empty: the image's own.
    root_name: str = ""
    extra_volumes: tuple[ExtraVolume, ...] = ()
    from_server: str = ""
    public: bool = False
    tags: tuple[str, ...] = ()
    created_ms: int = 0
    updated_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        extra = [("snapshot", volume.snapshot) for volume in self.extra_volumes]
        return [*common_keys(self.zone, self.project, self.tags), ("snapshot", self.root_snapshot), *extra]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A snapshot of a local volume (Instance API)."""

    id: str
    name: str
    zone: str = ZONE
    project: str = PROJECT_ID
    volume_type: str = "l_ssd"
    size: int = 20_000_000_000
    state: str = "available"
    base_volume: str | None = None
    base_volume_name: str = ""
    tags: tuple[str, ...] = ()
    created_ms: int = 0
    updated_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        return common_keys(self.zone, self.project, self.tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSnapshot:
    """A snapshot of a block volume. `parent_volume` is null once that volume is gone."""

    id: str
    name: str
    zone: str = ZONE
    project: str = PROJECT_ID
    size: int = 10_000_000_000
    status: str = "available"
    parent_volume: str | None = None
    public: bool = False
    tags: tuple[str, ...] = ()
    created_ms: int = 0
    updated_ms: int = 0

    def index_keys(self) -> list[IndexKey]:
        return common_keys(self.zone, self.project, self.tags)

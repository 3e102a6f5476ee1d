"""What workers share: private networks (regional), security groups and placement groups."""

from __future__ import annotations

from typing import Final

from reconciler.cloud.wire import (
    Dialect,
    GetSource,
    KindSpec,
    ListSource,
    Page,
    Total,
    millis,
    parse,
    shape,
    tag_tuple,
    v1,
)
from reconciler.model.resources import Kind, Other


@shape
class _Subnet:
    subnet: str


@shape
class _Network:
    id: str
    name: str
    project_id: str
    created_at: str
    region: str | None = None
    vpc_id: str | None = None
    subnets: list[_Subnet] | None = None
    tags: list[str] | None = None


@shape
class _Networks:
    private_networks: list[_Network]
    total_count: Total = None


@shape
class _Group:
    """A security group or a placement group; the latter has no creation date."""

    id: str
    name: str
    project: str
    creation_date: str | None = None
    project_default: bool = False
    zone: str | None = None
    tags: list[str] | None = None


@shape
class _SecurityGroup:
    security_group: _Group


@shape
class _SecurityGroups:
    security_groups: list[_Group]
    total_count: Total = None


@shape
class _PlacementGroup:
    placement_group: _Group


@shape
class _PlacementGroups:
    placement_groups: list[_Group]
    total_count: Total = None


def _network(wire: _Network, region: str) -> Other:
    details = [("vpc", wire.vpc_id)] if wire.vpc_id else []
    return Other(
        kind=Kind.PRIVATE_NETWORK,
        id=wire.id,
        zone=wire.region or region,
        project=wire.project_id,
        tags=tag_tuple(wire.tags),
        created_ms=millis(wire.created_at),
        name=wire.name,
        details=(*details, *(("subnet", subnet.subnet) for subnet in wire.subnets or ())),
    )


def _networks(body: bytes, region: str) -> Page:
    wire = parse(_Networks, body)
    return Page(items=tuple(_network(item, region) for item in wire.private_networks), total=wire.total_count)


def _group(kind: Kind, wire: _Group, zone: str) -> Other:
    return Other(
        kind=kind,
        id=wire.id,
        zone=wire.zone or zone,
        project=wire.project,
        tags=tag_tuple(wire.tags),
        created_ms=millis(wire.creation_date),
        name=wire.name,
        details=(("default", "true"),) if wire.project_default else (),
    )


def _security_groups(body: bytes, zone: str) -> Page:
    wire = parse(_SecurityGroups, body)
    items = tuple(_group(Kind.SECURITY_GROUP, item, zone) for item in wire.security_groups)
    return Page(items=items, total=wire.total_count)


def _placement_groups(body: bytes, zone: str) -> Page:
    wire = parse(_PlacementGroups, body)
    items = tuple(_group(Kind.PLACEMENT_GROUP, item, zone) for item in wire.placement_groups)
    return Page(items=items, total=wire.total_count)


PRIVATE_NETWORK_SPEC: Final = KindSpec(
    lists=(
        ListSource(
            path=lambda region: f"/vpc/v2/regions/{region}/private-networks",
            dialect=Dialect.PAGED,
            decode=_networks,
            order=("order_by", "created_at_desc"),
        ),
    ),
    gets=(
        GetSource(
            path=lambda region, network_id: f"/vpc/v2/regions/{region}/private-networks/{network_id}",
            words=frozenset({"private_network"}),
            decode=lambda body, region: _network(parse(_Network, body), region),
        ),
    ),
)

SECURITY_GROUP_SPEC: Final = KindSpec(
    lists=(ListSource(path=lambda zone: v1(zone, "security_groups"), dialect=Dialect.V1, decode=_security_groups),),
    gets=(
        GetSource(
            path=lambda zone, group_id: v1(zone, f"security_groups/{group_id}"),
            words=frozenset({"instance_security_group", "security_group"}),
            decode=lambda body, zone: _group(Kind.SECURITY_GROUP, parse(_SecurityGroup, body).security_group, zone),
        ),
    ),
)

PLACEMENT_GROUP_SPEC: Final = KindSpec(
    lists=(ListSource(path=lambda zone: v1(zone, "placement_groups"), dialect=Dialect.V1, decode=_placement_groups),),
    gets=(
        GetSource(
            path=lambda zone, group_id: v1(zone, f"placement_groups/{group_id}"),
            words=frozenset({"instance_placement_group", "placement_group"}),
            decode=lambda body, zone: _group(Kind.PLACEMENT_GROUP, parse(_PlacementGroup, body).placement_group, zone),
        ),
    ),
)

"""Objects as the API shows them -> records of a simulated world: the way back from what `render` and the rooms do.

Only the tests need it: to put into a world what a recording shows as there already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from reconciler.kernel.clock import parse_instant
from reconciler.simulator import World
from reconciler.simulator.records import (
    BlockVolume,
    FlexibleIp,
    IpamIp,
    IpamResource,
    Nic,
    Reference,
    Server,
    Slot,
    Volume,
)
from reconciler.simulator.records_static import (
    BlockSnapshot,
    ExtraVolume,
    Image,
    PlacementGroup,
    PrivateNetwork,
    SecurityGroup,
    Snapshot,
    Subnet,
    Vpc,
)
from reconciler.simulator.world import AnyRecord


@dataclass(frozen=True, slots=True)
class Seen:
    """`item` as shown under a `place` (a zone or a region), to be added to `world`.

    `volumes`: what the recording says elsewhere of block volumes, by id; a server shows only their ids.
    """

    world: World
    place: str
    item: Mapping[str, Any]
    volumes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def ms(self, *names: str) -> int:
        text = next((self.item[name] for name in names if self.item.get(name)), None)
        return parse_instant(text) if isinstance(text, str) else 0

    @property
    def project(self) -> str:
        return str(self.item.get("project") or self.item.get("project_id") or "")

    @property
    def common(self) -> dict[str, Any]:
        return {
            "id": self.item["id"],
            "project": self.project,
            "tags": tuple(self.item.get("tags") or ()),
            "created_ms": self.ms("creation_date", "created_at"),
        }

    @property
    def dated(self) -> dict[str, Any]:
        return {**self.common, "updated_ms": self.ms("modification_date", "updated_at")}


def server(seen: Seen) -> Iterator[AnyRecord]:
    item = seen.item
    image, group, placement = item.get("image") or {}, item.get("security_group") or {}, item.get("placement_group")
    if group and group["id"] not in seen.world.security_groups:
        default = group["name"] == "Default security group"
        yield SecurityGroup(
            id=group["id"], name=group["name"], zone=seen.place, project=seen.project, project_default=default
        )
    slots = []
    for key, volume in item["volumes"].items():
        kind = volume["volume_type"]
        slots.append(
            Slot(
                key=key,
                volume=volume["id"],
                volume_type=kind,
                boot=volume["boot"],
                state=volume.get("state", "available"),
            )
        )
        yield from _slot_volume(seen, volume)
    yield Server(
        **seen.dated,
        name=item["name"],
        zone=seen.place,
        commercial_type=item["commercial_type"],
        image=image.get("id"),
        state=item["state"],
        state_detail=item["state_detail"],
        protected=item["protected"],
        boot_type=item["boot_type"],
        dynamic_ip_required=item["dynamic_ip_required"],
        security_group=group.get("id"),
        placement_group=placement["id"] if placement else None,
        slots=tuple(slots),
        mac_address=item["mac_address"],
        located=item["location"] is not None,
    )
    for order, ip in enumerate(item.get("public_ips") or [], start=1):
        known = seen.world.ips.get(ip["id"])
        if known is not None:
            yield replace(known, server=item["id"], state=ip["state"], attach_order=order)
        else:
            yield FlexibleIp(
                id=ip["id"], zone=seen.place, project=seen.project, address=ip["address"], server=item["id"],
                state=ip["state"], dynamic=ip["dynamic"], tags=tuple(ip.get("tags") or ()), ipam_id=ip["ipam_id"],
                attach_order=order, type="routed_ipv6" if ip["family"] == "inet6" else "routed_ipv4",
            )  # fmt: skip


def _slot_volume(seen: Seen, volume: Mapping[str, Any]) -> Iterator[AnyRecord]:
    if volume["volume_type"] != "sbs_volume":
        if volume["id"] not in seen.world.volumes:
            yield from local_volume(replace(seen, item=volume))
        return
    server_id, shown = seen.item["id"], seen.volumes.get(volume["id"])
    record = seen.world.block_volumes.get(volume["id"])
    if record is None:
        plain = BlockVolume(id=volume["id"], name="root", zone=seen.place, project=seen.project)
        record = plain if shown is None else block_volume_record(replace(seen, item=shown))
        record = replace(record, reference=None)
    if record.reference is None or record.reference.server != server_id:
        yield replace(record, status="in_use", reference=Reference(id=server_id, server=server_id))


def local_volume(seen: Seen) -> Iterator[AnyRecord]:
    item = seen.item
    holder = item.get("server") or {}
    yield Volume(
        **seen.dated, name=item["name"], zone=seen.place, volume_type=item["volume_type"], size=item["size"],
        state=item["state"], server=holder.get("id"),
    )  # fmt: skip


def block_volume(seen: Seen) -> Iterator[AnyRecord]:
    yield block_volume_record(seen)


def block_volume_record(seen: Seen) -> BlockVolume:
    item = seen.item
    reference = None
    for shown in item["references"]:
        reference = Reference(id=shown["id"], server=shown["product_resource_id"], status=shown["status"])
    return BlockVolume(
        **seen.dated, name=item["name"], zone=seen.place, size=item["size"], perf_iops=item["specs"]["perf_iops"],
        status=item["status"], reference=reference, parent_snapshot=item["parent_snapshot_id"],
        last_detached_ms=seen.ms("last_detached_at") or None,
    )  # fmt: skip


def flexible_ip(seen: Seen) -> Iterator[AnyRecord]:
    item = seen.item
    holder = item.get("server") or {}
    yield FlexibleIp(
        **seen.common, zone=seen.place, address=item["address"], prefix=item["prefix"], type=item["type"],
        server=holder.get("id"), state=item["state"], reverse=item["reverse"], ipam_id=item["ipam_id"],
    )  # fmt: skip


def snapshot(seen: Seen) -> Iterator[AnyRecord]:
    item = seen.item
    base = item["base_volume"] or {}
    yield Snapshot(
        **seen.dated, name=item["name"], zone=seen.place, volume_type=item["volume_type"], size=item["size"],
        state=item["state"], base_volume=base.get("id"), base_volume_name=base.get("name", ""),
    )  # fmt: skip


def block_snapshot(seen: Seen) -> Iterator[AnyRecord]:
    item = seen.item
    parent = item["parent_volume"] or {}
    yield BlockSnapshot(
        **seen.dated, name=item["name"], zone=seen.place, size=item["size"], status=item["status"],
        parent_volume=parent.get("id"), public=item.get("public", False),
    )  # fmt: skip


def image(seen: Seen) -> Iterator[AnyRecord]:
    item = seen.item
    root = item["root_volume"]
    yield Image(
        **seen.dated, name=item["name"], zone=seen.place, organization=item["organization"], arch=item["arch"],
        root_snapshot=root["id"], root_type=root["volume_type"], root_size=root["size"],
        from_server=item["from_server"] or "", public=item["public"], root_name=root["name"],
        extra_volumes=tuple(
            ExtraVolume(
                key=key, snapshot=one["id"], volume_type=one["volume_type"], size=one["size"], name=one["name"]
            )
            for key, one in item["extra_volumes"].items()
        ),
    )  # fmt: skip


def security_group(seen: Seen) -> Iterator[AnyRecord]:
    item = seen.item
    yield SecurityGroup(
        **seen.dated, name=item["name"], zone=seen.place, description=item["description"], stateful=item["stateful"],
        inbound_default_policy=item["inbound_default_policy"], project_default=item["project_default"],
        outbound_default_policy=item["outbound_default_policy"],
        enable_default_security=item["enable_default_security"],
    )  # fmt: skip


def placement_group(seen: Seen) -> Iterator[AnyRecord]:
    item = seen.item
    yield PlacementGroup(**seen.dated, name=item["name"], zone=seen.place, policy_type=item["policy_type"])


def private_nic(seen: Seen) -> Iterator[AnyRecord]:
    item = seen.item
    yield Nic(
        **seen.dated, private_network=item["private_network_id"], zone=seen.place, server=item["server_id"],
        mac_address=item["mac_address"], state=item.get("status") or item["state"],
        ipam_ips=tuple(item.get("ip_ids") or item.get("ipam_ip_ids") or ()),
    )  # fmt: skip


def private_network(seen: Seen) -> Iterator[AnyRecord]:
    item = seen.item
    if item["vpc_id"] not in seen.world.vpcs:
        yield Vpc(id=item["vpc_id"], name="default", region=seen.place, project=seen.project, is_default=True)
    subnets = tuple(Subnet(id=subnet["id"], subnet=subnet["subnet"]) for subnet in item["subnets"])
    yield PrivateNetwork(**seen.dated, name=item["name"], vpc=item["vpc_id"], region=seen.place, subnets=subnets)


def vpc(seen: Seen) -> Iterator[AnyRecord]:
    item = seen.item
    yield Vpc(**seen.dated, name=item["name"], region=seen.place, is_default=item["is_default"])


def ipam_ip(seen: Seen) -> Iterator[AnyRecord]:
    item = seen.item
    resource, source = item["resource"], item["source"]
    subnet = source.get("subnet_id")
    network = next((one.id for one in seen.world.networks if any(each.id == subnet for each in one.subnets)), None)
    yield IpamIp(
        **seen.dated, address=item["address"], region=seen.place, is_ipv6=item["is_ipv6"], zone=item["zone"],
        subnet=subnet, private_network=network, booked=resource is None or resource["type"] != "instance_private_nic",
        resource=None if resource is None else IpamResource(
            type=resource["type"], id=resource["id"], mac_address=resource["mac_address"], name=resource["name"]
        ),
    )  # fmt: skip


DECODERS: Final[Mapping[str, Callable[[Seen], Iterator[AnyRecord]]]] = {
    "server": server,
    "ip": flexible_ip,
    "volume": local_volume,
    "block_volume": block_volume,
    "snapshot": snapshot,
    "block_snapshot": block_snapshot,
    "image": image,
    "security_group": security_group,
    "placement_group": placement_group,
    "private_nic": private_nic,
    "private_network": private_network,
    "vpc": vpc,
    "ipam_ip": ipam_ip,
}

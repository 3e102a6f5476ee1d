"""The inventory of a sweep as a world of the simulator, masked.

What an object points at and the sweep did not read (its list was refused, or it is of a kind that is not listed) gets a
stand-in, so that the world holds together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from reconciler.cases.recording.mask import Mask
from reconciler.model.resources import Ip, IpamAddress, Kind, Nic, Other, Resource, Server, Volume, region_of
from reconciler.simulator import PROJECT_ID, Key, World, records, records_static
from reconciler.simulator.defaults import ACCESS_KEY, SECRET_KEY
from reconciler.simulator.world import AnyRecord

_IOPS: Final = 5000


def world_of(resources: Iterable[Resource], *, mask: Mask, project: str) -> World:
    """A world with these resources and one key that sees their project."""
    key = Key(secret=SECRET_KEY, access_key=ACCESS_KEY, projects=frozenset({mask.uuid(project)}))
    world = World(keys=[key])
    maker = _Maker(mask, world)
    order = {Kind.SERVER: 1, Kind.NIC: 3, Kind.IPAM: 2}
    for one in sorted(resources, key=lambda one: (order.get(one.ref.kind, 0), one.ref)):
        maker.add(one)
    maker.stand_in_servers()
    return world


class _Maker:
    def __init__(self, mask: Mask, world: World) -> None:
        self._mask, self._world = mask, world

    def add(self, one: Resource) -> None:
        match one:
            case Server():
                self._server(one)
            case Ip():
                self._put(self._ip(one))
            case Volume():
                self._put(self._volume(one))
            case Nic():
                self._nic(one)
            case IpamAddress():
                self._put(self._ipam(one))
            case Other():
                self._other(one)

    def stand_in_servers(self) -> None:
        """Machines that children name and no list showed."""
        world = self._world
        wanted = [(ip.server, ip.zone, ip.project) for ip in world.ips]
        wanted += [(volume.server, volume.zone, volume.project) for volume in world.volumes]
        wanted += [
            (one.reference.server, one.zone, one.project) for one in world.block_volumes if one.reference is not None
        ]
        for server, zone, project in wanted:
            if server is not None and server not in world.servers:
                self._put(records.Server(id=server, name=f"server-{server[:8]}", zone=zone, project=project))

    def _put(self, record: AnyRecord) -> None:
        self._world.add(record)

    def _common(self, one: Resource) -> dict[str, Any]:
        return {
            "id": self._mask.uuid(one.id),
            "project": self._mask.uuid(one.project),
            "tags": tuple(self._mask.tags(one.tags)),
            "created_ms": one.created_ms or 0,
        }

    def _server(self, one: Server) -> None:
        mask = self._mask
        self._put(
            records.Server(
                **self._common(one),
                zone=one.zone,
                name=mask.name(one.name),
                commercial_type=mask.word(one.commercial_type),
                image=self._image(one),
                state=mask.word(one.state),
                state_detail="booting kernel" if one.state == "running" else "",
                protected=one.protected,
                boot_type=mask.word(one.boot_type),
                dynamic_ip_required=one.dynamic_ip_required,
                security_group=self._group(one.security_group_id, one, records_static.SecurityGroup),
                placement_group=self._group(one.placement_group_id, one, records_static.PlacementGroup),
                slots=tuple(
                    records.Slot(
                        key=slot.key, volume=mask.uuid(slot.id), volume_type=mask.word(slot.volume_type), boot=slot.boot
                    )
                    for slot in one.volumes
                ),
                updated_ms=one.modified_ms or one.created_ms or 0,
            )
        )
        for slot in one.volumes:
            self._volume_stand_in(one, slot.id, local=slot.kind is Kind.INSTANCE_VOLUME)
        for number, ip_id in enumerate(one.ip_ids, start=1):
            self._attached(one, mask.uuid(ip_id), number)

    def _image(self, one: Server) -> str | None:
        if one.image_id is None:
            return None
        image = self._mask.uuid(one.image_id)
        if image not in self._world.images:
            self._put(
                records_static.Image(
                    id=image, name=f"image-{image[:8]}", zone=one.zone, project=PROJECT_ID, public=True
                )
            )
        return image

    def _group(self, group_id: str | None, one: Server, kind: type[Any]) -> str | None:
        if group_id is None:
            return None
        group = self._mask.uuid(group_id)
        if group not in self._world:
            self._put(kind(id=group, name=f"group-{group[:8]}", zone=one.zone, project=self._mask.uuid(one.project)))
        return group

    def _volume_stand_in(self, one: Server, volume_id: str, *, local: bool) -> None:
        volume = self._mask.uuid(volume_id)
        if volume in self._world:
            return
        common: dict[str, Any] = {
            "id": volume,
            "name": f"volume-{volume[:8]}",
            "zone": one.zone,
            "project": self._mask.uuid(one.project),
        }
        if local:
            self._put(records.Volume(**common, server=self._mask.uuid(one.id), created_ms=one.created_ms or 0))
            return
        held = records.Reference(id=self._mask.uuid(f"reference {volume_id}"), server=self._mask.uuid(one.id))
        self._put(records.BlockVolume(**common, status="in_use", reference=held, created_ms=one.created_ms or 0))

    def _attached(self, one: Server, ip_id: str, number: int) -> None:
        """Addresses are listed in the order of attachment, which states hold too. One that no list showed is stood in
        for."""
        ip = self._world.ips.get(ip_id)
        if ip is None:
            server, project = self._mask.uuid(one.id), self._mask.uuid(one.project)
            address = self._mask.address(ip_id)
            ip = records.FlexibleIp(
                id=ip_id, zone=one.zone, project=project, address=address, server=server, state="attached"
            )
        self._world.ips.put(replace(ip, attach_order=number))

    def _ip(self, one: Ip) -> records.FlexibleIp:
        mask = self._mask
        return records.FlexibleIp(
            **self._common(one),
            zone=one.zone,
            address=mask.address(one.address) if one.address else None,
            prefix=mask.address(one.prefix) if one.prefix else None,
            type=mask.word(one.type),
            server=mask.uuid(one.server_id) if one.server_id is not None else None,
            state=mask.word(one.state),
            ipam_id=mask.uuid(one.ipam_id) if one.ipam_id is not None else "",
        )

    def _volume(self, one: Volume) -> records.Volume | records.BlockVolume:
        mask = self._mask
        common = {**self._common(one), "zone": one.zone, "name": mask.name(one.name), "size": one.size}
        server = mask.uuid(one.server_id) if one.server_id is not None else None
        if one.kind is Kind.INSTANCE_VOLUME:
            kind = mask.word(one.volume_type)
            return records.Volume(**common, volume_type=kind, state=mask.word(one.status), server=server)
        held = None
        if server is not None:
            first = next(iter(one.reference_ids), one.id)
            held = records.Reference(id=mask.uuid(f"reference {first}"), server=server, created_ms=one.created_ms or 0)
        return records.BlockVolume(
            **common,
            perf_iops=one.iops or _IOPS,
            status=mask.word(one.status),
            reference=held,
            parent_snapshot=mask.uuid(one.parent_snapshot_id) if one.parent_snapshot_id is not None else None,
            last_detached_ms=one.last_detached_ms,
        )

    def _nic(self, one: Nic) -> None:
        mask = self._mask
        network = mask.uuid(one.private_network_id)
        if network not in self._world.networks:
            self._network(network, region_of(one.zone), one.project, name=f"network-{network[:8]}", tags=())
        self._put(
            records.Nic(
                **self._common(one),
                zone=one.zone,
                private_network=network,
                server=mask.uuid(one.server_id) if mask.uuid(one.server_id) in self._world.servers else None,
                mac_address=f"02:00:00:{':'.join(mask.digest(one.id, length=6)[i : i + 2] for i in (0, 2, 4))}",
                state=mask.word(one.status),
                ipam_ips=tuple(found for ip in one.ipam_ids if (found := mask.uuid(ip)) in self._world.ipam),
            )
        )

    def _ipam(self, one: IpamAddress) -> records.IpamIp:
        mask = self._mask
        flexible = next(iter(self._world.ips.under("ipam", mask.uuid(one.id))), None)
        held = None
        if one.resource_id is not None:
            held = records.IpamResource(type=mask.word(one.resource_type or "custom"), id=mask.uuid(one.resource_id))
        return records.IpamIp(
            **self._common(one),
            region=region_of(one.zone),
            address=mask.address(one.address),
            is_ipv6=one.is_ipv6,
            zone=flexible.zone if flexible is not None else None,
            resource=held,
        )

    def _other(self, one: Other) -> None:
        mask = self._mask
        name, tags = mask.name(one.name), tuple(mask.tags(one.tags))
        match one.kind:
            case Kind.PRIVATE_NETWORK:
                self._network(mask.uuid(one.id), region_of(one.zone), one.project, name=name, tags=tags)
            case Kind.SECURITY_GROUP:
                self._put(records_static.SecurityGroup(**self._common(one), zone=one.zone, name=name))
            case Kind.PLACEMENT_GROUP:
                self._put(records_static.PlacementGroup(**self._common(one), zone=one.zone, name=name))

    def _network(self, network: str, region: str, project: str, *, name: str, tags: tuple[str, ...]) -> None:
        vpc = self._mask.uuid(f"vpc {region} {project}")
        owner = self._mask.uuid(project)
        if vpc not in self._world.vpcs:
            self._put(records_static.Vpc(id=vpc, name="default", region=region, project=owner))
        self._put(
            records_static.PrivateNetwork(id=network, name=name, vpc=vpc, region=region, project=owner, tags=tags)
        )

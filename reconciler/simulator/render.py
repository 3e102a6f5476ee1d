"""Records as the APIs show them: Instance v1 and v2alpha1. Key sets are those of the recordings of summer 2026."""

from __future__ import annotations

from typing import Final

from reconciler.simulator.catalog import local_images
from reconciler.simulator.records import FlexibleIp, Nic, Server, Slot, Volume
from reconciler.simulator.records_static import ExtraVolume, Image, PlacementGroup
from reconciler.simulator.wire import Json, time_v1, time_z
from reconciler.simulator.world import World

_ACTIONS: Final = {
    "stopped": ["poweron", "backup"],
    "starting": ["stop_in_place", "backup"],
    "running": ["poweroff", "terminate", "reboot", "stop_in_place", "backup"],
    "stopping": ["stop_in_place", "backup"],
    "stopped in place": ["poweron", "poweroff", "terminate", "reboot", "backup"],
    "locked": [],
}
_LOCATION: Final = {
    "platform_id": "14", "cluster_id": "32", "hypervisor_id": "101", "node_id": "17",
}  # fmt: skip

# The half of a server's IPv6 address that is its own: the same for all, which nobody minds in a simulator.
SERVER_IPV6: Final = "dc00:1ff:fe27:167d"


def find_image(world: World, image_id: str | None) -> Image | None:
    """One of the project's own images, or one of the marketplace."""
    if image_id is None:
        return None
    own = world.images.get(image_id)
    if own is not None:
        return own
    market = local_images().get(image_id)
    return market.image if market is not None else None


def allowed_actions(server: Server, *, busy: bool) -> list[str]:
    """`busy`: one of its volumes is on its way somewhere; then nothing is allowed."""
    if busy:
        return []
    if server.protected and server.state == "running":
        return ["backup"]
    return list(_ACTIONS.get(server.state, []))


def server_v1(world: World, server: Server) -> Json:
    slots = {slot.key: slot_v1(world, server, slot) for slot in server.slots}
    ips = [public_ip(ip) for ip in attached_ips(world, server.id)]
    nics = world.nics.under("server", server.id)
    image = find_image(world, server.image)
    group = world.security_groups.get(server.security_group)
    placement = world.placement_groups.get(server.placement_group)
    admin_key = {} if server.admin_key is None else {"admin_password_encryption_ssh_key_id": server.admin_key}
    busy = any(volume["state"] != "available" for volume in slots.values())
    return {
        "id": server.id,
        "name": server.name,
        "arch": image.arch if image is not None else "x86_64",
        "commercial_type": server.commercial_type,
        "boot_type": server.boot_type,
        "organization": world.organization,
        "project": server.project,
        "hostname": server.name,
        "image": None if image is None else image_v1(world, image),
        "volumes": slots,
        "tags": list(server.tags),
        "state": server.state,
        "protected": server.protected,
        "state_detail": server.state_detail,
        "public_ip": ips[0] if ips else None,
        "public_ips": ips,
        "mac_address": server.mac_address,
        "routed_ip_enabled": True,
        "ipv6": None,
        "extra_networks": [],
        "dynamic_ip_required": server.dynamic_ip_required,
        "enable_ipv6": False,
        "private_ip": None,
        "creation_date": time_v1(server.created_ms),
        "modification_date": time_v1(server.updated_ms),
        "bootscript": None,
        "security_group": None if group is None else {"id": group.id, "name": group.name},
        "location": {"zone_id": server.zone, **_LOCATION} if server.located else None,
        "maintenances": [],
        "allowed_actions": allowed_actions(server, busy=busy),
        "placement_group": None if placement is None else placement_group_v1(world, placement),
        "private_nics": [nic_v1(nic) for nic in nics],
        "zone": server.zone,
        "filesystems": [],
        "end_of_service": server.end_of_service,
        "dns": f"{server.id}.pub.instances.scw.cloud",
        **admin_key,
    }


def slot_v1(world: World, server: Server, slot: Slot) -> Json:
    """An SBS entry has no name, size or tags; a local one carries the whole volume."""
    volume = world.volumes.get(slot.volume)
    if slot.volume_type == "sbs_volume" or volume is None:
        return {
            "boot": slot.boot,
            "volume_type": slot.volume_type,
            "id": slot.volume,
            "state": slot.state,
            "zone": server.zone,
        }
    return {"boot": slot.boot, **volume_v1(world, volume)}


def attached_ips(world: World, server_id: str) -> list[FlexibleIp]:
    """In the order of attachment: state compares positions, and another order never converges."""
    return sorted(world.ips.under("server", server_id), key=lambda ip: ip.attach_order)


def public_ip(ip: FlexibleIp) -> Json:
    v6 = ip.type == "routed_ipv6"
    return {
        "id": ip.id,
        "address": (ip.prefix or "").replace("::/64", f":{SERVER_IPV6}") if v6 else ip.address,
        "dynamic": ip.dynamic,
        "gateway": "fe80::dc00:ff:fe00:1" if v6 else "62.210.0.1",
        "netmask": "64" if v6 else "32",
        "family": "inet6" if v6 else "inet",
        "provisioning_mode": "slaac" if v6 else "dhcp",
        "tags": list(ip.tags),
        "state": ip.state,
        "ipam_id": ip.ipam_id or ip.id,
    }


def ip_v1(world: World, ip: FlexibleIp) -> Json:
    server = world.servers.get(ip.server)
    return {
        "id": ip.id,
        "address": ip.address,
        "prefix": ip.prefix,
        "reverse": ip.reverse,
        "server": None if server is None else {"id": server.id, "name": server.name},
        "organization": world.organization,
        "project": ip.project,
        "zone": ip.zone,
        "type": ip.type,
        "state": ip.state,
        "tags": list(ip.tags),
        "ipam_id": ip.ipam_id or ip.id,
    }


def volume_v1(world: World, volume: Volume) -> Json:
    server = world.servers.get(volume.server)
    return {
        "id": volume.id,
        "name": volume.name,
        "volume_type": volume.volume_type,
        "export_uri": None,
        "organization": world.organization,
        "project": volume.project,
        "server": None if server is None else {"id": server.id, "name": server.name},
        "size": volume.size,
        "state": volume.state,
        "creation_date": time_v1(volume.created_ms),
        "modification_date": time_v1(volume.updated_ms),
        "tags": list(volume.tags),
        "zone": volume.zone,
    }


def nic_v1(nic: Nic) -> Json:
    return {
        "id": nic.id,
        "private_network_id": nic.private_network,
        "server_id": nic.server,
        "mac_address": nic.mac_address,
        "state": "available" if nic.state == "available" else "syncing",
        "creation_date": time_v1(nic.created_ms),
        "modification_date": time_v1(nic.updated_ms),
        "zone": nic.zone,
        "tags": list(nic.tags),
        "ipam_ip_ids": list(nic.ipam_ips),
    }


def nic_v2(nic: Nic) -> Json:
    return {
        "id": nic.id,
        "private_network_id": nic.private_network,
        "project_id": nic.project,
        "server_id": nic.server or "",
        "security_group_id": "",
        "mac_address": nic.mac_address,
        "status": nic.state,
        "ip_ids": list(nic.ipam_ips),
        "tags": list(nic.tags),
        "created_at": time_z(nic.created_ms),
        "updated_at": time_z(nic.updated_ms),
    }


def image_v1(world: World, image: Image) -> Json:
    """An SBS root snapshot shows neither size nor name here."""
    sbs = image.root_type == "sbs_snapshot"
    root = {"volume_type": image.root_type, "id": image.root_snapshot}
    owner = image.organization or world.organization
    return {
        "id": image.id,
        "name": image.name,
        "organization": owner,
        "project": image.project,
        "root_volume": {
            **root,
            "size": 0 if sbs else image.root_size,
            "name": "" if sbs else image.root_name or image.name,
        },
        "extra_volumes": {volume.key: _extra_volume(volume) for volume in image.extra_volumes},
        "public": image.public,
        "arch": image.arch,
        "creation_date": time_v1(image.created_ms),
        "modification_date": time_v1(image.updated_ms),
        "default_bootscript": None,
        "from_server": image.from_server,
        "state": "available",
        "tags": list(image.tags),
        "zone": image.zone,
    }


def _extra_volume(volume: ExtraVolume) -> Json:
    sbs = volume.volume_type == "sbs_snapshot"
    size, name = (0, "") if sbs else (volume.size, volume.name)
    return {"volume_type": volume.volume_type, "id": volume.snapshot, "size": size, "name": name}


def placement_group_v1(world: World, group: PlacementGroup) -> Json:
    return {
        "id": group.id,
        "name": group.name,
        "organization": world.organization,
        "project": group.project,
        "policy_mode": group.policy_mode,
        "policy_type": group.policy_type,
        "policy_respected": True,
        "tags": list(group.tags),
        "zone": group.zone,
    }

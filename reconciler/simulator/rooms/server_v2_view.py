"""Servers as v2alpha1 shows them. One recording holds such an answer (a server made from a template)."""

from __future__ import annotations

from typing import Final

from reconciler.simulator.call import Call, reply
from reconciler.simulator.records import Server
from reconciler.simulator.render import attached_ips, find_image
from reconciler.simulator.rooms.server_common import RESOURCE
from reconciler.simulator.wire import Json, Response, not_found, time_z
from reconciler.simulator.world import World

_STATUS: Final = {"running": "started", "stopped in place": "paused"}
_BY_DETAIL: Final = {"stopping in place": "pausing", "rebooting": "rebooting"}


def status_v2(server: Server) -> str:
    """v1's state in v2alpha1's words."""
    if server.state in {"starting", "stopping"}:
        return _BY_DETAIL.get(server.state_detail, server.state)
    return _STATUS.get(server.state, server.state)


def summary_v2(world: World, server: Server) -> Json:
    """An entry of the list: no volumes, no addresses, no interfaces."""
    image = find_image(world, server.image)
    placement = {} if server.placement_group is None else {"placement_group_id": server.placement_group}
    return {
        "id": server.id,
        "name": server.name,
        "project_id": server.project,
        "tags": list(server.tags),
        "server_type": server.commercial_type,
        "status": status_v2(server),
        "architecture": "aarch64" if image is not None and image.arch == "arm64" else "x86_64",
        "rescue_mode": server.boot_type == "rescue",
        "created_at": time_z(server.created_ms),
        "updated_at": time_z(server.updated_ms),
        **placement,
    }


def server_v2(world: World, server: Server) -> Json:
    ips = attached_ips(world, server.id)
    nics = world.nics.under("server", server.id)
    detail = "" if server.state == "stopped" else server.state_detail
    return {
        **summary_v2(world, server),
        "volumes": [
            {"id": slot.volume, "volume_type": "sbs" if slot.volume_type == "sbs_volume" else slot.volume_type}
            for slot in server.slots
        ],
        "filesystems": [],
        "private_network_interfaces": [
            {
                "id": nic.id,
                "private_network_id": nic.private_network,
                "mac_address": nic.mac_address,
                "status": nic.state,
                "ip_ids": list(nic.ipam_ips),
                "security_group_id": "",
            }
            for nic in nics
        ],
        "status_detail": detail,
        "public_network_interface": {
            "status": "available",
            "mac_address": server.mac_address,
            "security_group_id": server.security_group or "",
            "ips": [
                {"id": ip.id, "dynamic": ip.dynamic, "status": ip.state, "default": False} for ip in ips
            ],
            "dns": f"{server.id}.pub.instances.scw.cloud",
        },
        "zone": server.zone,
    }  # fmt: skip


def show(call: Call, server_id: str) -> Response:
    """The answer of a call about one server: the server as it is now."""
    server = call.world.servers.get(server_id)
    if server is None:
        raise not_found(RESOURCE, server_id)
    return reply(server_v2(call.world, server))

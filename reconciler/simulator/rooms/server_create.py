"""Creating a server, in two dialects.

A create is not atomic and has no idempotency key: it answers with a *stopped* server whose volumes and addresses
exist and are billed already; powering it on is another call, which may fail. Inline volumes inherit the project and no
tags, and are named after the image. The v2alpha1 dialect can tag them; its answers are assumptions, for no recording
holds one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reconciler.simulator import effects
from reconciler.simulator.call import Call, mapping, mappings, number, optional_text, reply, strings, text
from reconciler.simulator.catalog import LABELS, local_images, server_types
from reconciler.simulator.records import BlockVolume, FlexibleIp, Server, Slot, Volume
from reconciler.simulator.records_static import Image
from reconciler.simulator.render import find_image
from reconciler.simulator.rooms.ips import new_ip
from reconciler.simulator.rooms.server_common import BASE, answer
from reconciler.simulator.rooms.server_v2_view import server_v2
from reconciler.simulator.rooms.server_volumes import attach_any, attach_block, put_slot
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Json, Response, bad_request, invalid, not_found

GB = 1_000_000_000


def create_v1(call: Call) -> Response:
    body = call.body
    project = call.project_of_body("project", "organization")
    call.respect_quota(call.world.servers, place=call.zone, project=project)
    kind = _type_of(text(body, "commercial_type"))
    image = _image_of(call, body.get("image"))
    ips = [_free_ip(call, ip_id) for ip_id in _ip_ids(body)]
    volumes = body.get("volumes") or {}
    if not isinstance(volumes, dict) or not all(isinstance(item, dict) for item in volumes.values()):
        raise invalid("volumes", "format", "must be a map of volumes")
    for item in volumes.values():
        _check_volume(call, item)
    server = _new_server(call, body, project=project, kind=kind, image=image)
    for key in sorted({"0", *volumes} if image is not None else set(volumes)):
        server = _volume_v1(call, server, key=key, item=volumes.get(key, {}), image=image)
    for ip in ips:
        effects.attach_ip(call.world, ip, server, state="attached", now_ms=call.now_ms)
    return answer(call, server.id, status=201)


def _ip_ids(body: Json) -> tuple[str, ...]:
    """`public_ips`, or the older `public_ip` of one."""
    if body.get("public_ips"):
        return strings(body["public_ips"], "public_ips")
    return (text(body, "public_ip"),) if body.get("public_ip") else ()


def _free_ip(call: Call, ip_id: str) -> FlexibleIp:
    ip = call.fetch(call.world.ips, ip_id, place=call.zone, resource="instance_ip")
    if ip.server is not None:
        raise bad_request(f"IP {ip_id} is already attached to a server")
    return ip


def _type_of(name: str) -> str:
    if name not in server_types():
        raise invalid("commercial_type", "constraint", "not a valid value")
    return name


def _image_of(call: Call, image_id: Any) -> Image | None:
    if not image_id:
        return None
    image = find_image(call.world, str(image_id))
    if image is None or image.zone != call.zone:
        raise not_found("instance_image", str(image_id))
    return image


def _check_volume(call: Call, item: Json) -> None:
    volume_id = item.get("id")
    if volume_id is not None:
        block, local = call.world.block_volumes.get(volume_id), call.world.volumes.get(volume_id)
        if block is None and local is None:
            raise not_found("instance_volume", str(volume_id))
        if (block is not None and block.reference is not None) or (local is not None and local.server is not None):
            raise bad_request(f"Volume {volume_id} is already attached to another server")
    if item.get("volume_type") not in (None, "", "l_ssd", "scratch", "sbs_volume"):
        raise invalid("volume_type", "constraint", "not a valid value")


def _new_server(call: Call, body: Json, *, project: str, kind: str, image: Image | None) -> Server:
    group = body.get("security_group")
    if group is not None and group not in call.world.security_groups:
        raise not_found("instance_security_group", str(group))
    placement = body.get("placement_group")
    if placement is not None and placement not in call.world.placement_groups:
        raise not_found("instance_placement_group", str(placement))
    if group is None:
        group = effects.default_security_group(
            call.world, call.mint, zone=call.zone, project=project, now_ms=call.now_ms
        ).id
    server = Server(
        id=call.mint.uuid(),
        name=text(body, "name", "srv-unnamed"),
        zone=call.zone,
        project=project,
        commercial_type=kind,
        image=None if image is None else image.id,
        tags=call.tags_of_body() or (),
        state="stopped",
        state_detail="",
        located=False,
        protected=bool(body.get("protected", False)),
        boot_type=text(body, "boot_type", "local"),
        dynamic_ip_required=bool(body.get("dynamic_ip_required", False)),
        security_group=str(group),
        placement_group=placement,
        mac_address=call.mint.mac(call.world, "de:00"),
        admin_key=optional_text(body, "admin_password_encryption_ssh_key_id"),
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    return call.world.servers.put(server)


def _volume_v1(call: Call, server: Server, *, key: str, item: Json, image: Image | None) -> Server:
    """A slot of the map: an existing volume by id, or a new one; the first takes its kind from the image."""
    boot = bool(item.get("boot", False))
    if item.get("id"):
        return attach_any(call, server, str(item["id"]), key=key, boot=boot, at_once=True)
    root = image if key == "0" else None
    default = "l_ssd" if root is not None and root.root_type == "l_ssd" else "sbs_volume"
    kind = item.get("volume_type") or default
    name = text(item, "name", root.name if root is not None else f"{server.name}-vol-{key}")
    size = number(item, "size", 0) or _default_size(server, kind, root)
    if kind == "sbs_volume":
        spoken = name if item.get("name") else f"{name}_sbs_volume_{key}"
        return new_block(call, server, key=key, boot=boot, name=spoken, size=size, root=root)
    return new_local(call, server, key=key, boot=boot, name=name, size=size, kind=kind)


def _default_size(server: Server, kind: str, root: Image | None) -> int:
    if kind == "sbs_volume":
        return 10 * GB if root is None else root.root_size
    return server_types()[server.commercial_type].volumes_max or 20 * GB


def new_block(
    call: Call,
    server: Server,
    *,
    key: str,
    boot: bool,
    name: str,
    size: int,
    root: Image | None,
    perf_iops: int = 5000,
    tags: tuple[str, ...] = (),
) -> Server:
    """A new SBS volume, in use from the start."""
    volume = BlockVolume(
        id=call.mint.uuid(),
        name=name,
        zone=server.zone,
        project=server.project,
        size=size,
        perf_iops=perf_iops,
        parent_snapshot=None if root is None else root.root_snapshot,
        tags=tags,
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    call.world.block_volumes.put(volume)
    return attach_block(call, server, volume, key=key, boot=boot, at_once=True)


def new_local(
    call: Call, server: Server, *, key: str, boot: bool, name: str, size: int, kind: str, tags: tuple[str, ...] = ()
) -> Server:
    volume = Volume(
        id=call.mint.uuid(),
        name=name,
        zone=server.zone,
        project=server.project,
        volume_type=kind,
        size=size,
        server=server.id,
        tags=tags,
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    call.world.volumes.put(volume)
    return put_slot(call, server, Slot(key=key, volume=volume.id, volume_type=kind, boot=boot))


def create_v2(call: Call) -> Response:
    """v2alpha1: new volumes and new addresses come with the create, and carry tags of their own."""
    body = call.body
    project = call.project_of_body("project_id")
    call.respect_quota(call.world.servers, place=call.zone, project=project)
    kind = _type_of(text(body, "server_type"))
    public, volumes = mapping(body, "public_network_interface"), mappings(body, "volumes")
    images = [_label_image(call, item, kind) for item in volumes]
    existing = [_free_ip(call, text(item, "ipam_ip_id")) for item in mappings(public, "ips") if item.get("ipam_ip_id")]
    for item in volumes:
        _check_volume(call, {"id": item.get("volume_id")})
    groups = {"security_group": public.get("security_group_id"), "placement_group": body.get("placement_group_id")}
    v1_body = {**body, **groups}
    image = next((found for found in images if found is not None), None)
    server = _new_server(call, v1_body, project=project, kind=kind, image=image)
    for position, (item, root) in enumerate(zip(volumes, images, strict=True)):
        server = _volume_v2(call, server, key=str(position), item=item, root=root)
    for ip in [*existing, *_new_ips(call, project, public)]:
        effects.attach_ip(call.world, ip, server, state="attached", now_ms=call.now_ms)
    return reply(server_v2(call.world, call.world.servers.get(server.id) or server))


def _label_image(call: Call, item: Json, kind: str) -> Image | None:
    label = optional_text(mapping(item, "new_volume"), "image_label")
    if label is None:
        return None
    arch = server_types()[kind].arch
    wanted = "instance_local" if item.get("volume_type") == "l_ssd" else "instance_sbs"
    if label in LABELS:
        for candidate in local_images().values():
            if (candidate.label, candidate.zone, candidate.arch, candidate.type) == (label, call.zone, arch, wanted):
                return candidate.image
    raise not_found("MarketplaceImage", label)


def _volume_v2(call: Call, server: Server, *, key: str, item: Json, root: Image | None) -> Server:
    if item.get("volume_id"):
        return attach_any(call, server, str(item["volume_id"]), key=key, boot=False, at_once=True)
    fresh = mapping(item, "new_volume")
    spoken = text(item, "volume_type", "sbs")
    kind = "sbs_volume" if spoken == "sbs" else spoken
    tags = strings(fresh.get("tags") or [], "tags")
    size = number(fresh, "size", 0) or _default_size(server, kind, root)
    name = text(fresh, "name", f"{server.name}-vol-{key}")
    if kind != "sbs_volume":
        return new_local(call, server, key=key, boot=False, name=name, size=size, kind=kind, tags=tags)
    iops = number(fresh, "perf_iops", 0) or 5000
    server = new_block(call, server, key=key, boot=False, name=name, size=size, root=root, perf_iops=iops, tags=tags)
    if optional_text(fresh, "base_snapshot_id") is not None:
        slot = next(slot for slot in server.slots if slot.key == key)
        volume = call.world.block_volumes.get(slot.volume)
        if volume is not None:
            call.world.block_volumes.put(replace(volume, parent_snapshot=fresh["base_snapshot_id"]))
    return server


def _new_ips(call: Call, project: str, public: Json) -> list[FlexibleIp]:
    made = []
    for item in mappings(public, "ips"):
        if asked := mapping(item, "new_ip"):
            kind = "routed_ipv6" if asked.get("type") == "zonal_ipv6" else "routed_ipv4"
            tags = strings(asked.get("tags") or [], "tags")
            made.append(new_ip(call, project=project, kind=kind, tags=tags))
    return made


ROUTES = (
    Route("POST", BASE, create_v1, "server"),
    Route("POST", "/instance/v2alpha1/zones/{zone}/servers", create_v2, "server"),
)

"""Servers: `POST .../servers` against the server that runs.

What the program does not say is held against the API's own default where that can be known (no IP, no placement group,
the project's default security group, local boot), and left open where the API decides (the size and kind of a root
volume that comes from its image).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reconciler.engine.adoption.comparison import Comparison
from reconciler.engine.adoption.expectation import Expectation
from reconciler.engine.adoption.live import Live
from reconciler.engine.adoption.proofs.shared import Call, Reply, match
from reconciler.engine.adoption.proofs.volume import block_path
from reconciler.model.resources import Kind

_KEYS: Final = frozenset(
    {
        "name",
        "dynamic_ip_required",
        "commercial_type",
        "image",
        "volumes",
        "boot_type",
        "project",
        "tags",
        "public_ips",
        "security_group",
        "placement_group",
        "protected",
        "admin_password_encryption_ssh_key_id",
    }
)
_VOLUME_KEYS: Final = frozenset({"id", "boot", "name", "size", "volume_type"})


def path_of(item: Expectation) -> str:
    return f"/instance/v1/zones/{item.ref.zone}/servers/{item.ref.id}"


def read(live: Live, item: Expectation) -> dict[str, Any] | None:
    found = live.find(path_of(item))
    server = None if found is None else found.get("server")
    return server if isinstance(server, dict) else None


def create(call: Call) -> Reply:
    _, server = match(call, Kind.SERVER, read=read, compare=compare)
    return Reply.json(201, {"server": server})


def compare(comparison: Comparison, body: Mapping[str, Any], server: Mapping[str, Any], live: Live | None) -> None:
    comparison.only(body, _KEYS)
    comparison.name(body.get("name"), server.get("name"))
    comparison.same("type", _folded(body.get("commercial_type")), _folded(server.get("commercial_type")))
    comparison.same("image", body.get("image"), _id(server.get("image")))
    comparison.same("projectId", body.get("project"), server.get("project"))
    comparison.tags(body.get("tags"), server.get("tags"))
    comparison.same("bootType", body.get("boot_type"), server.get("boot_type"), default="local")
    comparison.flag("protected", body.get("protected"), server.get("protected"))
    comparison.same("enableDynamicIp", body.get("dynamic_ip_required"), server.get("dynamic_ip_required"))
    comparison.same("placementGroupId", body.get("placement_group"), _id(server.get("placement_group")))
    key = "admin_password_encryption_ssh_key_id"
    if body.get(key) is not None:
        comparison.same("adminPasswordEncryptionSshKeyId", body[key], server.get(key))
    _compare_ips(comparison, body, server)
    _compare_security_group(comparison, body, server, live)
    _compare_volumes(comparison, body, server, live)


def _folded(name: object) -> object:
    """The provider treats types that differ in case as one."""
    return name.upper() if isinstance(name, str) else name


def _id(part: object) -> object:
    return part.get("id") if isinstance(part, dict) else None


def _compare_ips(comparison: Comparison, body: Mapping[str, Any], server: Mapping[str, Any]) -> None:
    """In attach order. Dynamic addresses come with `enableDynamicIp`, which is compared by itself."""
    attached = [ip["id"] for ip in server.get("public_ips") or [] if isinstance(ip, dict) and not ip.get("dynamic")]
    path = "ipId" if comparison.expectation.inputs.get("ipId") is not None else "ipIds"
    comparison.sequence(path, body.get("public_ips"), attached)


def _compare_security_group(
    comparison: Comparison, body: Mapping[str, Any], server: Mapping[str, Any], live: Live | None
) -> None:
    wanted, group = body.get("security_group"), _id(server.get("security_group"))
    if wanted is not None:
        comparison.same("securityGroupId", wanted, group)
    elif live is not None and group is not None:
        zone = comparison.expectation.ref.zone
        found = live.get(f"/instance/v1/zones/{zone}/security_groups/{group}").get("security_group")
        if not isinstance(found, dict) or not (found.get("project_default") or found.get("organization_default")):
            comparison.differ("securityGroupId", "nothing: the project's default", group)


def _compare_volumes(
    comparison: Comparison, body: Mapping[str, Any], server: Mapping[str, Any], live: Live | None
) -> None:
    wanted, slots = body.get("volumes"), server.get("volumes") or {}
    if not isinstance(wanted, dict) or not all(isinstance(item, dict) for item in wanted.values()):
        comparison.differ("rootVolume", wanted, "volumes by slot")
        return
    comparison.same("additionalVolumeIds", _extra_ids(wanted), _extra_ids(slots))
    for key in sorted(wanted):
        slot = slots.get(key)
        if isinstance(slot, dict):
            place = "rootVolume" if key == "0" else f"volume {key}"
            _compare_volume(comparison, wanted[key], slot, live, place=place)
    if "0" not in wanted or "0" not in slots:
        comparison.same("rootVolume", "0" in wanted, "0" in slots)


def _extra_ids(volumes: Mapping[str, Any]) -> list[Any]:
    """Slot by slot, so that a volume in another slot is another volume."""
    return [[key, _id(volumes[key])] for key in sorted(volumes) if key != "0"]


def _compare_volume(
    comparison: Comparison, template: Mapping[str, Any], slot: Mapping[str, Any], live: Live | None, *, place: str
) -> None:
    comparison.only(template, _VOLUME_KEYS, inside=f"{place}.")
    if template.get("boot") is not None:
        comparison.same(f"{place}.boot", template["boot"], slot.get("boot"))
    if template.get("volume_type") is not None:
        comparison.same(f"{place}.volumeType", template["volume_type"], slot.get("volume_type"))
    if template.get("id") is not None:
        comparison.same(f"{place}.volumeId", template["id"], slot.get("id"))
    if template.get("name") is not None and slot.get("volume_type") != "sbs_volume":
        comparison.same(f"{place}.name", template["name"], slot.get("name"))
    if template.get("size") is not None and live is not None:
        comparison.size(f"{place}.sizeInGb", template["size"], _size(comparison, slot, live))


def _size(comparison: Comparison, slot: Mapping[str, Any], live: Live) -> Any:
    """A local volume shows its size in the server; one of Block Storage only there."""
    if slot.get("volume_type") != "sbs_volume":
        return slot.get("size")
    return live.get(block_path(comparison.expectation.ref.zone, str(slot.get("id")))).get("size")

"""Property drift: a state entry's outputs against the listing, without a single extra call.

Each kind has one function that yields, per property, what state says and what the cloud says, in state's own notation
(`fr-par-1/UUID` ids, sizes in GB). What a listing cannot show is named as *not compared*, with the reason, instead of
being passed over in silence. `BLIND_SPOTS` lists what the engine's own refresh does not report: a difference in those
alone is a person's to settle, because a refresh would change nothing.

Almost every entry is as its state says, so `same` asks that first and makes no values on the way.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from reconciler.diff.index import Index
from reconciler.diff.values import bare, flag, flexible_ips, holds_secret, ids_of, plain, same_tags, whole
from reconciler.model.finding import Difference
from reconciler.model.resources import Ip, IpamAddress, Kind, Nic, Other, Resource, Server, Volume
from reconciler.model.state import SECRET, StateResource

_GB: Final = 1_000_000_000
# "stopped in place" is what the wire says; the provider calls it standby. Transient states are compared by nobody.
_STATE_NAMES: Final[Mapping[str, str]] = {"running": "started", "stopped": "stopped", "stopped in place": "standby"}
_UUID_LENGTH: Final = 36
_COMPARED_OF_OTHERS: Final = frozenset({"id", "name", "tags", "zone", "region", "projectId", "organizationId"})

_UNDECLARED: Final = "what the program leaves to the provider is not compared"
_EMPTIED: Final = "a value that was taken away reads as not set"
# (kind, property): seen by us, reported as `same` by `pulumi refresh --preview-only` (provider v2.81.0). `?`: only
# where the program does not declare it; `[]`: where nothing is left of it; `[+]`: what came beside the declared ones.
# `make equivalence` holds each row against the real engine, both ways.
BLIND_SPOTS: Final[Mapping[tuple[Kind, str], str]] = {
    (Kind.SERVER, "name?"): _UNDECLARED,
    (Kind.SERVER, "state?"): _UNDECLARED,
    (Kind.SERVER, "securityGroupId?"): _UNDECLARED,
    (Kind.SERVER, "rootVolume.name?"): _UNDECLARED,
    (Kind.SERVER, "rootVolume.sizeInGb?"): _UNDECLARED,
    (Kind.SERVER, "rootVolume.sbsIops?"): _UNDECLARED,
    (Kind.SERVER, "tags[]"): _EMPTIED,
    (Kind.SERVER, "placementGroupId[]"): _EMPTIED,
    (Kind.SERVER, "publicIps[+]"): "with `ipId`, an address beside the declared one is not read",
    (Kind.SERVER, "privateNetworks[+]"): "a private NIC that the program does not declare is not read",
    (Kind.IP, "tags[]"): _EMPTIED,
    (Kind.NIC, "tags[]"): _EMPTIED,
    (Kind.IPAM, "tags[]"): _EMPTIED,
    (Kind.VOLUME, "name?"): _UNDECLARED,
    (Kind.INSTANCE_VOLUME, "name?"): _UNDECLARED,
    (Kind.PRIVATE_NETWORK, "name?"): _UNDECLARED,
    (Kind.SECURITY_GROUP, "name?"): _UNDECLARED,
    (Kind.PLACEMENT_GROUP, "name?"): _UNDECLARED,
}


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A property that this comparison leaves out, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    differences: tuple[Difference, ...]
    not_compared: tuple[NotCompared, ...]


_Pair = tuple[str, Any, Any]


def compare(
    entry: StateResource, resource: Resource, *, index: Index, managed: Container[str] = frozenset()
) -> Comparison:
    """What differs between a state entry and the resource that it stands for.

    `managed` are the ids that any state holds: a NIC with an entry of its own is no difference of its server.
    """
    differences: list[Difference] = []
    left_out = list(_left_out(entry, resource))
    for path, state, cloud in _pairs(entry, resource, index, managed):
        if entry.ignore_changes:
            cloud = _without_ignored(path, state, cloud, entry.ignore_changes)
        head = path.split(".")[0].split("[")[0]
        if any(ignored in (path, head, "*") for ignored in entry.ignore_changes):
            left_out.append(NotCompared(path, "ignored by the program (ignoreChanges)"))
        elif state is SECRET or holds_secret(state):
            left_out.append(NotCompared(path, "secret"))
        elif plain(state) == plain(cloud):
            continue
        elif path == "tags" and same_tags(state, cloud):
            left_out.append(NotCompared(path, "the same tags in another order, or repeated"))
        else:
            differences.append(Difference(path=path, state=plain(state), cloud=plain(cloud)))
    return Comparison(tuple(differences), tuple(left_out))


def same(entry: StateResource, resource: Resource, *, index: Index) -> bool:
    """True only where `compare` would find nothing; False where it has to look."""
    if isinstance(resource, Server):
        return _same_server(entry.outputs, resource, index)
    if isinstance(resource, Ip):
        out = entry.outputs
        return out.get("type") == resource.type and same_tags(out.get("tags"), resource.tags)
    return False


def _same_server(out: Mapping[str, Any], server: Server, index: Index) -> bool:
    """Asked of every server, so it is strict where that is quicker: a state that says the same in another way is
    left to the comparison."""
    group = server.security_group_id
    if not (
        out.get("name") == server.name
        and out.get("type") == server.commercial_type
        and out.get("bootType") == server.boot_type
        and out.get("state") == _STATE_NAMES.get(server.state)
        and out.get("enableDynamicIp") is server.dynamic_ip_required
        and out.get("protected") is server.protected
        and out.get("securityGroupId") == (None if group is None else f"{server.zone}/{group}")
        and not out.get("placementGroupId")
        and server.placement_group_id is None
        and not out.get("privateNetworks")
        and server.id not in index.nics_of
        and not out.get("additionalVolumeIds")
        and len(server.volumes) == 1
        and same_tags(out.get("tags"), server.tags)
        and _same_addresses(out, server)
    ):
        return False
    image, root, slot = out.get("image"), out.get("rootVolume"), server.volumes[0]
    if slot.key != "0" or not isinstance(root, Mapping) or root.get("volumeId") != f"{server.zone}/{slot.id}":
        return False
    if not isinstance(image, str) or (len(image) >= _UUID_LENGTH and bare(image) != server.image_id):
        return False
    volume = index.volume(slot.kind, slot.id)
    return volume is None or (
        root.get("name") == volume.name
        and root.get("sizeInGb") == volume.size // _GB
        and (volume.iops is None or root.get("sbsIops") == volume.iops)
    )


def _same_addresses(out: Mapping[str, Any], server: Server) -> bool:
    listed, there = out.get("publicIps") or (), server.ip_ids
    if not isinstance(listed, (list, tuple)) or len(listed) != len(there):
        return False
    for item, ip_id in zip(listed, there, strict=True):
        if not isinstance(item, Mapping) or item.get("dynamic") or item.get("id") != f"{server.zone}/{ip_id}":
            return False
    one = out.get("ipId")
    return not one or bare(one) in there


def blind(entry: StateResource, resource: Resource, difference: Difference) -> str | None:
    """Why the engine's refresh reports `same` for this difference; None where it sees it."""
    kind, path = resource.ref.kind, difference.path
    emptied = BLIND_SPOTS.get((kind, f"{path}[]")) if difference.cloud is None else None
    undeclared = BLIND_SPOTS.get((kind, f"{path}?")) if not _declares(entry.inputs, path) else None
    return emptied or undeclared or BLIND_SPOTS.get((kind, path))


def _declares(inputs: Mapping[str, Any], path: str) -> bool:
    """Whether the program gives a value for a path such as `rootVolume.name`. A secret may hold anything."""
    value: Any = inputs
    for step in path.split("."):
        if value is SECRET:
            return True
        value = value.get(step) if isinstance(value, Mapping) else None
    return value is not None


def _without_ignored(path: str, state: Any, cloud: Any, ignored: tuple[str, ...]) -> Any:
    """The cloud's list with the state's values where `ignoreChanges` names one element, as in `tags[0]`."""
    places = [name[len(path) + 1 : -1] for name in ignored if name.startswith(f"{path}[") and name.endswith("]")]
    if not places or not isinstance(state, list | tuple) or not isinstance(cloud, list | tuple):
        return cloud
    return [state[n] if n < len(state) and str(n) in places else value for n, value in enumerate(cloud)]


def _pairs(entry: StateResource, resource: Resource, index: Index, managed: Container[str]) -> Iterator[_Pair]:
    out = entry.outputs
    match resource:
        case Server():
            yield from _server(entry, resource, index, managed)
        case Ip():
            yield "tags", out.get("tags"), resource.tags
            yield "type", out.get("type"), resource.type
        case Volume(kind=Kind.VOLUME):
            yield "name", out.get("name"), resource.name
            yield "tags", out.get("tags"), resource.tags
            yield "sizeInGb", whole(out.get("sizeInGb")), resource.size // _GB
            if resource.iops is not None:
                yield "iops", whole(out.get("iops")), resource.iops
        case Volume():
            yield "name", out.get("name"), resource.name
            yield "tags", out.get("tags"), resource.tags
            yield "sizeInGb", whole(out.get("sizeInGb")), resource.size // _GB
            yield "type", out.get("type"), resource.volume_type
        case Nic():
            yield "tags", out.get("tags"), resource.tags
            yield "privateNetworkId", bare(out.get("privateNetworkId")), resource.private_network_id
            yield "serverId", bare(out.get("serverId")), resource.server_id
        case IpamAddress():
            yield "tags", out.get("tags"), resource.tags
        case Other():
            yield "tags", out.get("tags"), resource.tags
            if "name" in out:
                yield "name", out.get("name"), resource.name


def _server(entry: StateResource, server: Server, index: Index, managed: Container[str]) -> Iterator[_Pair]:
    out = entry.outputs
    yield "name", out.get("name"), server.name
    yield "type", out.get("type"), server.commercial_type
    yield "tags", out.get("tags"), server.tags
    if server.state in _STATE_NAMES:
        yield "state", out.get("state"), _STATE_NAMES[server.state]
    image = bare(out.get("image"))
    if isinstance(image, str) and len(image) == _UUID_LENGTH:
        yield "image", image, server.image_id
    yield "bootType", out.get("bootType"), server.boot_type
    yield "enableDynamicIp", flag(out.get("enableDynamicIp")), server.dynamic_ip_required
    yield "protected", flag(out.get("protected")), server.protected
    yield "securityGroupId", bare(out.get("securityGroupId")), server.security_group_id
    yield "placementGroupId", bare(out.get("placementGroupId")), server.placement_group_id
    yield from _addresses(entry, server)
    yield from _server_volumes(entry, server, index)
    yield from _private_networks(entry, server, index, managed)


def _addresses(entry: StateResource, server: Server) -> Iterator[_Pair]:
    """Under the name by which the program declares them, as the engine does: one (`ipId`), else the list (`ipIds`)."""
    ignored, one = entry.ignore_changes, bare(entry.outputs.get("ipId"))
    held, there = flexible_ips(entry.outputs.get("publicIps")), list(server.ip_ids)
    if entry.inputs.get("ipId"):
        yield "ipId", one, one if one in there else None
        if one in there and "ipId" not in ignored:
            yield "publicIps[+]", held, there
        return
    declared = bool(entry.inputs.get("ipIds"))
    yield "ipId" if "ipIds" in ignored and not declared else "ipIds", held, there


def _server_volumes(entry: StateResource, server: Server, index: Index) -> Iterator[_Pair]:
    out, root = entry.outputs, server.root
    extra = [slot.id for slot in sorted(server.volumes, key=lambda slot: slot.key) if slot.key != "0"]
    yield "additionalVolumeIds", ids_of(out.get("additionalVolumeIds")), extra
    declared = out.get("rootVolume")
    if not isinstance(declared, Mapping):
        return
    yield "rootVolume.volumeId", bare(declared.get("volumeId")), root.id if root is not None else None
    volume = index.volume(root.kind, root.id) if root is not None else None
    if volume is None:
        return
    yield "rootVolume.sizeInGb", whole(declared.get("sizeInGb")), volume.size // _GB
    yield "rootVolume.name", declared.get("name"), volume.name
    if volume.iops is not None:
        yield "rootVolume.sbsIops", whole(declared.get("sbsIops")), volume.iops


def _private_networks(entry: StateResource, server: Server, index: Index, managed: Container[str]) -> Iterator[_Pair]:
    """Declared networks without a NIC, and NICs that nothing declares; nothing where the NICs were not read whole."""
    scan = index.inventory.scans.get((Kind.NIC, server.zone))
    declared = ids_of(entry.outputs.get("privateNetworks"), key="pnId")
    if scan is None or not scan.complete or declared is SECRET:
        return
    nics = index.nics_of.get(server.id, ())
    there = {nic.private_network_id for nic in nics}
    yield "privateNetworks", sorted(map(str, declared)), sorted(str(one) for one in declared if one in there)
    free = {nic.private_network_id for nic in nics if nic.id not in managed}
    yield "privateNetworks[+]", [], sorted(free - set(declared))


def _left_out(entry: StateResource, resource: Resource) -> Iterator[NotCompared]:
    match resource:
        case Server():
            yield from _left_out_of_server(entry, resource)
        case Ip():
            yield NotCompared("reverse", "set by an entry of its own (IpReverseDns); the engine compares it there")
        case Other() | IpamAddress():
            for path in sorted({*entry.inputs, *entry.outputs} - _COMPARED_OF_OTHERS):
                if not path.startswith("__"):
                    yield NotCompared(path, "not read here; the engine reads it")


def _left_out_of_server(entry: StateResource, server: Server) -> Iterator[NotCompared]:
    for path in ("userData", "cloudInit", "filesystems"):
        if entry.inputs.get(path) is not None:
            yield NotCompared(path, "in no listing; the engine reads it")
    image = bare(entry.outputs.get("image"))
    if isinstance(image, str) and len(image) != _UUID_LENGTH:
        yield NotCompared("image", "a label; a server's image does not change after its create")
    if server.state not in _STATE_NAMES:
        yield NotCompared("state", f"it is {server.state} now")

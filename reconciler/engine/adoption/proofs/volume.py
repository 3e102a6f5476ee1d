"""Volumes: Block Storage's `POST .../volumes` and the Instance API's, and what the provider changes on a root volume
after it has created its server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reconciler.engine.adoption.comparison import Comparison
from reconciler.engine.adoption.expectation import Expectation
from reconciler.engine.adoption.live import Live
from reconciler.engine.adoption.proofs.shared import Call, NotProvedError, Reply, match
from reconciler.model.resources import Kind

_BLOCK_KEYS: Final = frozenset({"name", "perf_iops", "project_id", "from_empty", "from_snapshot", "tags"})
_LOCAL_KEYS: Final = frozenset({"name", "project", "tags", "volume_type", "size"})


def block_path(zone: str, identity: str) -> str:
    return f"/block/v1/zones/{zone}/volumes/{identity}"


def read_block(live: Live, item: Expectation) -> dict[str, Any] | None:
    return live.find(block_path(item.ref.zone, item.ref.id))


def compare_block(
    comparison: Comparison, body: Mapping[str, Any], volume: Mapping[str, Any], _live: Live | None
) -> None:
    comparison.only(body, _BLOCK_KEYS)
    comparison.name(body.get("name"), volume.get("name"))
    comparison.same("projectId", body.get("project_id"), volume.get("project_id"))
    comparison.tags(body.get("tags"), volume.get("tags"))
    if body.get("perf_iops") is not None:
        comparison.same("iops", body["perf_iops"], iops(volume))
    _compare_origin(comparison, body, volume)


def _compare_origin(comparison: Comparison, body: Mapping[str, Any], volume: Mapping[str, Any]) -> None:
    empty, snapshot = body.get("from_empty"), body.get("from_snapshot")
    if isinstance(empty, dict) == isinstance(snapshot, dict):
        comparison.differ("snapshotId", "neither or both of from_empty and from_snapshot", "one origin")
    elif isinstance(empty, dict):
        comparison.only(empty, {"size"}, inside="fromEmpty.")
        comparison.size("sizeInGb", empty.get("size"), volume.get("size"))
        comparison.same("snapshotId", None, volume.get("parent_snapshot_id"))
    elif isinstance(snapshot, dict):
        comparison.only(snapshot, {"size", "snapshot_id"}, inside="fromSnapshot.")
        if snapshot.get("size") is not None:
            comparison.size("sizeInGb", snapshot["size"], volume.get("size"))
        comparison.same("snapshotId", snapshot.get("snapshot_id"), volume.get("parent_snapshot_id"))


def iops(volume: Mapping[str, Any]) -> Any:
    specs = volume.get("specs")
    return specs.get("perf_iops") if isinstance(specs, dict) else None


def create_block(call: Call) -> Reply:
    _, volume = match(call, Kind.VOLUME, read=read_block, compare=compare_block)
    return Reply.json(200, volume)


def read_local(live: Live, item: Expectation) -> dict[str, Any] | None:
    found = live.find(f"/instance/v1/zones/{item.ref.zone}/volumes/{item.ref.id}")
    volume = None if found is None else found.get("volume")
    return volume if isinstance(volume, dict) else None


def compare_local(
    comparison: Comparison, body: Mapping[str, Any], volume: Mapping[str, Any], _live: Live | None
) -> None:
    """A volume made from a snapshot is refused: nothing on it says from which."""
    comparison.only(body, _LOCAL_KEYS)
    comparison.name(body.get("name"), volume.get("name"))
    comparison.same("type", body.get("volume_type"), volume.get("volume_type"))
    comparison.same("projectId", body.get("project"), volume.get("project"))
    comparison.size("sizeInGb", body.get("size"), volume.get("size"))
    comparison.tags(body.get("tags"), volume.get("tags"))


def create_local(call: Call) -> Reply:
    _, volume = match(call, Kind.INSTANCE_VOLUME, read=read_local, compare=compare_local)
    return Reply.json(201, {"volume": volume})


def update_block_root(call: Call) -> Reply:
    """`PATCH {"perf_iops": ...}` or `{"name": ...}` of the root volume of a server that was just answered."""
    identity = call.parts["id"].lower()
    item, body = _server_with_root(call, identity), call.body()
    volume = call.live.get(block_path(call.place, identity))
    comparison = Comparison(item)
    comparison.only(body, {"perf_iops", "name"}, inside="rootVolume.")
    if "perf_iops" in body:
        comparison.same("rootVolume.sbsIops", body["perf_iops"], iops(volume))
    if "name" in body:
        comparison.same("rootVolume.name", body["name"], volume.get("name"))
    if comparison.differences:
        raise NotProvedError(comparison.differences)
    return Reply.json(200, volume)


def update_local_root(call: Call) -> Reply:
    """`PATCH {"name": ...}` of a local root volume."""
    identity = call.parts["id"].lower()
    item, body = _server_with_root(call, identity), call.body()
    found = call.live.get(f"/instance/v1/zones/{call.place}/volumes/{identity}")
    volume = found.get("volume")
    comparison = Comparison(item)
    comparison.only(body, {"name"}, inside="rootVolume.")
    comparison.same("rootVolume.name", body.get("name"), volume.get("name") if isinstance(volume, dict) else None)
    if comparison.differences:
        raise NotProvedError(comparison.differences)
    return Reply.json(200, found)


def _server_with_root(call: Call, identity: str) -> Expectation:
    """The answered server whose root volume this is, by a fresh look at it. Raises NotProvedError."""
    for item in call.book.answered(Kind.SERVER):
        if item.ref.zone != call.place or _root_of(call.book.remembered(item)) != identity:
            continue
        fresh = call.live.get(f"/instance/v1/zones/{item.ref.zone}/servers/{item.ref.id}").get("server")
        if isinstance(fresh, dict) and _root_of(fresh) == identity:
            return item
    raise call.refuse("changes a volume that is no target's root")


def _root_of(server: Mapping[str, Any] | None) -> object:
    volumes = (server or {}).get("volumes")
    root = volumes.get("0") if isinstance(volumes, dict) else None
    return root.get("id") if isinstance(root, dict) else None

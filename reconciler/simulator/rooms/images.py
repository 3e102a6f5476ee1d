"""Images of the Instance API v1: the project's own and, by id, the marketplace's. Deleting one leaves its snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator.call import Call, mapping, nothing, reply_v1, text
from reconciler.simulator.catalog import local_images
from reconciler.simulator.paging import Order, Selection, links, page_number, page_size
from reconciler.simulator.records_static import ExtraVolume, Image
from reconciler.simulator.render import image_v1
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Response, denied, not_found

BASE = "/instance/v1/zones/{zone}/images"
RESOURCE = "instance_image"


def _fetch(call: Call) -> Image:
    return call.fetch(call.world.images, call.params["image"], place=call.zone, resource=RESOURCE)


def list_images(call: Call) -> Response:
    """Only what the projects own: the marketplace has a list of its own."""
    query = call.query
    size, page = page_size(query, "per_page"), page_number(query)
    name, arch, tags = query.first("name"), query.first("arch"), set((query.first("tags") or "").split(",")) - {""}
    accept: Callable[[Image], bool] | None = None
    if name is not None or arch is not None or tags:
        accept = lambda image: (  # noqa: E731
            (name or "") in image.name and arch in (None, image.arch) and tags <= set(image.tags)
        )
    selection = Selection(call.world.images, call.keys_in(call.zone, "project"), Order(True), accept)
    total, part = selection.cut(offset=(page - 1) * size, limit=size)
    body = {"images": [image_v1(call.world, image) for image in part]}
    return reply_v1(body, headers=links(query, path="/images", page=page, size=size, total=total))


def get_image(call: Call) -> Response:
    image_id = call.params["image"]
    market = local_images().get(image_id)
    if market is not None and market.zone == call.zone:
        return reply_v1({"image": image_v1(call.world, market.image)})
    return reply_v1({"image": image_v1(call.world, _fetch(call))})


def create_image(call: Call) -> Response:
    """Over a snapshot of either API."""
    body, project = call.body, call.project_of_body("project", "organization")
    root = _snapshot(call, "0", text(body, "root_volume"))
    image = Image(
        id=call.mint.uuid(),
        name=text(body, "name", "image"),
        zone=call.zone,
        project=project,
        arch=text(body, "arch", "x86_64"),
        root_snapshot=root.snapshot,
        root_type=root.volume_type,
        root_size=root.size,
        root_name=root.name,
        extra_volumes=_extra(call),
        public=bool(body.get("public", False)),
        tags=call.tags_of_body() or (),
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    call.world.images.put(image)
    location = f"https://api.scaleway.com{call.request.path}/{image.id}"
    return reply_v1({"image": image_v1(call.world, image)}, 201, {"Location": location})


def _snapshot(call: Call, key: str, snapshot_id: str) -> ExtraVolume:
    local, block = call.world.snapshots.get(snapshot_id), call.world.block_snapshots.get(snapshot_id)
    if local is not None:
        return ExtraVolume(key=key, snapshot=local.id, volume_type=local.volume_type, size=local.size, name=local.name)
    if block is not None:
        return ExtraVolume(key=key, snapshot=block.id, size=block.size, name=block.name)
    raise not_found("instance_snapshot", snapshot_id)


def _extra(call: Call) -> tuple[ExtraVolume, ...]:
    """`extra_volumes`: slot -> the snapshot's id."""
    wanted = mapping(call.body, "extra_volumes")
    return tuple(_snapshot(call, key, text(mapping(wanted, key), "id")) for key in wanted)


def update_image(call: Call) -> Response:
    """`extra_volumes` is the whole map."""
    image, body = _fetch(call), call.body
    changes: dict[str, Any] = {"name": text(body, "name", image.name), "arch": text(body, "arch", image.arch)}
    if isinstance(body.get("public"), bool):
        changes["public"] = body["public"]
    if "extra_volumes" in body:
        changes["extra_volumes"] = _extra(call)
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    fresh = call.world.images.put(replace(image, **changes, updated_ms=call.now_ms))
    return reply_v1({"image": image_v1(call.world, fresh)})


def delete_image(call: Call) -> Response:
    if call.params["image"] in local_images():
        raise denied("write", RESOURCE)
    image = _fetch(call)
    call.world.images.remove(image.id)
    return nothing()


ROUTES = (
    Route("GET", BASE, list_images, "image", listing=True),
    Route("POST", BASE, create_image, "image"),
    Route("GET", BASE + "/{image}", get_image, "image"),
    Route("PATCH", BASE + "/{image}", update_image, "image"),
    Route("DELETE", BASE + "/{image}", delete_image, "image"),
)

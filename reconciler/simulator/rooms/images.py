"""Images of the Instance API v1: the project's own and, by id, the marketplace's. Deleting one leaves its snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator.call import Call, nothing, reply_v1, text
from reconciler.simulator.catalog import local_images
from reconciler.simulator.paging import Order, Selection, links, page_number, page_size
from reconciler.simulator.records_static import Image
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
    root = text(body, "root_volume")
    local, block = call.world.snapshots.get(root), call.world.block_snapshots.get(root)
    if local is None and block is None:
        raise not_found("instance_snapshot", root)
    image = Image(
        id=call.mint.uuid(),
        name=text(body, "name", "image"),
        zone=call.zone,
        project=project,
        arch=text(body, "arch", "x86_64"),
        root_snapshot=root,
        root_type="l_ssd" if local is not None else "sbs_snapshot",
        root_size=local.size if local is not None else block.size if block is not None else 0,
        public=bool(body.get("public", False)),
        tags=call.tags_of_body() or (),
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    call.world.images.put(image)
    location = f"https://api.scaleway.com{call.request.path}/{image.id}"
    return reply_v1({"image": image_v1(call.world, image)}, 201, {"Location": location})


def update_image(call: Call) -> Response:
    image = _fetch(call)
    changes: dict[str, Any] = {"name": text(call.body, "name", image.name)}
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

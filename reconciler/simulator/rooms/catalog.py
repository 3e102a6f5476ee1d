"""What is for sale: server types and their stock, marketplace images, the price catalog.

Marketplace and product catalog answer without a key, as the real ones do. Prices of IPv4 addresses are in no API.
"""

from __future__ import annotations

from collections.abc import Callable

from reconciler.simulator.call import Call, reply, reply_v1
from reconciler.simulator.catalog import (
    LABELS,
    RETIRED,
    Retired,
    ServerType,
    local_images,
    marketplace_image,
    render_type,
    server_types,
)
from reconciler.simulator.defaults import ZONES
from reconciler.simulator.paging import links, page_number, page_size
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Json, Response, invalid, not_found

TYPES = "/instance/v1/zones/{zone}/products/servers"
PRODUCTS = "/product-catalog/v2alpha1/public-catalog/products"


def list_types(call: Call) -> Response:
    """A map, paged by name."""
    return _types(call, "/products/servers", render_type)


def list_availability(call: Call) -> Response:
    stock = dict(call.world.options.stock)

    def level(item: ServerType) -> Json:
        left = stock.get(f"{call.zone}/{item.name}")
        return {"availability": "available" if left is None else "shortage" if left == 0 else "scarce"}

    return _types(call, "/products/servers/availability", level)


def _types(call: Call, path: str, show: Callable[[ServerType], Json]) -> Response:
    query, types = call.query, list(server_types().values())
    size, page = page_size(query, "per_page"), page_number(query)
    part = types[(page - 1) * size : page * size]
    headers = links(query, path=path, page=page, size=size, total=len(types))
    return reply_v1({"servers": {item.name: show(item) for item in part}}, headers=headers)


def list_local_images(call: Call) -> Response:
    """By label or marketplace image, storage type, zone and architecture."""
    query = call.query
    label, kind, zone = query.first("image_label"), query.first("type"), query.first("zone")
    arch, image = query.first("arch"), query.first("image_id")
    if image is not None:
        label = next((name for name in LABELS if marketplace_image(name)["id"] == image), image)
    if label is not None and label not in LABELS:
        raise not_found("MarketplaceImage", label)
    found = [
        item.render()
        for item in local_images().values()
        if label in (None, item.label)
        and kind in (None, "unknown_type", item.type)
        and zone in (None, item.zone)
        and arch in (None, item.arch)
    ]
    found.sort(key=lambda item: (item["type"], item["label"], item["zone"], item["arch"]))
    size, page = page_size(query, "page_size"), page_number(query)
    return reply({"local_images": found[(page - 1) * size : page * size], "total_count": len(found)})


def get_local_image(call: Call) -> Response:
    item = local_images().get(call.params["image"])
    if item is None:
        raise not_found("MarketplaceLocalImage", call.params["image"])
    return reply(item.render())


def list_images(call: Call) -> Response:
    """Pages of 20 by default, by name; what has ended only for those who ask."""
    query = call.query
    found = [marketplace_image(label) for label in LABELS]
    if not query.flag("include_eol"):
        found = [item for item in found if item["valid_until"] is None]
    wanted = query.first("order_by") or "name_asc"
    if wanted not in {
        "name_asc",
        "name_desc",
        "created_at_asc",
        "created_at_desc",
        "updated_at_asc",
        "updated_at_desc",
    }:
        raise invalid("order_by", "constraint", "not a valid value")
    found.sort(key=lambda item: str(item["name"]), reverse=wanted.endswith("_desc"))
    size, page = page_size(query, "page_size", 20), page_number(query)
    return reply({"images": found[(page - 1) * size : page * size], "total_count": len(found)})


def get_image(call: Call) -> Response:
    wanted = call.params["image"]
    for label in LABELS:
        if (item := marketplace_image(label))["id"] == wanted:
            return reply(item)
    raise not_found("MarketplaceImage", wanted)


def list_products(call: Call) -> Response:
    """Server types of the zone asked for, or of all; and SBS by size and hour, which has no zone of its own here."""
    query = call.query
    kinds, names = set(query.all("product_types")), set(query.all("api_ids"))
    zones = [query.first("zone")] if query.first("zone") else list(ZONES)
    found: list[Json] = []
    if not kinds or "instance" in kinds:
        for zone in zones:
            found += [_product(item, str(zone)) for item in server_types().values() if not names or item.name in names]
            # What has ended is shown to those who ask for it by name.
            found += [_retired(name, item, str(zone)) for name, item in RETIRED.items() if name in names]
    size, page = page_size(query, "page_size"), page_number(query)
    return reply({"products": found[(page - 1) * size : page * size], "total_count": len(found)})


def _product(item: ServerType, zone: str) -> Json:
    status = "end_of_new_features" if item.end_of_service else "general_availability"
    properties = {
        "hardware": _hardware(item),
        "instance": {"range": "", "offer_id": item.name, "recommended_replacement_offer_ids": []},
    }
    return _offer(item.name, zone, nanos=round(item.hourly * 1_000_000_000), status=status, properties=properties)


def _retired(name: str, item: Retired, zone: str) -> Json:
    offer = {"range": item.range, "offer_id": name, "recommended_replacement_offer_ids": [item.replacement]}
    shown = _offer(name, zone, nanos=item.nanos, status="retired", properties={"instance": offer})
    return {**shown, "end_of_life_at": item.end_of_life_at}


def _offer(name: str, zone: str, *, nanos: int, status: str, properties: Json) -> Json:
    return {
        "sku": f"/compute/{name.lower().replace('-', '_')}/run_{zone}",
        "service_category": "Compute",
        "product_category": "Instance",
        "product": name,
        "variant": f"{name} - {zone}",
        "description": f"{name} - {zone} ({nanos / 1_000_000_000:g}€ per hour)",
        "locality": {"zone": zone},
        "price": {
            "retail_price": {"currency_code": "EUR", "units": nanos // 1_000_000_000, "nanos": nanos % 1_000_000_000}
        },
        "properties": properties,
        "unit_of_measure": {"unit": "hour", "size": 1},
        "status": status,
        "badges": [],
    }


def _hardware(item: ServerType) -> Json:
    """As far as the server types say it: the processor's name is not among them."""
    arch, gib, rate = "x64" if item.arch == "x86_64" else item.arch, item.ram // 2**30, item.bandwidth
    inside, outside = item.internal_bandwidth // 1_000_000, rate // 1_000_000
    cpu = {
        "description": f"{arch}, vCPUs: {item.ncpus}",
        "arch": arch,
        "type": "",
        "virtual": {"count": item.ncpus},
        "threads": item.ncpus,
    }
    network = {
        "description": f"Internal: {inside} Mb/s, Public: {outside} Mb/s",
        "internal_bandwidth": item.internal_bandwidth,
        "public_bandwidth": rate,
        "max_public_bandwidth": rate,
    }
    return {
        "cpu": cpu,
        "ram": {"description": f"{gib} GiB", "size": item.ram, "type": "", "ecc_type": "standard"},
        "storage": {"description": "Local" if item.local_storage else "Block", "total": item.volumes_max},
        "network": network,
    }


def no_metadata(_call: Call) -> Response:
    """The provider asks whether it runs on an instance; outside of one this is what it hears."""
    raise not_found("unknown", "")


ROUTES = (
    Route("GET", TYPES, list_types, "server"),
    Route("GET", TYPES + "/availability", list_availability, "server"),
    Route("GET", "/marketplace/v2/local-images", list_local_images),
    Route("GET", "/marketplace/v2/local-images/{image}", get_local_image),
    Route("GET", "/marketplace/v2/images", list_images),
    Route("GET", "/marketplace/v2/images/{image}", get_image),
    Route("GET", PRODUCTS, list_products),
    Route("GET", "/metadata", no_metadata),
)

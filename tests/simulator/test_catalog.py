"""What is for sale: types, stock, images, prices."""

from __future__ import annotations

import pytest

from reconciler.simulator import ZONE, World, WorldOptions
from reconciler.simulator.catalog import image_id, server_types
from tests.simulator.support import BLOCK, V1, Api

IMAGES = "/marketplace/v2/local-images"
PRODUCTS = "/product-catalog/v2alpha1/public-catalog/products"


def test_server_types_are_a_map_in_pages_of_fifty_by_name() -> None:
    api, seen = Api(), list[str]()
    for page in (1, 2, 3):
        response = api.call("GET", f"{V1}/products/servers", query=f"page={page}")
        assert response.headers["X-Total-Count"] == str(len(server_types()))
        seen += response.json()["servers"]
    assert seen == sorted(server_types())
    assert len(seen) > 100


def test_a_monthly_price_is_730_hours() -> None:
    """Within what the published figures are rounded to."""
    for item in server_types().values():
        assert item.monthly == pytest.approx(item.hourly * 730, rel=0.03), item.name


@pytest.mark.parametrize(("left", "level"), [(None, "available"), (5, "scarce"), (0, "shortage")])
def test_availability_follows_the_stock_of_the_world(left: int | None, level: str) -> None:
    stock = () if left is None else ((f"{ZONE}/DEV1-S", left),)
    api = Api(World(options=WorldOptions(stock=stock)))
    shown = api.get(f"{V1}/products/servers/availability", "per_page=100")["servers"]
    assert shown["DEV1-S"] == {"availability": level}


def test_a_label_has_one_image_per_architecture_and_storage() -> None:
    api = Api()
    query = f"image_label=ubuntu_noble&order_by=type_asc&zone={ZONE}"
    block = api.get(IMAGES, f"{query}&type=instance_sbs")["local_images"]
    local = api.get(IMAGES, f"{query}&type=instance_local")["local_images"]
    assert sorted(image["arch"] for image in block) == ["arm64", "x86_64"]
    assert [image["arch"] for image in local] == ["x86_64"]
    assert "DEV1-S" in local[0]["compatible_commercial_types"]
    assert "PRO2-XXS" not in local[0]["compatible_commercial_types"], "it has no local storage"


def test_a_label_that_does_not_exist_is_the_recorded_404() -> None:
    missing = Api().call("GET", IMAGES, query=f"image_label=macos&zone={ZONE}")
    assert (missing.status, missing.json()) == (
        404,
        {
            "message": "resource is not found",
            "resource": "MarketplaceImage",
            "resource_id": "macos",
            "type": "not_found",
        },
    )


def test_an_image_is_found_by_id_in_the_marketplace_and_in_its_own_zone_only() -> None:
    api, image = Api(), image_id("ubuntu_noble", zone=ZONE)
    assert api.get(f"{IMAGES}/{image}")["label"] == "ubuntu_noble"
    assert api.get(f"{V1}/images/{image}")["image"]["name"] == "Ubuntu 24.04 Noble Numbat"
    assert api.status("GET", f"/instance/v1/zones/nl-ams-1/images/{image}") == 404
    assert api.get(f"{V1}/images")["images"] == [], "lists show the project's own"


def test_the_price_catalog_agrees_with_the_server_types() -> None:
    found = Api(token=None).get(PRODUCTS, f"product_types=instance&zone={ZONE}&api_ids=DEV1-S")
    price = found["products"][0]["price"]["retail_price"]
    assert (found["total_count"], price) == (1, {"currency_code": "EUR", "units": 0, "nanos": 8_976_000})


def test_storage_has_its_price_per_gigabyte_and_hour() -> None:
    found = Api().get(f"{BLOCK}/volume-types")["volume_types"]
    types = {item["type"]: item["pricing"]["nanos"] for item in found}
    assert types == {"sbs_5k": 118_000, "sbs_15k": 177_000}


def test_the_provider_hears_that_it_does_not_run_on_an_instance() -> None:
    assert Api(token=None).status("GET", "/metadata") == 404

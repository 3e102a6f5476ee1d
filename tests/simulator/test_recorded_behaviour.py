"""What recorded traffic shows beyond shapes: when things come, when they go, and what is refused in between."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.simulator import ZONE, World, WorldOptions, worldfile
from reconciler.simulator.catalog import image_id
from tests.simulator.support import BLOCK, IPAM, V1, V2, Api

LOCAL = image_id("ubuntu_noble", zone=ZONE, kind="instance_local")
PRODUCTS = "/product-catalog/v2alpha1/public-catalog/products"


def root_of(server: Any) -> str:
    return str(server["volumes"]["0"]["id"])


def test_a_server_that_is_being_terminated_has_lost_its_addresses_at_once() -> None:
    api = Api()
    ip = api.ip()
    server = api.running(public_ips=[ip["id"]])
    api.act(server["id"], "terminate")
    shown = api.show(server["id"])
    assert (shown["state_detail"], shown["public_ip"], shown["public_ips"]) == ("terminating", None, [])
    assert api.get(f"{V1}/ips/{ip['id']}")["ip"]["state"] == "detached"


def test_the_volume_of_a_deleted_server_is_detaching_for_seconds_and_cannot_be_deleted_until_then() -> None:
    api = Api()
    server = api.server()
    volume = f"{BLOCK}/volumes/{root_of(server)}"
    api.ok("DELETE", f"{V1}/servers/{server['id']}", status=204)
    held = api.get(volume)
    assert (held["status"], held["references"][0]["status"]) == ("in_use", "detaching")
    assert api.status("DELETE", volume) == 412
    api.clock.advance(5)
    free = api.get(volume)
    assert (free["status"], free["references"]) == ("available", [])
    assert free["last_detached_at"] is not None
    assert api.status("DELETE", volume) == 204


def test_a_world_between_a_server_and_its_volume_can_be_stored_and_read() -> None:
    api = Api()
    server = api.server()
    api.ok("DELETE", f"{V1}/servers/{server['id']}", status=204)
    text = worldfile.dump(api.world)
    assert worldfile.dump(worldfile.parse(text)) == text


def test_a_dynamic_address_comes_with_the_running_server_and_goes_before_it_is_off() -> None:
    api = Api()
    server = api.server(dynamic_ip_required=True)
    seen = []
    for action, wait in (("poweron", 1.0), ("", 4.1), ("", 10.0), ("poweroff", 0.5), ("", 2.0)):
        if action:
            api.act(server["id"], action)
        api.clock.advance(wait)
        shown = api.show(server["id"])
        seen.append((shown["state"], shown["public_ip"] and shown["public_ip"]["state"]))
    assert seen == [
        ("starting", None),
        ("running", "pending"),
        ("running", "attached"),
        ("stopping", "attached"),
        ("stopping", None),
    ]


def test_nothing_is_allowed_while_a_volume_is_on_its_way() -> None:
    api = Api()
    server, volume = api.server(), api.block_volume()
    shown = api.ok("POST", f"{V1}/servers/{server['id']}/attach-volume", {"volume_id": volume["id"]})["server"]
    assert shown["allowed_actions"] == []
    api.clock.advance(5)
    assert api.show(server["id"])["allowed_actions"] == ["poweron", "backup"]


def test_a_server_that_leaves_standby_keeps_its_place() -> None:
    api = Api()
    server = api.running()
    api.act(server["id"], "stop_in_place")
    api.clock.advance(44)
    api.act(server["id"], "poweron")
    shown = api.show(server["id"])
    assert (shown["state"], shown["state_detail"]) == ("starting", "stopped in place")
    assert shown["location"] is not None


def snapshot_of(api: Api, server: Any) -> Any:
    body = {"name": "s", "volume_id": root_of(server)}
    return api.ok("POST", f"{V1}/snapshots", body, status=201)["snapshot"]


def test_a_snapshot_of_a_local_volume_is_there_at_once_where_no_server_runs() -> None:
    api = Api()
    server = api.server(image=LOCAL)
    assert snapshot_of(api, server)["state"] == "available"
    assert api.show(server["id"])["volumes"]["0"]["state"] == "available"


def test_a_snapshot_of_a_running_servers_local_volume_takes_its_time_and_the_volume_with_it() -> None:
    api = Api()
    server = api.running(image=LOCAL)
    made = snapshot_of(api, server)
    assert made["state"] == "snapshotting"
    shown = api.show(server["id"])
    assert (shown["volumes"]["0"]["state"], shown["allowed_actions"]) == ("snapshotting", [])
    api.clock.advance(42)
    assert api.get(f"{V1}/snapshots/{made['id']}")["snapshot"]["state"] == "available"
    assert api.show(server["id"])["volumes"]["0"]["state"] == "available"


def test_the_task_of_a_backup_leads_to_its_image() -> None:
    api = Api()
    server = api.running()
    task = api.act(server["id"], "backup").json()["task"]
    (image,) = api.get(f"{V1}/images")["images"]
    assert task["href_result"] == f"/images/{image['id']}"


def block_snapshot(api: Api, volume_id: str) -> Any:
    return api.ok("POST", f"{BLOCK}/snapshots", {"name": "s", "volume_id": volume_id})


def test_a_block_snapshot_is_in_use_while_an_image_stands_on_it() -> None:
    api = Api()
    made = block_snapshot(api, api.block_volume()["id"])
    api.clock.advance(5)
    body = {"name": "i", "root_volume": made["id"], "arch": "x86_64"}
    image = api.ok("POST", f"{V1}/images", body, status=201)["image"]
    shown = api.get(f"{BLOCK}/snapshots/{made['id']}")
    (reference,) = shown["references"]
    assert shown["status"] == "in_use"
    assert (reference["product_resource_type"], reference["product_resource_id"]) == ("instance_image", image["id"])
    assert (reference["type"], reference["status"]) == ("link", "attached")
    api.ok("DELETE", f"{V1}/images/{image['id']}", status=204)
    shown = api.get(f"{BLOCK}/snapshots/{made['id']}")
    assert (shown["status"], shown["references"]) == ("available", [])


def test_a_block_snapshot_of_a_volume_in_use_shows_the_providers_reference_until_it_is_made() -> None:
    api = Api()
    made = block_snapshot(api, root_of(api.server()))
    assert made["references"] == []
    assert [one["product_resource_type"] for one in api.get(f"{BLOCK}/snapshots/{made['id']}")["references"]] == [
        "internal"
    ]
    api.clock.advance(5)
    assert api.get(f"{BLOCK}/snapshots/{made['id']}")["references"] == []


def test_an_image_has_the_extra_volumes_that_it_is_given_and_a_patch_replaces_them() -> None:
    api = Api()
    local = snapshot_of(api, api.server(image=LOCAL))
    block = block_snapshot(api, api.block_volume()["id"])
    body = {"name": "i", "root_volume": block["id"], "arch": "x86_64", "extra_volumes": {"1": {"id": local["id"]}}}
    image = api.ok("POST", f"{V1}/images", body, status=201)["image"]
    assert image["extra_volumes"] == {
        "1": {"volume_type": "l_ssd", "id": local["id"], "size": local["size"], "name": "s"}
    }
    change = {"extra_volumes": {"2": {"id": block["id"]}}, "public": True, "arch": "arm64"}
    changed = api.ok("PATCH", f"{V1}/images/{image['id']}", change)["image"]
    assert changed["extra_volumes"] == {"2": {"volume_type": "sbs_snapshot", "id": block["id"], "size": 0, "name": ""}}
    assert (changed["public"], changed["arch"]) == (True, "arm64")


def test_a_snapshot_comes_from_a_bucket_and_goes_to_one() -> None:
    api = Api()
    bucket = {"bucket": "b", "key": "k"}
    block = api.ok("POST", f"{BLOCK}/snapshots/import-from-object-storage", {"name": "s", **bucket})
    local = api.ok("POST", f"{V1}/snapshots", {"name": "s", "volume_type": "l_ssd", **bucket}, status=201)["snapshot"]
    assert (block["status"], local["state"], local["base_volume"]) == ("creating", "importing", None)
    api.clock.advance(5)
    paths = (f"{BLOCK}/snapshots/{block['id']}", f"{V1}/snapshots/{local['id']}")
    assert api.ok("POST", f"{paths[0]}/export-to-object-storage", bucket)["status"] == "exporting"
    assert "task" in api.ok("POST", f"{paths[1]}/export", bucket, status=202)
    assert api.get(paths[1])["snapshot"]["state"] == "exporting"
    api.clock.advance(5)
    assert (api.get(paths[0])["status"], api.get(paths[1])["snapshot"]["state"]) == ("available", "available")


def test_a_servers_public_ipv6_has_two_reverses_of_its_own_in_ipam() -> None:
    api = Api()
    ip = api.ip(type="routed_ipv6")
    api.server(public_ips=[ip["id"]])
    path = f"{IPAM}/ips/{ip['ipam_id']}"
    assert [entry["address"] is None for entry in api.get(path)["reverses"]] == [True, False]
    mine = {"hostname": "h.example.com", "address": ip["prefix"].replace("::/64", "::2a")}
    assert api.ok("PATCH", path, {"reverses": [mine]})["reverses"] == [], "the answer to the change shows none yet"
    assert api.get(path)["reverses"][2:] == [mine]


def test_a_policy_that_was_not_chosen_leaves_a_placement_group_as_it_is() -> None:
    """The Go SDK sends its zero value."""
    api = Api()
    group = api.ok("POST", f"{V2}/placement-groups", {"name": "p", "policy_type": "low_latency"})
    body = {"name": "q", "policy_type": "unknown_policy_type"}
    assert api.ok("PATCH", f"{V2}/placement-groups/{group['id']}", body)["policy_type"] == "low_latency"


def test_a_private_interface_of_v1_is_made_without_a_location() -> None:
    api = Api()
    server, network = api.server(), api.network()
    body = {"private_network_id": network["id"]}
    made = api.call("POST", f"{V1}/servers/{server['id']}/private_nics", body)
    assert made.status == 201
    assert "Location" not in made.headers


def test_the_servers_of_a_placement_group_are_paged_like_every_list_of_v1() -> None:
    api = Api()
    group = api.ok("POST", f"{V1}/placement_groups", {"name": "p"}, status=201)["placement_group"]
    for _ in range(2):
        api.server(placement_group=group["id"])
    shown = api.call("GET", f"{V1}/placement_groups/{group['id']}/servers", query="per_page=1&page=2")
    assert (shown.headers["X-Total-Count"], len(shown.json()["servers"])) == ("2", 1)


def test_a_volume_from_a_snapshot_without_a_size_is_as_big_as_the_snapshot() -> None:
    api = Api()
    made = block_snapshot(api, api.block_volume()["id"])
    body = {"name": "v", "from_snapshot": {"size": None, "snapshot_id": made["id"]}}
    assert api.ok("POST", f"{BLOCK}/volumes", body)["size"] == made["size"]


def test_the_marketplace_lists_twenty_images_a_page_and_what_has_ended_only_when_asked() -> None:
    api = Api()
    pages = [api.get("/marketplace/v2/images", f"page={page}") for page in (1, 2)]
    labels = [image["label"] for page in pages for image in page["images"]]
    assert [len(page["images"]) for page in pages] == [20, 7]
    assert "ubuntu_bionic" not in labels
    assert api.get("/marketplace/v2/images", "include_eol=true")["total_count"] == 28
    image = pages[0]["images"][0]
    assert api.get(f"/marketplace/v2/images/{image['id']}") == image


def test_a_retired_type_is_in_the_catalog_for_who_asks_by_its_name() -> None:
    api = Api()
    (product,) = api.get(PRODUCTS, f"api_ids=ENT1-S&product_types=instance&zone={ZONE}")["products"]
    offer = product["properties"]["instance"]
    assert (product["status"], product["end_of_life_at"]) == ("retired", "2025-09-01T00:00:00Z")
    assert offer["recommended_replacement_offer_ids"] == ["POP2-8C-32G"]
    everything = api.get(PRODUCTS, f"product_types=instance&zone={ZONE}&page_size=100")["products"]
    assert "ENT1-S" not in [item["product"] for item in everything]


@pytest.mark.parametrize(
    ("date", "has"),
    [("2025-05-21", False), ("2025-05-22", True), ("", True)],
)
def test_answers_of_an_earlier_day_lack_what_the_api_has_gained_since(date: str, has: bool) -> None:
    server = Api(World(options=WorldOptions(api_date=date))).server()
    assert ("filesystems" in server) is has
    assert "state" in server["volumes"]["0"] or date < "2025-11-04"


def test_a_key_that_had_no_value_yet_is_null_on_that_day() -> None:
    def size(date: str) -> Any:
        api = Api(World(options=WorldOptions(api_date=date)))
        return api.get(f"{V1}/products/servers")["servers"]["DEV1-S"]["scratch_storage_max_size"]

    assert (size("2026-06-30"), size("2026-07-01")) == (None, 0)

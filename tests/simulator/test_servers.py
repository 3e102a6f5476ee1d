"""The life of a server in the Instance API v1: what starts, what lasts how long, and what is left behind."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.simulator import ZONE, Timings, World, WorldOptions
from reconciler.simulator.catalog import image_id
from tests.simulator.support import BLOCK, IPAM, V1, Api

LOCAL = image_id("ubuntu_noble", zone=ZONE, kind="instance_local")


def states(api: Api, server_id: str, *seconds: float) -> list[tuple[str, str]]:
    """(state, detail) now and after each further wait; ("gone", "") for a 404."""
    seen = []
    for wait in (0.0, *seconds):
        api.clock.advance(wait)
        response = api.call("GET", f"{V1}/servers/{server_id}")
        server = response.json()["server"] if response.status == 200 else {"state": "gone", "state_detail": ""}
        seen.append((server["state"], server["state_detail"]))
    return seen


def test_a_create_answers_with_a_stopped_server_whose_root_is_in_use_already() -> None:
    api = Api()
    server = api.server(tags=["a"])
    root = api.get(f"{BLOCK}/volumes/{server['volumes']['0']['id']}")
    assert (server["state"], server["location"]) == ("stopped", None)
    assert (root["status"], root["references"][0]["product_resource_id"]) == ("in_use", server["id"])


def test_the_root_of_a_tagged_server_has_no_tags_and_the_name_of_its_image() -> None:
    api = Api()
    server = api.server(tags=["a", "b"])
    root = api.get(f"{BLOCK}/volumes/{server['volumes']['0']['id']}")
    assert (root["tags"], root["name"]) == ([], "Ubuntu 24.04 Noble Numbat_sbs_volume_0")


def test_the_instance_api_does_not_know_an_sbs_volume() -> None:
    api = Api()
    server = api.server()
    missing = api.call("GET", f"{V1}/volumes/{server['volumes']['0']['id']}")
    assert (missing.status, missing.json()["resource"]) == (404, "instance_volume")


def test_a_local_root_is_a_volume_of_the_instance_api_with_its_server() -> None:
    api = Api()
    server = api.server(image=LOCAL)
    volume = api.get(f"{V1}/volumes/{server['volumes']['0']['id']}")["volume"]
    assert (volume["volume_type"], volume["size"], volume["server"]["id"]) == ("l_ssd", 20 * 10**9, server["id"])


def test_power_on_passes_through_starting_and_takes_the_recorded_time() -> None:
    api = Api()
    server = api.server()
    assert api.act(server["id"], "poweron").status == 202
    assert states(api, server["id"], 3.4, 0.2, 1.3, 0.2) == [
        ("starting", "allocating node"),
        ("starting", "allocating node"),
        ("starting", "provisioning node"),
        ("starting", "provisioning node"),
        ("running", "booting kernel"),
    ]


def test_a_local_root_takes_longer_to_start() -> None:
    api = Api()
    server = api.server(image=LOCAL)
    api.act(server["id"], "poweron")
    assert [state for state, _ in states(api, server["id"], 15.9, 0.2)] == ["starting", "starting", "running"]


def test_speed_divides_every_duration() -> None:
    api = Api(speed=100)
    server = api.server()
    api.act(server["id"], "poweron")
    assert [state for state, _ in states(api, server["id"], 0.04, 0.02)] == ["starting", "starting", "running"]


def test_with_instant_timings_the_next_request_sees_the_end() -> None:
    api = Api(timings=Timings.instant())
    server = api.server()
    api.act(server["id"], "poweron")
    assert states(api, server["id"]) == [("running", "booting kernel")]


@pytest.mark.parametrize(
    ("action", "during", "seconds", "after"),
    [
        ("poweroff", ("stopping", "stopping"), 26, ("stopped", "")),
        ("stop_in_place", ("stopping", "stopping in place"), 44, ("stopped in place", "stopped in place")),
        ("reboot", ("stopping", "rebooting"), 41, ("running", "booting kernel")),
        ("terminate", ("stopping", "terminating"), 5, ("gone", "")),
    ],
)
def test_an_action_passes_through_its_transient_state(
    action: str, during: tuple[str, str], seconds: int, after: tuple[str, str]
) -> None:
    api = Api()
    server = api.running()
    task = api.act(server["id"], action).json()["task"]
    assert (task["id"], task["status"]) == ("00000000-0000-0000-0000-000000000000", "pending")
    assert states(api, server["id"], seconds) == [during, after]


def test_terminate_leaves_the_sbs_volume_available_and_untagged_with_the_time_of_its_detachment() -> None:
    api = Api()
    server = api.running()
    api.act(server["id"], "terminate")
    api.clock.advance(5)
    root = api.get(f"{BLOCK}/volumes/{server['volumes']['0']['id']}")
    assert (root["status"], root["references"], root["tags"]) == ("available", [], [])
    assert root["last_detached_at"] is not None


def test_terminate_destroys_the_local_volume_which_was_deleting_before() -> None:
    api = Api()
    server = api.running(image=LOCAL)
    volume_id = server["volumes"]["0"]["id"]
    api.act(server["id"], "terminate")
    assert api.show(server["id"])["volumes"]["0"]["state"] == "deleting"
    api.clock.advance(5)
    assert api.status("GET", f"{V1}/volumes/{volume_id}") == 404


def test_terminate_keeps_the_flexible_ip_detached() -> None:
    api = Api()
    ip = api.ip()
    server = api.running(public_ips=[ip["id"]])
    api.act(server["id"], "terminate")
    api.clock.advance(5)
    left = api.get(f"{V1}/ips/{ip['id']}")["ip"]
    assert (left["state"], left["server"]) == ("detached", None)


def test_terminate_takes_the_interface_and_the_addresses_booked_for_it() -> None:
    api = Api()
    server, network = api.running(), api.network()
    nic = api.nic(server["id"], network["id"])
    api.act(server["id"], "terminate")
    api.clock.advance(5)
    assert api.get(f"{IPAM}/ips", f"private_network_id={network['id']}")["total_count"] == 0
    assert api.world.nics.get(nic["id"]) is None


def test_an_address_that_a_person_booked_outlives_the_server() -> None:
    api = Api()
    server, network = api.running(), api.network()
    booked = api.ok("POST", f"{IPAM}/ips", {"source": {"private_network_id": network["id"]}})
    api.nic(server["id"], network["id"], ip_ids=[booked["id"]])
    api.act(server["id"], "terminate")
    api.clock.advance(5)
    assert api.get(f"{IPAM}/ips/{booked['id']}")["resource"] is None


def test_terminate_refuses_a_stopped_server() -> None:
    api = Api()
    refused = api.act(api.server()["id"], "terminate")
    assert (refused.status, refused.json()) == (
        400,
        {"message": "server should be running", "type": "invalid_request_error"},
    )


def test_delete_refuses_a_running_server() -> None:
    api = Api()
    server = api.running()
    refused = api.call("DELETE", f"{V1}/servers/{server['id']}")
    assert (refused.status, refused.json()["type"], refused.json()["current_state"]) == (
        409,
        "transient_state",
        "running",
    )


def test_delete_of_a_stopped_server_keeps_every_volume_and_address() -> None:
    api = Api()
    ip, extra = api.ip(), api.block_volume()
    server = api.server(image=LOCAL, public_ips=[ip["id"]], volumes={"1": {"id": extra["id"]}})
    assert api.status("DELETE", f"{V1}/servers/{server['id']}") == 204
    local = api.get(f"{V1}/volumes/{server['volumes']['0']['id']}")["volume"]
    assert (local["server"], local["state"]) == (None, "available")
    assert api.get(f"{V1}/ips/{ip['id']}")["ip"]["server"] is None
    api.clock.advance(5)
    assert api.get(f"{BLOCK}/volumes/{extra['id']}")["status"] == "available"


@pytest.mark.parametrize("action", ["poweroff", "stop_in_place", "reboot", "terminate"])
def test_a_protected_server_refuses_power_actions_with_400(action: str) -> None:
    api = Api()
    server = api.running(protected=True)
    refused = api.act(server["id"], action)
    assert (refused.status, refused.json()["precondition"]) == (400, "protected_resource")
    assert api.show(server["id"])["allowed_actions"] == ["backup"]


def test_protection_does_not_stop_a_delete() -> None:
    api = Api()
    assert api.status("DELETE", f"{V1}/servers/{api.server(protected=True)['id']}") == 204


def test_a_patch_changes_only_what_it_names_and_replaces_the_whole_list_of_tags() -> None:
    api = Api()
    server = api.server(tags=["a", "b"])
    changed = api.ok("PATCH", f"{V1}/servers/{server['id']}", {"tags": ["c"]})["server"]
    assert (changed["tags"], changed["name"]) == (["c"], "w1")
    assert api.ok("PATCH", f"{V1}/servers/{server['id']}", {"tags": []})["server"]["tags"] == []


def test_public_ips_come_back_in_the_order_of_attachment() -> None:
    api = Api()
    first, second = api.ip(), api.ip()
    server = api.server(public_ips=[second["id"], first["id"]])
    assert [ip["id"] for ip in server["public_ips"]] == [second["id"], first["id"]]
    assert server["public_ip"]["id"] == second["id"]


def test_an_ip_attached_to_a_running_server_is_pending_for_a_while() -> None:
    api = Api()
    server, ip = api.running(), api.ip()
    patched = api.ok("PATCH", f"{V1}/ips/{ip['id']}", {"server": server["id"]})["ip"]
    assert patched["state"] == "pending"
    assert api.show(server["id"])["public_ips"][0]["state"] == "pending"
    api.clock.advance(10)
    assert api.show(server["id"])["public_ips"][0]["state"] == "attached"


def test_an_ip_of_a_stopped_server_is_attached_at_once() -> None:
    api = Api()
    server, ip = api.server(), api.ip()
    assert api.ok("PATCH", f"{V1}/ips/{ip['id']}", {"server": server["id"]})["ip"]["state"] == "attached"


def test_an_empty_list_of_public_ips_detaches_and_keeps_them() -> None:
    api = Api()
    ip = api.ip()
    server = api.server(public_ips=[ip["id"]])
    changed = api.ok("PATCH", f"{V1}/servers/{server['id']}", {"public_ips": []})["server"]
    assert (changed["public_ips"], changed["public_ip"]) == ([], None)
    assert api.get(f"{V1}/ips/{ip['id']}")["ip"]["state"] == "detached"


def test_a_dynamic_address_lives_from_power_on_to_power_off_and_is_in_no_list() -> None:
    api = Api()
    server = api.running(dynamic_ip_required=True)
    assert server["public_ip"]["dynamic"] is True
    assert api.get(f"{V1}/ips")["ips"] == []
    api.act(server["id"], "poweroff")
    api.clock.advance(26)
    assert api.show(server["id"])["public_ip"] is None


def test_a_detach_from_a_running_server_is_over_in_one_api_long_before_the_other() -> None:
    api = Api()
    volume = api.block_volume()
    server = api.running(volumes={"1": {"id": volume["id"], "volume_type": "sbs_volume"}})
    left = api.ok("POST", f"{V1}/servers/{server['id']}/detach-volume", {"volume_id": volume["id"]})["server"]
    assert set(left["volumes"]) == {"0"}
    assert _reference(api, volume["id"]) == ("in_use", "detaching")
    assert api.status("DELETE", f"{BLOCK}/volumes/{volume['id']}") == 412
    api.clock.advance(48)
    assert _reference(api, volume["id"]) == ("available", None)
    assert api.status("DELETE", f"{BLOCK}/volumes/{volume['id']}") == 204


def _reference(api: Api, volume_id: str) -> tuple[str, str | None]:
    volume = api.get(f"{BLOCK}/volumes/{volume_id}")
    return volume["status"], volume["references"][0]["status"] if volume["references"] else None


def test_a_patch_of_the_volume_map_attaches_what_is_new_and_detaches_what_is_missing() -> None:
    api = Api()
    old, new = api.block_volume(), api.block_volume()
    server = api.server(volumes={"1": {"id": old["id"]}})
    root = server["volumes"]["0"]["id"]
    wanted = {"0": {"id": root, "boot": False}, "1": {"id": new["id"], "volume_type": "sbs_volume"}}
    changed = api.ok("PATCH", f"{V1}/servers/{server['id']}", {"volumes": wanted})["server"]
    assert {key: item["id"] for key, item in changed["volumes"].items()} == {"0": root, "1": new["id"]}
    assert changed["volumes"]["1"]["state"] == "attaching"
    assert _reference(api, old["id"]) == ("available", None)
    api.clock.advance(2)
    assert api.show(server["id"])["volumes"]["1"]["state"] == "available"


def test_a_refused_patch_of_the_volume_map_changes_nothing() -> None:
    api = Api()
    server = api.server()
    body: Any = {"name": "new", "volumes": {"1": {"id": "11111111-1111-4111-8111-111111111111"}}}
    assert api.status("PATCH", f"{V1}/servers/{server['id']}", body) == 404
    assert api.show(server["id"]) == server


def test_the_type_changes_only_while_the_server_is_stopped() -> None:
    api = Api()
    server = api.running()
    path = f"{V1}/servers/{server['id']}"
    assert api.status("PATCH", path, {"commercial_type": "DEV1-M"}) == 400
    api.act(server["id"], "poweroff")
    api.clock.advance(26)
    assert api.ok("PATCH", path, {"commercial_type": "DEV1-M"})["server"]["commercial_type"] == "DEV1-M"


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"commercial_type": "NOPE-1"}, 400, {"type": "invalid_arguments"}),
        ({"image": "11111111-1111-4111-8111-111111111111"}, 404, {"resource": "instance_image"}),
        ({"public_ips": ["11111111-1111-4111-8111-111111111111"]}, 404, {"resource": "instance_ip"}),
        ({"project": "11111111-1111-4111-8111-111111111111"}, 403, {"type": "permissions_denied"}),
    ],
)
def test_a_create_that_names_what_does_not_exist_makes_nothing(body: Any, status: int, said: Any) -> None:
    api = Api()
    full = {"name": "w", "commercial_type": "DEV1-S", "image": image_id("ubuntu_noble", zone=ZONE), **body}
    refused = api.call("POST", f"{V1}/servers", full)
    assert (refused.status, {key: refused.json()[key] for key in said}) == (status, said)
    assert len(api.world.servers) == len(api.world.block_volumes) == 0


def test_out_of_stock_leaves_a_stopped_server_with_its_volume_and_address() -> None:
    api = Api(World(options=WorldOptions(stock=((f"{ZONE}/DEV1-S", 1),))))
    api.running()
    ip = api.ip()
    second = api.server(public_ips=[ip["id"]])
    refused = api.act(second["id"], "poweron")
    assert refused.json()["type"] == "out_of_stock"
    assert api.show(second["id"])["state"] == "stopped"
    assert api.get(f"{V1}/ips/{ip['id']}")["ip"]["server"]["id"] == second["id"]
    assert api.get(f"{BLOCK}/volumes/{second['volumes']['0']['id']}")["status"] == "in_use"


def test_a_quota_is_a_403_of_its_own_type() -> None:
    api = Api(World(options=WorldOptions(quotas=(("ip", 1),))))
    api.ip()
    refused = api.call("POST", f"{V1}/ips", {})
    assert (refused.status, refused.json()["type"]) == (403, "quotas_exceeded")
    assert refused.json()["details"][0]["current"] == 1


def test_user_data_is_raw_text_by_key() -> None:
    api = Api()
    path = f"{V1}/servers/{api.server()['id']}/user_data"
    assert api.get(path) == {"user_data": []}
    assert api.status("PATCH", f"{path}/cloud-init", b"#cloud-config\n\xff") == 204
    assert api.get(path) == {"user_data": ["cloud-init"]}
    answer = api.call("GET", f"{path}/cloud-init")
    assert (answer.body, answer.headers["Content-Type"]) == (b"#cloud-config\n\xff", "text/plain")
    assert api.status("DELETE", f"{path}/cloud-init") == 204
    assert api.get(path) == {"user_data": []}


def test_a_missing_key_of_user_data_is_a_404_with_an_empty_body() -> None:
    api = Api()
    missing = api.call("GET", f"{V1}/servers/{api.server()['id']}/user_data/nope")
    assert (missing.status, missing.body, missing.headers["Content-Type"]) == (404, b"", "text/plain")


def test_a_backup_makes_an_image_over_a_snapshot_and_the_server_runs_on() -> None:
    api = Api()
    server = api.running()
    api.act(server["id"], "backup")
    image = api.get(f"{V1}/images")["images"][0]
    snapshot = api.get(f"{BLOCK}/snapshots/{image['root_volume']['id']}")
    assert (api.show(server["id"])["state"], image["from_server"]) == ("running", server["id"])
    assert snapshot["parent_volume"]["id"] == server["volumes"]["0"]["id"]


def test_the_default_security_group_comes_with_the_first_server_and_is_deleted_when_none_has_it() -> None:
    api = Api()
    server = api.server()
    group = server["security_group"]
    assert api.status("DELETE", f"{V1}/security_groups/{group['id']}") == 409
    api.ok("DELETE", f"{V1}/servers/{server['id']}", status=204)
    assert api.status("DELETE", f"{V1}/security_groups/{group['id']}") == 204
    assert api.server()["security_group"]["id"] != group["id"]


def test_a_second_server_gets_the_same_default_security_group() -> None:
    api = Api()
    assert api.server()["security_group"] == api.server()["security_group"]

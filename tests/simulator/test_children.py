"""IPs, volumes, interfaces, networks and IPAM: what each keeps, loses and refuses."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.simulator import World, WorldOptions
from reconciler.simulator.catalog import public_snapshots
from tests.simulator.support import BLOCK, IPAM, V1, V2, VPC, Api

MISSING = "11111111-1111-4111-8111-111111111111"


def old_world(**options: Any) -> Api:
    return Api(World(options=WorldOptions(**options)))


def test_an_ip_is_in_ipam_under_its_own_id_with_the_date_that_v1_lacks() -> None:
    api = Api()
    ip = api.ip(tags=["a"])
    entry = api.get(f"{IPAM}/ips/{ip['ipam_id']}")
    assert ip["ipam_id"] == ip["id"]
    assert (entry["source"], entry["resource"], entry["zone"]) == ({"zonal": "fr-par-1"}, None, "fr-par-1")
    assert entry["created_at"] is not None
    assert not {"creation_date", "created_at"} & set(ip)


def test_in_worlds_of_before_2026_the_ipam_id_is_another_one() -> None:
    api = old_world(ipam_id_differs=True)
    ip = api.ip()
    assert ip["ipam_id"] != ip["id"]
    assert api.status("GET", f"{IPAM}/ips/{ip['id']}") == 404
    assert api.get(f"{IPAM}/ips/{ip['ipam_id']}")["address"] == f"{ip['address']}/32"


def test_ipam_shows_the_server_that_has_the_address() -> None:
    api = Api()
    ip = api.ip()
    server = api.server(public_ips=[ip["id"]])
    resource = api.get(f"{IPAM}/ips/{ip['id']}")["resource"]
    assert resource == {"type": "instance_server", "id": server["id"], "mac_address": None, "name": None}


@pytest.mark.parametrize("status", [404, 403])
def test_a_deleted_ip_answers_as_the_world_is_told(status: int) -> None:
    api = old_world(deleted_ip_status=status)
    ip = api.ip()
    assert api.status("DELETE", f"{V1}/ips/{ip['id']}") == 204
    assert api.status("GET", f"{V1}/ips/{ip['id']}") == status
    assert api.status("GET", f"{IPAM}/ips/{ip['id']}") == 404


def test_an_ip_is_found_by_its_address() -> None:
    api = Api()
    ip = api.ip()
    assert api.get(f"{V1}/ips/{ip['address']}")["ip"] == ip


def test_an_attached_ip_can_be_deleted() -> None:
    api = Api()
    ip = api.ip()
    server = api.server(public_ips=[ip["id"]])
    assert api.status("DELETE", f"{V1}/ips/{ip['id']}") == 204
    assert api.show(server["id"])["public_ips"] == []


def test_an_ip_released_to_ipam_leaves_v1_and_stays_reserved() -> None:
    api = Api()
    ip = api.ip()
    assert api.status("POST", f"{V1}/ips/{ip['id']}/release-to-ipam", {}) == 204
    assert api.get(f"{V1}/ips")["ips"] == []
    assert api.get(f"{IPAM}/ips")["ips"][0]["id"] == ip["ipam_id"]


def test_an_ipv6_has_a_prefix_and_no_address() -> None:
    ip = Api().ip(type="routed_ipv6")
    assert (ip["address"], ip["type"], ip["prefix"].endswith("::/64")) == (None, "routed_ipv6", True)


def test_a_new_block_volume_is_creating_until_its_time_is_over() -> None:
    api = Api()
    made = api.ok("POST", f"{BLOCK}/volumes", {"name": "v", "from_empty": {"size": 10**10}})
    api.clock.advance(4)
    assert api.get(f"{BLOCK}/volumes/{made['id']}")["status"] == made["status"] == "creating"
    api.clock.advance(1)
    assert api.get(f"{BLOCK}/volumes/{made['id']}")["status"] == "available"


@pytest.mark.parametrize(("change", "kind"), [({"size": 2 * 10**10}, "sbs_5k"), ({"perf_iops": 15000}, "sbs_15k")])
def test_size_and_performance_pass_through_updating_and_show_only_afterwards(change: dict[str, int], kind: str) -> None:
    api = Api()
    volume = api.block_volume()
    during = api.ok("PATCH", f"{BLOCK}/volumes/{volume['id']}", {"name": "n", **change})
    assert (during["status"], during["size"], during["type"]) == ("updating", 10**10, "sbs_5k")
    api.clock.advance(5)
    after = api.get(f"{BLOCK}/volumes/{volume['id']}")
    assert (after["status"], after["size"], after["type"]) == ("available", change.get("size", 10**10), kind)


def test_tags_of_a_block_volume_change_at_once() -> None:
    api = Api()
    volume = api.block_volume(tags=["a"])
    changed = api.ok("PATCH", f"{BLOCK}/volumes/{volume['id']}", {"tags": ["b"]})
    assert (changed["status"], changed["tags"]) == ("available", ["b"])


def test_an_attached_block_volume_cannot_be_deleted() -> None:
    api = Api()
    server = api.server()
    refused = api.call("DELETE", f"{BLOCK}/volumes/{server['volumes']['0']['id']}")
    assert (refused.status, refused.json()["precondition"]) == (412, "resource_still_in_use")


def test_a_volume_from_a_snapshot_names_it_and_the_snapshot_outlives_its_volume() -> None:
    api = Api()
    volume = api.block_volume()
    snapshot = api.ok("POST", f"{BLOCK}/snapshots", {"name": "s", "volume_id": volume["id"]})
    assert snapshot["status"] == "creating"
    api.clock.advance(5)
    copy = api.block_volume(from_empty=None, from_snapshot={"snapshot_id": snapshot["id"], "size": 2 * 10**10})
    assert (copy["parent_snapshot_id"], copy["size"]) == (snapshot["id"], 2 * 10**10)
    assert api.status("DELETE", f"{BLOCK}/volumes/{volume['id']}") == 204
    assert api.get(f"{BLOCK}/snapshots/{snapshot['id']}")["parent_volume"] is None


def test_the_root_snapshot_of_a_public_image_answers_403() -> None:
    refused = Api().call("GET", f"{BLOCK}/snapshots/{min(public_snapshots())}")
    assert (refused.status, refused.json()["details"]) == (403, [{"action": "read", "resource": "snapshot"}])


def test_v1alpha1_and_v1_show_the_same_volumes() -> None:
    api = Api()
    volume = api.block_volume()
    assert api.get(f"/block/v1alpha1/zones/fr-par-1/volumes/{volume['id']}") == volume


def test_an_attached_local_volume_cannot_be_deleted() -> None:
    api = Api()
    volume = api.ok("POST", f"{V1}/volumes", {"name": "v", "size": 10**10}, status=201)["volume"]
    server = api.server(volumes={"1": {"id": volume["id"]}})
    assert api.status("DELETE", f"{V1}/volumes/{volume['id']}") == 400
    api.ok("POST", f"{V1}/servers/{server['id']}/detach-volume", {"volume_id": volume["id"]})
    assert api.status("DELETE", f"{V1}/volumes/{volume['id']}") == 204


def test_an_interface_of_a_running_server_takes_its_time_and_of_a_stopped_one_none() -> None:
    api = Api()
    network = api.network()
    running, stopped = api.running(), api.server()
    slow, fast = api.nic(running["id"], network["id"]), api.nic(stopped["id"], network["id"])
    assert (slow["status"], fast["status"]) == ("attaching", "available")
    assert api.get(f"{V1}/servers/{running['id']}/private_nics")["private_nics"][0]["state"] == "syncing"
    api.clock.advance(56)
    assert api.get(f"{V2}/private-network-interfaces/{slow['id']}")["status"] == "available"


def test_an_interface_without_addresses_books_one_of_each_family() -> None:
    api = Api()
    server, network = api.server(name="srv"), api.network()
    nic = api.nic(server["id"], network["id"])
    entries = [api.get(f"{IPAM}/ips/{address}") for address in nic["ip_ids"]]
    assert [entry["is_ipv6"] for entry in entries] == [False, True]
    assert entries[0]["resource"] == {
        "type": "instance_private_nic",
        "id": nic["id"],
        "mac_address": nic["mac_address"].upper(),
        "name": "srv",
    }


def test_deleting_an_interface_frees_the_addresses_booked_for_it_and_keeps_a_persons() -> None:
    api = Api()
    server, network, other = api.server(), api.network(), api.network()
    booked = api.ok("POST", f"{IPAM}/ips", {"source": {"private_network_id": other["id"]}})
    for nic in (api.nic(server["id"], network["id"]), api.nic(server["id"], other["id"], ip_ids=[booked["id"]])):
        assert api.status("DELETE", f"{V2}/private-network-interfaces/{nic['id']}") == 204
    assert [entry["id"] for entry in api.get(f"{IPAM}/ips")["ips"]] == [booked["id"]]


def test_since_september_2026_an_interface_is_detached_before_it_is_deleted() -> None:
    api = old_world(nic_delete_needs_detach=True)
    server = api.server()
    nic = api.nic(server["id"], api.network()["id"])
    path = f"{V2}/private-network-interfaces/{nic['id']}"
    assert api.status("DELETE", path) == 412
    detach = f"{V2}/servers/{server['id']}/detach-private-network-interface"
    api.ok("POST", detach, {"private_network_interface_id": nic["id"]})
    assert api.status("DELETE", path) == 204


def test_the_older_dialect_still_deletes_an_attached_interface() -> None:
    api = old_world(nic_delete_needs_detach=True)
    server = api.server()
    nic = api.nic(server["id"], api.network()["id"])
    assert api.status("DELETE", f"{V1}/servers/{server['id']}/private_nics/{nic['id']}") == 204


def test_both_dialects_of_an_interface_have_the_same_id_and_addresses() -> None:
    api = Api()
    server, network = api.server(), api.network()
    path = f"{V1}/servers/{server['id']}/private_nics"
    made = api.ok("POST", path, {"private_network_id": network["id"]}, status=201)["private_nic"]
    shown = api.get(f"{V2}/private-network-interfaces/{made['id']}")
    assert (shown["ip_ids"], shown["mac_address"]) == (made["ipam_ip_ids"], made["mac_address"])
    listed = api.get(f"{V2}/private-network-interfaces", f"server_ids={server['id']}")
    assert [nic["id"] for nic in listed["private_network_interfaces"]] == [made["id"]]


def test_a_network_with_an_interface_or_an_address_in_it_cannot_be_deleted() -> None:
    api = Api()
    network = api.network()
    path = f"{VPC}/private-networks/{network['id']}"
    booked = api.ok("POST", f"{IPAM}/ips", {"source": {"private_network_id": network["id"]}})
    refused = api.call("DELETE", path)
    assert (refused.status, refused.json()["help_message"]) == (412, "Private Network must be empty to be deleted")
    assert api.status("DELETE", f"{IPAM}/ips/{booked['id']}") == 204
    assert api.status("DELETE", path) == 204


def test_a_network_without_a_vpc_goes_into_the_projects_default_one() -> None:
    api = Api()
    first, second = api.network(), api.network()
    vpcs = api.get(f"{VPC}/vpcs", "is_default=true")["vpcs"]
    assert [vpc["id"] for vpc in vpcs] == [first["vpc_id"]] == [second["vpc_id"]]
    assert vpcs[0]["private_network_count"] == 2
    assert api.status("DELETE", f"{VPC}/vpcs/{first['vpc_id']}") == 412


def test_an_address_is_booked_as_asked_and_only_once() -> None:
    api = Api()
    network = api.network(subnets=["172.16.64.0/22"])
    body = {"source": {"private_network_id": network["id"]}, "address": "172.16.64.7"}
    assert api.ok("POST", f"{IPAM}/ips", body)["address"] == "172.16.64.7/22"
    assert api.status("POST", f"{IPAM}/ips", body) == 400


def test_booked_addresses_of_a_network_are_all_different() -> None:
    api = Api()
    network = api.network(subnets=["10.0.0.0/28"])
    body = {"source": {"private_network_id": network["id"]}}
    taken = [api.ok("POST", f"{IPAM}/ips", body)["address"] for _ in range(13)]
    assert len(set(taken)) == 13
    assert api.status("POST", f"{IPAM}/ips", body) == 400, "a full subnet has no address left"


def test_an_address_that_an_interface_uses_cannot_be_released() -> None:
    api = Api()
    nic = api.nic(api.server()["id"], api.network()["id"])
    assert api.status("DELETE", f"{IPAM}/ips/{nic['ip_ids'][0]}") == 412


def test_deleting_an_image_leaves_its_snapshot() -> None:
    api = Api()
    snapshot = api.ok("POST", f"{BLOCK}/snapshots", {"name": "s", "volume_id": api.block_volume()["id"]})
    api.clock.advance(5)
    image = api.ok("POST", f"{V1}/images", {"name": "i", "root_volume": snapshot["id"]}, status=201)["image"]
    assert image["root_volume"] == {"volume_type": "sbs_snapshot", "id": snapshot["id"], "size": 0, "name": ""}
    assert api.status("DELETE", f"{V1}/images/{image['id']}") == 204
    assert api.status("GET", f"{BLOCK}/snapshots/{snapshot['id']}") == 200


def test_a_security_group_in_use_cannot_be_deleted() -> None:
    api = Api()
    group = api.ok("POST", f"{V1}/security_groups", {"name": "g"}, status=201)["security_group"]
    server = api.server(security_group=group["id"])
    assert api.status("DELETE", f"{V1}/security_groups/{group['id']}") == 409
    assert api.status("DELETE", f"{V1}/servers/{server['id']}") == 204
    assert api.status("DELETE", f"{V1}/security_groups/{group['id']}") == 204


def test_rules_are_replaced_as_a_whole_after_the_six_fixed_ones() -> None:
    api = Api()
    group = api.ok("POST", f"{V1}/security_groups", {"name": "g"}, status=201)["security_group"]
    rule = {
        "action": "accept",
        "protocol": "TCP",
        "direction": "inbound",
        "ip_range": "1.1.1.1/32",
        "dest_port_from": 22,
    }
    rules = api.ok("PUT", f"{V1}/security_groups/{group['id']}/rules", {"rules": [rule]})["rules"]
    assert [item["editable"] for item in rules] == [False] * 6 + [True]
    assert (rules[-1]["ip_range"], rules[-1]["position"]) == ("1.1.1.1", 1)


@pytest.mark.parametrize("path", [f"{V1}/servers", f"{V1}/ips", f"{BLOCK}/volumes", f"{VPC}/private-networks"])
def test_an_object_of_another_place_is_a_404(path: str) -> None:
    api = Api()
    made = {
        f"{V1}/servers": lambda: api.server()["id"],
        f"{V1}/ips": lambda: api.ip()["id"],
        f"{BLOCK}/volumes": lambda: api.block_volume()["id"],
        f"{VPC}/private-networks": lambda: api.network()["id"],
    }[path]()
    elsewhere = path.replace("fr-par-1", "nl-ams-1").replace("regions/fr-par", "regions/nl-ams")
    assert api.status("GET", f"{path}/{made}") == 200
    assert api.status("GET", f"{elsewhere}/{made}") == 404

"""Servers of v2alpha1: what the documentation says of creates with tags and of deletions with selectors."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from reconciler.simulator import World, WorldOptions
from tests.simulator.support import BLOCK, V1, V2, Api

SERVERS = f"{V2}/servers"


def crowded(api: Api, *, running: bool) -> dict[str, Any]:
    """A server with two flexible IPs, an SBS root, an l_ssd volume and two interfaces."""
    first, second = api.ip(), api.ip()
    local = api.ok("POST", f"{V1}/volumes", {"name": "v", "size": 10**10}, status=201)["volume"]
    make = api.running if running else api.server
    server = make(public_ips=[first["id"], second["id"]], volumes={"1": {"id": local["id"]}})
    nics = [api.nic(server["id"], api.network()["id"])["id"] for _ in range(2)]
    api.clock.advance(60)
    return {
        "id": server["id"],
        "ips": [first["id"], second["id"]],
        "root": server["volumes"]["0"]["id"],
        "local": local["id"],
        "nics": nics,
    }


def left(api: Api, made: dict[str, Any]) -> dict[str, Any]:
    with api.simulator.editing() as world:
        return {
            "ips": [ip for ip in made["ips"] if ip in world.ips],
            "root": made["root"] in world.block_volumes,
            "local": made["local"] in world.volumes,
            "nics": [nic for nic in made["nics"] if nic in world.nics],
        }


def end(api: Api, made: dict[str, Any], *, running: bool, **selectors: Any) -> int:
    path = f"{SERVERS}/{made['id']}"
    if running:
        status = api.status("POST", f"{path}/stop-and-delete", selectors)
        api.clock.advance(10)
        return status
    return api.status("DELETE", path, query=urlencode(selectors, doseq=True))


@pytest.mark.parametrize("running", [True, False])
def test_without_selectors_addresses_and_volumes_stay_and_interfaces_go(running: bool) -> None:
    api = Api()
    made = crowded(api, running=running)
    assert end(api, made, running=running) in {200, 204}
    assert api.status("GET", f"{SERVERS}/{made['id']}") == 404
    assert left(api, made) == {"ips": made["ips"], "root": True, "local": True, "nics": []}


@pytest.mark.parametrize("running", [True, False])
def test_what_the_selectors_name_goes_and_the_rest_stays(running: bool) -> None:
    api = Api()
    made = crowded(api, running=running)
    chosen = {"delete_ip_ids": made["ips"][:1], "delete_volume_ids": [made["local"]], "keep_all_private_nics": True}
    assert end(api, made, running=running, **chosen) in {200, 204}
    assert left(api, made) == {"ips": made["ips"][1:], "root": True, "local": False, "nics": made["nics"]}


@pytest.mark.parametrize("running", [True, False])
def test_named_interfaces_go_and_the_others_stay_without_a_server(running: bool) -> None:
    api = Api()
    made = crowded(api, running=running)
    end(api, made, running=running, delete_private_nic_ids=made["nics"][:1])
    assert left(api, made)["nics"] == made["nics"][1:]
    assert api.get(f"{V2}/private-network-interfaces/{made['nics'][1]}")["server_id"] == ""


def test_stop_and_delete_with_all_volumes_takes_the_sbs_root_and_delete_does_not() -> None:
    """The documentation of DELETE says that SBS volumes are not supported yet."""
    api = Api()
    gone, kept = crowded(api, running=True), crowded(api, running=False)
    end(api, gone, running=True, delete_all_volumes=True)
    end(api, kept, running=False, delete_all_volumes="True")
    assert (left(api, gone)["root"], left(api, kept)["root"]) == (False, True)


def test_an_option_lets_delete_take_sbs_volumes_too() -> None:
    api = Api(World(options=WorldOptions(v2_delete_keeps_sbs=False)))
    made = crowded(api, running=False)
    end(api, made, running=False, delete_all_volumes="true")
    assert left(api, made)["root"] is False


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize(
    "pair",
    [
        {"delete_all_ips": True, "delete_all_volumes": True},
        {"delete_all_ips": True, "delete_ip_ids": ["x"]},
        {"delete_all_volumes": True, "delete_volume_ids": ["x"]},
        {"keep_all_private_nics": True, "delete_private_nic_ids": ["x"]},
    ],
)
def test_selectors_that_exclude_each_other_are_refused_and_nothing_is_done(running: bool, pair: dict[str, Any]) -> None:
    api = Api()
    made = crowded(api, running=running)
    assert end(api, made, running=running, **pair) == 400
    assert api.status("GET", f"{SERVERS}/{made['id']}") == 200
    assert left(api, made) == {"ips": made["ips"], "root": True, "local": True, "nics": made["nics"]}


def test_an_id_that_is_not_the_servers_is_refused() -> None:
    api = Api()
    made = crowded(api, running=True)
    assert end(api, made, running=True, delete_ip_ids=[api.ip()["id"]]) == 400
    assert left(api, made)["ips"] == made["ips"]


def test_each_deletion_wants_its_own_power_state() -> None:
    api = Api()
    on, off = crowded(api, running=True), crowded(api, running=False)
    assert end(api, on, running=False) == 409
    assert end(api, off, running=True) == 400


def test_a_create_can_tag_the_volume_and_the_address_that_come_with_it() -> None:
    api = Api()
    body = {
        "name": "w",
        "server_type": "DEV1-S",
        "tags": ["server"],
        "volumes": [
            {"volume_type": "sbs", "new_volume": {"name": "root", "tags": ["vol"], "image_label": "ubuntu_noble"}}
        ],
        "public_network_interface": {"ips": [{"new_ip": {"type": "zonal_ipv4", "tags": ["ip"]}}]},
    }
    server = api.ok("POST", SERVERS, body)
    volume = api.get(f"{BLOCK}/volumes/{server['volumes'][0]['id']}")
    ip = api.get(f"{V1}/ips/{server['public_network_interface']['ips'][0]['id']}")["ip"]
    assert (server["tags"], volume["tags"], ip["tags"]) == (["server"], ["vol"], ["ip"])
    assert (volume["name"], volume["parent_snapshot_id"] is not None) == ("root", True)


def test_the_list_is_of_summaries_without_children_and_pages_by_token() -> None:
    api = Api()
    for number in range(3):
        api.server(name=f"w{number}")
        api.clock.advance(1)
    first = api.get(SERVERS, "page_size=2")
    second = api.get(SERVERS, f"page_size=2&page_token={first['next_page_token']}")
    assert [server["name"] for server in first["servers"] + second["servers"]] == ["w2", "w1", "w0"]
    assert (first["total_count"], "next_page_token" in second) == (3, False)
    assert not {"volumes", "public_network_interface", "private_network_interfaces"} & set(first["servers"][0])


def test_both_dialects_show_the_same_server_in_their_own_words() -> None:
    api = Api()
    server = api.running()
    assert api.get(f"{SERVERS}/{server['id']}")["status"] == "started"
    assert api.ok("POST", f"{SERVERS}/{server['id']}/pause", {})["status"] == "pausing"
    api.clock.advance(44)
    assert (api.get(f"{SERVERS}/{server['id']}")["status"], api.show(server["id"])["state"]) == (
        "paused",
        "stopped in place",
    )

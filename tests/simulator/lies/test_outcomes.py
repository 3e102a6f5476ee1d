"""Lies about outcomes: ends that do not come, come late or are taken back, and creates that fail half-way."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.simulator import worldfile
from reconciler.simulator.catalog import image_id
from tests.simulator.lies.rig import Rig
from tests.simulator.support import BLOCK, IPAM, V1, V2


def whole(rig: Rig) -> None:
    """Nothing in the world points at nothing."""
    text = rig.truth()
    assert worldfile.dump(worldfile.parse(text)) == text


def ends(rig: Rig) -> dict[str, tuple[str, str, Any]]:
    worker = rig.made[0]
    return {
        "server": ("POST", f"{V1}/servers/{worker.server}/action", {"action": "terminate"}),
        "server_v2": ("POST", f"{V2}/servers/{worker.server}/stop-and-delete", {"delete_all_ips": True}),
        "ip": ("DELETE", f"{V1}/ips/{worker.ip}", None),
        "private_nic": ("DELETE", f"{V2}/private-network-interfaces/{worker.nic}", None),
    }


@pytest.mark.parametrize("what", ["server", "server_v2", "ip", "private_nic"])
def test_an_accepted_deletion_that_stays_changes_nothing_at_all(what: str) -> None:
    rig, honest = Rig(), Rig()
    method, path, body = ends(rig)[what]
    before = rig.truth()
    rig.tell("delete_stays")
    accepted = rig.send(method, path, body)
    assert accepted.status_code == honest.send(method, path, body).status_code < 300
    rig.clock.advance(7200)
    assert rig.truth() == before


def test_a_deletion_that_is_refused_anyway_is_refused() -> None:
    rig = Rig()
    rig.tell("delete_stays")
    assert rig.send("DELETE", f"{BLOCK}/volumes/{rig.made[0].root}").status_code == 412


def test_a_late_deletion_comes_when_its_time_is_over() -> None:
    rig = Rig()
    path = f"{V1}/ips/{rig.made[0].ip}"
    rig.tell("delete_stays", kinds=["ip"], for_ms=60_000, times=1)
    assert rig.send("DELETE", path).status_code == 204
    rig.clock.advance(59.9)
    assert rig.get(path).status_code == 200
    rig.clock.advance(0.1)
    assert rig.get(path).status_code == 404
    whole(rig)


def test_a_late_terminate_of_a_server_that_somebody_deleted_meanwhile_does_nothing() -> None:
    rig = Rig()
    rig.tell("delete_stays", for_ms=60_000, times=1)
    rig.terminate()
    rig.terminate()
    rig.clock.advance(120)
    assert rig.get(rig.server()).status_code == 404
    whole(rig)


@pytest.mark.parametrize("what", ["server", "server_v2", "ip", "private_nic"])
def test_what_was_deleted_is_gone_and_comes_back(what: str) -> None:
    rig = Rig()
    method, path, body = ends(rig)[what]
    read = path.removesuffix("/action").removesuffix("/stop-and-delete")
    shown = rig.get(read).json()
    rig.tell("delete_undone", back_ms=60_000, times=1)
    assert rig.send(method, path, body).status_code < 300
    rig.clock.advance(30)
    assert rig.get(read).status_code == 404
    rig.clock.advance(31)
    back = rig.get(read)
    assert back.status_code == 200
    known = shown.get("server", shown.get("ip", shown))
    again = back.json().get("server", back.json().get("ip", back.json()))
    assert (again["id"], again.get("name"), again["tags"]) == (known["id"], known.get("name"), known["tags"])
    whole(rig)
    assert rig.send(method, path, body).status_code < 300
    rig.clock.advance(600)
    assert rig.get(read).status_code == 404


def test_a_server_comes_back_with_the_volumes_that_are_left() -> None:
    rig = Rig()
    rig.tell("delete_undone", back_ms=60_000, times=1)
    rig.terminate()
    rig.clock.advance(30)
    root = rig.get(f"{BLOCK}/volumes/{rig.made[0].root}").json()
    assert (root["status"], root["references"]) == ("available", [])
    rig.clock.advance(31)
    root = rig.get(f"{BLOCK}/volumes/{rig.made[0].root}").json()
    assert root["references"][0]["product_resource_id"] == rig.made[0].server
    assert rig.get(rig.server()).json()["server"]["volumes"]["0"]["id"] == rig.made[0].root


def test_a_server_comes_back_without_the_volumes_that_are_gone() -> None:
    rig = Rig()
    rig.tell("delete_undone", kinds=["server"], back_ms=60_000, times=1)
    rig.terminate()
    rig.clock.advance(30)
    assert rig.send("DELETE", f"{BLOCK}/volumes/{rig.made[0].root}").status_code == 204
    rig.clock.advance(31)
    assert rig.get(rig.server()).json()["server"]["volumes"] == {}
    whole(rig)


def test_an_address_comes_back_in_both_apis() -> None:
    rig = Rig()
    rig.tell("delete_undone", kinds=["ip"], back_ms=1000, times=1)
    rig.send("DELETE", f"{V1}/ips/{rig.made[0].ip}")
    assert rig.get(f"{IPAM}/ips/{rig.made[0].ip}").status_code == 404
    rig.clock.advance(1)
    assert rig.get(f"{IPAM}/ips/{rig.made[0].ip}").status_code == 200
    assert rig.get(f"{V1}/ips/{rig.made[0].ip}").json()["ip"]["server"]["id"] == rig.made[0].server


@pytest.mark.parametrize("what", ["ip", "private_nic"])
def test_what_comes_back_after_its_server_has_gone_is_without_one(what: str) -> None:
    rig = Rig()
    method, path, body = ends(rig)[what]
    rig.tell("delete_undone", kinds=[what], back_ms=60_000)
    rig.send(method, path, body)
    rig.terminate()
    rig.clock.advance(60)
    back = rig.get(path).json()
    assert not back.get("server_id", back.get("ip", back).get("server"))
    whole(rig)


@pytest.mark.parametrize("state", ["stopping", "locked"])
@pytest.mark.parametrize("what", ["server", "server_v2"])
def test_a_terminated_server_stays_in_its_state_and_is_gone_late(state: str, what: str) -> None:
    rig = Rig()
    rig.tell("terminate_sticks", state=state, for_ms=600_000)
    method, path, body = ends(rig)[what]
    assert rig.send(method, path, body).status_code < 300
    rig.clock.advance(599)
    assert rig.get(rig.server()).json()["server"]["state"] == state
    whole(rig)
    rig.clock.advance(1)
    assert rig.get(rig.server()).status_code == 404
    whole(rig)


def test_a_terminated_server_can_stay_for_ever() -> None:
    rig = Rig()
    rig.tell("terminate_sticks")
    rig.terminate()
    rig.clock.advance(10**7)
    assert rig.get(rig.server()).json()["server"]["state"] == "stopping"


def test_a_volume_says_in_use_by_a_server_that_is_no_more_and_cannot_be_deleted() -> None:
    rig = Rig()
    rig.tell("volume_clings", for_ms=66_000)
    rig.terminate()
    rig.clock.advance(6)
    assert rig.get(rig.server()).status_code == 404
    path = f"{BLOCK}/volumes/{rig.made[0].root}"
    shown = rig.get(path).json()
    assert (shown["status"], shown["references"][0]["product_resource_id"]) == ("in_use", rig.made[0].server)
    assert rig.send("DELETE", path).status_code == 412
    whole(rig)
    rig.clock.advance(66)
    assert rig.get(path).json()["status"] == "available"
    assert rig.send("DELETE", path).status_code == 204


def test_only_the_volumes_named_cling() -> None:
    rig = Rig()
    rig.tell("volume_clings", ids=[rig.made[1].root])
    for number in (0, 1):
        rig.terminate(number)
    rig.clock.advance(6)
    states = [rig.get(f"{BLOCK}/volumes/{rig.made[number].root}").json()["status"] for number in (0, 1)]
    assert states == ["available", "in_use"]


# --- Creates ---------------------------------------------------------------------------------------------------------


def step(rig: Rig, name: str) -> tuple[str, str, Any]:
    """A request that is this step of making a worker."""
    image = image_id("ubuntu_noble", zone="fr-par-1")
    stopped = rig.send("POST", f"{V1}/servers", {"name": "s", "commercial_type": "DEV1-S", "image": image})
    server = stopped.json()["server"]["id"]
    with rig.simulator.editing() as world:
        network = next(iter(world.networks)).id
    return {
        "ip": ("POST", f"{V1}/ips", {}),
        "volume": ("POST", f"{BLOCK}/volumes", {"name": "v", "from_empty": {"size": 10**10}}),
        "server": ("POST", f"{V1}/servers", {"name": "w", "commercial_type": "DEV1-S", "image": image}),
        "power_on": ("POST", f"{V1}/servers/{server}/action", {"action": "poweron"}),
        "nic": ("POST", f"{V1}/servers/{server}/private_nics", {"private_network_id": network}),
        "user_data": ("PATCH", f"{V1}/servers/{server}/user_data/cloud-init", {}),
    }[name]


@pytest.mark.parametrize("name", ["ip", "volume", "server", "power_on", "nic", "user_data"])
@pytest.mark.parametrize(("reason", "status"), [("stock", 412), ("quota", 403), ("quota_v1", 403), ("internal", 500)])
def test_a_step_of_a_create_fails_and_leaves_nothing(name: str, reason: str, status: int) -> None:
    rig = Rig()
    method, path, body = step(rig, name)
    before = rig.truth()
    rig.tell("create_fails", step=name, reason=reason, times=1)
    refused = rig.send(method, path, body)
    assert refused.status_code == status
    assert rig.truth() == before
    assert rig.send(method, path, body).status_code < 300


V2_CREATE = {
    "name": "w",
    "server_type": "DEV1-S",
    "volumes": [{"volume_type": "sbs", "new_volume": {"image_label": "ubuntu_noble", "tags": ["mine"]}}],
    "public_network_interface": {"ips": [{"new_ip": {"type": "zonal_ipv4", "tags": ["mine"]}}]},
}


@pytest.mark.parametrize(
    "leaves", [[], ["ip"], ["block_volume"], ["ip", "block_volume"], ["server"], ["server", "ip", "block_volume"]]
)
def test_out_of_stock_leaves_what_the_create_had_made_already(leaves: list[str]) -> None:
    rig = Rig()
    counts = {kind: len(rig.ids(kind)) for kind in ("server", "ip", "block_volume", "ipam_ip")}
    rig.tell("create_fails", step="server", reason="stock", leaves=leaves)
    refused = rig.send("POST", f"{V2}/servers", V2_CREATE)
    assert (refused.status_code, refused.json()["type"]) == (412, "out_of_stock")
    after = {kind: len(rig.ids(kind)) - count for kind, count in counts.items()}
    assert after == {
        **{kind: int(kind in leaves) for kind in ("server", "ip", "block_volume")},
        "ipam_ip": int("ip" in leaves),
    }
    whole(rig)
    if leaves == ["ip"]:
        left = rig.get(f"{V1}/ips", tags="mine").json()["ips"]
        assert [(ip["server"], ip["state"]) for ip in left] == [(None, "detached")]
    if leaves == ["block_volume"]:
        volumes = rig.get(f"{BLOCK}/volumes", tags="mine").json()["volumes"]
        assert [(item["status"], item["references"]) for item in volumes] == [("available", [])]
    if "server" in leaves:
        made = rig.get(f"{V1}/servers").json()["servers"][0]
        assert made["state"] == "stopped"
        assert len(made["volumes"]) == int("block_volume" in leaves)


def test_a_power_on_without_stock_leaves_the_stopped_server_billed() -> None:
    rig = Rig()
    method, path, body = step(rig, "power_on")
    rig.tell("create_fails", step="power_on")
    assert rig.send(method, path, body).json()["resource"] == "DEV1-S"
    assert rig.get(path.removesuffix("/action")).json()["server"]["state"] == "stopped"


def test_an_interface_that_failed_can_leave_its_booked_addresses() -> None:
    rig = Rig()
    method, path, body = step(rig, "nic")
    count = len(rig.ids("ipam_ip"))
    rig.tell("create_fails", step="nic", reason="quota", leaves=["ipam_ip"])
    assert rig.send(method, path, body).status_code == 403
    assert len(rig.ids("ipam_ip")) == count + 2
    assert len(rig.ids("private_nic")) == 5
    whole(rig)


def test_a_create_that_is_refused_for_its_own_reason_keeps_that_reason() -> None:
    rig = Rig()
    rig.tell("create_fails", step="server", reason="stock")
    assert rig.send("POST", f"{V1}/servers", {"name": "x", "commercial_type": "NO-SUCH"}).status_code == 400

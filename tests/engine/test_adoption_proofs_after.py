"""What the provider sends after a create, and what each kind has of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.engine.adoption.proofs.shared import NotProvedError, Reply
from reconciler.model.state import SECRET
from tests.engine.adoption_cloud import (
    BLOCK,
    GB,
    INSTANCE,
    IP,
    NETWORK,
    NIC,
    PAIRS,
    REGION,
    ROOT,
    SERVER,
    SERVER_PAIR,
    VPC,
    Cloud,
    answered_server,
    book,
    cloud,
    create,
    item,
    paths_of,
    send,
)
from tests.engine.fakes import uuid_of


class TestUserData:
    PATH = f"{INSTANCE}/servers/{SERVER}/user_data"

    def patch(self, there: Cloud, key: str, value: bytes, **inputs: Any) -> Reply:
        return send("PATCH", f"{self.PATH}/{key}", value, there=there, expected=answered_server(there, **inputs))

    def test_an_equal_value_is_answered(self) -> None:
        assert self.patch(cloud(), "cloud-init", b"#cloud-config\n").status == 204

    @pytest.mark.parametrize("value", [b"#cloud-config", b"#cloud-config\r\n", b"", b"\xff"])
    def test_another_value_is_refused_and_not_shown(self, value: bytes) -> None:
        with pytest.raises(NotProvedError) as caught:
            self.patch(cloud(), "cloud-init", value, cloudInit=SECRET)
        (difference,) = caught.value.differences
        assert (difference.path, difference.program, difference.cloud) == ("cloudInit", "[secret]", "another [secret]")

    def test_a_key_that_is_not_there_is_refused(self) -> None:
        with pytest.raises(NotProvedError) as caught:
            self.patch(cloud(), "foo", b"bar")
        assert (paths_of(caught), caught.value.differences[0].cloud) == (['userData["foo"]'], "nothing")

    def test_a_key_with_a_slash_is_one_key(self) -> None:
        there = cloud()
        there.objects[f"{self.PATH}/a%2Fb"] = b"x"
        assert self.patch(there, "a%2Fb", b"x").status == 204

    def test_it_is_not_answered_before_the_server_is(self) -> None:
        with pytest.raises(NotProvedError):
            send(
                "PATCH", f"{self.PATH}/cloud-init", b"#cloud-config\n", there=cloud(), expected=book(item(SERVER_PAIR))
            )

    def drop(self, there: Cloud, key: str) -> Reply:
        return send("DELETE", f"{self.PATH}/{key}", b"", there=there, expected=answered_server(there))

    def test_a_stale_key_that_is_absent_is_dropped(self) -> None:
        assert self.drop(cloud(), "stale").status == 204

    def test_a_stale_key_that_is_there_is_not(self) -> None:
        with pytest.raises(NotProvedError) as caught:
            self.drop(cloud(), "cloud-init")
        assert paths_of(caught) == ['userData["cloud-init"]']

    def test_the_key_that_the_machine_writes_itself_may_stay(self) -> None:
        there = cloud()
        there.objects[f"{self.PATH}/ssh-host-fingerprints"] = b"256 SHA256:x"
        assert self.drop(there, "ssh-host-fingerprints").status == 204


class TestPower:
    def act(self, action: str, state: str) -> Reply:
        there = cloud()
        expected = answered_server(there)
        there.objects[f"{INSTANCE}/servers/{SERVER}"]["server"]["state"] = state
        return send("POST", f"{INSTANCE}/servers/{SERVER}/action", {"action": action}, there=there, expected=expected)

    @pytest.mark.parametrize(
        ("action", "state"), [("poweron", "running"), ("poweroff", "stopped"), ("stop_in_place", "stopped in place")]
    )
    def test_an_action_is_answered_when_its_state_is_reached(self, action: str, state: str) -> None:
        reply = self.act(action, state)
        assert (reply.status, json.loads(reply.body)["task"]["status"]) == (202, "pending")

    @pytest.mark.parametrize(
        ("action", "state", "says", "has"),
        [("poweron", "stopped", "started", "stopped"), ("poweroff", "running", "stopped", "started")],
    )
    def test_a_machine_in_another_state_is_named_in_the_programs_words(
        self, action: str, state: str, says: str, has: str
    ) -> None:
        with pytest.raises(NotProvedError) as caught:
            self.act(action, state)
        (difference,) = caught.value.differences
        assert (difference.path, difference.program, difference.cloud) == ("state", says, has)

    @pytest.mark.parametrize("action", ["terminate", "reboot", "backup", ""])
    @pytest.mark.parametrize("state", ["running", "stopped", "stopped in place"])
    def test_no_other_action_is_ever_answered(self, action: str, state: str) -> None:
        with pytest.raises(NotProvedError):
            self.act(action, state)


class TestRootVolume:
    def patch(self, path: str, body: Mapping[str, Any]) -> Reply:
        there = cloud()
        return send("PATCH", path, body, there=there, expected=answered_server(there))

    def test_equal_iops_are_answered_with_the_volume(self) -> None:
        reply = self.patch(f"{BLOCK}/volumes/{ROOT}", {"perf_iops": 15000})
        assert json.loads(reply.body)["id"] == ROOT

    def test_the_alpha_api_is_the_same(self) -> None:
        path = f"{BLOCK}/volumes/{ROOT}".replace("/v1/", "/v1alpha1/")
        assert self.patch(path, {"name": "root"}).status == 200

    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({"perf_iops": 5000}, "rootVolume.sbsIops"),
            ({"name": "other"}, "rootVolume.name"),
            ({"size": 20 * GB}, "rootVolume.size"),
        ],
    )
    def test_anything_else_is_refused(self, body: Mapping[str, Any], path: str) -> None:
        with pytest.raises(NotProvedError) as caught:
            self.patch(f"{BLOCK}/volumes/{ROOT}", body)
        assert paths_of(caught) == [path]

    def test_a_volume_that_is_no_root_is_refused(self) -> None:
        with pytest.raises(NotProvedError):
            self.patch(f"{BLOCK}/volumes/{uuid_of(77)}", {"perf_iops": 15000})

    def test_a_local_root_is_renamed_to_the_name_that_it_has(self) -> None:
        assert self.patch(f"{INSTANCE}/volumes/{ROOT}", {"name": "l"}).status == 200
        with pytest.raises(NotProvedError):
            self.patch(f"{INSTANCE}/volumes/{ROOT}", {"name": "m"})


class TestNics:
    BLOCK_BODY: Mapping[str, Any] = {
        "private_network_id": NETWORK,
        "project_id": PAIRS["private NIC"].body["project_id"],
        "server_id": SERVER,
        "ip_ids": None,
        "tags": None,
    }

    def test_a_nic_of_a_servers_private_networks_is_found_through_the_server(self) -> None:
        there = cloud()
        expected = answered_server(there)
        reply = create(PAIRS["private NIC"], self.BLOCK_BODY, there=there, expected=expected)
        assert json.loads(reply.body)["id"] == NIC
        assert NIC in expected.nics

    def test_a_network_that_the_server_is_not_in_is_named(self) -> None:
        there = cloud()
        body, expected = {**self.BLOCK_BODY, "private_network_id": uuid_of(70)}, answered_server(there)
        with pytest.raises(NotProvedError) as caught:
            create(PAIRS["private NIC"], body, there=there, expected=expected)
        assert paths_of(caught) == ["privateNetworks"]

    def test_the_older_dialect_is_answered_too(self) -> None:
        there, path = cloud(), f"{INSTANCE}/servers/{SERVER}/private_nics"
        body = {"private_network_id": NETWORK}
        reply = send("POST", path, body, there=there, expected=answered_server(there))
        assert (reply.status, json.loads(reply.body)["private_nic"]["id"]) == (201, NIC)
        with pytest.raises(NotProvedError):
            send("POST", path, {**body, "ip_ids": [uuid_of(3)]}, there=there, expected=answered_server(there))

    def test_the_older_dialect_as_a_resource(self) -> None:
        expected = book(item(PAIRS["private NIC"]))
        body = {"private_network_id": NETWORK, "tags": ["a"], "ipam_ip_ids": list(PAIRS["private NIC"].body["ip_ids"])}
        path = f"{INSTANCE}/servers/{SERVER}/private_nics"
        assert send("POST", path, body, there=cloud(), expected=expected).status == 201


class TestTheOthers:
    def test_an_ip_is_never_attached_or_detached(self) -> None:
        expected = book(item(PAIRS["ip"]))
        create(PAIRS["ip"], PAIRS["ip"].body, expected=expected)
        path = f"{INSTANCE}/ips/{IP}"
        assert send("PATCH", path, {"reverse": "a.example"}, there=cloud(), expected=expected).status == 200
        bodies: list[dict[str, Any]] = [{"server": None}, {"server": SERVER}, {"reverse": "b.example"}, {"tags": []}]
        for body in bodies:
            with pytest.raises(NotProvedError):
                send("PATCH", path, body, there=cloud(), expected=expected)

    def test_a_volume_from_a_snapshot_is_one_from_that_snapshot(self) -> None:
        there, pair, snapshot = cloud(), PAIRS["block volume"], uuid_of(80)
        body = {key: value for key, value in pair.body.items() if key != "from_empty"}
        body["from_snapshot"] = {"snapshot_id": snapshot, "size": None}
        with pytest.raises(NotProvedError) as caught:
            create(pair, body, there=there)
        assert paths_of(caught) == ["snapshotId"]
        there.objects[f"{BLOCK}/volumes/{pair.ref.id}"]["parent_snapshot_id"] = snapshot
        assert create(pair, body, there=there).status == 200
        with pytest.raises(NotProvedError):
            create(pair, pair.body, there=there)

    def test_no_vpc_means_the_default_one(self) -> None:
        there, pair = cloud(), PAIRS["private network"]
        body = {key: value for key, value in pair.body.items() if key != "vpc_id"}
        assert create(pair, body, there=there).status == 200
        there.objects[f"/vpc/v2/regions/{REGION}/vpcs/{VPC}"]["is_default"] = False
        with pytest.raises(NotProvedError) as caught:
            create(pair, body, there=there)
        assert paths_of(caught) == ["vpcId"]

    def test_a_declared_family_of_subnets_is_compared_and_the_other_is_not(self) -> None:
        pair = PAIRS["private network"]
        assert create(pair, {**pair.body, "subnets": ["fd00:1::/64"]}).status == 200
        with pytest.raises(NotProvedError) as caught:
            create(pair, {**pair.body, "subnets": ["172.16.8.0/22", "172.16.16.0/22"]})
        assert paths_of(caught) == ["ipv4Subnet"]

    def test_a_custom_resource_of_an_address_is_the_programs(self) -> None:
        there, pair = cloud(), PAIRS["IPAM address"]
        body = {**pair.body, "resource": {"mac_address": "02:AA:00:00:00:01", "name": None}}
        with pytest.raises(NotProvedError):
            create(pair, body, there=there)
        there.objects[f"/ipam/v1/regions/{REGION}/ips/{pair.ref.id}"]["resource"] = {
            "type": "custom",
            "mac_address": "02:aa:00:00:00:01",
            "name": None,
        }
        assert create(pair, body, there=there).status == 200
        with pytest.raises(NotProvedError) as caught:
            create(pair, pair.body, there=there)
        assert paths_of(caught) == ["customResources"]

    def test_the_policy_mode_of_a_placement_group_is_set_to_what_it_is(self) -> None:
        expected = book(item(PAIRS["placement group"]))
        create(PAIRS["placement group"], PAIRS["placement group"].body, expected=expected)
        path = f"{INSTANCE}/placement_groups/{PAIRS['placement group'].ref.id}"
        assert send("PATCH", path, {"policy_mode": "optional"}, there=cloud(), expected=expected).status == 200
        with pytest.raises(NotProvedError):
            send("PATCH", path, {"policy_mode": "enforced"}, there=cloud(), expected=expected)

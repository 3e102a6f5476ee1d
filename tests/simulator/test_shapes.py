"""Answers have the keys and types of recorded ones. Skipped, and counted, where no recordings are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import pytest

from reconciler.simulator import PROJECT_ID, ZONE
from reconciler.simulator.catalog import image_id
from tests.simulator import recordings
from tests.simulator.recordings import bodies
from tests.simulator.support import BLOCK, IPAM, V1, V2, VPC, Api

if recordings.directory() is None:
    pytest.skip("no recordings here: set RECONCILER_TEST_DATA", allow_module_level=True)

I1 = "/instance/v1/zones/{place}"
I2 = "/instance/v2alpha1/zones/{place}"
B1 = "/block/v1/zones/{place}"
# Present on some reads only, once it has been asked for.
_SOMETIMES = {"admin_password_encryption_ssh_key_id", "admin_password_encrypted_value"}


def keys_seen(found: list[Any]) -> set[frozenset[str]]:
    assert found, "the recordings hold no such answer any more"
    return {frozenset(set(item) - _SOMETIMES) for item in found}


def servers_recorded() -> list[Any]:
    return [body["server"] for body in bodies("GET", f"{I1}/servers/{{id}}")]


def test_a_server_has_the_keys_of_every_recorded_server() -> None:
    api = Api()
    ip = api.ip()
    server = api.running(public_ips=[ip["id"]])
    assert keys_seen(servers_recorded()) == {frozenset(server)}


@pytest.mark.parametrize(("kind", "root"), [("sbs_volume", "instance_sbs"), ("l_ssd", "instance_local")])
def test_an_entry_of_a_servers_volumes_has_the_recorded_keys(kind: str, root: str) -> None:
    api = Api()
    server = api.server(image=image_id("ubuntu_noble", zone=ZONE, kind=root))
    recorded = [
        volume for item in servers_recorded() for volume in item["volumes"].values() if volume["volume_type"] == kind
    ]
    assert keys_seen(recorded) == {frozenset(server["volumes"]["0"])}


def test_a_servers_image_location_and_public_ip_have_the_recorded_keys() -> None:
    api = Api()
    server = api.running(public_ips=[api.ip()["id"]])
    recorded = servers_recorded()
    for part in ("image", "location", "public_ip"):
        assert keys_seen([item[part] for item in recorded if item[part]]) == {frozenset(server[part])}, part
    roots = keys_seen([item["image"]["root_volume"] for item in recorded if item["image"]])
    assert roots == {frozenset(server["image"]["root_volume"])}


def test_a_servers_private_nics_have_the_recorded_keys() -> None:
    api = Api()
    server = api.running()
    api.nic(server["id"], api.network()["id"])
    shown = api.show(server["id"])["private_nics"][0]
    assert keys_seen([nic for item in servers_recorded() for nic in item["private_nics"]]) == {frozenset(shown)}


def test_every_recorded_pair_of_state_and_actions_is_one_that_the_simulator_gives() -> None:
    """state -> allowed_actions, over all recorded servers that are not on their way out or protected."""
    api, given = Api(), dict[str, list[str]]()
    server = api.server()
    for action, wait in (("", 0), ("poweron", 1), ("", 60), ("stop_in_place", 1), ("", 60)):
        if action:
            api.act(server["id"], action)
        api.clock.advance(wait)
        shown = api.show(server["id"])
        given[shown["state"]] = shown["allowed_actions"]
    recorded = {
        item["state"]: item["allowed_actions"] for item in servers_recorded() if item["state_detail"] != "terminating"
    }
    assert given == {state: recorded[state] for state in given}
    assert set(recorded) <= set(given) | {"locked"}


def _task(api: Api) -> Any:
    return api.act(api.server()["id"], "poweron").json()["task"]


def _snapshot(api: Api) -> Any:
    volume = api.block_volume()
    return api.ok("POST", f"{BLOCK}/snapshots", {"name": "s", "volume_id": volume["id"]})


def _local_snapshot(api: Api) -> Any:
    volume = api.ok("POST", f"{V1}/volumes", {"name": "v", "volume_type": "l_ssd", "size": 10**10}, status=201)
    return api.ok("POST", f"{V1}/snapshots", {"name": "s", "volume_id": volume["volume"]["id"]}, status=201)["snapshot"]


def _attached_volume(api: Api) -> Any:
    server = api.server()
    return api.get(f"{BLOCK}/volumes/{server['volumes']['0']['id']}")


def _security_group(api: Api) -> Any:
    return api.ok("POST", f"{V1}/security_groups", {"name": "g"}, status=201)["security_group"]


def _rules(api: Api) -> Any:
    return api.get(f"{V1}/security_groups/{_security_group(api)['id']}/rules")["rules"][0]


CASES: dict[str, tuple[Callable[[Api], Any], str, str, int, Callable[[Any], Any]]] = {
    "ip": (lambda api: api.ip(), "POST", f"{I1}/ips", 201, lambda body: body["ip"]),
    "task": (_task, "POST", f"{I1}/servers/{{id}}/action", 202, lambda body: body["task"]),
    "local volume": (
        lambda api: api.ok("POST", f"{V1}/volumes", {"name": "v", "size": 10**10}, status=201)["volume"],
        "POST", f"{I1}/volumes", 201, lambda body: body["volume"],
    ),
    "block volume": (lambda api: api.block_volume(), "GET", f"{B1}/volumes/{{id}}", 200, lambda body: body),
    "block reference": (
        lambda api: _attached_volume(api)["references"][0],
        "GET", f"{B1}/volumes/{{id}}", 200, lambda body: body["references"][0] if body["references"] else None,
    ),
    "block snapshot": (_snapshot, "POST", f"{B1}/snapshots", 200, lambda body: body),
    "local snapshot": (_local_snapshot, "POST", f"{I1}/snapshots", 201, lambda body: body["snapshot"]),
    "nic v2alpha1": (
        lambda api: api.nic(api.server()["id"], api.network()["id"]),
        "POST", f"{I2}/private-network-interfaces", 200, lambda body: body,
    ),
    "private network": (
        lambda api: api.network(), "POST", "/vpc/v2/regions/{place}/private-networks", 200, lambda body: body
    ),
    "subnet": (
        lambda api: api.network()["subnets"][0],
        "POST", "/vpc/v2/regions/{place}/private-networks", 200, lambda body: body["subnets"][0],
    ),
    "vpc": (
        lambda api: api.ok("POST", f"{VPC}/vpcs", {"name": "v"}), "POST", "/vpc/v2/regions/{place}/vpcs", 200,
        lambda body: body,
    ),
    "ipam ip": (
        lambda api: api.ok("POST", f"{IPAM}/ips", {"source": {"private_network_id": api.network()["id"]}}),
        "POST", "/ipam/v1/regions/{place}/ips", 200, lambda body: body,
    ),
    "security group": (_security_group, "POST", f"{I1}/security_groups", 201, lambda body: body["security_group"]),
    "security group rule": (
        _rules, "GET", f"{I1}/security_groups/{{id}}/rules", 200, lambda body: next(iter(body["rules"]), None)
    ),
    "placement group v2alpha1": (
        lambda api: api.ok("POST", f"{V2}/placement-groups", {"name": "p"}),
        "POST", f"{I2}/placement-groups", 200, lambda body: body,
    ),
    "placement group v1": (
        lambda api: api.ok("POST", f"{V1}/placement_groups", {"name": "p"}, status=201)["placement_group"],
        "GET", f"{I1}/placement_groups/{{id}}", 200, lambda body: body["placement_group"],
    ),
    "local image": (
        lambda api: api.get("/marketplace/v2/local-images", "image_label=ubuntu_noble")["local_images"][0],
        "GET", "/marketplace/v2/local-images", 200, lambda body: body["local_images"][0],
    ),
    "image": (
        lambda api: api.get(f"{V1}/images/{image_id('ubuntu_noble', zone=ZONE)}")["image"],
        "GET", f"{I1}/images/{{id}}", 200, lambda body: body["image"],
    ),
    "server type": (
        lambda api: api.get(f"{V1}/products/servers")["servers"]["DEV1-S"],
        "GET", f"{I1}/products/servers", 200, lambda body: body["servers"].get("DEV1-S"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_object_has_the_recorded_keys(name: str) -> None:
    make, method, wanted, status, part = CASES[name]
    # Block's answers gained `kms_key_id` in June 2026; what is older than July has other keys.
    recorded = [part(body) for body in bodies(method, wanted, status=status)]
    assert keys_seen([item for item in recorded if item]) == {frozenset(make(Api()))}


def test_a_server_type_is_the_recorded_one_to_the_last_value() -> None:
    """Prices and constraints of a type are facts, so here values count and not only keys."""
    recorded = bodies("GET", f"{I1}/products/servers", since="2026-08")
    assert recorded
    types = {name: item for body in recorded for name, item in body["servers"].items()}
    page = {}
    for number in (1, 2, 3):
        page.update(Api().get(f"{V1}/products/servers", f"page={number}")["servers"])
    assert page["DEV1-S"] == types["DEV1-S"]
    assert page["DEV1-S"]["hourly_price"] == 0.008976


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (f"{V1}/servers", f"{I1}/servers/{{id}}"),
        (f"{V1}/ips", f"{I1}/ips/{{id}}"),
        (f"{V1}/volumes", f"{I1}/volumes/{{id}}"),
        (f"{V1}/images", f"{I1}/images/{{id}}"),
        (f"{V1}/security_groups", f"{I1}/security_groups/{{id}}"),
        (f"{V1}/snapshots", f"{I1}/snapshots/{{id}}"),
        (f"{V2}/private-network-interfaces", f"{I2}/private-network-interfaces/{{id}}"),
        (f"{V2}/placement-groups", f"{I2}/placement-groups/{{id}}"),
        (f"{BLOCK}/volumes", f"{B1}/volumes/{{id}}"),
        (f"{BLOCK}/snapshots", f"{B1}/snapshots/{{id}}"),
        (f"{VPC}/vpcs", "/vpc/v2/regions/{place}/vpcs/{id}"),
        (f"{VPC}/private-networks", "/vpc/v2/regions/{place}/private-networks/{id}"),
    ],
)
def test_a_404_by_id_is_the_recorded_one_but_for_the_id(path: str, wanted: str) -> None:
    recorded = bodies("GET", wanted, status=404, since="2025-01")
    assert recorded
    missing = "11111111-1111-4111-8111-111111111111"
    response = Api().call("GET", f"{path}/{missing}")
    assert response.status == 404
    assert response.json() == {**recorded[0], "resource_id": missing}


def test_a_recorded_list_of_v1_has_the_links_that_the_simulator_gives() -> None:
    """Character by character, for the same parameters and total."""
    lists = [
        record
        for record in recordings.answers("GET", f"{I1}/servers")
        if record["x_total_count"] == "1" and "name=" in record["query"]
    ]
    assert lists
    for record in lists:
        sent = dict(parse_qsl(record["query"]))
        api = Api()
        api.server(name=sent["name"])
        query = record["query"].replace(sent["project"], PROJECT_ID)
        shown = api.call("GET", f"{V1}/servers", query=query)
        assert shown.headers["Link"] == record["link"].replace(sent["project"], PROJECT_ID)
        assert shown.headers["X-Total-Count"] == "1"


def test_times_are_written_as_recorded() -> None:
    """v1 `+00:00` with six digits, Block `Z`."""
    api = Api()
    server, volume = api.server(), api.block_volume()
    recorded_v1 = servers_recorded()[0]["creation_date"]
    recorded_z = bodies("GET", f"{B1}/volumes/{{id}}")[0]["created_at"]
    digits = str.maketrans("123456789", "0" * 9)
    assert server["creation_date"].translate(digits) == recorded_v1.translate(digits)
    assert volume["created_at"].translate(digits) == recorded_z.translate(digits)

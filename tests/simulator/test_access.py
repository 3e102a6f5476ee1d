"""Keys and rights: the difference between nothing there and nothing for you."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.simulator import PROJECT_ID, Key, World, WorldOptions
from tests.simulator.support import BLOCK, IPAM, V1, VPC, Api

SECRET = "5ca1ab1e-0000-4000-8000-00000000beef"
OTHER = "5ca1ab1e-0000-4000-8000-0000000000ff"


def limited(**rights: Any) -> tuple[Api, Api]:
    """(an owner with all rights, somebody with the rights given) in the same world."""
    owner = Api()
    key = Key(secret=SECRET, access_key="SCWSIMULATOR00000002", projects=frozenset({PROJECT_ID}), **rights)
    owner.world.keys[SECRET] = key
    other = Api(owner.world, token=SECRET)
    return owner, other


@pytest.mark.parametrize("token", [None, "", "11111111-1111-4111-8111-111111111111"])
def test_without_a_known_key_there_is_a_401_whatever_the_path(token: str | None) -> None:
    refused = Api(token=token).call("GET", f"{V1}/servers")
    assert (refused.status, refused.json()["type"]) == (401, "denied_authentication")


@pytest.mark.parametrize("path", ["/marketplace/v2/local-images", "/product-catalog/v2alpha1/public-catalog/products"])
def test_the_catalogs_answer_everybody(path: str) -> None:
    assert Api(token=None).status("GET", path) == 200


def test_a_right_that_is_missing_is_a_403_in_lists_and_by_id() -> None:
    owner, other = limited(kinds=frozenset({"ip"}))
    server = owner.server()
    for path in (f"{V1}/servers", f"{V1}/servers/{server['id']}"):
        refused = other.call("GET", path)
        assert (refused.status, refused.json()["type"]) == (403, "permissions_denied")
    assert other.status("GET", f"{V1}/ips") == 200


def test_a_hidden_kind_lists_as_empty_and_is_still_a_403_by_id() -> None:
    owner, other = limited(kinds=frozenset({"ip"}), hidden=frozenset({"server"}))
    server = owner.server()
    listed = other.call("GET", f"{V1}/servers")
    assert (listed.status, listed.json(), listed.headers["X-Total-Count"]) == (200, {"servers": []}, "0")
    assert other.status("GET", f"{V1}/servers/{server['id']}") == 403


def test_ipam_without_a_project_can_be_empty_while_with_one_it_is_not() -> None:
    owner, other = limited(ipam_needs_project=True)
    owner.ip()
    assert other.get(f"{IPAM}/ips")["total_count"] == 0
    assert other.get(f"{IPAM}/ips", f"project_id={PROJECT_ID}")["total_count"] == 1


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_a_read_only_key_reads_everything_and_changes_nothing(method: str) -> None:
    owner, other = limited(read_only=True)
    server = owner.server()
    assert other.status("GET", f"{V1}/servers/{server['id']}") == 200
    path = f"{V1}/servers" if method == "POST" else f"{V1}/servers/{server['id']}"
    assert other.status(method, path, {}) == 403
    assert owner.show(server["id"]) == server


def test_another_projects_object_is_a_403_by_id_and_in_no_list() -> None:
    owner = Api()
    owner.world.keys[SECRET] = Key(secret=SECRET, projects=frozenset({OTHER}), default_project=OTHER)
    other = Api(owner.world, token=SECRET)
    ip = owner.ip()
    assert other.status("GET", f"{V1}/ips/{ip['id']}") == 403
    assert other.get(f"{V1}/ips")["ips"] == []


def test_a_key_of_the_whole_organization_lists_every_project() -> None:
    owner = Api()
    owner.ip()
    owner.world.keys[SECRET] = Key(secret=SECRET, projects=None, default_project=OTHER)
    everybody = Api(owner.world, token=SECRET)
    everybody.ip()
    assert {ip["project"] for ip in everybody.get(f"{V1}/ips")["ips"]} == {PROJECT_ID, OTHER}
    assert len(everybody.get(f"{V1}/ips", f"project={OTHER}")["ips"]) == 1


@pytest.mark.parametrize("path", [f"{V1}/ips", f"{BLOCK}/volumes", f"{VPC}/vpcs"])
def test_a_create_in_a_project_that_nobody_knows_is_a_403(path: str) -> None:
    assert Api().status("POST", path, {"project": OTHER, "project_id": OTHER, "name": "x"}) == 403


def test_a_product_that_a_place_lacks_is_a_404_for_a_route_and_not_for_an_object() -> None:
    api = Api(World(options=WorldOptions(absent_products=("block/fr-par-1",))))
    missing = api.call("GET", f"{BLOCK}/volumes")
    assert (missing.status, missing.json()["resource"], missing.json()["resource_id"]) == (404, "unknown", "")
    assert api.status("GET", f"{V1}/servers") == 200


def test_no_key_shows_its_secret_in_its_repr() -> None:
    assert SECRET not in repr(Key(secret=SECRET))

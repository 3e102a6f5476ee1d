"""Lists: pages, totals, order, filters, in three dialects. A list is where an inventory is won or lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.simulator import PROJECT_ID, Request, World, populate
from reconciler.simulator.generate import BORN_MS
from reconciler.simulator.records import FlexibleIp, Server
from reconciler.simulator.tables import Table
from tests.simulator.support import BLOCK, IPAM, V1, V2, Api

OTHER = "5ca1ab1e-0000-4000-8000-0000000000ff"


@pytest.fixture(scope="module")
def crowd() -> Api:
    """230 workers with children, two tags each, one of their own."""
    world = World()
    made = populate(world, servers=230, tags=("fleet", "linux"))
    for number, worker in enumerate(made):
        server = world.servers.get(worker.server)
        assert server is not None
        world.add(replace(server, tags=(*server.tags, f"worker={number}")))
    return Api(world)


def pages(api: Api, path: str, query: str, *, name: str, size: str = "per_page") -> Iterator[list[Any]]:
    """Pages of 100 by number, until one is empty."""
    number = 1
    while True:
        found = api.get(path, f"{query}&page={number}&{size}=100")[name]
        if not found:
            return
        yield found
        number += 1


@pytest.mark.parametrize(
    ("path", "name", "size", "count"),
    [
        (f"{V1}/servers", "servers", "per_page", 230),
        (f"{V1}/ips", "ips", "per_page", 230),
        (f"{BLOCK}/volumes", "volumes", "page_size", 230),
        (f"{IPAM}/ips", "ips", "page_size", 690),
        (f"{V2}/private-network-interfaces", "private_network_interfaces", "page_size", 230),
    ],
)
def test_the_pages_of_a_list_hold_every_object_once(crowd: Api, path: str, name: str, size: str, count: int) -> None:
    ids = [item["id"] for page in pages(crowd, path, "", name=name, size=size) for item in page]
    assert (len(ids), len(set(ids))) == (count, count)


def test_a_v1_list_says_its_total_in_a_header_and_not_in_the_body(crowd: Api) -> None:
    response = crowd.call("GET", f"{V1}/servers", query="per_page=100&page=2&order=creation_date_desc")
    assert set(response.json()) == {"servers"}
    assert response.headers["X-Total-Count"] == "230"
    assert response.headers["Link"] == (
        '</servers?page=3&per_page=100&order=creation_date_desc>; rel="next",'
        '</servers?page=3&per_page=100&order=creation_date_desc>; rel="last"'
    )


def test_an_empty_v1_list_links_to_page_zero() -> None:
    response = Api().call("GET", f"{V1}/servers")
    assert (response.headers["X-Total-Count"], response.headers["Link"]) == (
        "0",
        '</servers?page=0&per_page=50&>; rel="last"',
    )


def test_beyond_the_end_there_is_an_empty_page_and_the_same_total(crowd: Api) -> None:
    response = crowd.call("GET", f"{V1}/servers", query="page=9&per_page=100")
    assert (response.json(), response.headers["X-Total-Count"]) == ({"servers": []}, "230")


@pytest.mark.parametrize(("asked", "given_"), [("", 50), ("per_page=100", 100), ("per_page=1000", 100)])
def test_a_page_holds_fifty_by_default_and_a_hundred_at_most(crowd: Api, asked: str, given_: int) -> None:
    assert len(crowd.get(f"{V1}/servers", asked)["servers"]) == given_


def test_v1_volumes_come_a_hundred_at_a_time_by_default() -> None:
    link = Api().call("GET", f"{V1}/volumes").headers["Link"]
    assert "per_page=100" in link


def test_v2alpha1_pages_by_token_to_the_end(crowd: Api) -> None:
    ids, token, calls = [], "", 0
    while True:
        body = crowd.get(f"{V2}/servers", f"page_size=100{token}")
        ids += [server["id"] for server in body["servers"]]
        calls += 1
        if "next_page_token" not in body:
            break
        token = f"&page_token={body['next_page_token']}"
    assert (len(set(ids)), calls, body["total_count"]) == (230, 3, 230)


def test_a_deletion_between_two_pages_shifts_one_object_out_of_sight() -> None:
    """Newest first: what follows moves up by one, so the first of the next page is never seen."""
    api = Api()
    made = populate(api.world, servers=6, with_children=False)

    def newest_goes_before_page_two(request: Request) -> None:
        if "page=2" in request.query:
            api.world.servers.remove(made[5].server)

    api.simulator.before.append(newest_goes_before_page_two)
    first = api.get(f"{V1}/servers", "per_page=3&page=1")["servers"]
    second = api.get(f"{V1}/servers", "per_page=3&page=2")["servers"]
    seen = [server["id"] for server in (*first, *second)]
    assert [worker.server for worker in made if worker.server not in seen] == [made[2].server]


ORDERS: list[tuple[str, str, str, Callable[[Any], Any], bool]] = [
    (f"{V1}/servers", "order=creation_date_desc", "servers", lambda item: item["creation_date"], True),
    (f"{V1}/servers", "order=creation_date_asc", "servers", lambda item: item["creation_date"], False),
    (f"{V1}/servers", "order=modification_date_desc", "servers", lambda item: item["modification_date"], True),
    (f"{V1}/servers", "", "servers", lambda item: item["creation_date"], True),
    (f"{BLOCK}/volumes", "", "volumes", lambda item: item["created_at"], False),
    (f"{BLOCK}/volumes", "order_by=created_at_desc", "volumes", lambda item: item["created_at"], True),
    (f"{BLOCK}/volumes", "order_by=name_asc", "volumes", lambda item: item["name"], False),
    (f"{IPAM}/ips", "", "ips", lambda item: item["created_at"], True),
    (f"{V2}/private-network-interfaces", "", "private_network_interfaces", lambda item: item["created_at"], True),
]


@pytest.mark.parametrize(("path", "query", "name", "key", "newest_first"), ORDERS)
def test_a_list_has_its_order(
    crowd: Api, path: str, query: str, name: str, key: Callable[[Any], Any], newest_first: bool
) -> None:
    keys = [key(item) for item in crowd.get(path, query)[name]]
    assert keys == sorted(keys, reverse=newest_first)
    assert len(keys) > 1


@pytest.mark.parametrize("path", [f"{V1}/servers?order=up", f"{BLOCK}/volumes?order_by=up", f"{IPAM}/ips?order_by=up"])
def test_an_order_that_does_not_exist_is_refused(path: str) -> None:
    path, _, query = path.partition("?")
    assert Api().status("GET", path, query=query) == 400


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("tags=fleet,linux", 230),
        ("tags=fleet%2Cworker%3D7", 1),
        ("tags=worker%3D7,worker%3D8", 0),
        ("tags=nobody", 0),
        ("name=worker-0001", 10),
        ("name=nobody", 0),
        ("state=stopped", 0),
        ("commercial_type=DEV1-S", 230),
        (f"project={PROJECT_ID}", 230),
    ],
)
def test_v1_filters_servers_by_all_tags_and_by_a_part_of_the_name(crowd: Api, query: str, count: int) -> None:
    response = crowd.call("GET", f"{V1}/servers", query=query)
    assert response.headers["X-Total-Count"] == str(count)


@pytest.mark.parametrize(("query", "count"), [("tags=worker%3D7&tags=worker%3D8", 2), ("tags=worker%3D7", 1)])
def test_the_newer_dialects_filter_by_any_tag(crowd: Api, query: str, count: int) -> None:
    assert crowd.get(f"{V2}/servers", query)["total_count"] == count


def test_ips_are_filtered_by_all_their_tags() -> None:
    api = Api()
    api.ip(tags=["a"])
    both = api.ip(tags=["a", "b"])
    assert [ip["id"] for ip in api.get(f"{V1}/ips", "tags=a,b")["ips"]] == [both["id"]]


def test_a_list_shows_only_the_projects_of_the_key() -> None:
    world = World()
    populate(world, servers=2, with_children=False)
    populate(world, servers=3, with_children=False, project=OTHER)
    api = Api(world)
    assert api.call("GET", f"{V1}/servers").headers["X-Total-Count"] == "2"
    assert api.status("GET", f"{V1}/servers", query=f"project={OTHER}") == 403


def test_ipam_is_filtered_by_what_an_address_is_attached_to(crowd: Api) -> None:
    nic = next(iter(crowd.world.nics))
    found = crowd.get(f"{IPAM}/ips", f"resource_id={nic.id}&resource_type=instance_private_nic")
    assert {item["id"] for item in found["ips"]} == set(nic.ipam_ips)
    assert crowd.get(f"{IPAM}/ips", f"resource_id={nic.id}&resource_type=instance_server")["total_count"] == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["put", "drop"]), st.integers(0, 9)), max_size=60))
def test_every_index_of_a_table_is_the_sorted_truth_after_any_changes(
    steps: list[tuple[int, str, int]],
) -> None:
    """Born in any order, moved between servers, removed: an index equals a scan of the records."""
    table: Table[FlexibleIp] = Table()
    held: dict[str, tuple[int, FlexibleIp]] = {}
    for number, (which, step, created) in enumerate(steps):
        key = f"ip-{which}"
        if step == "drop":
            assert (table.remove(key) is not None) == (key in held)
            held.pop(key, None)
            continue
        record = FlexibleIp(id=key, created_ms=created, server=None if created % 2 else f"s{created % 3}")
        born = held[key][0] if key in held else number
        table.put(record)
        held[key] = (born, record)
    truth = sorted(held.values(), key=lambda item: (item[1].created_ms, item[0]))
    for index in [("in", "fr-par-1"), ("server", "s0"), ("server", "s1"), ("server", "s2")]:
        wanted = [record for _, record in truth if index in record.index_keys()]
        assert table.under(*index) == wanted
        assert table.count(*index) == len(wanted)
        for newest_first in (False, True):
            ordered = wanted[::-1] if newest_first else wanted
            for offset in range(0, 8, 3):
                part = table.page(index, newest_first=newest_first, offset=offset, limit=3)
                assert part == ordered[offset : offset + 3]


def test_a_page_does_not_look_at_the_rest_of_the_world() -> None:
    """Ten thousand servers: one page reads a hundred records, and the world is not walked through."""
    world = World()
    populate(world, servers=10_000, with_children=False)
    api, looked = Api(world), list[str]()
    inner = world.servers._records

    class Counted(dict[str, Server]):
        def __getitem__(self, key: str) -> Server:
            looked.append(key)
            return super().__getitem__(key)

    world.servers._records = Counted(inner)
    response = api.call("GET", f"{V1}/servers", query=f"project={PROJECT_ID}&per_page=100&page=50")
    assert (response.headers["X-Total-Count"], len(response.json()["servers"])) == ("10000", 100)
    assert len(looked) <= 200


def test_a_generated_world_is_the_same_again_for_the_same_seed() -> None:
    first, second = World(), World()
    assert populate(first, servers=20) == populate(second, servers=20)
    assert list(first.servers) == list(second.servers)
    assert next(iter(first.servers)).created_ms == BORN_MS


def test_servers_are_found_by_their_networks_addresses_and_interfaces() -> None:
    """A filter that is not understood would show everything, and somebody would act on it."""
    api = Api()
    group = api.ok("POST", f"{V1}/placement_groups", {"name": "p"}, status=201)["placement_group"]
    ip, network = api.ip(), api.network()
    wanted = api.server(name="wanted", public_ips=[ip["id"]], placement_group=group["id"])
    other = api.server(name="other")
    nic = api.nic(wanted["id"], network["id"])
    for path, query in (
        (f"{V1}/servers", f"private_networks={network['id']}"),
        (f"{V1}/servers", f"private_network={network['id']}"),
        (f"{V1}/servers", f"private_nic_mac_address={nic['mac_address']}"),
        (f"{V1}/servers", f"with_ip={ip['address']}"),
        (f"{V2}/servers", f"private_network_ids={network['id']}"),
        (f"{V2}/servers", f"placement_group_ids={group['id']}"),
        (f"{V2}/servers", f"mac_addresses={nic['mac_address'].upper()}&mac_addresses=02:00:00:00:00:00"),
    ):
        assert [server["name"] for server in api.get(path, query)["servers"]] == ["wanted"], query
    both = api.get(f"{V2}/servers", f"security_group_ids={other['security_group']['id']}")
    assert {server["name"] for server in both["servers"]} == {"wanted", "other"}


def test_local_images_are_found_by_their_marketplace_image_and_architecture() -> None:
    api = Api()
    (noble,) = [
        one for one in api.get("/marketplace/v2/images", "page_size=50")["images"] if one["label"] == "ubuntu_noble"
    ]
    found = api.get("/marketplace/v2/local-images", f"image_id={noble['id']}&arch=arm64&zone=fr-par-1")["local_images"]
    assert [(one["label"], one["arch"]) for one in found] == [("ubuntu_noble", "arm64")]

"""Lies about what is there: lag, shrunk and empty lists, caches, other objects."""

from __future__ import annotations

import pytest

from reconciler.simulator import PROJECT_ID
from reconciler.simulator.catalog import image_id
from tests.simulator.lies.rig import LISTS, Rig
from tests.simulator.support import BLOCK, V1, V2


def new_server(rig: Rig) -> str:
    body = {"name": "fresh", "commercial_type": "DEV1-S", "image": image_id("ubuntu_noble", zone="fr-par-1")}
    made = rig.send("POST", f"{V1}/servers", body)
    assert made.status_code == 201
    return str(made.json()["server"]["id"])


def test_a_list_shows_a_creation_later_than_a_read_by_id() -> None:
    rig = Rig()
    rig.tell("list_lag", kinds=["server"], lag_ms=5000)
    fresh = new_server(rig)
    assert rig.get(f"{V1}/servers/{fresh}").status_code == 200
    assert fresh not in rig.ids("server")
    assert rig.page("server")[1] == 5
    rig.clock.advance(4.9)
    assert fresh not in rig.ids("server")
    rig.clock.advance(0.1)
    assert rig.ids("server")[0] == fresh


def test_a_list_shows_a_deletion_later_in_its_old_place() -> None:
    rig = Rig()
    before = rig.ids("ip")
    gone = before[2]
    rig.tell("list_lag", kinds=["ip"], lag_ms=5000, changes=["delete"])
    assert rig.send("DELETE", f"{V1}/ips/{gone}").status_code == 204
    assert rig.get(f"{V1}/ips/{gone}").status_code == 404
    assert rig.ids("ip") == before
    rig.clock.advance(5)
    assert rig.ids("ip") == [item for item in before if item != gone]


def test_a_read_by_id_can_lag_too() -> None:
    rig = Rig()
    gone = rig.made[0].ip
    rig.tell("list_lag", kinds=["ip"], lag_ms=5000, reads="both")
    rig.send("DELETE", f"{V1}/ips/{gone}")
    assert rig.get(f"{V1}/ips/{gone}").status_code == 200
    fresh = rig.send("POST", f"{V1}/ips", {}).json()["ip"]["id"]
    assert rig.get(f"{V1}/ips/{fresh}").status_code == 404
    rig.clock.advance(5)
    assert rig.get(f"{V1}/ips/{gone}").status_code == 404
    assert rig.get(f"{V1}/ips/{fresh}").status_code == 200


def test_lag_is_of_the_moment_at_which_a_transition_happened_and_not_of_the_first_look() -> None:
    rig = Rig()
    rig.tell("list_lag", kinds=["server"], lag_ms=5000, changes=["delete"])
    rig.terminate()
    rig.clock.advance(9.9)  # gone after 5 s, unseen by anybody
    assert rig.made[0].server in rig.ids("server")
    rig.clock.advance(0.1)
    assert rig.made[0].server not in rig.ids("server")


def test_a_tag_filter_finds_the_tags_of_a_moment_ago() -> None:
    rig = Rig()
    root = rig.made[0].root
    rig.tell("tag_lag", kinds=["block_volume"], lag_ms=30_000)
    assert rig.send("PATCH", f"{BLOCK}/volumes/{root}", {"tags": ["mine"], "name": "renamed"}).status_code == 200
    assert rig.get(f"{BLOCK}/volumes/{root}").json()["tags"] == ["mine"]
    assert rig.ids("block_volume", tags="mine") == []
    shown = next(item for item in rig.get(f"{BLOCK}/volumes").json()["volumes"] if item["id"] == root)
    assert (shown["tags"], shown["name"]) == ([], "renamed")
    rig.clock.advance(30)
    assert rig.ids("block_volume", tags="mine") == [root]


@pytest.mark.parametrize("kind", LISTS)
def test_half_a_list_is_half_on_every_page_and_in_its_total(kind: str) -> None:
    rig = Rig(workers=30)
    true = rig.ids(kind)
    rig.tell("shrunk_list", kinds=[kind], share=0.5)
    seen = rig.ids(kind)
    assert 0 < len(seen) < len(true)
    assert seen == [item for item in true if item in set(seen)]
    paged = [item for number in range(1, 70) for item in rig.page(kind, number)[0]]
    total = rig.page(kind)[1]
    assert len(paged) == total == len(set(paged))
    assert set(seen) <= set(paged)


def test_a_list_lacks_exactly_the_objects_named_and_reads_by_id_show_them() -> None:
    rig = Rig()
    lost = rig.made[3].server
    rig.tell("shrunk_list", kinds=["server"], ids=[lost])
    assert rig.ids("server") == [worker.server for worker in reversed(rig.made) if worker.server != lost]
    assert rig.page("server")[1] == 4
    assert rig.get(f"{V1}/servers/{lost}").status_code == 200


@pytest.mark.parametrize("kind", LISTS)
def test_an_empty_list_is_a_200_and_reads_by_id_show_what_is_there(kind: str) -> None:
    rig = Rig()
    true = rig.ids(kind)
    rig.tell("empty_list", kinds=[kind], until_ms=60_000)
    assert rig.page(kind) == ([], 0)
    assert rig.get(f"{LISTS[kind][0]}/{true[0]}").status_code == 200
    others = [other for other in LISTS if other != kind]
    assert all(rig.ids(other) for other in others)
    rig.clock.advance(60)
    assert rig.ids(kind) == true


def test_an_empty_list_of_one_zone_leaves_the_other_zones_alone() -> None:
    rig = Rig()
    rig.tell("empty_list", zones=["fr-par-2"])
    assert len(rig.ids("server")) == 5


def test_a_cache_answers_what_was_true_refusals_included() -> None:
    rig = Rig()
    path, missing = rig.server(), f"{V1}/ips/11111111-0000-4000-8000-000000000009"
    rig.tell("stale_answer", age_ms=30_000)
    assert rig.get(path).json()["server"]["state"] == "running"
    assert rig.get(missing).status_code == 404
    assert rig.send("PATCH", path, {"name": "other"}).status_code == 200
    assert rig.get(path).json()["server"]["name"] != "other"
    rig.clock.advance(30)
    assert rig.get(path).json()["server"]["name"] == "other"


def test_a_cache_of_objects_only_lists_freshly() -> None:
    rig = Rig()
    rig.tell("stale_answer", age_ms=30_000, lists=False)
    assert len(rig.ids("ip")) == 5
    rig.send("POST", f"{V1}/ips", {})
    assert len(rig.ids("ip")) == 6


@pytest.mark.parametrize("how", ["object", "id"])
def test_a_read_by_id_answers_with_another_id(how: str) -> None:
    rig = Rig()
    asked = rig.made[1]
    rig.tell("other_resource", kinds=["server"], how=how)
    shown = rig.get(f"{V1}/servers/{asked.server}").json()["server"]
    assert shown["id"] == rig.made[2].server
    assert (shown["name"] == "worker-00001") == (how == "id")


@pytest.mark.parametrize("path", [f"{BLOCK}/volumes/", f"{V2}/private-network-interfaces/"])
def test_a_read_of_another_kind_can_answer_with_another_object(path: str) -> None:
    rig = Rig()
    asked = rig.made[4].root if "volumes" in path else rig.made[4].nic
    rig.tell("other_resource")
    assert rig.get(f"{path}{asked}").json()["id"] == (rig.made[0].root if "volumes" in path else rig.made[0].nic)


def test_where_there_is_no_other_object_none_stands_in() -> None:
    rig = Rig(workers=1)
    rig.tell("other_resource", kinds=["server"])
    assert rig.get(rig.server()).json()["server"]["id"] == rig.made[0].server
    assert rig.simulator.lies.counts()[0]["matched"] == 0


def test_filters_by_server_see_the_list_that_is_shown() -> None:
    rig = Rig()
    rig.tell("empty_list", kinds=["private_nic"])
    query = {"server_ids": rig.made[0].server, "project_id": PROJECT_ID}
    assert rig.get(f"{V2}/private-network-interfaces", **query).json()["private_network_interfaces"] == []

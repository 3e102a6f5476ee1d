"""The book of lies: counting, time, chance, scripts, the admin API, and the truth that stays."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.kernel.randomness import SeededRandomness
from reconciler.simulator import LIES, World, lie_from_json, lie_to_json, sample_lie
from reconciler.simulator.lies import step_from_json
from tests.simulator.lies.rig import LISTS, Rig
from tests.simulator.support import BLOCK, V1

SEEN = sorted(name for name, kind in LIES.items() if not kind.changes)
ADMIN = "/_simulator/lies"


def reads(rig: Rig) -> list[tuple[int, bytes]]:
    """(status, body) of lists in pages of two and of reads by id; what broke the connection is (0, its name)."""
    asked = [(path, {"page": number, size: 2}) for path, _, size in LISTS.values() for number in (1, 2, 3)]
    for worker in rig.made[:3]:
        asked += [(f"{V1}/servers/{worker.server}", {}), (f"{V1}/ips/{worker.ip}", {})]
        asked += [(f"{BLOCK}/volumes/{worker.root}", {})]
    found = [answered(rig, "GET", path, **query) for path, query in asked]
    assert rig.simulator.crashes == []
    return found


def answered(rig: Rig, method: str, path: str, **query: Any) -> tuple[int, bytes]:
    try:
        response = rig.http.request(method, path, params=query)
    except httpx2.TransportError as error:
        return 0, type(error).__name__.encode()
    return response.status_code, response.content + response.headers["Date"].encode()


@pytest.mark.parametrize("kind", SEEN)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**20))
def test_a_lie_about_what_is_seen_leaves_the_truth_alone(kind: str, seed: int) -> None:
    rig = Rig(workers=4)
    before, honest = rig.truth(), reads(rig)
    lie = lie_to_json(sample_lie(kind, SeededRandomness(seed)))
    rig.simulator.lies.add(lie_from_json({**lie, **({"megabytes": 1} if kind == "big_body" else {})}))
    reads(rig)
    assert rig.truth() == before
    rig.simulator.lies.clear()
    assert [body[:-29] for _, body in reads(rig)] == [body[:-29] for _, body in honest]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**20), kinds=st.lists(st.sampled_from(SEEN), min_size=1, max_size=3))
def test_the_same_seed_and_requests_give_the_same_answers(seed: int, kinds: list[str]) -> None:
    seen = []
    for _ in range(2):
        rig, randomness = Rig(workers=4, seed=seed), SeededRandomness(seed)
        rig.simulator.lies.set([sample_lie(kind, randomness) for kind in kinds if kind != "big_body"])
        seen.append([answered(rig, "DELETE", f"{V1}/ips/{rig.made[0].ip}"), *reads(rig)])
    assert seen[0] == seen[1]


@given(order=st.permutations(range(8)))
def test_what_one_request_meets_by_chance_does_not_depend_on_the_others(order: list[int]) -> None:
    """Threads ask in any order."""
    found = {}
    for numbers in (range(8), order):
        rig = Rig(workers=8)
        rig.tell("scattered_429", probability=0.5)
        statuses = {number: rig.get(rig.server(number)).status_code for number in numbers}
        found[tuple(numbers)] = dict(sorted(statuses.items()))
    assert len({tuple(item.items()) for item in found.values()}) == 1


def test_another_seed_picks_others() -> None:
    picked = set()
    for seed in range(4):
        rig = Rig(seed=seed)
        rig.tell("scattered_429", probability=0.5)
        picked.add(tuple(rig.get(rig.server()).status_code for _ in range(20)))
    assert len(picked) == 4


@pytest.mark.parametrize(
    ("keys", "hit"),
    [
        ({}, "111111"),
        ({"nth": [2, 5]}, "010010"),
        ({"every": 3}, "001001"),
        ({"skip": 2}, "001111"),
        ({"times": 2}, "110000"),
        ({"skip": 1, "every": 2, "times": 1}, "001000"),
    ],
)
def test_counting_is_exact(keys: dict[str, Any], hit: str) -> None:
    rig = Rig()
    rig.tell("flapping_401", **keys)
    assert "".join("1" if rig.get(rig.server()).status_code == 401 else "0" for _ in hit) == hit
    assert rig.simulator.lies.counts()[0]["matched"] == len(hit)


@pytest.mark.parametrize(
    ("keys", "refused"),
    [
        ({"methods": ["POST"]}, False),
        ({"methods": ["GET"]}, True),
        ({"path": "**/servers/*"}, True),
        ({"path": "**/servers"}, False),
        ({"path": "re:servers/[0-9a-f-]+$"}, True),
        ({"kinds": ["ip"]}, False),
        ({"kinds": ["ip", "server"]}, True),
        ({"zones": ["fr-par-2"]}, False),
        ({"zones": ["fr-par-1"]}, True),
        ({"ids": ["11111111-0000-4000-8000-000000000001"]}, False),
    ],
)
def test_a_lie_is_told_to_the_requests_that_match(keys: dict[str, Any], refused: bool) -> None:
    rig = Rig()
    rig.tell("flapping_401", **keys)
    assert rig.get(rig.server()).status_code == (401 if refused else 200)


def test_a_lie_about_an_id_is_told_of_that_object_and_its_actions() -> None:
    rig = Rig()
    rig.tell("flapping_401", ids=[rig.made[0].server])
    assert [rig.get(rig.server(number)).status_code for number in (0, 1)] == [401, 200]
    assert (rig.terminate(0).status_code, rig.terminate(1).status_code) == (401, 202)


def test_a_lie_has_its_time_on_the_clock() -> None:
    rig = Rig()
    rig.tell("flapping_401", after_ms=1000, until_ms=3000)
    statuses = []
    for _ in range(4):
        statuses.append(rig.get(rig.server()).status_code)
        rig.clock.advance(1)
    assert statuses == [200, 401, 401, 200]


def test_the_first_refusal_decides_and_the_others_bend_the_answer() -> None:
    rig = Rig()
    rig.tell("server_error", status=500)
    rig.tell("flapping_401")
    rig.tell("date_skew", skew_ms=3_600_000)
    response = rig.get(rig.server())
    assert response.status_code == 500
    rig.simulator.lies.clear()
    assert rig.get(rig.server()).headers["Date"] < response.headers["Date"]


def test_lies_are_cleared_by_name() -> None:
    rig = Rig()
    rig.tell("flapping_401", name="a")
    rig.tell("empty_list", name="b")
    assert rig.simulator.lies.clear("a") == 1
    assert [item["name"] for item in rig.simulator.lies.counts()] == ["b"]
    assert (rig.get(rig.server()).status_code, rig.ids("server")) == (200, [])
    assert (rig.simulator.lies.clear(), rig.simulator.lies.clear()) == (1, 0)


def test_what_a_cleared_lie_has_put_off_still_happens() -> None:
    rig = Rig()
    path = f"{V1}/ips/{rig.made[0].ip}"
    rig.tell("delete_stays", for_ms=60_000)
    rig.send("DELETE", path)
    rig.simulator.lies.clear()
    rig.clock.advance(60)
    assert rig.get(path).status_code == 404


def test_a_new_world_forgets_what_was_put_off_and_keeps_the_lies() -> None:
    rig = Rig()
    rig.tell("delete_stays", for_ms=60_000)
    rig.tell("list_lag", lag_ms=5000)
    rig.send("DELETE", f"{V1}/ips/{rig.made[0].ip}")
    rig.simulator.replace_world(World())
    made = rig.send("POST", f"{V1}/ips", {}).json()["ip"]["id"]
    assert rig.ids("ip") == []
    rig.clock.advance(60)
    assert rig.ids("ip") == [made]


def test_a_script_does_its_steps_at_their_moments() -> None:
    rig = Rig()
    script = [
        {"at_ms": 5000, "add": {"lie": "empty_list", "name": "blind", "kinds": ["server"]}},
        {"at_ms": 1000, "mutate": [{"op": "kill_server", "server": "worker-00001"}, {"op": "add_ip"}]},
        {"at_ms": 9000, "clear": "blind"},
        {"at_ms": 20_000, "set": [{"lie": "flapping_401"}]},
    ]
    rig.simulator.lies.play([step_from_json(item) for item in script])
    seen = []
    for _ in range(5):
        seen.append((len(rig.ids("server")), len(rig.ids("ip"))))
        rig.clock.advance(2.5)
    assert seen == [(5, 5), (4, 6), (0, 6), (0, 6), (4, 6)]
    rig.clock.advance(10)
    assert rig.get(rig.server()).status_code == 401


def test_steps_and_transitions_happen_in_the_order_of_their_moments_however_late_anybody_looks() -> None:
    rig = Rig()
    rig.terminate()  # gone after 5 s
    steps = [{"at_ms": at, "mutate": {"op": "rename", "id": rig.made[0].server, "name": "x"}} for at in (4000, 6000)]
    rig.simulator.lies.play([step_from_json(item) for item in steps])
    rig.clock.advance(60)
    assert rig.get(rig.server()).status_code == 404
    (late,) = rig.simulator.lies.late()
    assert late.startswith("rename")


def test_a_new_set_of_lies_ends_the_script() -> None:
    rig = Rig()
    rig.simulator.lies.play([step_from_json({"at_ms": 1000, "mutate": {"op": "add_ip"}})])
    rig.simulator.lies.set([])
    rig.clock.advance(5)
    assert len(rig.ids("ip")) == 5


def test_the_admin_api_replaces_lies_and_shows_them_with_counts() -> None:
    rig = Rig()
    lies = [{"lie": "empty_list", "name": "blind", "kinds": ["server"], "times": 1}]
    script = [{"at_ms": 1000, "mutate": {"op": "add_ip"}}]
    assert rig.send("PUT", ADMIN, {"lies": lies, "script": script}).status_code == 200
    assert [rig.ids("server"), len(rig.ids("server"))] == [[], 5]
    shown = rig.get(ADMIN).json()
    assert shown["lies"] == lies
    assert shown["counts"] == [{"name": "blind", "lie": "empty_list", "matched": 2, "fired": 1}]
    rig.clock.advance(1)
    assert len(rig.ids("ip")) == 6
    rig.send("PUT", ADMIN, [])
    assert rig.get(ADMIN).json() == {"lies": [], "counts": [], "late": []}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"lie": []}, "RC7046"),
        ({"lies": {}}, "RC7046"),
        ({"script": {}}, "RC7046"),
        ([{"lie": "nope"}], "RC7040"),
        ({"script": [{"at_ms": 0}]}, "RC7045"),
    ],
)
def test_the_admin_api_refuses_what_is_wrong_and_keeps_what_was(body: Any, code: str) -> None:
    rig = Rig()
    rig.tell("empty_list")
    refused = rig.send("PUT", ADMIN, body)
    assert (refused.status_code, refused.json()["code"]) == (400, code)
    assert len(rig.simulator.lies.counts()) == 1


def test_a_world_without_lies_is_not_watched() -> None:
    rig = Rig()
    rig.tell("list_lag")
    assert rig.cloud.servers.watch is not None
    rig.simulator.lies.clear()
    assert rig.cloud.servers.watch is None


def test_every_lie_is_json() -> None:
    randomness = SeededRandomness(9)
    for kind in LIES:
        lie = sample_lie(kind, randomness)
        assert lie_from_json(json.loads(json.dumps(lie_to_json(lie)))) == lie

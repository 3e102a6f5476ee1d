"""Faults by rule: which request meets them, what the client sees, what happened all the same."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from reconciler.kernel.errors import ConfigError
from reconciler.simulator import FaultRule, rate_limited
from reconciler.simulator.faults import Action, rule_from_json
from tests.simulator.support import BLOCK, V1, Api


def statuses(api: Api, times: int, path: str = f"{V1}/ips") -> list[int]:
    return [api.status("GET", path) for _ in range(times)]


@pytest.mark.parametrize(
    ("which", "hit"),
    [
        ({}, [500, 500, 500, 500, 500]),
        ({"nth": (2, 4)}, [200, 500, 200, 500, 200]),
        ({"every": 2}, [200, 500, 200, 500, 200]),
        ({"times": 2}, [500, 500, 200, 200, 200]),
        ({"skip": 3}, [200, 200, 200, 500, 500]),
        ({"skip": 1, "every": 2, "times": 1}, [200, 200, 500, 200, 200]),
    ],
)
def test_a_rule_counts_its_matches_exactly(which: dict[str, Any], hit: list[int]) -> None:
    api = Api(faults=[FaultRule(path="**/ips", **which)])
    assert statuses(api, 5) == hit


def test_a_rule_counts_only_what_it_matches() -> None:
    api = Api(faults=[FaultRule(path="**/ips", nth=(2,))])
    assert statuses(api, 1) + statuses(api, 3, f"{V1}/servers") + statuses(api, 1) == [200, 200, 200, 200, 500]


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (FaultRule(path="**/servers"), True),
        (FaultRule(path="/instance/v1/zones/*/servers"), True),
        (FaultRule(path="/instance/*/servers"), False),
        (FaultRule(path="re:servers$"), True),
        (FaultRule(path="re:^servers"), False),
        (FaultRule(method="GET,PATCH"), True),
        (FaultRule(method="POST"), False),
        (FaultRule(query_contains="page=2"), True),
        (FaultRule(query_contains="page=3"), False),
        (FaultRule(body_contains="x"), False),
    ],
)
def test_a_rule_matches_by_method_path_query_and_body(rule: FaultRule, matches: bool) -> None:
    api = Api(faults=[rule])
    assert api.status("GET", f"{V1}/servers", query="page=2") == (500 if matches else 200)


def test_a_429_has_an_empty_body_no_type_and_no_retry_after() -> None:
    api = Api(faults=[rate_limited(path=f"{BLOCK}/**")])
    refused = api.call("GET", f"{BLOCK}/volumes")
    assert (refused.status, refused.body) == (429, b"")
    assert refused.headers["X-Envoy-Ratelimited"] == "true"
    assert not {"Content-Type", "Retry-After"} & set(refused.headers)


def test_a_status_is_an_answer_instead_of_an_execution() -> None:
    api = Api(faults=[FaultRule(method="POST", path="**/ips", status=503, body="unavailable")])
    assert api.status("POST", f"{V1}/ips", {}) == 503
    assert len(api.world.ips) == 0


@pytest.mark.parametrize(
    ("action", "drop", "made"),
    [("drop_request", "before", 0), ("drop_answer", "after", 1), ("refuse", "refused", 0), ("cut", "cut", 1)],
)
def test_a_dropped_request_never_happened_and_a_dropped_answer_did(action: Action, drop: str, made: int) -> None:
    api = Api(faults=[FaultRule(method="POST", path="**/ips", action=action)])
    assert api.call("POST", f"{V1}/ips", {}).drop == drop
    assert len(api.world.ips) == made


@pytest.mark.parametrize(("cut_at", "bytes_"), [(7, 7), (None, None)])
def test_a_cut_says_how_much_of_the_body_arrives(cut_at: int | None, bytes_: int | None) -> None:
    api = Api(faults=[FaultRule(path="**/servers", action="cut", cut_at=cut_at)])
    response = api.call("GET", f"{V1}/servers")
    assert response.cut_at == (bytes_ or len(response.body) // 2)
    assert 0 < response.cut_at < len(response.body)


def test_delays_add_up_beside_another_fault() -> None:
    slow = [FaultRule(action="delay", delay_ms=40), FaultRule(path="**/ips", action="delay", delay_ms=2)]
    api = Api(faults=[*slow, FaultRule(path="**/ips", status=500)])
    assert api.call("GET", f"{V1}/servers").delay_ms == 40
    response = api.call("GET", f"{V1}/ips")
    assert (response.delay_ms, response.status) == (42, 500)


def test_of_several_faults_the_first_that_fires_wins_and_all_count() -> None:
    api = Api(faults=[FaultRule(path="**/ips", nth=(1,), status=500), FaultRule(path="**/ips", nth=(2,), status=502)])
    assert statuses(api, 3) == [500, 502, 200]


@pytest.mark.parametrize(("action", "made_while_held"), [("hold", 0), ("hold_answer", 1)])
def test_a_held_request_waits_until_it_is_released(action: Action, made_while_held: int) -> None:
    api = Api(faults=[FaultRule(name="h", method="POST", path="**/ips", action=action)])
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(api.status("POST", f"{V1}/ips", {})))
    thread.start()
    _until(lambda: api.simulator.faults.counts()[0]["fired"] == 1 and len(api.world.ips) == made_while_held)
    assert api.status("GET", f"{V1}/ips") == 200, "others are served meanwhile"
    assert answers == []
    assert api.simulator.faults.release("h") == 1
    thread.join(timeout=10)
    assert (answers, len(api.world.ips)) == ([201], 1)


def _until(condition: Any) -> None:
    """Wait for another thread, by events and not by time: give way until it is there, at most ten seconds."""
    gate = threading.Event()
    for _ in range(10_000):
        if condition():
            return
        gate.wait(0.001)
    raise AssertionError("the other thread never came there")


def test_a_typed_404_can_be_a_lie() -> None:
    api = Api()
    server = api.server()
    api.simulator.faults.add(FaultRule(path="**/servers/*", times=1, status=404, body="not_found:instance_server"))
    lie = api.call("GET", f"{V1}/servers/{server['id']}")
    assert (lie.status, lie.json()["resource_id"]) == (404, server["id"])
    assert api.show(server["id"]) == server


@pytest.mark.parametrize(
    ("body", "kind", "starts"),
    [
        ("html", "text/html", b"<html>"),
        ("out_of_stock", "application/json", b'{"type":"out_of_stock"'),
        ("plain words", "text/plain", b"plain words"),
        ("not_json", "application/json", b'{"servers": ['),
    ],
)
def test_a_fault_has_the_body_that_is_named_or_given(body: str, kind: str, starts: bytes) -> None:
    response = Api(faults=[FaultRule(body=body)]).call("GET", f"{V1}/servers")
    assert (response.headers["Content-Type"], response.body.startswith(starts)) == (kind, True)


@pytest.mark.parametrize(
    "rule",
    [
        {"acton": "status"},
        {"action": "explode"},
        {"status": 99},
        {"status": "500"},
        {"nth": 2},
        {"nth": [0]},
        {"nth": [1], "every": 2},
        {"action": "delay"},
        {"path": "re:("},
        {"times": -1},
        ["not", "an", "object"],
    ],
)
def test_a_rule_that_means_nothing_is_refused(rule: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        rule_from_json(rule)
    assert refused.value.code == "RC7020"


def test_new_rules_start_counting_afresh_and_let_go_what_the_old_ones_held() -> None:
    api = Api(faults=[FaultRule(path="**/ips", nth=(1,))])
    assert statuses(api, 2) == [500, 200]
    api.simulator.faults.set([FaultRule(path="**/ips", nth=(1,))])
    assert statuses(api, 2) == [500, 200]

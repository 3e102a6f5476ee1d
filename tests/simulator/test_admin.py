"""The simulator's own API: counts, log, faults, clock, world, and the hands of strangers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.kernel.clock import SharedClock
from reconciler.simulator import SECRET_KEY, Request, Simulator
from reconciler.simulator.strangers import OPERATIONS
from tests.simulator.support import BLOCK, IPAM, V1, V2, Api

ADMIN = "/_simulator"
MISSING = "11111111-1111-4111-8111-111111111111"


def mutate(api: Api, **change: Any) -> Any:
    return api.ok("POST", f"{ADMIN}/mutate", change)["done"][0]


def test_stats_count_calls_by_route_and_mutations_and_what_no_route_serves() -> None:
    api = Api()
    api.ip()
    api.get(f"{V1}/ips")
    api.get(f"{V1}/ips")
    assert api.status("GET", "/lb/v1/zones/fr-par-1/lbs") == 501
    stats = api.get(f"{ADMIN}/stats")
    assert stats["calls"] == {
        "GET /instance/v1/zones/{zone}/ips": 2,
        "POST /instance/v1/zones/{zone}/ips": 1,
    }
    assert (stats["total"], stats["mutating"]) == (4, 1)
    assert stats["unknown"] == {"GET /lb/v1/zones/fr-par-1/lbs": 1}
    assert (stats["objects"]["ip"], stats["crashes"]) == (1, 0)


def test_what_no_route_serves_is_a_501_in_json() -> None:
    response = Api().call("GET", "/rdb/v1/regions/fr-par/instances")
    assert (response.status, response.json()["type"]) == (501, "not_simulated")


def test_the_log_has_neither_tokens_nor_bodies() -> None:
    api = Api()
    server = api.server()
    api.call("PATCH", f"{V1}/servers/{server['id']}/user_data/cloud-init", b"hunter2")
    text = api.call("GET", f"{ADMIN}/log").body.decode()
    last = json.loads(text)["requests"][-1]
    assert (last["method"], last["path"], last["status"]) == (
        "PATCH",
        f"{V1}/servers/{server['id']}/user_data/cloud-init",
        204,
    )
    assert "hunter2" not in text
    assert SECRET_KEY not in text


def test_the_log_can_be_read_from_its_end_and_emptied() -> None:
    api = Api()
    for _ in range(3):
        api.get(f"{V1}/ips")
    assert len(api.get(f"{ADMIN}/log", "last=2")["requests"]) == 2
    assert api.status("POST", f"{ADMIN}/reset-log") == 204
    assert api.get(f"{ADMIN}/stats")["total"] == 0


def test_faults_are_set_by_http_and_say_how_often_they_fired() -> None:
    api = Api()
    rules = [{"name": "late", "path": "**/ips", "nth": [2], "status": 503}]
    assert api.ok("PUT", f"{ADMIN}/faults", {"faults": rules})["faults"][0]["fired"] == 0
    assert [api.status("GET", f"{V1}/ips") for _ in range(3)] == [200, 503, 200]
    assert api.get(f"{ADMIN}/faults")["faults"] == [{"name": "late", "action": "status", "matched": 3, "fired": 1}]


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("PUT", "faults", {"faults": [{"acton": "x"}]}, "RC7020"),
        ("PUT", "faults", {"fault": []}, "RC7041"),
        ("POST", "mutate", {"op": "explode"}, "RC7030"),
        ("POST", "mutate", {"op": "kill_server", "server": MISSING}, "RC7031"),
        ("POST", "mutate", {"op": "add_ip", "colour": "red"}, "RC7030"),
        ("POST", "clock", {"advance_seconds": -1}, "RC7042"),
        ("PUT", "world", b"{", "RC7001"),
        ("PUT", "world", b"\xff", "RC7043"),
        ("PUT", "faults", b"{", "RC7044"),
    ],
)
def test_a_wrong_request_is_a_400_with_code_and_hint(method: str, path: str, body: Any, code: str) -> None:
    response = Api().call(method, f"{ADMIN}/{path}", body)
    assert (response.status, response.json()["code"]) == (400, code)
    assert response.json()["hint"]


def test_an_unknown_admin_path_lists_the_known_ones() -> None:
    response = Api().call("GET", f"{ADMIN}/nope")
    assert (response.status, "GET /_simulator/stats" in response.json()["known"]) == (404, True)


def test_the_clock_moves_on_request_and_transitions_with_it() -> None:
    api = Api()
    server = api.server()
    api.act(server["id"], "poweron")
    before = api.get(f"{ADMIN}/clock")["now_ms"]
    assert api.ok("POST", f"{ADMIN}/clock", {"advance_seconds": 5})["now_ms"] == before + 5000
    assert api.show(server["id"])["state"] == "running"


def test_a_shared_clock_moves_for_the_other_process_too(tmp_path: Path) -> None:
    file = tmp_path / "clock.json"
    ours, theirs = SharedClock(file), SharedClock(file)
    simulator = Simulator(clock=ours)
    body = json.dumps({"advance_seconds": 3600}).encode()
    assert simulator.handle(Request(method="POST", path=f"{ADMIN}/clock", body=body)).status == 200
    assert theirs.offset_ms() == 3_600_000


def test_the_machines_clock_cannot_be_moved() -> None:
    body = json.dumps({"advance_seconds": 1}).encode()
    assert Simulator().handle(Request(method="POST", path=f"{ADMIN}/clock", body=body)).status == 409


def test_a_world_can_be_read_and_put_back_and_shows_no_key() -> None:
    api, other = Api(), Api()
    server = api.running(public_ips=[api.ip()["id"]], tags=["a"])
    text = api.call("GET", f"{ADMIN}/world").body
    assert SECRET_KEY.encode() not in text
    assert other.status("PUT", f"{ADMIN}/world", text) == 204
    assert other.show(server["id"]) == server
    assert other.call("GET", f"{ADMIN}/world").body == text


def test_a_killed_server_leaves_what_it_is_told_to() -> None:
    for leave in (True, False):
        api = Api()
        ip = api.ip()
        server = api.running(public_ips=[ip["id"]])
        done = mutate(api, op="kill_server", server=server["id"], leave_volumes=leave, leave_ips=leave)
        assert api.status("GET", f"{V1}/servers/{server['id']}") == 404
        wanted = 200 if leave else 404
        assert api.status("GET", f"{V1}/ips/{done['ips'][0]}") == wanted
        assert api.status("GET", f"{BLOCK}/volumes/{done['volumes'][0]}") == wanted


def test_targets_may_be_named_while_the_name_is_unique() -> None:
    api = Api()
    server = api.server(name="one")
    api.server(name="two")
    api.server(name="two")
    mutate(api, op="set_tags", id="one", tags=["x"])
    assert api.show(server["id"])["tags"] == ["x"]
    assert api.status("POST", f"{ADMIN}/mutate", {"op": "set_tags", "id": "two", "tags": []}) == 400


def test_power_and_size_change_behind_everybodys_back() -> None:
    api = Api()
    server = api.running()
    seen = []
    for op in ("stop_server", "start_server", "standby_server", "lock_server"):
        mutate(api, op=op, server=server["id"])
        seen.append(api.show(server["id"])["state"])
    assert seen == ["stopped", "running", "stopped in place", "locked"]
    mutate(api, op="resize", server=server["id"], commercial_type="DEV1-L")
    mutate(api, op="protect", server=server["id"])
    mutate(api, op="rename", id=server["id"], name="other")
    mutate(api, op="set_user_data", server=server["id"], key="k", value="v")
    shown = api.show(server["id"])
    assert (shown["commercial_type"], shown["protected"], shown["name"]) == ("DEV1-L", True, "other")
    assert api.call("GET", f"{V1}/servers/{server['id']}/user_data/k").body == b"v"


def test_a_locked_server_refuses_everything() -> None:
    api = Api()
    server = api.running()
    mutate(api, op="lock_server", server=server["id"])
    assert api.act(server["id"], "terminate").status == 423
    assert api.status("DELETE", f"{V1}/servers/{server['id']}") == 423
    assert api.status("DELETE", f"{V2}/servers/{server['id']}") == 423


def test_an_address_is_moved_detached_released_and_deleted() -> None:
    api = Api()
    ip = api.ip()
    first, second = api.server(name="a", public_ips=[ip["id"]]), api.server(name="b")
    mutate(api, op="move_ip", ip=ip["id"], server=second["id"])
    assert (api.show(first["id"])["public_ip"], api.show(second["id"])["public_ip"]["id"]) == (None, ip["id"])
    mutate(api, op="detach_ip", ip=ip["id"])
    assert api.show(second["id"])["public_ip"] is None
    mutate(api, op="release_ip", ip=ip["id"])
    assert api.status("GET", f"{V1}/ips/{ip['id']}") == 404
    assert api.status("GET", f"{IPAM}/ips/{ip['id']}") == 200
    gone = api.ip()
    mutate(api, op="delete_ip", ip=gone["id"])
    assert api.status("GET", f"{IPAM}/ips/{gone['id']}") == 404


def test_volumes_and_interfaces_are_detached_and_deleted() -> None:
    api = Api()
    server = api.running()
    root = server["volumes"]["0"]["id"]
    nic = api.nic(server["id"], api.network()["id"])
    mutate(api, op="delete_nic", nic=nic["id"])
    mutate(api, op="detach_volume", volume=root)
    shown = api.show(server["id"])
    assert (shown["volumes"], shown["private_nics"]) == ({}, [])
    assert api.get(f"{BLOCK}/volumes/{root}")["status"] == "available"
    mutate(api, op="delete_volume", volume=root)
    assert api.status("GET", f"{BLOCK}/volumes/{root}") == 404


def test_foreign_objects_appear() -> None:
    api = Api()
    made = mutate(api, op="add_server", name="theirs", tags=["t"], with_ip=False)
    assert (api.show(made["server"])["state"], made["ip"]) == ("running", None)
    assert api.get(f"{BLOCK}/volumes/{mutate(api, op='add_volume', name='v')['volume']}")["status"] == "available"
    assert api.get(f"{V1}/ips/{mutate(api, op='add_ip', tags=['t'])['ip']}")["ip"]["tags"] == ["t"]


def test_options_and_rights_change_in_the_middle() -> None:
    api = Api()
    mutate(api, op="set_options", deleted_ip_status=403, quotas={"ip": 0})
    assert api.status("GET", f"{V1}/ips/{MISSING}") == 403
    assert api.status("POST", f"{V1}/ips", {}) == 403
    mutate(api, op="set_key", access_key="SCWSIMULATOR00000001", kinds=["ip"], hidden=["server"])
    assert api.get(f"{V1}/servers") == {"servers": []}
    assert api.status("GET", f"{BLOCK}/volumes") == 403


def test_several_operations_are_one_call_and_each_says_what_it_touched() -> None:
    api = Api()
    done = api.ok("POST", f"{ADMIN}/mutate", [{"op": "add_ip"}, {"op": "add_volume", "name": "v"}])["done"]
    assert [list(item) for item in done] == [["ip"], ["volume"]]


def test_the_documentation_names_every_operation_and_admin_path() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "simulator.md"
    text = page.read_text(encoding="utf-8")
    known = Api().call("GET", f"{ADMIN}/nope").json()["known"]
    assert [name for name in OPERATIONS if f"`{name}`" not in text] == []
    assert [path for path in known if path.split(" ")[1] not in text] == []

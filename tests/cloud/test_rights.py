"""When a list may be believed."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from reconciler.cloud.scanning import scan
from reconciler.model.inventory import Inventory, Presence, Right, Scan
from reconciler.model.resources import Kind, Ref
from tests.cloud.wire import (
    PROJECT,
    STRANGER,
    ZONE,
    Json,
    Recorder,
    denied,
    html,
    ip,
    make_api,
    not_found,
    reply,
    server,
    stamp,
    throttled,
    uid,
)

SERVERS = f"/instance/v1/zones/{ZONE}/servers"
IPS = f"/instance/v1/zones/{ZONE}/ips"
IPAM = "/ipam/v1/regions/fr-par/ips"


def servers(*items: Json, by_id: dict[int, Any] | None = None) -> Recorder:
    routes: dict[str, Any] = {SERVERS: reply({"servers": list(items)}, x_total_count=str(len(items)))}
    routes |= {f"{SERVERS}/{uid(number)}": answer for number, answer in (by_id or {}).items()}
    return Recorder(routes)


def read(seen: Recorder, *known: int, kind: Kind = Kind.SERVER) -> Scan:
    return scan(make_api(seen), kind, ZONE, project=PROJECT, known_ids=[uid(number) for number in known])


def gone(number: int) -> httpx2.Response:
    return not_found("instance_server", uid(number))


def test_with_no_known_id_the_right_is_assumed() -> None:
    found = read(servers(server(1)))
    assert (found.complete, found.right) == (True, Right.ASSUMED)


def test_a_known_id_in_the_list_proves_the_right_without_another_call() -> None:
    seen = servers(server(1))
    found = read(seen, 1)
    assert (found.complete, found.right, len(seen.requests)) == (True, Right.PROVED, 1)


def test_a_known_id_that_is_typed_gone_proves_the_right() -> None:
    seen = servers(by_id={1: gone(1)})
    found = read(seen, 1)
    assert (found.complete, found.right) == (True, Right.PROVED)
    assert found.calls == 2


@pytest.mark.parametrize(
    "answer",
    [denied(), throttled(), reply({}, 503), html(404), httpx2.Response(404), httpx2.ReadTimeout("x"), reply({}, 200)],
)
def test_an_empty_list_beside_a_known_id_without_a_clear_answer_is_unknown(answer: Any) -> None:
    """An empty 200 without the right looks like a world in which everything is gone (incident R008)."""
    found = read(servers(by_id={1: answer}), 1)
    assert (found.complete, found.right) == (False, Right.UNKNOWN)
    assert Inventory(scans={(Kind.SERVER, ZONE): found}).presence(Ref(Kind.SERVER, ZONE, uid(1))) is Presence.UNKNOWN


def test_a_list_that_lacks_what_answers_by_id_is_refuted() -> None:
    found = read(servers(server(2), by_id={1: reply({"server": server(1)})}), 1, 2)
    assert not found.complete
    assert found.reason == f"server {uid(1)} answers 200 but is not in the list"


def test_what_was_created_after_the_list_began_refutes_nothing() -> None:
    late = server(1, creation_date=stamp(90_000_000) + "+00:00")
    found = read(servers(server(2), by_id={1: reply({"server": late})}), 1, 2)
    assert (found.complete, found.right) == (True, Right.PROVED)


def test_what_moved_to_another_project_refutes_nothing() -> None:
    moved = server(1, project=STRANGER)
    found = read(servers(server(2), by_id={1: reply({"server": moved})}), 1, 2)
    assert (found.complete, found.right) == (True, Right.PROVED)


def test_a_thousand_known_ids_cost_a_bounded_number_of_calls() -> None:
    seen = servers(server(1), by_id={number: gone(number) for number in range(2, 1002)})
    found = read(seen, *range(1, 1002))
    assert (found.complete, found.right) == (True, Right.PROVED)
    assert len(seen.requests) == 1 + 200


def test_without_a_witness_in_the_list_the_ids_that_were_not_asked_leave_the_right_assumed() -> None:
    found = read(servers(by_id={number: gone(number) for number in range(2, 1002)}), *range(2, 1002))
    assert (found.complete, found.right) == (True, Right.ASSUMED)


class TestIps:
    """The API is reported to answer 403 for an IP that is gone (incident R009)."""

    def world(self, *items: Json, by_id: dict[int, Any]) -> Recorder:
        routes: dict[str, Any] = {IPS: reply({"ips": list(items)}, x_total_count=str(len(items)))}
        routes |= {f"{IPS}/{uid(number)}": answer for number, answer in by_id.items()}
        return Recorder(routes)

    def test_a_403_beside_a_witness_leaves_the_right_proved(self) -> None:
        found = read(self.world(ip(1), by_id={2: denied()}), 1, 2, kind=Kind.IP)
        assert (found.complete, found.right) == (True, Right.PROVED)

    def test_a_403_beside_a_strange_address_of_the_project_does_too(self) -> None:
        found = read(self.world(ip(7), by_id={2: denied()}), 2, kind=Kind.IP)
        assert (found.complete, found.right) == (True, Right.PROVED)

    def test_403_for_all_and_an_empty_list_is_blindness(self) -> None:
        found = read(self.world(by_id={1: denied(), 2: denied()}), 1, 2, kind=Kind.IP)
        assert (found.complete, found.right) == (False, Right.UNKNOWN)

    def test_one_typed_404_does_not_cure_the_blindness(self) -> None:
        gone_ip = not_found("instance_ip", uid(1))
        found = read(self.world(by_id={1: gone_ip, 2: denied()}), 1, 2, kind=Kind.IP)
        assert (found.complete, found.right) == (False, Right.UNKNOWN)


def test_an_empty_ipam_list_is_refuted_by_the_ipam_id_of_a_flexible_ip() -> None:
    """The cross-witness: each flexible IP's `ipam_id` must be in the IPAM list (incident R008)."""
    seen = Recorder({IPAM: reply({"ips": [], "total_count": 0}), f"{IPAM}/{uid(50_001)}": denied()})
    found = scan(make_api(seen), Kind.IPAM, "fr-par", project=PROJECT, known_ids=[uid(50_001)])
    assert (found.complete, found.right) == (False, Right.UNKNOWN)

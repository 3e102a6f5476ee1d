"""Lies by refusal, and lies of the wire: 403, 401, 429, 5xx, clocks, bodies."""

from __future__ import annotations

import socket
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from reconciler.kernel.clock import iso
from reconciler.simulator import SECRET_KEY, serve
from tests.simulator.lies.rig import LISTS, Rig
from tests.simulator.support import BLOCK, V1


@pytest.mark.parametrize("kind", LISTS)
def test_a_denied_right_empties_the_list_and_refuses_what_exists(kind: str) -> None:
    rig = Rig()
    known = rig.ids(kind)[0]
    rig.tell("hiding_403", kinds=[kind])
    assert rig.page(kind) == ([], 0)
    refused = rig.get(f"{LISTS[kind][0]}/{known}")
    assert (refused.status_code, refused.json()["type"]) == (403, "permissions_denied")


def test_a_denied_right_can_refuse_the_list_or_only_the_reads_by_id() -> None:
    rig = Rig()
    rig.tell("hiding_403", kinds=["server"], reads="list", lists="refused")
    rig.tell("hiding_403", kinds=["ip"], reads="get")
    assert rig.get(f"{V1}/servers").status_code == 403
    assert rig.get(rig.server()).status_code == 200
    assert len(rig.ids("ip")) == 5
    assert rig.get(f"{V1}/ips/{rig.made[0].ip}").status_code == 403


def test_a_good_credential_is_refused_now_and_then() -> None:
    rig = Rig()
    rig.tell("flapping_401", every=2)
    assert [rig.get(rig.server()).status_code for _ in range(4)] == [200, 401, 200, 401]


def test_a_429_is_the_recorded_one_and_nothing_was_done() -> None:
    rig = Rig()
    rig.tell("scattered_429", methods=["DELETE"], times=1)
    path = f"{V1}/ips/{rig.made[0].ip}"
    refused = rig.send("DELETE", path)
    assert (refused.status_code, refused.content) == (429, b"")
    assert refused.headers["X-Envoy-Ratelimited"] == "true"
    assert not {"retry-after", "content-type"} & set(refused.headers)
    assert rig.get(path).status_code == 200


def test_scattered_429s_are_about_as_many_as_their_chance() -> None:
    rig = Rig()
    rig.tell("scattered_429", probability=0.25)
    statuses = [rig.get(rig.server()).status_code for _ in range(400)]
    assert 60 < statuses.count(429) < 140
    assert rig.simulator.lies.counts() == [
        {"name": "", "lie": "scattered_429", "matched": 400, "fired": statuses.count(429)}
    ]


@pytest.mark.parametrize("effect", [True, False])
@pytest.mark.parametrize("body", ["json", "html", "text", "empty"])
def test_a_5xx_does_not_say_whether_the_work_was_done(effect: bool, body: str) -> None:
    rig = Rig()
    rig.tell("server_error", methods=["DELETE"], status=502, effect=effect, body=body)
    path = f"{V1}/ips/{rig.made[0].ip}"
    assert rig.send("DELETE", path).status_code == 502
    assert rig.get(path).status_code == (404 if effect else 200)


def date_of(rig: Rig, response: httpx2.Response) -> int:
    """How far the Date header is ahead of the simulator's clock, in milliseconds, to the second."""
    return round(parsedate_to_datetime(response.headers["Date"]).timestamp() * 1000) - rig.clock.now_ms() // 1000 * 1000


def test_the_date_is_wrong_by_the_same_in_each_answer() -> None:
    rig = Rig()
    rig.tell("date_skew", skew_ms=-600_000)
    assert {date_of(rig, rig.get(rig.server())) for _ in range(3)} == {-600_000}


def test_the_date_jumps() -> None:
    rig = Rig()
    rig.tell("date_skew", jump_ms=900_000)
    seen = {date_of(rig, rig.get(rig.server())) for _ in range(20)}
    assert len(seen) > 10
    assert max(abs(one) for one in seen) <= 900_000


def test_what_the_world_says_of_time_is_right_whatever_the_date_says() -> None:
    rig = Rig()
    rig.tell("date_skew", skew_ms=3_600_000)
    made = rig.send("POST", f"{BLOCK}/volumes", {"name": "x", "from_empty": {"size": 10**9}}).json()
    assert made["created_at"][:19] == iso(rig.clock.now_ms())[:19]


def test_a_cut_body_ends_before_its_announced_length() -> None:
    rig = Rig()
    rig.tell("cut_body", share=0.5)
    with pytest.raises(httpx2.RemoteProtocolError):
        rig.get(rig.server())


def test_a_cut_body_can_have_a_length_that_agrees() -> None:
    rig = Rig()
    whole = rig.get(rig.server()).content
    rig.tell("cut_body", share=0.5, length="agrees")
    cut = rig.get(rig.server())
    assert cut.content == whole[: len(whole) // 2]
    assert int(cut.headers["Content-Length"]) == len(cut.content)


def test_a_trickle_is_whole_and_takes_its_time_and_never_meets_a_read_timeout() -> None:
    rig = Rig()
    whole = rig.get(rig.server()).content
    rig.tell("slow_body", bytes=100, every_ms=900)
    begun = rig.clock.now_ms()
    assert rig.http.get(rig.server(), timeout=1).content == whole
    assert rig.clock.now_ms() - begun == -(-len(whole) // 100) * 900


def test_a_trickle_that_pauses_too_long_meets_the_read_timeout() -> None:
    rig = Rig()
    rig.tell("slow_body", bytes=100, every_ms=1500)
    with pytest.raises(httpx2.ReadTimeout):
        rig.http.get(rig.server(), timeout=1)


@pytest.mark.parametrize("how", ["string", "keys", "deep"])
def test_a_big_body_holds_the_answer_and_a_megabyte_of_junk(how: str) -> None:
    rig = Rig()
    true = rig.get(f"{V1}/servers").json()["servers"]
    rig.tell("big_body", megabytes=1, how=how)
    response = rig.get(f"{V1}/servers")
    assert len(response.content) > 1_000_000
    if how == "deep":
        with pytest.raises(RecursionError):  # which is the point: valid, and nobody can read it
            response.json()
        return
    body = response.json()
    assert body["servers"] == true
    assert len(body) == 2 if how == "string" else len(body) > 50_000


@pytest.mark.parametrize(
    ("body", "starts"), [("same", b'{"servers"'), ("html", b"<!doc"), ("array", b"[]"), ("null", b"null")]
)
def test_a_wrong_content_type_comes_with_the_right_body_or_another(body: str, starts: bytes) -> None:
    rig = Rig()
    rig.tell("wrong_type", type="text/plain", body=body)
    response = rig.get(f"{V1}/servers")
    assert (response.status_code, response.headers["Content-Type"]) == (200, "text/plain")
    assert response.content.startswith(starts)


def raw(url: str, path: str) -> bytes:
    """Everything that a socket gets for one GET."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10) as link:
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {SECRET_KEY}\r\nConnection: close\r\n\r\n"
        link.sendall(head.encode())
        got = b""
        while part := link.recv(65536):
            got += part
        return got


@pytest.mark.parametrize(
    ("kind", "keys"),
    [("slow_body", {"bytes": 512, "every_ms": 200}), ("cut_body", {"share": 0.25}), ("cut_body", {"length": "agrees"})],
)
def test_over_a_socket_bodies_lie_as_they_do_in_process(kind: str, keys: dict[str, Any]) -> None:
    rig = Rig()
    true = rig.get(rig.server()).content
    rig.tell(kind, **keys)
    with serve(rig.simulator) as server:
        begun = rig.clock.now_ms()
        head, _, body = raw(server.url, rig.server()).partition(b"\r\n\r\n")
    announced = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    if kind == "slow_body":
        assert (body, announced) == (true, len(true))
        assert rig.clock.now_ms() - begun == -(-len(true) // 512) * 200
    elif keys.get("length") == "agrees":
        assert (len(body), announced) == (len(true) // 2, len(true) // 2)
    else:
        assert (len(body), announced) == (len(true) // 4, len(true))

"""The two ways in: sockets and the in-process transport. Both must break the way the world breaks."""

from __future__ import annotations

import http.client
import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest

from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.errors import ConfigError
from reconciler.simulator import SECRET_KEY, FaultRule, Served, Simulator, SimulatorTransport, serve
from reconciler.simulator.faults import Action
from reconciler.simulator.serve import run
from reconciler.simulator.transport import BASE_URL
from tests.simulator.support import V1

HEADERS = {"X-Auth-Token": SECRET_KEY}


@pytest.fixture
def served() -> Iterator[Served]:
    with serve(Simulator()) as server:
        yield server
    assert server.simulator.crashes == []


def connect(server: Served) -> http.client.HTTPConnection:
    parts = urlsplit(server.url)
    assert parts.hostname is not None
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)


def test_a_connection_is_kept_alive_and_bodies_of_gets_are_drained(served: Served) -> None:
    """The Python SDK sends `{}` with GET and DELETE; left unread it would be the start of the next request."""
    connection = connect(served)
    for _ in range(3):
        connection.request("GET", f"{V1}/servers", body="{}", headers=HEADERS)
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())) == (200, {"servers": []})
    connection.close()


def test_a_chunked_body_is_read(served: Served) -> None:
    connection = connect(served)
    connection.request("POST", f"{V1}/ips", body=iter([b'{"tags"', b':["a"]}']), headers=HEADERS, encode_chunked=True)
    assert json.loads(connection.getresponse().read())["ip"]["tags"] == ["a"]
    connection.close()


def test_a_204_has_neither_body_nor_length(served: Served) -> None:
    connection = connect(served)
    connection.request("POST", f"{V1}/ips", body="{}", headers=HEADERS)
    ip = json.loads(connection.getresponse().read())["ip"]["id"]
    connection.request("DELETE", f"{V1}/ips/{ip}", headers=HEADERS)
    answer = connection.getresponse()
    assert (answer.status, answer.read(), answer.getheader("Content-Length")) == (204, b"", None)
    connection.close()


def test_every_answer_has_a_date_and_a_request_id(served: Served) -> None:
    with httpx2.Client(base_url=served.url, headers=HEADERS) as client:
        answers = [client.get(f"{V1}/servers"), client.get("/nowhere"), client.get(f"{V1}/servers/x")]
    assert all({"date", "x-request-id"} <= set(answer.headers) for answer in answers)
    assert len({answer.headers["x-request-id"] for answer in answers}) == 3


@pytest.mark.parametrize("action", ["drop_request", "drop_answer"])
def test_a_dropped_connection_closes_without_a_word(served: Served, action: Action) -> None:
    served.simulator.faults.add(FaultRule(method="POST", action=action))
    connection = connect(served)
    connection.request("POST", f"{V1}/ips", body="{}", headers=HEADERS)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        connection.getresponse()
    with served.simulator.editing() as world:
        assert len(world.ips) == (1 if action == "drop_answer" else 0)


def test_a_cut_body_is_shorter_than_its_length(served: Served) -> None:
    served.simulator.faults.add(FaultRule(action="cut", cut_at=5))
    connection = connect(served)
    connection.request("GET", f"{V1}/servers", headers=HEADERS)
    answer = connection.getresponse()
    with pytest.raises(http.client.IncompleteRead) as cut:
        answer.read()
    assert cut.value.partial == b'{"ser'


def test_head_and_body_leave_in_one_write(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writes and a delayed acknowledgement cost a keep-alive client 44 ms an answer."""
    sent: list[bytes] = []
    write = socketserver._SocketWriter.write  # type: ignore[attr-defined]

    def watched(self: object, data: bytes) -> int:
        sent.append(bytes(data))
        return int(write(self, data))

    monkeypatch.setattr("socketserver._SocketWriter.write", watched)
    with httpx2.Client(base_url=served.url, headers=HEADERS) as client:
        client.get(f"{V1}/servers")
    assert len(sent) == 1
    assert sent[0].endswith(b'{"servers": []}')


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org"])
def test_an_address_that_others_could_reach_is_refused(host: str) -> None:
    with pytest.raises(ConfigError) as refused:
        serve(Simulator(), host=host)
    assert refused.value.code == "RC7010"


def test_a_port_that_is_taken_is_an_error_with_a_hint(served: Served) -> None:
    with pytest.raises(ConfigError) as refused:
        serve(Simulator(), port=urlsplit(served.url).port or 0)
    assert refused.value.code == "RC7011"


def test_close_ends_open_connections_and_held_requests() -> None:
    simulator = Simulator(faults=[FaultRule(path="**/ips", action="hold")])
    server = serve(simulator)
    idle, held = connect(server), connect(server)
    idle.request("GET", f"{V1}/servers", headers=HEADERS)
    idle.getresponse().read()
    held.request("GET", f"{V1}/ips", headers=HEADERS)
    server.close()
    assert isinstance(idle.sock, socket.socket)
    assert idle.sock.recv(1) == b""


def test_run_serves_until_it_is_stopped_and_says_where() -> None:
    stop, ready, urls = threading.Event(), threading.Event(), list[str]()

    def told(url: str) -> None:
        urls.append(url)
        ready.set()

    thread = threading.Thread(target=lambda: run(ready=told, speed=10, stop=stop))
    thread.start()
    assert ready.wait(10)
    assert httpx2.get(f"{urls[0]}{V1}/servers", headers=HEADERS).status_code == 200
    stop.set()
    thread.join(timeout=10)
    assert not thread.is_alive()


def in_process(*faults: FaultRule) -> tuple[Simulator, VirtualClock, httpx2.Client]:
    clock = VirtualClock()
    simulator = Simulator(clock=clock, faults=faults)
    client = httpx2.Client(
        transport=SimulatorTransport(simulator), base_url=BASE_URL, headers=HEADERS, timeout=httpx2.Timeout(10)
    )
    return simulator, clock, client


def test_the_transport_gives_the_same_answer_as_the_socket(served: Served) -> None:
    _, _, client = in_process()
    with httpx2.Client(base_url=served.url, headers=HEADERS) as remote, client:
        for path in (f"{V1}/servers", f"{V1}/products/servers?page=3", f"{V1}/ips/x", "/nowhere"):
            here, there = client.get(path), remote.get(path)
            assert (here.status_code, here.content) == (there.status_code, there.content)


def test_an_answer_later_than_the_timeout_is_lost_and_its_effect_stays() -> None:
    simulator, clock, client = in_process(FaultRule(method="POST", action="delay", delay_ms=15_000))
    before = clock.monotonic()
    with pytest.raises(httpx2.ReadTimeout):
        client.post(f"{V1}/ips", json={})
    assert clock.monotonic() - before == 10
    with simulator.editing() as world:
        assert len(world.ips) == 1


def test_a_delay_within_the_timeout_only_moves_the_clock() -> None:
    _, clock, client = in_process(FaultRule(action="delay", delay_ms=4_000))
    before = clock.monotonic()
    assert client.get(f"{V1}/servers").status_code == 200
    assert clock.monotonic() - before == 4


@pytest.mark.parametrize(
    ("action", "error", "made"),
    [
        ("refuse", httpx2.ConnectError, 0),
        ("drop_request", httpx2.ReadError, 0),
        ("drop_answer", httpx2.ReadError, 1),
        ("cut", httpx2.RemoteProtocolError, 1),
    ],
)
def test_a_broken_connection_raises_what_the_client_would_see(
    action: Action, error: type[Exception], made: int
) -> None:
    simulator, _, client = in_process(FaultRule(method="POST", action=action))
    with pytest.raises(error):
        client.post(f"{V1}/ips", json={})
    with simulator.editing() as world:
        assert len(world.ips) == made

"""The gate as a server: reads pass with the child's token, nothing else reaches the API."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from reconciler.engine import gate as gate_module
from reconciler.engine.gate import Gate
from reconciler.engine.gate_rules import ReadRules, Verdict
from tests.engine.fakes import uuid_of

PROVED, OTHER = uuid_of(1), uuid_of(2)
IPS = "/instance/v1/zones/fr-par-1/ips"
RULES = ReadRules(proved=frozenset({PROVED}))


# (status, headers, body), or what handles the request itself
Answer = tuple[int, dict[str, str], bytes] | Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Api:
    """An API that answers by path."""

    answers: dict[str, Answer] = field(default_factory=dict)
    seen: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def api() -> Iterator[Api]:
    found = Api()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

        def answer(self) -> None:
            found.seen.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
            answer = found.answers.get(self.path.partition("?")[0], (200, {}, b"{}"))
            if callable(answer):
                answer(self)
                return
            status, headers, body = answer
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield found
    server.shutdown()
    server.server_close()


def test_a_read_passes_with_its_token_query_and_answer(api: Api) -> None:
    api.answers[IPS] = (200, {"X-Total-Count": "1", "Content-Type": "application/json"}, b'{"ips": []}')
    with Gate(api.url, RULES) as gate:
        answer = httpx2.get(f"{gate.url}{IPS}?page=2&tags=a%2Cb", headers={"X-Auth-Token": "the-token"})
    assert answer.status_code == 200
    assert answer.json() == {"ips": []}
    assert answer.headers["x-total-count"] == "1"
    method, path, headers = api.seen[0]
    assert (method, path) == ("GET", f"{IPS}?page=2&tags=a%2Cb")
    assert headers["x-auth-token"] == "the-token"
    assert headers["host"] == api.url.removeprefix("http://")


def test_the_gate_adds_no_credential_of_its_own(api: Api) -> None:
    with Gate(api.url, RULES) as gate:
        httpx2.get(f"{gate.url}{IPS}")
    assert "x-auth-token" not in api.seen[0][2]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
def test_what_is_no_read_never_reaches_the_api(api: Api, method: str) -> None:
    with Gate(api.url, RULES) as gate:
        answer = httpx2.request(method, f"{gate.url}{IPS}/{PROVED}", content=b'{"tags": []}')
        assert gate.tally.refused == 1
        assert gate.tally.reads == 0
    assert answer.status_code == 405
    assert api.seen == []


@pytest.mark.parametrize("status", [403, 404])
def test_a_refused_or_missing_read_becomes_an_error_that_means_nothing(api: Api, status: int) -> None:
    api.answers[f"{IPS}/{OTHER}"] = (status, {}, json.dumps({"type": "not_found", "secret": "x"}).encode())
    with Gate(api.url, RULES) as gate:
        answer = httpx2.get(f"{gate.url}{IPS}/{OTHER}")
        assert gate.tally.status(status) == 1
        assert gate.tally.verdict(Verdict.FAILED) == 1
    assert answer.status_code == 424
    assert answer.json() == {"type": "reconciler_gate", "message": f"the API answered {status} to this read"}


def test_the_body_of_a_busy_answer_is_not_passed_on(api: Api) -> None:
    """An error of type `not_found` is "gone" to the provider whatever its status."""
    api.answers[f"{IPS}/{OTHER}"] = (503, {}, b'{"type": "not_found", "message": "resource is not found"}')
    with Gate(api.url, RULES) as gate:
        answer = httpx2.get(f"{gate.url}{IPS}/{OTHER}")
    assert answer.status_code == 503
    assert answer.json()["type"] == "reconciler_gate"


def test_a_proved_id_is_told_as_gone(api: Api) -> None:
    api.answers[f"{IPS}/{PROVED}"] = (403, {}, b"{}")
    with Gate(api.url, RULES) as gate:
        answer = httpx2.get(f"{gate.url}{IPS}/{PROVED}")
    assert (answer.status_code, answer.json()["type"]) == (404, "not_found")


def test_a_redirect_is_an_error_and_is_not_followed(api: Api) -> None:
    api.answers[IPS] = (302, {"Location": f"{api.url}/elsewhere"}, b"")
    with Gate(api.url, RULES) as gate:
        assert httpx2.get(f"{gate.url}{IPS}").status_code == 424
    assert [path for _, path, _ in api.seen] == [IPS]


def test_an_api_that_is_not_there_is_an_error() -> None:
    with Gate("http://127.0.0.1:1", RULES) as gate:
        answer = httpx2.get(f"{gate.url}{IPS}/{PROVED}")
        assert gate.tally.status(0) == 1
    assert answer.status_code == 424


def cut_short(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"ips": [')
    handler.close_connection = True


def test_an_answer_that_breaks_off_is_an_error_and_no_short_list(api: Api) -> None:
    api.answers[IPS] = cut_short
    with Gate(api.url, RULES) as gate:
        answer = httpx2.get(f"{gate.url}{IPS}")
    assert answer.status_code == 424
    assert b"ips" not in answer.content


def test_an_answer_over_the_bound_is_an_error(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "_BODY_LIMIT", 1000)
    api.answers[IPS] = (200, {}, b"x" * 1001)
    with Gate(api.url, RULES) as gate:
        assert httpx2.get(f"{gate.url}{IPS}").status_code == 424


def test_a_compressed_answer_arrives_in_clear(api: Api) -> None:
    import gzip

    def zipped(handler: BaseHTTPRequestHandler) -> None:
        body = gzip.compress(b'{"ips": []}')
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    api.answers[IPS] = zipped
    with Gate(api.url, RULES) as gate:
        assert httpx2.get(f"{gate.url}{IPS}").json() == {"ips": []}


def test_nobody_uses_the_gate_as_a_proxy(api: Api) -> None:
    with Gate(api.url, RULES) as gate, httpx2.Client(proxy=gate.url, trust_env=False) as client:
        assert client.get("http://example.invalid/x").status_code == 424
    assert api.seen == []


def test_a_gate_listens_on_loopback_only_and_not_after_its_end(api: Api) -> None:
    with Gate(api.url, RULES) as gate:
        url = gate.url
        assert url.startswith("http://127.0.0.1:")
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(url)


def test_a_base_path_of_the_api_is_kept(api: Api) -> None:
    with Gate(f"{api.url}/proxy/", RULES) as gate:
        httpx2.get(f"{gate.url}{IPS}")
    assert api.seen[0][1] == f"/proxy{IPS}"


def test_many_reads_at_once_all_get_their_own_answer(api: Api) -> None:
    for number in range(40):
        api.answers[f"/x/{number}"] = (200, {}, str(number).encode())
    results: dict[int, str] = {}
    with Gate(api.url, RULES) as gate:

        def ask(number: int) -> Callable[[], None]:
            return lambda: results.__setitem__(number, httpx2.get(f"{gate.url}/x/{number}").text)

        threads = [threading.Thread(target=ask(number)) for number in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert gate.tally.reads == 40
    assert results == {number: str(number) for number in range(40)}

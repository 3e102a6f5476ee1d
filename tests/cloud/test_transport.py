"""One request, bounded in time, size and place."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import httpx2
import pytest
import structlog

from reconciler.cloud.transport import LATE, TOO_LARGE, Api
from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.errors import AuthenticationError, ConfigError, InternalError
from reconciler.kernel.guards import transaction
from reconciler.kernel.randomness import SeededRandomness
from tests.cloud.wire import SECRET, Recorder, credentials, denied, html, make_api, reply, throttled

PATH = "/instance/v1/zones/fr-par-1/servers"
OK: dict[str, list[str]] = {"servers": []}


def test_a_request_carries_the_token_in_its_header_and_nowhere_else() -> None:
    seen = Recorder(default=reply(OK))
    make_api(seen).get(PATH, [("project", "p")])
    request = seen.requests[0]
    assert request.headers["X-Auth-Token"] == SECRET
    assert SECRET not in str(request.url)
    assert request.url.host == "api.scaleway.com"


@pytest.mark.parametrize(
    "first",
    [
        throttled(),
        html(502),
        reply({}, 503),
        reply({}, 500),
        httpx2.ConnectError("refused"),
        httpx2.ReadTimeout("late"),
        httpx2.ReadError("reset"),
        httpx2.RemoteProtocolError("cut"),
        reply(b'{"servers": [', content_length="900"),
    ],
)
def test_a_read_is_sent_again_until_it_is_answered(first: Any) -> None:
    seen = Recorder(default=[first, reply(OK)])
    answer = make_api(seen).get(PATH)
    assert answer.ok
    assert (answer.requests, len(seen.requests)) == (2, 2)


@pytest.mark.parametrize("status", [400, 403, 404, 409, 412, 501, 301])
def test_a_final_answer_is_not_asked_for_again(status: int) -> None:
    seen = Recorder(default=reply({}, status, location="https://elsewhere.example/"))
    assert make_api(seen).get(PATH).status == status
    assert len(seen.requests) == 1


def test_401_raises_and_is_not_tried_again() -> None:
    seen = Recorder(default=reply({"type": "denied_authentication", "reason": "expired"}, 401))
    with pytest.raises(AuthenticationError) as caught:
        make_api(seen).get(PATH)
    assert caught.value.exit_status == 3
    assert len(seen.requests) == 1


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "answer",
    [throttled(), reply({}, 503), httpx2.ReadTimeout("late"), httpx2.ConnectError("refused"), httpx2.ReadError("x")],
)
def test_a_write_is_sent_once_whatever_comes_back(method: str, answer: Any) -> None:
    seen = Recorder(default=answer)
    make_api(seen).send(method, PATH, body=b"{}")
    assert len(seen.requests) == 1


def test_a_write_without_an_answer_says_whether_it_can_have_left() -> None:
    assert make_api(Recorder(default=httpx2.ReadTimeout("late"))).send("POST", PATH, body=b"{}").sent
    assert not make_api(Recorder(default=httpx2.ConnectError("refused"))).send("POST", PATH, body=b"{}").sent


def test_an_endless_429_ends_at_the_deadline_of_the_call() -> None:
    clock = VirtualClock()
    answer = make_api(Recorder(default=throttled()), clock=clock, read_deadline=5.0).get(PATH)
    assert answer.status == 429
    assert clock.monotonic() <= 5.0


def test_a_retry_after_beyond_the_deadline_is_not_waited_for() -> None:
    clock = VirtualClock()
    seen = Recorder(default=reply({}, 503, retry_after="3600"))
    assert make_api(seen, clock=clock).get(PATH).status == 503
    assert (len(seen.requests), clock.monotonic()) == (1, 0.0)


def test_no_time_left_for_a_token_means_that_nothing_is_sent() -> None:
    clock = VirtualClock()
    seen = Recorder(default=reply(OK))
    api = make_api(seen, clock=clock, rate=1, read_deadline=0.5)
    assert api.get(PATH).ok
    late = api.get(PATH)
    assert (late.fault, late.sent, len(seen.requests)) == (LATE, False, 1)


class _Dripping(httpx2.SyncByteStream):
    """A byte every ten seconds: each read is in time, the whole is not."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.given = 0

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(1000):
            self._clock.advance(10)
            self.given += 1
            yield b" "


def test_a_body_that_drips_is_cut_off_at_the_deadline() -> None:
    clock = VirtualClock()
    stream = _Dripping(clock)
    api = make_api(lambda request: httpx2.Response(200, stream=stream), clock=clock)
    answer = api.get(PATH)
    assert answer.fault == "timeout"
    assert not answer.ok
    assert stream.given <= 4


class _Flood(httpx2.SyncByteStream):
    def __init__(self) -> None:
        self.given = 0

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(1000):
            self.given += 1
            yield b"x" * 1000


def test_a_body_without_end_is_cut_off_at_the_limit_and_not_asked_for_again() -> None:
    floods: list[_Flood] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        floods.append(_Flood())
        return httpx2.Response(200, stream=floods[-1])

    answer = make_api(handler, body_limit=10_000).get(PATH)
    assert (answer.fault, answer.body, answer.ok) == (TOO_LARGE, b"", False)
    assert len(floods) == 1
    assert floods[0].given <= 11


def test_an_announced_body_above_the_limit_is_not_read() -> None:
    flood = _Flood()
    seen = httpx2.Response(200, stream=flood, headers={"Content-Length": "99999999999999999999"})
    assert make_api(lambda request: seen).get(PATH).fault == TOO_LARGE
    assert flood.given == 0


def test_a_body_shorter_than_announced_is_no_answer() -> None:
    """A list cut in the middle can still be valid JSON of fewer objects."""
    answer = make_api(Recorder(default=reply(b'{"servers": []}', content_length="4000")), read_deadline=1.0).get(PATH)
    assert (answer.ok, answer.fault) == (False, "truncated answer")


def test_redirects_are_not_followed_so_the_token_stays_at_home() -> None:
    seen = Recorder(default=httpx2.Response(307, headers={"Location": "https://elsewhere.example/"}))
    make_api(seen).get(PATH)
    assert {request.url.host for request in seen.requests} == {"api.scaleway.com"}


def test_plain_http_to_another_host_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(ConfigError) as caught:
        Api(credentials(api_url="http://10.0.0.1"), clock=VirtualClock(), randomness=SeededRandomness(1))
    assert caught.value.code == "RC0308"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_call_is_made_inside_a_database_transaction(method: str) -> None:
    seen = Recorder(default=reply(OK))
    api = make_api(seen)
    with transaction("claim"), pytest.raises(InternalError) as caught:
        api.get(PATH) if method == "GET" else api.send(method, PATH)
    assert caught.value.code == "RC0901"
    assert seen.requests == []


def test_health_counts_requests_failures_and_throttling() -> None:
    seen = Recorder(default=[throttled(), reply({}, 503), httpx2.ReadTimeout("late"), reply(OK), denied()])
    api = make_api(seen)
    api.get(PATH)
    api.get(PATH)
    health = api.health()
    assert (health.calls, health.failed, health.throttled) == (5, 2, 1)


def test_health_knows_no_skew_before_the_first_answer() -> None:
    assert make_api(Recorder(default=reply(OK))).health().skew_seconds is None


@pytest.mark.parametrize(("ahead", "skew"), [(0, 0.5), (120, 120.5), (-90, -89.5)])
def test_health_measures_the_skew_of_the_clock(ahead: int, skew: float) -> None:
    clock = VirtualClock(start_ms=1_800_000_000_000)
    date = formatdate(1_800_000_000 + ahead, usegmt=True)
    api = make_api(Recorder(default=reply(OK, date=date)), clock=clock)
    api.get(PATH)
    assert api.health().skew_seconds == pytest.approx(skew)


def test_a_malformed_date_changes_nothing() -> None:
    api = make_api(Recorder(default=reply(OK, date="yesterday")))
    assert api.get(PATH).ok
    assert api.health().skew_seconds is None


@pytest.fixture
def fresh_logs() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("fresh_logs")
def test_without_a_configured_log_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """structlog's own default is stdout, which belongs to results."""
    make_api(Recorder(default=reply(OK))).get(PATH)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("fresh_logs")
def test_the_log_holds_no_token_no_body_and_no_query() -> None:
    structlog.configure()
    with structlog.testing.capture_logs() as logs:
        make_api(Recorder(default=reply({"name": "body-text"}, x_request_id="abc"))).get(
            PATH, [("project", "query-text")]
        )
    assert [(entry["method"], entry["path"], entry["status"], entry["request_id"]) for entry in logs] == [
        ("GET", PATH, 200, "abc")
    ]
    text = json.dumps(logs)
    assert all(word not in text for word in (SECRET, "body-text", "query-text"))


def test_http_library_logs_hold_no_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    make_api(Recorder(default=reply(OK))).get(PATH)
    assert SECRET not in caplog.text


def test_a_429_slows_the_next_requests_down() -> None:
    clock = VirtualClock()
    api = make_api(Recorder(default=[throttled(), reply(OK)]), clock=clock, rate=10)
    api.get(PATH)
    start = clock.monotonic()
    for _ in range(20):
        api.get(PATH)
    assert clock.monotonic() - start > 2.0


def test_close_is_repeatable_and_a_closed_api_opens_again() -> None:
    api = make_api(Recorder(default=reply(OK)))
    api.get(PATH)
    api.close()
    api.close()
    assert api.get(PATH).ok

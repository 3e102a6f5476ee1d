"""One request to the API, bounded in every direction.

*Time*: each call has a deadline, retries and waits for the rate included; it holds against a server that answers byte
by byte. *Size*: a body above the limit is a fault, not memory. *Place*: the token goes to the configured host only;
redirects are not followed and plain http is for loopback (`credentials.check_api_url`). *Shape*: a body shorter than
its Content-Length is a fault, whatever it parses as.

Only `get` repeats itself (`retry`). Everything else is sent once, by `send`. A 401 raises AuthenticationError; all the
rest is a value (`answers.Answer`). No database transaction may be open (rule 8). The log holds method, path, status
and request id: never a body, a header or a query.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from reconciler.cloud.answers import Answer
from reconciler.cloud.credentials import Credentials, check_api_url, is_loopback
from reconciler.cloud.limiter import Limiter
from reconciler.cloud.retry import next_delay
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import AuthenticationError
from reconciler.kernel.guards import assert_outside_transaction
from reconciler.kernel.randomness import Randomness
from reconciler.kernel.text import visible
from reconciler.ports.cloud import ApiHealth

if TYPE_CHECKING:
    import httpx2

Params = Sequence[tuple[str, str]]

READ_DEADLINE_SECONDS: Final = 30.0
WRITE_DEADLINE_SECONDS: Final = 60.0  # PATCH and POST take up to 3 s at the 95th percentile; one attempt only
ATTEMPT_SECONDS: Final = 20.0
CONNECT_SECONDS: Final = 5.0
BODY_LIMIT: Final = 16 * 1024 * 1024  # a page of 100 servers is 0.3 MB
POOL: Final = 16

LATE: Final = "no time left before the call's deadline"
TOO_LARGE: Final = "answer too large"


class Api:
    """The provider's HTTP API under one key. Thread-safe. `transport` replaces the network (a simulator's)."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        clock: Clock,
        randomness: Randomness,
        limiter: Limiter | None = None,
        transport: httpx2.BaseTransport | None = None,
        read_deadline: float = READ_DEADLINE_SECONDS,
        body_limit: int = BODY_LIMIT,
        allow_plain_http: bool = False,
    ) -> None:
        self._url = check_api_url(credentials.api_url, origin="api_url", allow_plain_http=allow_plain_http)
        self._secret = credentials.secret_key
        self._clock, self._randomness = clock, randomness
        self._limiter = limiter or Limiter(clock=clock)
        self._transport = transport
        self._read_deadline, self._body_limit = read_deadline, body_limit
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None
        self._calls = self._failed = self._throttled = 0
        self._skew: float | None = None

    @property
    def clock(self) -> Clock:
        return self._clock

    def get(self, path: str, params: Params = ()) -> Answer:
        """A read: sent again after no answer, 429 and 5xx, until it is answered or its deadline comes."""
        deadline = self._clock.monotonic() + self._read_deadline
        attempt = 0
        while True:
            attempt += 1
            answer = self._once("GET", path, params=params, body=None, deadline=deadline, requests=attempt)
            if answer.ok or answer.fault in (LATE, TOO_LARGE):
                return answer
            status = None if answer.fault is not None else answer.status
            delay = next_delay(attempt, status, answer.retry_after, self._randomness)
            if delay is None or self._clock.monotonic() + delay >= deadline:
                return answer
            self._clock.sleep(delay)

    def send(self, method: str, path: str, *, body: bytes | None = None, params: Params = ()) -> Answer:
        """A write: one request, never a second. No answer means that the effect is unknown, unless `sent` is False."""
        deadline = self._clock.monotonic() + WRITE_DEADLINE_SECONDS
        return self._once(method, path, params=params, body=body, deadline=deadline, requests=1)

    def health(self) -> ApiHealth:
        """`calls` counts requests, `failed` those without a usable answer (none, 5xx, unreadable), `throttled` 429s."""
        with self._lock:
            return ApiHealth(calls=self._calls, failed=self._failed, throttled=self._throttled, skew_seconds=self._skew)

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def unreadable(self, answer: Answer) -> None:
        """Count an answer whose body turned out not to be what the API promises."""
        del answer
        with self._lock:
            self._failed += 1

    def _once(
        self, method: str, path: str, *, params: Params, body: bytes | None, deadline: float, requests: int
    ) -> Answer:
        assert_outside_transaction(f"{method} {path}")
        if not self._limiter.acquire(deadline=deadline):
            return Answer(method=method, path=path, fault=LATE, sent=False, requests=requests - 1)
        before_ms = self._clock.now_ms()
        answer = self._exchange(method, path, params=params, body=body, deadline=deadline, requests=requests)
        self._account(answer, waited_ms=self._clock.now_ms() - before_ms)
        if answer.status == 401:
            raise AuthenticationError(
                f"the API refused the key: {answer.told()}",
                code="RC0309",
                hint="The key may be expired, deleted or mistyped; check SCW_SECRET_KEY or the active profile.",
            )
        return answer

    def _exchange(
        self, method: str, path: str, *, params: Params, body: bytes | None, deadline: float, requests: int
    ) -> Answer:
        import httpx2

        most = ATTEMPT_SECONDS if method == "GET" else WRITE_DEADLINE_SECONDS
        left = max(0.001, min(most, deadline - self._clock.monotonic()))
        timeout = httpx2.Timeout(left, connect=min(CONNECT_SECONDS, left), pool=left)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        known: dict[str, Any] = {"method": method, "path": path, "requests": requests}
        # Whole, because httpx2 parses a base URL, a path and parameters one by one and joins them by parsing again.
        url = f"{self._url}{path}?{urlencode(params)}" if params else f"{self._url}{path}"
        try:
            with self._http().stream(method, url, content=body, headers=headers, timeout=timeout) as response:
                self._note_date(response.headers.get("date"))
                known |= _head(response)
                content, fault = self._read(response, deadline=deadline)
                return Answer(**known, body=content, fault=fault)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            return Answer(**known, fault="no connection", sent=False)
        except httpx2.TimeoutException:
            return Answer(**known, fault="timeout")
        except httpx2.DecodingError:
            return Answer(**known, fault="undecodable content encoding")
        except httpx2.HTTPError as error:
            # The class alone: messages of protocol errors may quote headers.
            return Answer(**known, fault=f"broken connection ({type(error).__name__})")

    def _read(self, response: httpx2.Response, *, deadline: float) -> tuple[bytes, str | None]:
        declared = response.headers.get("content-length", "")[:18]
        expected = int(declared) if declared.isdecimal() and "content-encoding" not in response.headers else None
        if expected is not None and expected > self._body_limit:
            return b"", TOO_LARGE
        chunks: list[bytes] = []
        size = 0
        for chunk in response.iter_bytes():
            size += len(chunk)
            if size > self._body_limit:
                return b"", TOO_LARGE
            if self._clock.monotonic() > deadline:
                return b"", "timeout"
            chunks.append(chunk)
        if expected is not None and size < expected:
            return b"", "truncated answer"
        return chunks[0] if len(chunks) == 1 else b"".join(chunks), None

    def _http(self) -> httpx2.Client:
        with self._lock:
            if self._client is None:
                import httpx2

                from reconciler import __version__

                host = httpx2.URL(self._url).host
                self._client = httpx2.Client(
                    headers={
                        "X-Auth-Token": self._secret.reveal(),
                        "Accept": "application/json",
                        "Accept-Encoding": "gzip",
                        "User-Agent": f"reconciler/{__version__}",
                    },
                    transport=self._transport,
                    limits=httpx2.Limits(max_connections=POOL, max_keepalive_connections=POOL),
                    follow_redirects=False,
                    # A proxy from the environment must not see what is meant for this machine.
                    trust_env=not is_loopback(host),
                )
            return self._client

    def _account(self, answer: Answer, *, waited_ms: int) -> None:
        throttled = answer.status == 429
        failed = answer.fault is not None or (answer.status is not None and answer.status >= 500)
        with self._lock:
            self._calls += 1
            self._throttled += throttled
            self._failed += failed
        if throttled:
            self._limiter.throttled()
        import structlog

        # Unconfigured, structlog prints to stdout, which belongs to results.
        if not structlog.is_configured():
            return
        structlog.get_logger("reconciler.cloud").debug(
            "scaleway call",
            method=answer.method,
            path=answer.path,
            status=answer.status,
            fault=answer.fault,
            request_id=answer.request_id,
            attempt=answer.requests,
            ms=waited_ms,
        )

    def _note_date(self, text: str | None) -> None:
        if not text:
            return
        try:
            there_ms = parsedate_to_datetime(text).timestamp() * 1000
        except ValueError:
            return
        # `Date` is cut to the second, so the middle of that second is the best guess.
        skew = (there_ms + 500 - self._clock.now_ms()) / 1000
        with self._lock:
            self._skew = skew


def _head(response: httpx2.Response) -> dict[str, Any]:
    headers = response.headers
    return {
        "status": response.status_code,
        "total": headers.get("x-total-count"),
        "request_id": visible(headers["x-request-id"], limit=80) if "x-request-id" in headers else None,
        "retry_after": _seconds(headers.get("retry-after")),
    }


def _seconds(text: str | None) -> float | None:
    # The form with a date is not used by this API; without a number the jitter decides.
    return float(text) if text is not None and text.isascii() and text.isdigit() and len(text) <= 6 else None

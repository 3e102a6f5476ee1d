"""The loopback gate: what a Pulumi child reads through.

An HTTP server on 127.0.0.1 that the child finds in `SCW_API_URL`; the provider lets that variable win over every
other setting, an explicit provider's `apiUrl` included (tried). It passes GETs to the real API with the child's own
token, judges each answer (`gate_rules`), and refuses everything else with 405: a refresh that wanted to change the
cloud would be a bug, and it could not. It adds no credential, so it is of no use to another local process.

An answer is read whole (bounded) before a byte of it goes on: one that breaks off half-way, passed on as it comes,
would be a list with a shorter tail.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Final, Self, TypeAlias

from reconciler.engine.gate_bodies import read_body
from reconciler.engine.gate_rules import FAILED_STATUS, ReadRules, Verdict, failed_body, gone_body

if TYPE_CHECKING:
    import httpx2

# Hop-by-hop headers, and what the two clients settle with their own peer.
_OWN: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_BODY_LIMIT: Final = 64 << 20
_REFUSED_STATUS: Final = 405
_IDLE_SECONDS: Final = 60.0
_UPSTREAM_SECONDS: Final = 30.0
_CONNECTIONS: Final = 32
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
JSON_HEADERS: Final = [("Content-Type", "application/json")]

Answer: TypeAlias = tuple[int, list[tuple[str, str]], bytes]


@dataclass(frozen=True, slots=True)
class Change:
    """A call that is no GET, as the child sent it. `body`: None when it was not read. Its repr shows neither the
    headers, where the token is, nor the body."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: bytes | None = field(repr=False)


class Tally:
    """What went through a gate; safe to read while it runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._verdicts: Counter[Verdict] = Counter()
        self._statuses: Counter[int] = Counter()
        self._refused: Counter[str] = Counter()

    def read(self, status: int, verdict: Verdict) -> None:
        with self._lock:
            self._verdicts[verdict] += 1
            self._statuses[status] += 1

    def refuse(self, method: str) -> None:
        with self._lock:
            self._refused[method] += 1

    @property
    def reads(self) -> int:
        with self._lock:
            return sum(self._verdicts.values())

    @property
    def refused(self) -> int:
        """Calls that were no GET; none of them reached the API."""
        with self._lock:
            return sum(self._refused.values())

    def verdict(self, verdict: Verdict) -> int:
        with self._lock:
            return self._verdicts[verdict]

    def status(self, status: int) -> int:
        """How often the API answered with this status; 0 stands for no answer."""
        with self._lock:
            return self._statuses[status]


class Gate:
    """A context manager; `url` is valid inside it. `upstream`: the API's base URL without a trailing slash."""

    def __init__(self, upstream: str, rules: ReadRules, *, verify: bool = True) -> None:
        self._upstream, self._rules, self._verify = upstream.rstrip("/"), rules, verify
        self.tally = Tally()
        self._server: ThreadingHTTPServer | None = None
        self._client: httpx2.Client | None = None

    def __enter__(self) -> Self:
        import httpx2

        self._client = httpx2.Client(
            timeout=httpx2.Timeout(_UPSTREAM_SECONDS, pool=_IDLE_SECONDS),
            limits=httpx2.Limits(max_connections=_CONNECTIONS),
            follow_redirects=False,
            verify=self._verify,
            # A proxy of the environment is meant for the outside world.
            trust_env=httpx2.URL(self._upstream).host not in _LOOPBACK,
        )
        self._server = _server(self)
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True, name="reconciler-gate"
        ).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        if self._client is not None:
            self._client.close()

    @property
    def url(self) -> str:
        assert self._server is not None, "the gate is closed"
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def get(self, target: str, headers: Iterable[tuple[str, str]]) -> Answer:
        """Ask the API and judge: the status, headers and body for the provider."""
        path = target.partition("?")[0]
        status, answered, body = self._ask(target, headers)
        verdict = self._rules.judge(path, status, body) if status else Verdict.FAILED
        self.tally.read(status, verdict)
        if verdict is Verdict.PASS:
            return status, answered, body
        if verdict is Verdict.GONE:
            return 404, JSON_HEADERS, gone_body(path)
        why = f"the API answered {status} to this read" if status else "the API could not be reached"
        return (status if verdict is Verdict.BUSY else FAILED_STATUS), JSON_HEADERS, failed_body(why)

    # Whether the bodies of changing calls are read; whoever refuses them all has no use for them.
    reads_bodies: ClassVar[bool] = False

    def change(self, call: Change) -> Answer:
        """The answer to a call that is no GET. It never reaches the API."""
        self.tally.refuse(call.method)
        return _REFUSED_STATUS, JSON_HEADERS, failed_body("only reads pass during a refresh")

    def _ask(self, target: str, headers: Iterable[tuple[str, str]]) -> Answer:
        """The API's answer; status 0 when there is none, or it is larger than the bound or breaks off."""
        import httpx2

        assert self._client is not None
        if not target.startswith("/"):  # an absolute URL: nobody uses the gate as a proxy
            return 0, [], b""
        sent = [(name, value) for name, value in headers if name.lower() not in _OWN]
        try:
            with self._client.stream("GET", self._upstream + target, headers=sent) as response:
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > _BODY_LIMIT:
                        return 0, [], b""
                kept = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _OWN]
                return response.status_code, kept, bytes(body)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError):
            return 0, [], b""


def _server(gate: Gate) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = _IDLE_SECONDS
        server_version = "reconciler-gate"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it so
            """A request line may hold ids; nothing of it is logged here."""

        def do_GET(self) -> None:
            self._answer(*gate.get(self.path, self.headers.items()))

        def change(self) -> None:
            body = read_body(self.rfile, self.headers) if gate.reads_bodies else None
            if body is None:
                self.close_connection = True  # what was not read of it would be taken for the next request
            self._answer(*gate.change(Change(self.command, self.path, tuple(self.headers.items()), body)))

        do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = change  # noqa: N815

        def _answer(self, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 128

        def handle_error(self, request: object, client_address: object) -> None:
            """The provider hung up, as it does when it is ended; there is nobody left to tell."""

    return Server(("127.0.0.1", 0), Handler)

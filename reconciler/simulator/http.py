"""The simulator over HTTP/1.1: the standard library's server, on loopback.

The standard library, because faults need the socket itself: a connection that closes before or after the request was
executed, a body cut short. Head and body go out in one write with TCP_NODELAY: a keep-alive client otherwise waits
44 ms per answer for a delayed acknowledgement. Bodies of GET and DELETE are read too; the Python SDK sends `{}` there,
and what is left unread would be taken for the next request.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import unquote

from reconciler.kernel.errors import ConfigError
from reconciler.simulator.core import Simulator
from reconciler.simulator.wire import Request, Response

_MAX_BODY: Final = 64 * 1024 * 1024


class Served:
    """A running server. A context manager; `close` also ends connections that are open and requests that are held."""

    def __init__(self, simulator: Simulator, server: _Server) -> None:
        self.simulator = simulator
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}"

    def close(self) -> None:
        self.simulator.faults.release()
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve(simulator: Simulator, *, port: int = 0, host: str = "127.0.0.1", allow_remote: bool = False) -> Served:
    """Serve on `host`; port 0 takes a free one. Raises ConfigError RC7010 for an address that others could reach.

    A simulator has a public key and an admin API without one, so it is for this machine only unless told otherwise.
    """
    if not allow_remote and not _is_loopback(host):
        raise ConfigError(
            f"the simulator would be reachable from other machines at {host}",
            code="RC7010",
            hint="Serve it on 127.0.0.1, or allow it explicitly: everybody who reaches it can change the world.",
        )
    try:
        return Served(simulator, _Server((host, port), simulator))
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            code="RC7011",
            hint="Another process has the port, or the address is not this machine's; port 0 takes a free one.",
        ) from error


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, address: tuple[str, int], simulator: Simulator) -> None:
        self.simulator = simulator
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that keep-alive clients hold."""
        with self._open_lock:
            sockets = list(self._open)
        for item in sockets:
            try:
                item.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client was faster

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away in the middle are normal here; anything else is shown by the base class."""
        import sys  # only needed on this path

        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_GET  # noqa: N815  # names of the base class

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Requests are counted and kept by the simulator; nothing goes to stderr."""

    def _serve(self) -> None:
        path, _, query = self.path.partition("?")
        request = Request(
            method=self.command,
            path=unquote(path),
            query=query,
            headers=dict(self.headers.items()),
            body=self._body(),
        )
        response = self.server.simulator.handle(request)
        self.server.simulator.clock.sleep(response.delay_ms / 1000)
        if response.drop in {"refused", "before", "after"}:
            self._hang_up()
            return
        self._write(response)
        if response.drop == "cut":
            self._hang_up()

    def _write(self, response: Response) -> None:
        """Head and body at once; a body that has a pace follows its head piece by piece."""
        if response.pace_bytes <= 0 or self.command == "HEAD":
            self.wfile.write(self._head(response) + (b"" if self.command == "HEAD" else response.arriving))
            return
        self.wfile.write(self._head(response))
        for piece in response.chunks():
            self.server.simulator.clock.sleep(response.pace_ms / 1000)
            self.wfile.write(piece)
            self.wfile.flush()

    def _body(self) -> bytes:
        if "chunked" in (self.headers.get("Transfer-Encoding") or "").lower():
            return self._chunks()
        length = int(self.headers.get("Content-Length") or 0)
        if length > _MAX_BODY:
            self.close_connection = True
            return b""
        return self.rfile.read(length)

    def _chunks(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline().split(b";")[0].strip() or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _head(self, response: Response) -> bytes:
        try:
            phrase = HTTPStatus(response.status).phrase
        except ValueError:
            phrase = ""
        lines = [f"HTTP/1.1 {response.status} {phrase}"]
        lines += [f"{name}: {value}" for name, value in response.headers.items()]
        if response.status != 204:
            lines.append(f"Content-Length: {len(response.body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _hang_up(self) -> None:
        """Close without a farewell. The client sees the connection end."""
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

"""The simulator as an httpx2 transport: the same answers without sockets or threads.

Waiting goes through the simulator's clock, so with a virtual clock a test of a 30-second timeout takes no time. An
answer that is later than the request's read timeout is lost, and its effect stays: the clock moves on by the timeout
and ReadTimeout is raised.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import httpx2

from reconciler.simulator.core import Simulator
from reconciler.simulator.wire import Request, Response

BASE_URL: Final = "http://scaleway.simulator"


class SimulatorTransport(httpx2.BaseTransport):
    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises ConnectError for a refused connection, ReadTimeout for a late answer, ReadError for a dropped one.

        A dropped request raises ReadError too: whoever sent it cannot tell whether it was executed.
        """
        response = self._simulator.handle(
            Request(
                method=request.method,
                path=request.url.path,
                query=request.url.query.decode("ascii"),
                headers=dict(request.headers.items()),
                body=request.read(),
            )
        )
        self._wait(response, request)
        if response.drop == "refused":
            raise httpx2.ConnectError("connection refused", request=request)
        if response.drop in {"before", "after"}:
            raise httpx2.ReadError("the connection was closed before the answer came", request=request)
        headers = [*response.headers.items(), ("Content-Length", str(len(response.body)))]
        stream: httpx2.SyncByteStream = httpx2.ByteStream(response.body)
        if response.drop == "cut":
            stream = _Cut(response.body[: response.cut_at], request)
        return httpx2.Response(response.status, headers=headers, stream=stream, request=request)

    def _wait(self, response: Response, request: httpx2.Request) -> None:
        timeout = request.extensions.get("timeout", {}).get("read")
        seconds = response.delay_ms / 1000
        if timeout is not None and seconds > timeout:
            self._simulator.clock.sleep(timeout)
            raise httpx2.ReadTimeout("the answer did not come in time", request=request)
        self._simulator.clock.sleep(seconds)


class _Cut(httpx2.SyncByteStream):
    """A body that ends before its announced length."""

    def __init__(self, part: bytes, request: httpx2.Request) -> None:
        self._part, self._request = part, request

    def __iter__(self) -> Iterator[bytes]:
        yield self._part
        raise httpx2.RemoteProtocolError("peer closed connection without sending complete message body")

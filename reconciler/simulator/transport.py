"""The simulator as an httpx2 transport: the same answers without sockets or threads.

Waiting goes through the simulator's clock, so with a virtual clock a test of a 30-second timeout takes no time. An
answer that is later than the request's read timeout is lost, and its effect stays: the clock moves on by the timeout
and ReadTimeout is raised.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import httpx2

from reconciler.kernel.clock import Clock
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
        if response.drop == "cut" or response.pace_bytes > 0:
            stream = _Arriving(response, request, self._simulator.clock)
        return httpx2.Response(response.status, headers=headers, stream=stream, request=request)

    def _wait(self, response: Response, request: httpx2.Request) -> None:
        timeout = request.extensions.get("timeout", {}).get("read")
        seconds = response.delay_ms / 1000
        if timeout is not None and seconds > timeout:
            self._simulator.clock.sleep(timeout)
            raise httpx2.ReadTimeout("the answer did not come in time", request=request)
        self._simulator.clock.sleep(seconds)


class _Arriving(httpx2.SyncByteStream):
    """A body that comes piece by piece, or ends before its announced length.

    A read timeout is about one piece, as it is on a socket: a body that trickles on never meets it.
    """

    def __init__(self, response: Response, request: httpx2.Request, clock: Clock) -> None:
        self._response, self._request, self._clock = response, request, clock

    def __iter__(self) -> Iterator[bytes]:
        timeout = self._request.extensions.get("timeout", {}).get("read")
        pause = self._response.pace_ms / 1000
        for piece in self._response.chunks():
            self._clock.sleep(pause if timeout is None else min(pause, timeout))
            if timeout is not None and pause > timeout:
                raise httpx2.ReadTimeout("the next part of the body did not come in time", request=self._request)
            yield piece
        if self._response.drop == "cut":
            message = "peer closed connection without sending complete message body"
            raise httpx2.RemoteProtocolError(message, request=self._request)

"""The simulated cloud of a demo: served by a thread of this process, so that it ends when this process does.

What happens to the world goes through the simulator's own API under `/_simulator/`, as anybody could send it.
"""

from __future__ import annotations

import json
import queue
import threading
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from reconciler.kernel.errors import InternalError, ReconcilerError
from reconciler.simulator.defaults import environment
from reconciler.simulator.serve import run

_SPEED: Final = 50.0  # a machine that takes 5 s to boot takes 0.1 s
_READY_SECONDS: Final = 20.0


class DemoWorld:
    """A running simulator; a context manager that ends it."""

    def __init__(self, *, clock_file: Path) -> None:
        self._clock_file = clock_file
        self._stop = threading.Event()
        self._told: queue.Queue[str | Exception] = queue.Queue()
        self._thread = threading.Thread(target=self._serve, name="demo-simulator", daemon=True)
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            told = self._told.get(timeout=_READY_SECONDS)
        except queue.Empty:
            raise InternalError("the simulator did not start", code="RC0152") from None
        if isinstance(told, Exception):
            raise told
        self.url = told
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=_READY_SECONDS)

    def environment(self) -> dict[str, str]:
        return environment(self.url)

    def mutate(self, **operation: Any) -> dict[str, Any]:
        """One operation of the simulator's strangers; the ids that it touched."""
        done = json.loads(self._call("POST", "mutate", operation))["done"]
        assert isinstance(done, list)
        return dict(done[0])

    def advance(self, hours: float) -> None:
        """Move the clock that the simulator and every command of the demo share."""
        self._call("POST", "clock", {"advance_seconds": hours * 3600})

    def objects(self, *ids: str) -> list[dict[str, Any]]:
        """These objects as the world holds them now, in the order of the world."""
        return [entry for entry in self._all() if entry.get("id") in ids]

    def named(self, name: str) -> list[dict[str, Any]]:
        return [entry for entry in self._all() if entry.get("name") == name]

    def _all(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._call("GET", "world").splitlines()]

    def _serve(self) -> None:
        try:
            run(speed=_SPEED, clock_file=self._clock_file, ready=self._told.put, stop=self._stop)
        except ReconcilerError as error:
            self._told.put(error)

    def _call(self, method: str, path: str, body: Any = None) -> str:
        request = urllib.request.Request(  # noqa: S310  # the URL is our own simulator's, on loopback
            f"{self.url}/_simulator/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        # No proxy: the address is loopback, and HTTP_PROXY may say otherwise.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=_READY_SECONDS) as answer:
            return str(answer.read().decode())

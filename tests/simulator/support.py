"""A simulator on a virtual clock, and a client of three lines: what most tests of this room need."""

from __future__ import annotations

import json
from typing import Any

from reconciler.kernel.clock import VirtualClock
from reconciler.simulator import SECRET_KEY, ZONE, FaultRule, Request, Response, Simulator, Timings, World
from reconciler.simulator.catalog import image_id
from reconciler.simulator.defaults import REGION

V1 = f"/instance/v1/zones/{ZONE}"
V2 = f"/instance/v2alpha1/zones/{ZONE}"
BLOCK = f"/block/v1/zones/{ZONE}"
IPAM = f"/ipam/v1/regions/{REGION}"
VPC = f"/vpc/v2/regions/{REGION}"


class Api:
    """`GET`, `POST`... against a simulator, with the default key unless another is named."""

    def __init__(
        self,
        world: World | None = None,
        *,
        timings: Timings | None = None,
        faults: list[FaultRule] | None = None,
        speed: float = 1.0,
        token: str | None = SECRET_KEY,
    ) -> None:
        self.clock = VirtualClock()
        self.world = world or World()
        self.simulator = Simulator(self.world, clock=self.clock, timings=timings, faults=faults or (), speed=speed)
        self.token = token

    def call(self, method: str, path: str, body: Any = None, *, query: str = "") -> Response:
        headers = {} if self.token is None else {"X-Auth-Token": self.token}
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        response = self.simulator.handle(Request(method=method, path=path, query=query, headers=headers, body=raw))
        assert self.simulator.crashes == []
        return response

    def get(self, path: str, query: str = "") -> Any:
        """The JSON of a 200."""
        response = self.call("GET", path, query=query)
        assert response.status == 200, response.body
        return response.json()

    def ok(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        """The JSON of the answer that is expected, None where it has no body."""
        response = self.call(method, path, body)
        assert response.status == status, response.body
        return response.json() if response.body else None

    def status(self, method: str, path: str, body: Any = None, *, query: str = "") -> int:
        return self.call(method, path, body, query=query).status

    def server(self, **extra: Any) -> Any:
        """A new, stopped server with an SBS root."""
        body = {"name": "w1", "commercial_type": "DEV1-S", "image": image_id("ubuntu_noble", zone=ZONE), **extra}
        return self.ok("POST", f"{V1}/servers", body, status=201)["server"]

    def act(self, server_id: str, action: str) -> Response:
        return self.call("POST", f"{V1}/servers/{server_id}/action", {"action": action})

    def running(self, **extra: Any) -> Any:
        """A running server."""
        server = self.server(**extra)
        assert self.act(server["id"], "poweron").status == 202
        self.clock.advance(60)
        return self.show(server["id"])

    def show(self, server_id: str) -> Any:
        return self.get(f"{V1}/servers/{server_id}")["server"]

    def ip(self, **extra: Any) -> Any:
        return self.ok("POST", f"{V1}/ips", extra, status=201)["ip"]

    def block_volume(self, **extra: Any) -> Any:
        """A new volume, available."""
        body = {"name": "data", "perf_iops": 5000, "from_empty": {"size": 10_000_000_000}, "tags": [], **extra}
        volume = self.ok("POST", f"{BLOCK}/volumes", body)
        self.clock.advance(10)
        return self.get(f"{BLOCK}/volumes/{volume['id']}")

    def network(self, **extra: Any) -> Any:
        return self.ok("POST", f"{VPC}/private-networks", {"name": "pn", **extra})

    def nic(self, server_id: str, network_id: str, **extra: Any) -> Any:
        body = {"server_id": server_id, "private_network_id": network_id, **extra}
        return self.ok("POST", f"{V2}/private-network-interfaces", body)

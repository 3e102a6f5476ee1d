"""A world of workers, a simulator on a virtual clock, and an HTTP client on its transport."""

from __future__ import annotations

from typing import Any

import httpx2

from reconciler.kernel.clock import VirtualClock
from reconciler.simulator import (
    SECRET_KEY,
    Simulator,
    SimulatorTransport,
    Timings,
    World,
    lie_from_json,
    populate,
    worldfile,
)
from reconciler.simulator.generate import Worker
from reconciler.simulator.transport import BASE_URL
from tests.simulator.support import BLOCK, IPAM, V1, V2

LISTS = {
    "server": (f"{V1}/servers", "servers", "per_page"),
    "ip": (f"{V1}/ips", "ips", "per_page"),
    "block_volume": (f"{BLOCK}/volumes", "volumes", "page_size"),
    "ipam_ip": (f"{IPAM}/ips", "ips", "page_size"),
    "private_nic": (f"{V2}/private-network-interfaces", "private_network_interfaces", "page_size"),
}


class Rig:
    def __init__(self, *, workers: int = 5, seed: int = 1, timings: Timings | None = None) -> None:
        self.clock = VirtualClock()
        self.cloud = World()
        self.made: list[Worker] = populate(self.cloud, servers=workers, tags=("fleet",))
        self.simulator = Simulator(self.cloud, clock=self.clock, seed=seed, timings=timings)
        self.http = httpx2.Client(
            transport=SimulatorTransport(self.simulator), base_url=BASE_URL, headers={"X-Auth-Token": SECRET_KEY}
        )

    def tell(self, kind: str, **keys: Any) -> None:
        self.simulator.lies.add(lie_from_json({"lie": kind, **keys}))

    def get(self, path: str, **query: Any) -> httpx2.Response:
        response = self.http.get(path, params=query)
        assert self.simulator.crashes == []
        return response

    def send(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        response = self.http.request(method, path, json=body)
        assert self.simulator.crashes == []
        return response

    def page(self, kind: str, number: int = 1, *, size: int = 2, **query: Any) -> tuple[list[str], int]:
        """(the ids of one page, the total that it names)."""
        path, name, parameter = LISTS[kind]
        response = self.get(path, **{"page": number, parameter: size, **query})
        assert response.status_code == 200, response.text
        body = response.json()
        total = response.headers.get("X-Total-Count", body.get("total_count"))
        return [item["id"] for item in body[name]], int(total)

    def ids(self, kind: str, **query: Any) -> list[str]:
        """Of one page of 100."""
        return self.page(kind, size=100, **query)[0]

    def server(self, number: int = 0) -> str:
        return f"{V1}/servers/{self.made[number].server}"

    def truth(self) -> str:
        with self.simulator.editing() as world:
            return worldfile.dump(world)

    def terminate(self, number: int = 0) -> httpx2.Response:
        return self.send("POST", f"{self.server(number)}/action", {"action": "terminate"})

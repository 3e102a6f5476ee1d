"""A stateful Scaleway on loopback or in process: state machines, what survives a server, faults by rule.

It exists because an emulator that answers at once and never fails proves nothing about a product whose job is to
survive what really happens: transitions that take a minute, two APIs that disagree, deletions that leave a volume
behind, a lost answer, a 403 that hides, a list that shifts while it is read. Shapes are those of recorded traffic;
what no recording shows is an assumption, and docs/simulator.md lists every one.

It shares no code with the product's client, on purpose: a misreading in one must not be confirmed by the other. Only
`cli`, `cases` and tests import it.

Where to begin::

    world = World()                                  # the state: tables of frozen records; empty, with one key
    simulator = Simulator(world, clock=..., randomness=..., speed=1000)
    simulator.handle(Request(method="GET", path="/instance/v1/zones/fr-par-1/servers", headers={...}))
    with simulator.editing() as world: ...           # look at the world, or change it, under the lock
    simulator.faults.add(FaultRule(method="POST", path="**/servers", nth=(1,), action="drop_answer"))
    simulator.lies.add(lie_from_json({"lie": "empty_list", "kinds": ["server"], "times": 3}))

    with serve(simulator) as server: server.url      # HTTP/1.1 on loopback
    httpx2.Client(transport=SimulatorTransport(simulator), base_url=BASE_URL)   # the same without sockets

`defaults` holds the key, project and zone of a fresh world; `generate.populate` fills one with workers; `worldfile`
reads and writes worlds as JSON Lines; `strangers` is what people do to a cloud behind everybody's back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reconciler.simulator.core import Simulator
from reconciler.simulator.defaults import ACCESS_KEY, ORGANIZATION_ID, PROJECT_ID, SECRET_KEY, ZONE
from reconciler.simulator.faults import FaultRule, rate_limited
from reconciler.simulator.generate import add_worker, populate
from reconciler.simulator.http import Served
from reconciler.simulator.keys import Key
from reconciler.simulator.lies import LIES, Lie, lie_from_json, lie_to_json, sample_lie

# From `serve`, not from `http`: loading that module sets the package's attribute `serve` to the module, once. This
# statement loads it and binds the function after that, so the function is what the name means from then on.
from reconciler.simulator.serve import run, serve
from reconciler.simulator.timings import Timings
from reconciler.simulator.wire import Request, Response
from reconciler.simulator.world import World, WorldOptions

if TYPE_CHECKING:
    from reconciler.simulator.transport import SimulatorTransport

__all__ = [
    "ACCESS_KEY",
    "LIES",
    "ORGANIZATION_ID",
    "PROJECT_ID",
    "SECRET_KEY",
    "ZONE",
    "FaultRule",
    "Key",
    "Lie",
    "Request",
    "Response",
    "Served",
    "Simulator",
    "SimulatorTransport",
    "Timings",
    "World",
    "WorldOptions",
    "add_worker",
    "lie_from_json",
    "lie_to_json",
    "populate",
    "rate_limited",
    "run",
    "sample_lie",
    "serve",
]


def __getattr__(name: str) -> Any:
    # The transport needs httpx2, which serving and world files do without.
    if name == "SimulatorTransport":
        from reconciler.simulator.transport import SimulatorTransport

        return SimulatorTransport
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

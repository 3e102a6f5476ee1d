"""The whole product on one virtual clock: the real client, store, observe, diff, plan and apply; a simulated cloud.

Only the engine is a fake, which refreshes by what the simulated cloud holds. One fleet of `replicas` machines is in
its state from the start, each with a flexible IP and an SBS root that nobody tagged.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reconciler.apply.journal import no_checkpoint
from reconciler.apply.runner import Applier
from reconciler.cloud.client import ScalewayCloud
from reconciler.cloud.credentials import Credentials, Secret
from reconciler.diff import diff
from reconciler.diff.remember import sweep_record
from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.executor import SerialExecutor
from reconciler.kernel.ids import Ids
from reconciler.kernel.randomness import SeededRandomness
from reconciler.model.finding import Finding, FindingKind
from reconciler.model.memory import Written
from reconciler.model.plan import Mode, Plan, RunOutcome
from reconciler.model.policy import Policies
from reconciler.model.scope import Ownership, Rail, Scope
from reconciler.model.state import StackState, StateResource
from reconciler.model.world import World
from reconciler.observe import observe
from reconciler.plan import build_plan, canonical, digest
from reconciler.ports.engine import ChildProcess, RefreshResult
from reconciler.ports.records import Records
from reconciler.records.native import NativeRecords
from reconciler.records.none import NoRecords
from reconciler.simulator import PROJECT_ID, SECRET_KEY, ZONE, Simulator, SimulatorTransport, Timings
from reconciler.simulator import World as CloudWorld
from reconciler.simulator.generate import BORN_MS, add_worker
from reconciler.simulator.strangers import mutate
from reconciler.simulator.transport import BASE_URL
from reconciler.store import SqlStore, open_store
from tests.fakes.engine import FakeEngine

SCOPE_UUID = "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c11"
STACK = "fleet/prod"
REVISION = "0123456789ab"
ELASTIC_UID = "9a1f0c3e-5b1d-4f57-8d7e-2a90b6f1c001"
OWNER = ("reconciler", f"reconciler:scope={SCOPE_UUID}")


def slot_tags(slot: int) -> tuple[str, ...]:
    return (*OWNER, "reconciler:fleet=linux", f"reconciler:slot={slot}", f"reconciler:revision={REVISION}")


def worker_tags(worker: str) -> tuple[str, ...]:
    return (*OWNER, "reconciler:fleet=burst", f"reconciler:worker={worker}", f"reconciler:revision={REVISION}")


def elastic_fleet() -> dict[str, Any]:
    return {
        "uid": ELASTIC_UID,
        "name": "burst",
        "controller": "elastic",
        "zone": ZONE,
        "minimum": 0,
        "maximum": 5,
        "revision": REVISION,
    }


@dataclass
class RefreshingEngine(FakeEngine):
    """Drops from the state what the cloud does not hold, as the real engine's refresh does."""

    simulator: Simulator | None = None
    before_refresh: Callable[[], None] = lambda: None

    def refresh(
        self,
        stack: str,
        urns: Collection[str],
        *,
        proved_absent: Collection[str],
        on_child: Callable[[ChildProcess], None],
    ) -> RefreshResult:
        assert self.simulator is not None
        on_child(ChildProcess(pid=1, started_ms=0, stack=stack, argv=("pulumi", "refresh")))
        self.before_refresh()
        with self.simulator.editing() as world:
            self.gone = {
                entry.urn
                for entry in self.states[stack].resources
                if entry.ref is not None and world.find(entry.ref.id) is None
            }
        result = super().refresh(stack, urns, proved_absent=proved_absent, on_child=on_child)
        state = self.states[stack]
        entries = tuple(self._taken_in(one) if one.urn in urns else one for one in state.resources)
        self.states[stack] = replace(state, resources=entries)
        return result

    def _taken_in(self, entry: StateResource) -> StateResource:
        """What the cloud says of the tags, as far as this fake goes."""
        assert self.simulator is not None
        assert entry.ref is not None
        with self.simulator.editing() as world:
            tags = list(getattr(world.find(entry.ref.id), "tags", ()))
        return replace(entry, outputs={**entry.outputs, "tags": tags}, inputs={**entry.inputs, "tags": tags})


@dataclass
class Rig:
    folder: Path
    url: str
    replicas: int = 3
    ownership: Ownership = Ownership.TWO_PROOFS
    timings: Timings = field(default_factory=Timings)
    elastic: bool = False  # an elastic fleet is declared as well, and rows are kept
    policies: Policies = field(default_factory=Policies)
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(start_ms=BORN_MS + 86_400_000))

    def __post_init__(self) -> None:
        self.simulator = Simulator(CloudWorld(), clock=self.clock, randomness=SeededRandomness(7), timings=self.timings)
        self.engine = RefreshingEngine(simulator=self.simulator)
        self.cloud = self.new_cloud()
        self.seed = random.Random(11)
        self.scope = Scope(
            name="ci",
            uuid=SCOPE_UUID,
            project=PROJECT_ID,
            zones=(ZONE,),
            stacks=(STACK,),
            ownership=self.ownership,
        )
        limits = replace(self.scope.limits, reconcile=Rail(count=50, percent=100.0, eur_month=5000.0))
        self.scope = replace(self.scope, limits=limits)
        self.store = self.new_store()
        self._declare()

    # -- parts

    def new_cloud(self) -> ScalewayCloud:
        credentials = Credentials(secret_key=Secret(SECRET_KEY), project=PROJECT_ID, api_url=BASE_URL)
        return ScalewayCloud(
            credentials,
            clock=self.clock,
            randomness=SeededRandomness(3),
            transport=SimulatorTransport(self.simulator),
            allow_plain_http=True,
        )

    def ids(self) -> Ids:
        return Ids(clock=self.clock, randomness=SeededRandomness(self.seed.getrandbits(32)))

    @property
    def records(self) -> Records:
        return NativeRecords(self.store) if self.elastic else NoRecords()

    def new_store(self) -> SqlStore:
        return open_store(self.url, clock=self.clock, ids=self.ids(), create=self.url.startswith("sqlite"))

    # -- the stack

    def _declare(self) -> None:
        self.workers = []
        resources: list[StateResource] = []
        with self.simulator.editing() as world:
            for slot in range(self.replicas):
                tags = slot_tags(slot)
                worker = add_worker(world, self.simulator.mint, name=f"linux-{slot}", tags=tags)
                self.workers.append(worker)
                ip = world.ips.get(worker.ip)
                assert ip is not None
                world.ips.put(replace(ip, tags=tags))
        for slot in range(self.replicas):
            resources += self.entries_of(slot)
        fleet = {
            "uid": "uid-1",
            "name": "linux",
            "controller": "static",
            "zone": ZONE,
            "replicas": self.replicas,
            "revision": REVISION,
            "commercial_type": "DEV1-S",
        }
        fleets = [fleet, elastic_fleet()] if self.elastic else [fleet]
        self.engine.add(
            StackState(
                stack=STACK,
                serial="1",
                read_ms=self.clock.now_ms(),
                resources=tuple(resources),
                outputs={"reconciler": {"schema_version": 1, "scope": SCOPE_UUID, "fleets": fleets}},
            )
        )

    def entries_of(self, slot: int) -> list[StateResource]:
        """The state entries of a worker, as the provider writes them for what the cloud holds now."""
        worker = self.workers[slot]
        with self.simulator.editing() as world:
            server, root = world.servers.get(worker.server), world.block_volumes.get(worker.root)
            ip = world.ips.get(worker.ip)
        assert server is not None
        assert root is not None
        assert ip is not None
        prefix = "urn:pulumi:prod::fleet::reconciler:fleet:WorkerFleet$"
        outputs: dict[str, Any] = {
            "name": server.name,
            "type": server.commercial_type,
            "tags": list(server.tags),
            "state": "started",
            "image": "ubuntu_noble",
            "bootType": "local",
            "enableDynamicIp": False,
            "protected": False,
            "securityGroupId": f"{ZONE}/{server.security_group}",
            "publicIps": [{"id": f"{ZONE}/{ip.id}", "dynamic": False}],
            "rootVolume": {
                "volumeId": f"{ZONE}/{root.id}",
                "sizeInGb": root.size // 10**9,
                "name": root.name,
                "sbsIops": root.perf_iops,
            },
            "privateNetworks": [],
            "projectId": server.project,
        }
        return [
            StateResource(
                urn=f"{prefix}scaleway:instance/server:Server::linux-{slot}",
                type="scaleway:instance/server:Server",
                id=f"{ZONE}/{server.id}",
                custom=True,
                inputs={"tags": list(server.tags), "state": "started"},
                outputs=outputs,
            ),
            StateResource(
                urn=f"{prefix}scaleway:instance/ip:Ip::linux-{slot}",
                type="scaleway:instance/ip:Ip",
                id=f"{ZONE}/{ip.id}",
                custom=True,
                inputs={"tags": list(ip.tags)},
                outputs={"tags": list(ip.tags), "type": ip.type, "reverse": "", "projectId": ip.project},
            ),
        ]

    # -- what users do

    def sweep(self, *, trigger: str = "drift") -> tuple[World, tuple[Finding, ...]]:
        self.sweep_world = observe(
            scope=self.scope,
            cloud=self.cloud,
            engine=self.engine,
            memory=self.store.memory(self.scope.uuid),
            clock=self.clock,
            executor=SerialExecutor(),
            ids=self.ids(),
            records=self.records,
            policies=self.policies,
        )
        findings = diff(self.sweep_world)
        self.written: Written = self.store.record_sweep(sweep_record(self.sweep_world, findings, trigger=trigger))
        return self.sweep_world, findings

    def plan(self, *, mode: Mode = Mode.PRUNE) -> Plan:
        world, findings = self.sweep(trigger="plan")
        plan = build_plan(world, findings, mode=mode, ids=self.ids())
        self.store.register_plan(plan, digest=digest(plan), canonical=canonical(plan))
        return plan

    def applier(self, checkpoint: Callable[[str], None] = no_checkpoint, **kwargs: Any) -> Applier:
        return Applier(
            scope=self.scope,
            cloud=self.cloud,
            engine=self.engine,
            store=self.store,
            clock=self.clock,
            ids=self.ids(),
            executor=SerialExecutor(),
            holder="test:1",
            checkpoint=checkpoint,
            heartbeat=False,
            records=self.records,
            **kwargs,
        )

    def apply(self, *, mode: Mode = Mode.PRUNE) -> RunOutcome:
        return self.applier().apply(self.plan(mode=mode))

    # -- what the world does

    def stranger(self, op: str, **args: Any) -> dict[str, Any]:
        with self.simulator.editing() as world:
            return mutate(world, self.simulator.mint, {"op": op, **args}, now_ms=self.clock.now_ms())

    def exists(self, record_id: str) -> bool:
        with self.simulator.editing() as world:
            return world.find(record_id) is not None

    def picture(self) -> str:
        """Everything that the cloud and the state hold, in one comparable text."""
        with self.simulator.editing() as world:
            cloud = {
                kind: sorted((record.id, sorted(getattr(record, "tags", ()))) for record in table)
                for kind, table in world.tables().items()
            }
        state = {name: sorted(entry.urn for entry in held.resources) for name, held in self.engine.states.items()}
        return json.dumps({"cloud": cloud, "state": state}, sort_keys=True)

    def kinds(self, findings: tuple[Finding, ...]) -> list[str]:
        return [f"{one.kind}:{one.verdict}" for one in findings if one.kind is not FindingKind.UNMANAGED]

"""A whole fake world for the command line, and the things that may be in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from reconciler.cli.composition import Runtime, make_records
from reconciler.cli.options import Globals
from reconciler.config.settings import OutputSettings, PolicySettings, PulumiSettings, Settings, StateSettings
from reconciler.kernel.clock import Clock, VirtualClock
from reconciler.kernel.errors import ReconcilerError
from reconciler.kernel.executor import Executor, SerialExecutor
from reconciler.kernel.randomness import Randomness, SeededRandomness
from reconciler.model.resources import Ip, Server
from reconciler.model.scope import FleetMatch, Limits, Ownership, Scope
from reconciler.model.state import StackState, StateResource
from reconciler.plan import digest, load
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import Engine
from reconciler.ports.records import Records
from reconciler.ports.store import Lease, Store
from tests.fakes.cloud import PROJECT, ZONE, FakeCloud
from tests.fakes.engine import FakeEngine
from tests.fakes.store import FakeStore

STACK: Final = "demo/dev"
HOUR_MS: Final = 3_600_000


def scope_named(name: str, number: int = 1) -> Scope:
    return Scope(
        name=name,
        uuid=f"{number:08d}-9999-4999-8999-999999999999",
        project=PROJECT,
        zones=(ZONE,),
        stacks=(STACK,),
        ownership=Ownership.TAGS,
    )


@dataclass
class FakeWorld:
    """Adapters over fakes. `broken_clouds` (scope name -> error) and `broken_store` are raised when they are made."""

    clock_now: VirtualClock = field(default_factory=VirtualClock)
    scopes: tuple[Scope, ...] = field(default_factory=lambda: (scope_named("demo"),))
    engine_port: FakeEngine = field(default_factory=FakeEngine)
    broken_clouds: dict[str, ReconcilerError] = field(default_factory=dict)
    broken_store: ReconcilerError | None = None
    schema_text: str | None = "sqlite:///fake.db has schema 0001"
    lease_held: Lease | None = None
    output: OutputSettings = field(default_factory=OutputSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    records_adapter: str = "none"
    database_url: str | None = "sqlite:///fake.db"

    def __post_init__(self) -> None:
        self.cloud_port = FakeCloud(clock=self.clock_now)
        now = self.clock_now.now_ms()
        self.store_port = FakeStore(clock=self.clock_now, first_complete_ms=now - 24 * HOUR_MS)
        self.engine_port.add(StackState(stack=STACK, serial="s1", read_ms=now))

    # -- the adapters

    def clock(self) -> Clock:
        return self.clock_now

    def randomness(self) -> Randomness:
        return SeededRandomness(1)

    def executor(self) -> Executor:
        return SerialExecutor()

    def settings(self, options: Globals, *, need_scopes: bool) -> Settings:
        return Settings(
            scopes=self.scopes,
            state=StateSettings(stacks=(STACK,), work_dir=Path.cwd()),
            pulumi=PulumiSettings(),
            output=self.output,
            policy=self.policy,
            records_adapter=self.records_adapter,
            limits=Limits(),
            database_url=self.database_url,
        )

    def cloud(self, scope: Scope, runtime: Runtime) -> Cloud:
        if scope.name in self.broken_clouds:
            raise self.broken_clouds[scope.name]
        return self.cloud_port

    def engine(self, runtime: Runtime) -> Engine:
        return self.engine_port

    def store(self, runtime: Runtime) -> Store:
        if self.broken_store is not None:
            raise self.broken_store
        return self.store_port

    def records(self, runtime: Runtime, store: Store | None, reason: str | None) -> Records:
        return make_records(self.records_adapter, store, reason)

    def schema(self, runtime: Runtime) -> str | None:
        return self.schema_text

    def lease(self, scope: Scope, runtime: Runtime) -> Lease | None:
        return self.lease_held

    # -- what may be in it

    @property
    def scope(self) -> Scope:
        return self.scopes[0]

    @property
    def owner_tags(self) -> tuple[str, ...]:
        return ("reconciler", f"reconciler:scope={self.scope.uuid}", "reconciler:fleet=linux", "reconciler:slot=0")

    def leftover_ip(self, number: int = 1, *, age_ms: int = 24 * HOUR_MS) -> Ip:
        """An address with our tags that nothing holds, seen without an owner since it was made."""
        ip = Ip(
            id=f"aaaa{number:04d}-0000-4000-8000-000000000000",
            zone=ZONE,
            project=PROJECT,
            tags=self.owner_tags,
            created_ms=self.clock_now.now_ms() - age_ms,
            address=f"51.15.0.{number}",
        )
        self.cloud_port.add(ip)
        self.store_port.unowned[ip.ref] = self.clock_now.now_ms() - age_ms
        return ip

    def stranger(self, name: str = "bastion", number: int = 1) -> Server:
        """A running server of somebody else's."""
        server = Server(
            id=f"bbbb{number:04d}-0000-4000-8000-000000000000",
            zone=ZONE,
            project=PROJECT,
            name=name,
            state="running",
            commercial_type="DEV1-S",
            created_ms=self.clock_now.now_ms() - 24 * HOUR_MS,
        )
        self.cloud_port.add(server)
        return server

    def stranger_with_one_signal(self) -> Server:
        """A running server whose name alone says that it may be ours: a person decides."""
        match = FleetMatch(name="linux", names=("ci-linux-*",), require=1)
        self.scopes = (replace(self.scope, fleets=(match,)), *self.scopes[1:])
        server = self.stranger("ci-linux-1", 2)
        self.store_port.unowned[server.ref] = server.created_ms or 0
        return server

    def begin_run(self, plan_file: str) -> None:
        """A run of this plan that was killed before its first action."""
        text = Path(plan_file).read_text(encoding="utf-8")
        plan = load(text)
        lease = self.store_port.acquire_lease("x", holder="killed", ttl_seconds=1)
        self.store_port.begin_run(run_id="killed", plan=plan, digest=digest(plan), canonical=text, lease=lease)

    def vanished_ip(self, number: int = 1) -> StateResource:
        """An address that the state holds and the cloud does not."""
        identity = f"cccc{number:04d}-0000-4000-8000-000000000000"
        entry = StateResource(
            urn=f"urn:pulumi:dev::demo::scaleway:instance/ip:Ip::gone-{number}",
            type="scaleway:instance/ip:Ip",
            id=f"{ZONE}/{identity}",
            custom=True,
            outputs={"projectId": PROJECT, "tags": []},
        )
        state = self.engine_port.states[STACK]
        self.engine_port.add(replace(state, resources=(*state.resources, entry)))
        self.engine_port.gone.add(entry.urn)
        return entry

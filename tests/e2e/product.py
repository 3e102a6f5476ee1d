"""The product's rooms tied together for one environment: the real client, engine, store, observe, diff, plan, apply.

What `reconciler.cli` does behind a command, without the command; the environment is that of `Rig.env`, here or in a
child process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from reconciler.apply.journal import no_checkpoint
from reconciler.apply.runner import Applier
from reconciler.cloud.client import ScalewayCloud
from reconciler.cloud.credentials import Credentials, Secret
from reconciler.diff import diff
from reconciler.diff.remember import sweep_record
from reconciler.engine.adapter import PulumiEngine
from reconciler.engine.cli import EngineLimits
from reconciler.kernel.clock import SharedClock
from reconciler.kernel.executor import ThreadExecutor
from reconciler.kernel.ids import Ids
from reconciler.kernel.randomness import SeededRandomness, SystemRandomness
from reconciler.model.finding import Finding
from reconciler.model.memory import Memory
from reconciler.model.plan import Mode, Plan
from reconciler.model.scope import Ownership, Rail, Scope
from reconciler.model.world import World
from reconciler.observe import observe
from reconciler.plan import build_plan, canonical, digest
from reconciler.simulator import PROJECT_ID, ZONE
from reconciler.store import SqlStore, open_store

SCOPE_UUID: Final = "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c11"
PROJECT: Final = "fleet"
STACK: Final = f"{PROJECT}/prod"
LIMITS: Final = EngineLimits(
    read_seconds=120, preview_seconds=120, refresh_seconds=120, await_seconds=60, grace_seconds=20
)


def scope() -> Scope:
    """One zone, one stack, a project of the fleet's own; rails that a small world does not meet."""
    made = Scope(
        name="ci", uuid=SCOPE_UUID, project=PROJECT_ID, zones=(ZONE,), stacks=(STACK,), ownership=Ownership.TAGS
    )
    return replace(made, limits=replace(made.limits, reconcile=Rail(count=50, percent=100.0, eur_month=5000.0)))


@dataclass(frozen=True)
class Product:
    """`directory` is where reading Pulumi commands run."""

    env: Mapping[str, str]
    directory: Path

    @property
    def clock(self) -> SharedClock:
        return SharedClock(Path(self.env["RECONCILER_CLOCK_FILE"]))

    def ids(self) -> Ids:
        return Ids(clock=self.clock, randomness=SystemRandomness())

    def engine(self) -> PulumiEngine:
        return PulumiEngine(env=self.env, directory=self.directory, clock=self.clock, limits=LIMITS)

    def cloud(self) -> ScalewayCloud:
        credentials = Credentials(
            secret_key=Secret(self.env["SCW_SECRET_KEY"]), project=PROJECT_ID, api_url=self.env["SCW_API_URL"]
        )
        return ScalewayCloud(credentials, clock=self.clock, randomness=SeededRandomness(3))

    def store(self) -> SqlStore:
        url = self.env["RECONCILER_DATABASE_URL"]
        return open_store(url, clock=self.clock, ids=self.ids(), create=url.startswith("sqlite"))

    def look(self, memory: Memory | None = None) -> tuple[World, tuple[Finding, ...]]:
        """Observe and diff; nothing is written."""
        with self.cloud() as cloud:
            world = observe(
                scope=scope(),
                cloud=cloud,
                engine=self.engine(),
                memory=memory or Memory(),
                clock=self.clock,
                executor=ThreadExecutor(workers=4),
                ids=self.ids(),
            )
        return world, diff(world)

    def sweep(self, store: SqlStore, *, trigger: str = "drift") -> tuple[World, tuple[Finding, ...]]:
        """The same with the memory of `store`, and remembered in it."""
        world, findings = self.look(store.memory(SCOPE_UUID))
        store.record_sweep(sweep_record(world, findings, trigger=trigger))
        return world, findings

    def plan(self, store: SqlStore, *, mode: Mode = Mode.PRUNE) -> Plan:
        """A registered plan of a fresh sweep."""
        world, findings = self.sweep(store, trigger="plan")
        plan = build_plan(world, findings, mode=mode, ids=self.ids())
        store.register_plan(plan, digest=digest(plan), canonical=canonical(plan))
        return plan

    def applier(
        self, store: SqlStore, cloud: ScalewayCloud, *, checkpoint: Callable[[str], None] = no_checkpoint, **given: Any
    ) -> Applier:
        return Applier(
            scope=scope(),
            cloud=cloud,
            engine=self.engine(),
            store=store,
            clock=self.clock,
            ids=self.ids(),
            executor=ThreadExecutor(workers=4),
            holder="tests:1",
            checkpoint=checkpoint,
            **given,
        )

"""A world, mounted: the real client, store, observe, diff, plan and apply over it, on one virtual clock."""

from __future__ import annotations

import atexit
import itertools
import random
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import event, text

from reconciler.apply.runner import Applier
from reconciler.cloud.client import ScalewayCloud
from reconciler.cloud.credentials import Credentials, Secret
from reconciler.diff import diff
from reconciler.diff.exit import sweep_exit
from reconciler.diff.remember import sweep_record
from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.executor import SerialExecutor
from reconciler.kernel.ids import Ids
from reconciler.kernel.randomness import SeededRandomness
from reconciler.model.desired import FleetSpec
from reconciler.model.finding import Finding
from reconciler.model.memory import Release, SweepRecord
from reconciler.model.plan import Mode, Plan, RunOutcome
from reconciler.model.records import NewWorker
from reconciler.model.resources import Kind, Ref
from reconciler.model.state import Lock
from reconciler.model.world import World
from reconciler.observe import observe
from reconciler.plan import build_plan, canonical, digest
from reconciler.ports.records import Records
from reconciler.records.native import NativeRecords
from reconciler.simulator import SECRET_KEY, FaultRule, Simulator, SimulatorTransport
from reconciler.simulator.transport import BASE_URL
from reconciler.store import SqlStore, upgrade, urls
from reconciler.store.engine import make_engine
from reconciler.store.unit import Database
from tests.worlds.conditions import UNREAD_STACK
from tests.worlds.draft import BORN, MAIN, NOW, Row
from tests.worlds.engine import WorldEngine, decode
from tests.worlds.generate import GeneratedWorld

_BROKEN = {"ip": "/instance/v1/zones/{}/ips", "instance_volume": "/instance/v1/zones/{}/volumes"}


@cache
def _folder() -> Path:
    """Databases of this process: one migrated template, and a copy for each world."""
    folder = Path(tempfile.mkdtemp(prefix="reconciler-worlds-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    upgrade(f"sqlite:///{folder / 'template.db'}")
    return folder


_NUMBERS = itertools.count()


def _without_fsync(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA synchronous=OFF")


@dataclass
class Site:
    """Everything that one run needs. `close` when done."""

    made: GeneratedWorld
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(start_ms=NOW))

    def __post_init__(self) -> None:
        seed = self.made.recipe.seed
        self.simulator = Simulator(self.made.cloud, clock=self.clock, randomness=SeededRandomness(seed))
        self.scope = self.made.scope
        self._seed = random.Random(seed)
        self.engine = WorldEngine(
            simulator=self.simulator,
            clock=self.clock,
            undeclared=self.made.undeclared,
            runs_programs=self.made.recipe.program,
        )
        for name, document in self.made.checkpoints.items():
            self.engine.add(decode(name, document, read_ms=NOW))
        self._path = _folder() / f"{next(_NUMBERS)}.db"
        shutil.copyfile(_folder() / "template.db", self._path)
        self.store = self._store()
        self.begin_command()
        self._remember()
        self._begin_condition()

    def _store(self) -> SqlStore:
        parsed = urls.parse(f"sqlite:///{self._path}")
        engine = make_engine(parsed)
        event.listen(engine, "connect", _without_fsync)
        return SqlStore(Database(engine, parsed, clock=self.clock), clock=self.clock, ids=self.ids())

    def begin_command(self) -> None:
        """Each command is a process of its own, with a client of its own."""
        self.cloud = self._client()

    def _client(self) -> ScalewayCloud:
        credentials = Credentials(secret_key=Secret(SECRET_KEY), project=self.scope.project, api_url=BASE_URL)
        return ScalewayCloud(
            credentials,
            clock=self.clock,
            randomness=SeededRandomness(self._seed.getrandbits(32)),
            transport=SimulatorTransport(self.simulator),
            allow_plain_http=True,
        )

    def ids(self) -> Ids:
        return Ids(clock=self.clock, randomness=SeededRandomness(self._seed.getrandbits(32)))

    def close(self) -> None:
        self.store.close()
        for path in self._path.parent.glob(f"{self._path.name}*"):
            path.unlink()

    # -- what was before

    def _remember(self) -> None:
        """An earlier, complete sweep, and what earlier runs decided."""
        memory, scope = self.made.memory, self.scope.uuid
        self.store.record_sweep(
            SweepRecord(
                sweep_id="an-earlier-sweep",
                scope=scope,
                trigger="drift",
                started_ms=BORN,
                finished_ms=BORN,
                complete=True,
                scans=(),
                counts={},
                serials={},
                summary={},
                new_lineage=tuple(memory.lineage),
                newly_unowned=memory.unowned,
            )
        )
        for ref in memory.held:
            self.store.hold_for_adoption(scope=scope, ref=ref, stack="ci/prod", urn=f"urn:adopting:{ref.id}")
        releases = [
            Release(ref=ref, with_id=ref.id, stack="ci/prod", urn=f"urn:released:{label}")
            for ref, label in memory.released
        ]
        if releases:
            self.store.begin_release(scope, releases, by="a person", reason="theirs now")
            self.store.finish_release(scope, [one.ref for one in releases])
        if memory.doomed:
            self._doom()
        if memory.rows:
            self._employ()

    def _doom(self) -> None:
        lease = self.store.acquire_lease("earlier", holder="earlier", ttl_seconds=60)
        for target, children in self.made.memory.doomed:
            self.store.decide_deletion(
                scope=self.scope.uuid,
                project=self.scope.project,
                target=target,
                children=children,
                reason="decided by an earlier run",
                finding_id=f"{target.id}",
                hour_nanos=1,
                lease=lease,
                per_hour=10_000,
            )
        self.store.release_lease(lease)

    def _employ(self) -> None:
        """The rows of workers: those with a machine by the product's own way, the others as a provisioner commits
        them right before it sends its create."""
        lease = self.store.acquire_lease("earlier", holder="earlier", ttl_seconds=60)
        for row in self.made.memory.rows:
            fleet = _declared(row)
            if row.machine is not None:
                machine = Ref(Kind.SERVER, row.zone, row.machine)
                new = NewWorker(id=row.id, zone=row.zone, revision=fleet.revision, machine=machine)
                self.store.workers.record(self.scope.uuid, new, fleet=fleet, lease=lease)
                self._sql("UPDATE workers SET state = :state WHERE id = :id", id=row.id, state=row.state)
                continue
            self._sql(
                "INSERT INTO fleets (id, scope_id, name, stack, controller, revision, declared_ms) "
                "VALUES (:id, :scope, :name, :stack, 'elastic', :revision, 1)",
                id=fleet.uid,
                scope=self.scope.uuid,
                name=fleet.name,
                stack=fleet.stack,
                revision=fleet.revision,
            )
            self._sql(
                "INSERT INTO workers (id, scope_id, fleet_id, zone, revision, state, create_sent_ms, changed_ms) "
                "VALUES (:id, :scope, :fleet, :zone, :revision, :state, :sent, :sent)",
                id=row.id,
                scope=self.scope.uuid,
                fleet=fleet.uid,
                zone=row.zone,
                revision=fleet.revision,
                state=row.state,
                sent=row.sent_ms,
            )
        self.store.release_lease(lease)

    def _sql(self, statement: str, **values: Any) -> None:
        self.store.database.write("by hand", lambda connection: connection.execute(text(statement), values))

    @property
    def records(self) -> Records:
        return NativeRecords(self.store)

    # -- the condition

    def _begin_condition(self) -> None:
        condition = self.made.recipe.condition
        if condition.unread:
            self.engine.unreadable[UNREAD_STACK] = "the backend answered 500"
        if condition.locked is not None:
            self._lock(condition.locked, (Lock(created_by="somebody@elsewhere", pid=7),))
        if condition.broken is not None:
            kind, zone = condition.broken
            rule = FaultRule(name="broken", method="GET", path=_BROKEN[kind.value].format(zone), status=503)
            self.simulator.faults.set([rule])

    def end_condition(self) -> None:
        condition = self.made.recipe.condition
        if condition.unread:
            self.engine.unreadable.clear()
            self.scope = replace(self.scope, stacks=tuple(one for one in self.scope.stacks if one != UNREAD_STACK))
        if condition.locked is not None:
            self._lock(condition.locked, ())
        if condition.broken is not None:
            self.simulator.faults.set([])

    def _lock(self, stack: str, locks: tuple[Lock, ...]) -> None:
        self.engine.states[stack] = replace(self.engine.states[stack], locks=locks)

    # -- what users do

    def sweep(self, *, trigger: str = "drift") -> tuple[World, tuple[Finding, ...]]:
        world = observe(
            scope=self.scope,
            cloud=self.cloud,
            engine=self.engine,
            memory=self.store.memory(self.scope.uuid),
            clock=self.clock,
            executor=SerialExecutor(),
            ids=self.ids(),
            program=self.made.recipe.program,
            records=self.records,
        )
        findings = diff(world)
        self.store.record_sweep(sweep_record(world, findings, trigger=trigger))
        return world, findings

    def plan(self, world: World, findings: tuple[Finding, ...]) -> Plan:
        plan = build_plan(world, findings, mode=Mode.PRUNE, ids=self.ids())
        self.store.register_plan(plan, digest=digest(plan), canonical=canonical(plan))
        return plan

    def apply(self, plan: Plan) -> RunOutcome:
        return self._applier().apply(plan)

    def resume(self) -> RunOutcome | None:
        return self._applier().resume()

    def _applier(self) -> Applier:
        return Applier(
            scope=self.scope,
            cloud=self.cloud,
            engine=self.engine,
            store=self.store,
            clock=self.clock,
            ids=self.ids(),
            executor=SerialExecutor(),
            holder="worlds:1",
            heartbeat=False,
            records=self.records,
        )

    # -- the truth

    def picture(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Id -> (kind, tags) of everything that truly exists now."""
        with self.simulator.editing() as world:
            return {
                record.id: (kind, tuple(getattr(record, "tags", ())))
                for kind, table in world.tables().items()
                for record in table
            }

    def ended(self) -> Mapping[str, str | None]:
        """Worker -> the deletion by which its row ended, None for one that ended without."""
        with self.store.database.engine.connect() as connection:
            rows = connection.exec_driver_sql("SELECT id, deletion_id FROM worker_tombstones").all()
        return {row[0]: row[1] for row in rows}

    def finalised(self) -> list[tuple[str, tuple[Ref, ...]]]:
        """Deletions that are closed: id, and what each of them says is gone."""
        with self.store.database.engine.connect() as connection:
            rows = connection.exec_driver_sql("SELECT id FROM deletion_claims WHERE finished_ms IS NOT NULL")
            ids = [str(row[0]) for row in rows]
        found = [self.store.deletion_of(one) for one in ids]
        return [(one.id, tuple(ref for ref in one.refs if ref not in one.struck)) for one in found if one is not None]


def _declared(row: Row) -> FleetSpec:
    known = {key: row.fleet[key] for key in ("uid", "name", "controller", "zone", "revision", "minimum", "maximum")}
    return FleetSpec(stack=MAIN, **known)


def status(world: World, findings: tuple[Finding, ...]) -> int:
    return sweep_exit(world, findings)

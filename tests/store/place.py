"""A database of its own for one test, and what tests do with it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine, create_engine, event, text

from reconciler.kernel.clock import Clock, VirtualClock
from reconciler.kernel.ids import Ids
from reconciler.kernel.randomness import SeededRandomness
from reconciler.model.resources import Kind, Ref
from reconciler.model.warrant import Warrant
from reconciler.ports.store import Lease
from reconciler.store import SqlStore, urls
from reconciler.store.check import broken_promises
from reconciler.store.engine import make_engine
from reconciler.store.unit import Database
from tools.postgres import find_server

SCOPE = "0f0e4bb1-0000-4000-8000-000000000001"
OTHER_SCOPE = "0f0e4bb1-0000-4000-8000-000000000002"
PROJECT = "11111111-2222-4333-8444-555555555555"
ZONE = "fr-par-1"
SERVER_VARIABLE = "RECONCILER_TEST_POSTGRES_URL"

HAS_POSTGRES = bool(os.environ.get(SERVER_VARIABLE)) or find_server() is not None


def ref(number: int, kind: Kind = Kind.SERVER) -> Ref:
    return Ref(kind, ZONE, f"00000000-0000-4000-8000-{number:012d}")


def make_ids(seed: int = 1, clock: Clock | None = None) -> Ids:
    return Ids(clock=clock or VirtualClock(), randomness=SeededRandomness(seed))


def _no_fsync(connection: Any, _record: Any) -> None:
    """No test here loses power; the setting itself has a test of its own."""
    connection.execute("PRAGMA synchronous=OFF")


@dataclass
class Place:
    """`sql` and `rows` are a second program's view: their own connection, committed at once."""

    url: str
    clock: VirtualClock = field(default_factory=VirtualClock)
    _stores: list[SqlStore] = field(default_factory=list)
    _engine: Engine | None = None
    _seed: int = 0

    @property
    def is_postgres(self) -> bool:
        return self.url.startswith("postgresql")

    def store(self, *, clock: Clock | None = None, busy_timeout_ms: int = 5_000) -> SqlStore:
        """Another process on the same database: an engine, a pool and ids of its own."""
        self._seed += 1
        parsed = urls.parse(self.url)
        clock = clock or self.clock
        engine = make_engine(parsed, busy_timeout_ms=busy_timeout_ms)
        if not self.is_postgres:
            event.listen(engine, "connect", _no_fsync)
        database = Database(engine, parsed, clock=clock)
        store = SqlStore(database, clock=clock, ids=make_ids(self._seed, clock))
        self._stores.append(store)
        return store

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = create_engine(urls.parse(self.url))
        return self._engine

    def sql(self, statement: str, **values: Any) -> int:
        with self.engine.begin() as connection:
            return int(connection.execute(text(statement), values).rowcount)

    def rows(self, query: str, **values: Any) -> Sequence[Any]:
        with self.engine.connect() as connection:
            return connection.execute(text(query), values).all()

    def count(self, table: str, where: str = "1 = 1") -> int:
        return int(self.rows(f"SELECT count(*) FROM {table} WHERE {where}")[0][0])

    def broken(self) -> dict[str, list[str]]:
        with self.engine.connect() as connection:
            return broken_promises(connection)

    def without_composite_key(self) -> None:
        """Take the database's own refusal away, to see the layer above it work alone."""
        if self.is_postgres:
            self.sql("ALTER TABLE adoptions DROP CONSTRAINT fk_adoptions_resource_id_resource_live")
            return
        raise AssertionError("SQLite cannot drop a constraint: switch foreign_keys off instead")

    def without_eligibility(self) -> None:
        """Take the view's clause about holds away, to see the composite key work alone."""
        self.sql("DROP VIEW orphan_resources")
        self.sql(
            "CREATE VIEW orphan_resources AS SELECT r.id, r.scope_id, r.kind, r.zone, r.provider_id, r.noted_ms "
            "FROM provider_resources r WHERE r.live = 1"
        )

    def close(self) -> None:
        for store in self._stores:
            store.close()
        if self._engine is not None:
            self._engine.dispose()


def lead(store: SqlStore, holder: str = "first", ttl_seconds: float = 60.0) -> Lease:
    return store.acquire_lease(SCOPE, holder=holder, ttl_seconds=ttl_seconds)


def decide(
    store: SqlStore,
    lease: Lease,
    target: Ref,
    *children: Ref,
    scope: str = SCOPE,
    per_hour: int = 100,
) -> Warrant:
    return store.decide_deletion(
        scope=scope,
        project=PROJECT,
        target=target,
        children=children,
        reason="held by no ledger",
        finding_id="f" * 32,
        hour_nanos=1_000,
        lease=lease,
        per_hour=per_hour,
    )


def hold(store: SqlStore, held: Ref, urn: str = "urn:a", scope: str = SCOPE) -> str:
    return store.hold_for_adoption(scope=scope, ref=held, stack="ci/prod", urn=urn)

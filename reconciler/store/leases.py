"""The lease: who may write for a scope, with a token that rises with every takeover.

It saves double work; it is not what makes a deletion safe (rule 13). Expiry is read from one clock: the database's own
on PostgreSQL (`clock_timestamp()`, because `now()` stands still inside a transaction), the injected clock on SQLite,
where every writer is on one host. `Lease.expires_ms` is on that clock: a holder measures its own deadline with a
monotonic clock that it started before it asked.

`fence` is called inside every decision, strike, extension and finalisation. It locks the row FOR SHARE, so that a
takeover waits for the transaction that it would outrun, and a stale holder finds its token gone. Tokens of different
names cannot be compared: a scope has one lease name.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, cast, extract, func, literal, or_, select, update

from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import NotLeaderError
from reconciler.ports.store import Lease
from reconciler.store.locks import Lock, insert_missing, locked
from reconciler.store.tables import leases
from reconciler.store.unit import Database


class Leases:
    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def acquire(self, name: str, *, holder: str, ttl_seconds: float) -> Lease:
        """Raises NotLeaderError RC0750 while somebody holds it, the same holder included: tokens are not shared."""

        def work(connection: Connection) -> Lease:
            empty = {"name": name, "holder": None, "token": 0, "renewed_ms": 0, "expires_ms": 0, "ttl_ms": 0}
            insert_missing(connection, leases, [empty])
            now = self._now(connection)
            free = or_(leases.c.holder.is_(None), leases.c.expires_ms <= now)
            got = self._set(connection, leases.c.name == name, free, holder=holder, ttl=ttl_seconds, step=1)
            if got is None:
                raise self._taken(connection, name)
            return got

        return self._database.write("acquire_lease", work)

    def renew(self, lease: Lease, *, ttl_seconds: float) -> Lease:
        """Raises NotLeaderError RC0751 when somebody took it over, or it was released."""

        def work(connection: Connection) -> Lease:
            got = self._set(connection, *_mine(lease), holder=lease.holder, ttl=ttl_seconds, step=0)
            if got is None:
                raise NotLeaderError(
                    f"the lease {lease.name!r} is no longer ours (token {lease.token})", code="RC0751", hint=_HINT
                )
            return got

        return self._database.write("renew_lease", work)

    def release(self, lease: Lease) -> None:
        """Free it at once; nothing happens when it is somebody else's already."""
        statement = update(leases).where(*_mine(lease)).values(holder=None, expires_ms=0)
        self._database.write("release_lease", lambda connection: connection.execute(statement))

    def _set(
        self, connection: Connection, *conditions: ColumnElement[bool], holder: str, ttl: float, step: int
    ) -> Lease | None:
        now, ttl_ms = self._now(connection), int(ttl * 1000)
        statement = (
            update(leases)
            .where(*conditions)
            .values(holder=holder, token=leases.c.token + step, renewed_ms=now, expires_ms=now + ttl_ms, ttl_ms=ttl_ms)
            .returning(leases.c.name, leases.c.token, leases.c.expires_ms)
        )
        row = connection.execute(statement, execution_options={"step": "lease.set"}).one_or_none()
        return None if row is None else Lease(name=row.name, holder=holder, token=row.token, expires_ms=row.expires_ms)

    def _taken(self, connection: Connection, name: str) -> NotLeaderError:
        left = (leases.c.expires_ms - self._now(connection)).label("left_ms")
        row = connection.execute(select(leases.c.holder, left).where(leases.c.name == name)).one()
        seconds = max(0, row.left_ms) / 1000
        return NotLeaderError(
            f"the lease {name!r} is held by {row.holder} for another {seconds:.0f} s unless renewed", code="RC0750"
        )

    def _now(self, connection: Connection) -> ColumnElement[Any]:
        if connection.dialect.name == "sqlite":
            return literal(self._clock.now_ms(), BigInteger)
        return cast(extract("epoch", func.clock_timestamp()) * 1000, BigInteger)


_HINT = "Another process took over; nothing more is written by this one."


def _mine(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    return leases.c.name == lease.name, leases.c.holder == lease.holder, leases.c.token == lease.token


def fence(connection: Connection, lease: Lease) -> None:
    """Raise NotLeaderError RC0752 unless this very lease is still in force; a takeover waits until we commit."""
    if not locked(connection, select(leases.c.token).where(*_mine(lease)), step="lease.fence", lock=Lock.SHARED):
        raise NotLeaderError(f"the lease {lease.name!r} was lost (token {lease.token})", code="RC0752", hint=_HINT)

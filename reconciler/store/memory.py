"""What a sweep reads: everything that was remembered of a scope, from one snapshot.

Holds and doomed resources are read for the whole database, not for the scope alone: a provider id means the same thing
in every scope, and two scopes that overlap by mistake must not destroy what the other one holds.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, Select, func, select

from reconciler.kernel.clock import Clock
from reconciler.model.memory import CompleteSweep, Episode, Lineage, Memory
from reconciler.model.program import PROGRAM_RULE
from reconciler.model.resources import Kind, Ref
from reconciler.store.deletion_rows import HOUR_MS, decided_since
from reconciler.store.releases import read_releases
from reconciler.store.resources import ref_of
from reconciler.store.tables import (
    adoptions,
    deletion_claims,
    deletion_refs,
    drift_findings,
    lineage,
    orphan_resources,
    provider_resources,
    sightings,
    sweeps,
)
from reconciler.store.unit import Database
from reconciler.store.worker_rows import read_recorded

_ADOPTED: Final = select(adoptions.c.resource_id).where(adoptions.c.resource_live == 1)


def read_memory(database: Database, scope: str, *, clock: Clock) -> Memory:
    """Raises StoreError when the database cannot be read; the caller then goes on with a Memory that is not present."""
    return database.read("memory", lambda connection: _memory(connection, scope, now_ms=clock.now_ms()))


def _memory(connection: Connection, scope: str, *, now_ms: int) -> Memory:
    last = _last_complete(connection, scope)
    held = select(provider_resources).where(
        provider_resources.c.live == 1, provider_resources.c.id.not_in(select(orphan_resources.c.id))
    )
    released, recorded = read_releases(connection), read_recorded(connection)
    # of what nobody but a row holds, the row decides
    adopted = _refs(connection, held.where(provider_resources.c.id.in_(_ADOPTED)))
    return Memory(
        first_complete_ms=_first_complete(connection, scope),
        last_complete=last,
        unowned_since={
            ref_of(row): row.unowned_since_ms
            for row in connection.execute(select(sightings).where(sightings.c.scope_id == scope))
        },
        lineage=read_lineage(connection, scope),
        episodes=read_episodes(connection, scope),
        finalised={} if last is None else _finalised(connection, scope, last.finished_ms),
        held=(_refs(connection, held) - recorded.keys() | adopted) - released.keys(),
        released=released,
        doomed=_refs(connection, select(provider_resources).where(provider_resources.c.live.is_(None))),
        destroyed_last_hour=decided_since(connection, scope, now_ms - HOUR_MS),
        recorded=recorded,
    )


def read_lineage(connection: Connection, scope: str) -> dict[Ref, Lineage]:
    found = connection.execute(select(lineage).where(lineage.c.scope_id == scope))
    return {
        (ref := ref_of(row)): Lineage(
            ref=ref,
            source=row.source,
            fleet=row.fleet,
            stack=row.stack,
            urn=row.urn,
            worker=row.worker,
            server_id=row.server_id,
            first_seen_ms=row.first_seen_ms,
        )
        for row in found
    }


def read_episodes(connection: Connection, scope: str) -> dict[str, Episode]:
    """The open ones, by finding id."""
    table = drift_findings.c
    found = connection.execute(select(drift_findings).where(table.scope_id == scope, table.closed_ms.is_(None)))
    return {
        row.finding_id: Episode(
            finding_id=row.finding_id,
            verdict=row.verdict,
            opened_ms=row.opened_ms,
            from_program=str(row.details.get("rule")) == PROGRAM_RULE,
        )
        for row in found
    }


def _first_complete(connection: Connection, scope: str) -> int | None:
    statement = select(func.min(sweeps.c.finished_ms)).where(sweeps.c.scope_id == scope, sweeps.c.complete)
    first: int | None = connection.execute(statement).scalar_one()
    return first


def _last_complete(connection: Connection, scope: str) -> CompleteSweep | None:
    statement = select(sweeps).where(sweeps.c.scope_id == scope, sweeps.c.complete)
    newest = statement.order_by(sweeps.c.finished_ms.desc(), sweeps.c.id.desc()).limit(1)
    row = connection.execute(newest).one_or_none()
    if row is None:
        return None
    return CompleteSweep(
        sweep_id=row.id,
        finished_ms=row.finished_ms,
        counts={Kind(kind): count for kind, count in row.counts.items()},
        serials=dict(row.serials),
    )


def _finalised(connection: Connection, scope: str, since_ms: int) -> dict[Kind, int]:
    """Resources proved absent by our own deletions; struck ones still exist and do not count."""
    table = deletion_refs.c
    statement = (
        select(table.kind, func.count().label("gone"))
        .join(deletion_claims, deletion_claims.c.id == table.deletion_id)
        .where(deletion_claims.c.scope_id == scope, table.absent_ms >= since_ms)
        .group_by(table.kind)
    )
    return {Kind(row.kind): row.gone for row in connection.execute(statement)}


def _refs(connection: Connection, statement: Select[Any]) -> frozenset[Ref]:
    return frozenset(ref_of(row) for row in connection.execute(statement))

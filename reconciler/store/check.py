"""Is the database whole, and is it the one this program means?

Schema against the tables in code, foreign keys enforced, the eligibility view there, the file sound, and the promises
of the deletion protocol that span several rows and that no constraint can state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, inspect, text

from reconciler.kernel.clock import SystemClock
from reconciler.kernel.errors import StoreError
from reconciler.store import urls
from reconciler.store.engine import make_engine
from reconciler.store.schema import version_of
from reconciler.store.tables import ORPHAN_VIEW, VERSION_TABLE, metadata, orphan_resources
from reconciler.store.unit import Database


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One thing that was looked at. `str()` is the line to print."""

    name: str
    ok: bool
    text: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.ok else 'FAIL'} {self.name}: {self.text}"


# Each query finds the rows that break the promise.
PROMISES: Final = {
    "a doomed resource belongs to an open deletion that captured it": (
        "SELECT r.id FROM provider_resources r WHERE r.live IS NULL AND NOT EXISTS ("
        "SELECT 1 FROM deletion_claims c JOIN deletion_refs d ON d.deletion_id = c.id WHERE c.id = r.deletion_id "
        "AND c.finished_ms IS NULL AND d.struck_ms IS NULL AND d.absent_ms IS NULL "
        "AND d.kind = r.kind AND d.zone = r.zone AND d.provider_id = r.provider_id)"
    ),
    "each id of an open deletion that is not struck is doomed": (
        "SELECT d.deletion_id FROM deletion_claims c JOIN deletion_refs d ON d.deletion_id = c.id "
        "WHERE c.finished_ms IS NULL AND d.struck_ms IS NULL AND NOT EXISTS ("
        "SELECT 1 FROM provider_resources r WHERE r.deletion_id = c.id AND r.live IS NULL "
        "AND r.kind = d.kind AND r.zone = d.zone AND r.provider_id = d.provider_id)"
    ),
    "each id of a finished deletion is struck or proved absent": (
        "SELECT d.deletion_id FROM deletion_claims c JOIN deletion_refs d ON d.deletion_id = c.id "
        "WHERE c.finished_ms IS NOT NULL AND d.struck_ms IS NULL AND d.absent_ms IS NULL"
    ),
    "no hold is on a doomed resource": (
        "SELECT a.id FROM adoptions a JOIN provider_resources r ON r.id = a.resource_id "
        "WHERE a.resource_live IS NOT NULL AND r.live IS NULL"
    ),
    "no release is of a doomed resource": (
        "SELECT l.id FROM releases l JOIN provider_resources r ON r.id = l.resource_id "
        "WHERE l.resource_live IS NOT NULL AND r.live IS NULL"
    ),
    "no worker's row holds a doomed resource": (
        "SELECT w.id FROM workers w JOIN provider_resources r ON r.id = w.resource_id "
        "WHERE w.resource_live IS NOT NULL AND r.live IS NULL"
    ),
    "each worker's machine is there": (
        "SELECT w.id FROM workers w WHERE w.resource_live IS NOT NULL "
        "AND NOT EXISTS (SELECT 1 FROM provider_resources r WHERE r.id = w.resource_id)"
    ),
    "a worker has a row or a tombstone": "SELECT w.id FROM workers w JOIN worker_tombstones t ON t.id = w.id",
    "each hold is on a resource that is there": (
        "SELECT a.id FROM adoptions a WHERE a.resource_live IS NOT NULL "
        "AND NOT EXISTS (SELECT 1 FROM provider_resources r WHERE r.id = a.resource_id)"
    ),
}


def broken_promises(connection: Connection) -> dict[str, list[str]]:
    """Promise -> ids of rows that break it; empty when all hold."""
    found = {name: list(connection.execute(text(query)).scalars()) for name, query in PROMISES.items()}
    return {name: rows for name, rows in found.items() if rows}


def check(url: str) -> list[CheckLine]:
    """Look at everything; nothing is written. Raises StoreError only when the database cannot be read at all."""
    parsed = urls.parse(url)
    if urls.is_sqlite(parsed) and not urls.path_of(parsed).exists():
        raise StoreError(
            f"there is no database at {urls.path_of(parsed)}", code="RC0201", hint="Run `reconciler db upgrade`."
        )
    database = Database(make_engine(parsed), parsed, clock=SystemClock())
    try:
        version = version_of(database)
        said = f"{version.found or 'none'} in {version.where}, this program knows {version.head}"
        lines = [CheckLine("schema version", version.is_head, said)]
        if version.is_head:
            looks = _LOOKS_SQLITE if database.sqlite else _LOOKS_POSTGRESQL
            for look in looks:
                lines += database.read("check", lambda connection, look=look: list(look(connection)))  # type: ignore[misc]
        return lines
    finally:
        database.close()


def schema_differences(connection: Connection) -> list[str]:
    """What Alembic would change to make the database equal to the tables in code."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    def ours(_object: Any, name: str | None, kind: str, _reflected: bool, _compare_to: Any) -> bool:
        return kind != "table" or name in metadata.tables

    context = MigrationContext.configure(
        connection, opts={"version_table": VERSION_TABLE, "include_object": ours, "target_metadata": metadata}
    )
    return [str(difference) for difference in compare_metadata(context, metadata)]


def _look_at_tables(connection: Connection) -> Iterator[CheckLine]:
    differences = schema_differences(connection)
    yield CheckLine("tables", not differences, "; ".join(differences) or f"{len(metadata.tables)} as expected")
    inspector = inspect(connection)
    if ORPHAN_VIEW not in inspector.get_view_names():
        yield CheckLine("view", False, f"{ORPHAN_VIEW} is missing: no deletion can be decided")
        return
    columns = [found["name"] for found in inspector.get_columns(ORPHAN_VIEW)]
    yield CheckLine("view", columns == orphan_resources.columns.keys(), f"{ORPHAN_VIEW}({', '.join(columns)})")


def _look_at_promises(connection: Connection) -> Iterator[CheckLine]:
    broken = broken_promises(connection)
    for name in PROMISES:
        rows = broken.get(name, [])
        yield CheckLine("protocol", not rows, name + (f": broken by {', '.join(rows[:5])}" if rows else ""))


def _look_at_sqlite(connection: Connection) -> Iterator[CheckLine]:
    def pragma(name: str) -> list[Any]:
        return [row[0] for row in connection.exec_driver_sql(f"PRAGMA {name}")]

    yield CheckLine("foreign keys", pragma("foreign_keys") == [1], "enforced by this connection")
    dangling = pragma("foreign_key_check")
    yield CheckLine(
        "references", not dangling, f"dangling in {', '.join(dangling[:5])}" if dangling else "none dangling"
    )
    said = pragma("integrity_check")
    yield CheckLine("file", said == ["ok"], "; ".join(str(line) for line in said[:3]))


def _look_at_postgresql(connection: Connection) -> Iterator[CheckLine]:
    role = connection.execute(text("SELECT current_setting('session_replication_role')")).scalar_one()
    off = list(connection.execute(text(_DISABLED)).scalars())
    said = f"session_replication_role is {role}" + (f"; checks switched off on {', '.join(off)}" if off else "")
    yield CheckLine("foreign keys", role == "origin" and not off, said)
    pending = list(connection.execute(text(_NOT_VALIDATED)).scalars())
    yield CheckLine("references", not pending, f"not validated: {', '.join(pending)}" if pending else "all validated")


_DISABLED: Final = (
    "SELECT DISTINCT c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
    "WHERE t.tgisinternal AND t.tgenabled <> 'O' AND c.relnamespace = current_schema()::regnamespace ORDER BY 1"
)
_NOT_VALIDATED: Final = (
    "SELECT conname FROM pg_constraint WHERE contype = 'f' AND NOT convalidated "
    "AND connamespace = current_schema()::regnamespace ORDER BY 1"
)
_Look = Callable[[Connection], Iterator[CheckLine]]
_LOOKS_SQLITE: Final[tuple[_Look, ...]] = (_look_at_tables, _look_at_sqlite, _look_at_promises)
_LOOKS_POSTGRESQL: Final[tuple[_Look, ...]] = (_look_at_tables, _look_at_postgresql, _look_at_promises)

"""Which schema a database has, and bringing it up to date.

`REVISIONS` is the chain, oldest first, written down here so that opening a database does not have to load Alembic; a
test holds it equal to the files in `migrations/versions`. A revision that is not in it was made by a newer reconciler:
this one does not touch the database. SQLite is created and migrated on first use; PostgreSQL only when a person says
`reconciler db upgrade`, because others may be using it.

An upgrade is one transaction on both databases, under a lock, so that two of them at once make one.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Text, column, inspect, select, table, text

from reconciler.kernel.clock import SystemClock
from reconciler.kernel.errors import StoreError
from reconciler.store import urls
from reconciler.store.engine import make_engine
from reconciler.store.tables import VERSION_TABLE, metadata
from reconciler.store.unit import Database

REVISIONS: Final = ("0001", "0002", "0003", "0004")
HEAD: Final = REVISIONS[-1]
# Tables that came after the first schema, with names that another program may have taken meanwhile.
_LATER: Final = {"0002": ("approvals",), "0003": ("releases",), "0004": ("fleets", "workers", "worker_tombstones")}
_UPGRADE_LOCK: Final = 7_236_837  # any number that no other program takes for pg_advisory_xact_lock


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersion:
    """`found` is None for a database without our tables. `head` is what this program knows."""

    where: str
    found: str | None
    head: str = HEAD

    @property
    def is_head(self) -> bool:
        return self.found == self.head

    @property
    def is_newer(self) -> bool:
        return self.found is not None and self.found not in REVISIONS


def current(url: str) -> SchemaVersion:
    """The schema's version; nothing is written. Raises StoreError, ConfigError RC0210."""
    with_file = urls.parse(url)
    if urls.is_sqlite(with_file) and not urls.path_of(with_file).exists():
        return SchemaVersion(where=urls.shown(with_file), found=None)
    database = Database(make_engine(with_file), with_file, clock=SystemClock())
    try:
        return version_of(database)
    finally:
        database.close()


def upgrade(url: str) -> SchemaVersion:
    """Bring the schema to head, and say what it was. Creates a SQLite file; never a PostgreSQL database.

    Raises StoreError RC0203 (newer than known), RC0214 (tables of another program are in the way), and what a database
    may fail with.
    """
    parsed = urls.parse(url)
    if urls.is_sqlite(parsed):
        create_file(urls.path_of(parsed))
    database = Database(make_engine(parsed), parsed, clock=SystemClock())
    try:
        return upgrade_database(database)
    finally:
        database.close()


def create_file(path: Path) -> None:
    """An empty file that only its owner can read, and its folders. Raises StoreError RC0202, RC0209."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        urls.refuse_network_file_system(path.parent)
        path.touch(mode=0o600, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be created: {error.strerror}",
            code="RC0202",
            hint="Give the account the right to write there, or choose another RECONCILER_DATABASE_URL.",
        ) from error


def version_of(database: Database) -> SchemaVersion:
    found = database.read("schema_version", _found)
    return SchemaVersion(where=urls.shown(database.url), found=found)


def require_head(database: Database) -> None:
    """Raises StoreError RC0203 (newer than known), RC0204 (older, or none)."""
    version = version_of(database)
    _refuse_newer(version)
    if not version.is_head:
        what = "has no tables of ours" if version.found is None else f"has schema {version.found}"
        raise StoreError(
            f"{version.where} {what}; this program needs {version.head}",
            code="RC0204",
            hint="Run `reconciler db upgrade`.",
        )


def upgrade_database(database: Database) -> SchemaVersion:
    if database.sqlite:
        _set_wal(database)

    def work(connection: Connection) -> SchemaVersion:
        if not database.sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})
        before = SchemaVersion(where=urls.shown(database.url), found=_found(connection))
        _refuse_newer(before)
        _refuse_strangers(connection, before)
        if not before.is_head:
            run_alembic(connection, "upgrade", "head")
        return before

    return database.write("upgrade", work)


def run_alembic(connection: Connection, command: str, revision: str) -> None:
    """`upgrade` or `downgrade` inside the transaction that is open on `connection`."""
    import alembic.command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    getattr(alembic.command, command)(config, revision)


def _set_wal(database: Database) -> None:
    """The mode stays with the file. Another process that is creating it may be in the way: then it sets the mode."""
    with database.engine.connect() as connection:
        driver: Any = connection.connection.dbapi_connection
        try:
            driver.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if (error.sqlite_errorcode & 0xFF) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY):
                raise


def _found(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    statement = select(column("version_num", Text)).select_from(table(VERSION_TABLE))
    return connection.execute(statement).scalars().first()


def _refuse_newer(version: SchemaVersion) -> None:
    if version.is_newer:
        raise StoreError(
            f"{version.where} has schema {version.found}, which is newer than this program's {version.head}",
            code="RC0203",
            hint="Install the reconciler that made it; an older one does not touch it.",
        )


def _refuse_strangers(connection: Connection, before: SchemaVersion) -> None:
    """Tables of another program, under a name that the upgrade would give to one of ours."""
    there = set(inspect(connection).get_table_names()) - {VERSION_TABLE}
    if before.found is not None:
        in_the_way = sorted(there & {name for since, names in _LATER.items() if since > before.found for name in names})
    else:
        in_the_way = sorted(there if connection.dialect.name == "sqlite" else there & set(metadata.tables))
    if in_the_way:
        raise StoreError(
            f"{before.where} holds tables of another program ({', '.join(in_the_way[:5])})",
            code="RC0214",
            hint="Give reconciler a file, a database or a PostgreSQL schema of its own.",
        )

"""An engine for each database, with the settings without which the deletion protocol is broken in silence.

SQLite: Python's driver opens no transaction for a SELECT by default, so that check-then-write races; here the driver's
own transaction control is off and each transaction says BEGIN IMMEDIATE (writers) or BEGIN DEFERRED (readers) itself.
`foreign_keys` is off by default and is set and asserted. WAL lets readers go on beside a writer; `synchronous=FULL`
keeps a committed decision through a power cut, because the provider is called right after it.

PostgreSQL: READ COMMITTED, because under REPEATABLE READ "lock, then check" reads an old snapshot and lets a held
resource be doomed without any error. It is asked for here and asserted by each unit of work (unit.py).
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL

from reconciler.kernel.errors import StoreError
from reconciler.store import urls

BUSY_TIMEOUT_MS: Final = 5_000
LOCK_TIMEOUT_MS: Final = 5_000
IDLE_IN_TRANSACTION_MS: Final = 30_000
CONNECT_TIMEOUT_S: Final = 10

SQLITE_BEGIN: Final = "sqlite_begin"  # execution option: IMMEDIATE or DEFERRED


def make_engine(url: URL, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> Engine:
    """An engine that is not connected yet. Raises StoreError RC0211 when the PostgreSQL driver is not installed."""
    if urls.is_sqlite(url):
        engine = create_engine(url, hide_parameters=True)
        _arm_sqlite(engine, busy_timeout_ms)
        return engine
    # prepared statements belong to a session, which a transaction pooler in between hands to others
    arguments: dict[str, Any] = {"fallback_application_name": "reconciler", "prepare_threshold": None}
    if "connect_timeout" not in url.query:
        arguments["connect_timeout"] = CONNECT_TIMEOUT_S
    try:
        return create_engine(
            url, hide_parameters=True, isolation_level="READ COMMITTED", pool_pre_ping=True, connect_args=arguments
        )
    except ImportError:
        raise StoreError(
            "the PostgreSQL driver psycopg is not installed",
            code="RC0211",
            hint="pip install 'psycopg[binary]'",
        ) from None


def _arm_sqlite(engine: Engine, busy_timeout_ms: int) -> None:
    @event.listens_for(engine, "connect")
    def settings(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver begins nothing by itself
        connection.execute(f"PRAGMA busy_timeout={busy_timeout_ms:d}")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=FULL")
        if connection.execute("PRAGMA foreign_keys").fetchone() != (1,):
            raise StoreError(
                "this SQLite library enforces no foreign keys",
                code="RC0212",
                hint="Use a Python whose SQLite is built with foreign keys, or PostgreSQL.",
            )

    @event.listens_for(engine, "invalidate")
    def roll_back(connection: Any, _record: Any, _error: Any) -> None:
        # After Ctrl-C SQLAlchemy closes the connection, but SQLite keeps its write lock while a cursor is referenced,
        # as the traceback does: the run that was interrupted could not write that it was.
        with contextlib.suppress(sqlite3.Error):
            connection.rollback()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        kind = connection.get_execution_options().get(SQLITE_BEGIN, "DEFERRED")
        connection.exec_driver_sql(f"BEGIN {kind}")

"""The unit of work: one short transaction, tried again as a whole when the database asks for it.

The work is a function of a connection, so that it can be run again: on a serialization failure, a deadlock or a lock
timeout of PostgreSQL and on SQLITE_BUSY nothing was kept, and the whole function runs anew, five times at most. A lost
connection is not tried again here: whether its COMMIT came through is not known. Every operation of the store may be
repeated by its caller instead.

While it runs, `kernel.guards.transaction` marks the context, so that a network call inside is an error (rule 8), and so
is a unit of work inside another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine, text
from sqlalchemy.engine import URL

from reconciler.kernel import guards
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import StoreError
from reconciler.store.engine import IDLE_IN_TRANSACTION_MS, LOCK_TIMEOUT_MS, SQLITE_BEGIN
from reconciler.store.failures import DATABASE_ERRORS, retryable, translated

Result = TypeVar("Result")

TRIES: Final = 5
FIRST_PAUSE_S: Final = 0.05
UNIT: Final = "reconciler_unit"  # execution option: "write" or "read"

# SET LOCAL in one statement, so that it holds behind a transaction pooler too
_LIMITS: Final = text(
    "SELECT set_config('lock_timeout', :lock, true), set_config('idle_in_transaction_session_timeout', :idle, true), "
    "current_setting('transaction_isolation')"
)


# The driver's own read-only switch would leave the connection explicitly read-write afterwards, over the heads of a
# standby and of an administrator who made the database read-only.
_READ_ONLY: Final = text("SET TRANSACTION READ ONLY")


class Database:
    """Readers and writers of one database."""

    def __init__(self, engine: Engine, url: URL, *, clock: Clock) -> None:
        self.engine, self.url, self._clock = engine, url, clock
        self.sqlite = engine.dialect.name == "sqlite"

    def write(self, name: str, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in a transaction that may write, and commit. Raises StoreError (docs/database.md lists when)."""
        options: dict[str, Any] = {UNIT: "write", SQLITE_BEGIN: "IMMEDIATE"}
        return self._with_retries(name, options, work)

    def read(self, name: str, work: Callable[[Connection], Result]) -> Result:
        """Run `work` on one consistent snapshot that cannot be written to."""
        options: dict[str, Any] = {UNIT: "read", SQLITE_BEGIN: "DEFERRED"}
        if not self.sqlite:
            options["isolation_level"] = "REPEATABLE READ"
        return self._with_retries(name, options, work)

    def _with_retries(self, name: str, options: dict[str, Any], work: Callable[[Connection], Result]) -> Result:
        guards.assert_outside_transaction(f"the unit of work {name!r}")
        pause = FIRST_PAUSE_S
        for left in range(TRIES - 1, -1, -1):
            try:
                return self._once(name, options, work)
            except DATABASE_ERRORS as error:
                if left == 0 or not retryable(error):
                    raise translated(error, self.url) from None  # the cause holds the statement and may hold the URL
            self._clock.sleep(pause)
            pause *= 2
        raise AssertionError("unreachable")  # the last round returns or raises

    def _once(self, name: str, options: dict[str, Any], work: Callable[[Connection], Result]) -> Result:
        with self.engine.connect() as connection:
            unit = connection.execution_options(**options)
            with guards.transaction(name), unit.begin():
                if self.sqlite:
                    pass  # BEGIN has said it all
                elif options[UNIT] == "write":
                    self._limit(unit)
                else:
                    unit.execute(_READ_ONLY)
                return work(unit)

    def _limit(self, connection: Connection) -> None:
        limits = {"lock": str(LOCK_TIMEOUT_MS), "idle": str(IDLE_IN_TRANSACTION_MS)}
        isolation = connection.execute(_LIMITS, limits).one()[2]
        if isolation != "read committed":
            raise StoreError(
                f"the database runs our transactions at {isolation}, where a lock protects nothing",
                code="RC0213",
                hint="Take the isolation level out of the URL, the role and the pooler: READ COMMITTED is needed.",
            )

    def close(self) -> None:
        self.engine.dispose()

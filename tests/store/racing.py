"""Two units of work at once, without a sleep: one is stopped between two statements, the other is proved to wait.

The proof is the database's own: `pg_blocking_pids` on PostgreSQL; on SQLite the second one has a busy timeout of zero,
so that it gets SQLITE_BUSY at once and asks its clock to sleep before it tries again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import event, text

from reconciler.kernel.clock import VirtualClock
from reconciler.store import SqlStore
from tests.store.place import Place

PATIENCE_S = 20.0


class Gate:
    """Stops the next unit of work of a store right after (or before) the statement that is labelled `step`."""

    def __init__(self, store: SqlStore, step: str, *, before: bool = False) -> None:
        self.reached, self.go = threading.Event(), threading.Event()
        self._step, self._used = step, False
        event.listen(store.database.engine, f"{'before' if before else 'after'}_cursor_execute", self._stop)

    def _stop(self, _conn: Any, _cursor: Any, _statement: str, _values: Any, context: Any, _many: bool) -> None:
        if context is not None and context.execution_options.get("step") == self._step and not self._used:
            self._used = True
            self.reached.set()
            assert self.go.wait(PATIENCE_S), f"nobody opened the gate at {self._step}"


@dataclass
class Ended:
    value: Any = None
    error: BaseException | None = None

    @property
    def code(self) -> str | None:
        return getattr(self.error, "code", None)

    def get(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class Job:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._ended = Ended()
        self._thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._thread.start()

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            self._ended.value = call()
        except BaseException as error:
            self._ended.error = error

    def join(self) -> Ended:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the call hangs"
        return self._ended


class WaitingClock(VirtualClock):
    """A clock on which sleeping takes until somebody says so: how a SQLite writer that is kept out is seen."""

    def __init__(self) -> None:
        super().__init__()
        self.blocked, self.proceed = threading.Event(), threading.Event()

    def sleep(self, seconds: float) -> None:
        self.blocked.set()
        assert self.proceed.wait(PATIENCE_S), "nobody let the writer go on"
        super().sleep(seconds)


def race(
    place: Place,
    first: tuple[SqlStore, Callable[[SqlStore], Any]],
    second: Callable[[SqlStore], Any],
    *,
    stop_after: str,
) -> tuple[Ended, Ended]:
    """Stop `first` after a statement inside its transaction, prove that `second` waits for it, let both end."""
    store, call = first
    gate = Gate(store, stop_after)
    winner = Job(lambda: call(store))
    assert gate.reached.wait(PATIENCE_S), f"{stop_after} was never executed: {winner.join()}"
    clock = WaitingClock()
    other = place.store(clock=place.clock if place.is_postgres else clock, busy_timeout_ms=0)
    loser = Job(lambda: second(other))
    if place.is_postgres:
        wait_until_blocked(place)
    else:
        assert clock.blocked.wait(PATIENCE_S), "the second writer was not kept out"
    gate.go.set()
    ended = winner.join()
    clock.proceed.set()
    return ended, loser.join()


def wait_until_blocked(place: Place) -> None:
    """Until some connection to this database waits for a lock that another one of it holds."""
    query = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND cardinality(pg_blocking_pids(pid)) > 0"
    )
    pause = threading.Event()
    with place.engine.connect() as connection:
        for _ in range(2_000):
            if connection.execute(query).scalar_one():
                return
            connection.rollback()
            pause.wait(0.005)
    raise AssertionError("nobody waits for a lock")

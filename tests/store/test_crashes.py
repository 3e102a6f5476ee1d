"""A process that dies, or loses its answer, at every step of a deletion; another one goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

from reconciler.kernel.errors import NotLeaderError, StoreError
from reconciler.model.resources import Kind
from reconciler.model.warrant import Deletion, Warrant
from reconciler.ports.store import Lease
from reconciler.store import SqlStore
from tests.store.place import SCOPE, Place, decide, lead, ref
from tests.store.racing import Gate, Job

TARGET = ref(1)
VOLUME = ref(2, Kind.VOLUME)


class Died(BaseException):
    """Not an Exception, as a kill is not."""


@contextmanager
def dying_after(store: SqlStore, step: str) -> Iterator[None]:
    def die(_conn: Any, _cursor: Any, _statement: str, _values: Any, context: Any, _many: bool) -> None:
        if context is not None and context.execution_options.get("step") == step:
            raise Died

    event.listen(store.database.engine, "after_cursor_execute", die)
    try:
        with pytest.raises(Died):
            yield
    finally:
        event.remove(store.database.engine, "after_cursor_execute", die)


@contextmanager
def losing_the_commit_answer(store: SqlStore) -> Iterator[None]:
    """The COMMIT is carried out, and the connection breaks before its answer arrives."""
    dialect: Any = store.database.engine.dialect
    commit = dialect.do_commit
    lost: Exception = (
        sqlite3.OperationalError("the answer was lost")
        if store.database.sqlite
        else psycopg.OperationalError("the connection is lost")
    )

    def committed(connection: Any) -> None:
        commit(connection)
        raise lost

    dialect.do_commit = committed
    try:
        with pytest.raises(StoreError):
            yield
    finally:
        dialect.do_commit = commit


def next_leader(place: Place) -> tuple[SqlStore, Lease]:
    """A new process after the old one's lease ran out."""
    place.sql("UPDATE leases SET expires_ms = 0")
    store = place.store()
    return store, lead(store, "successor")


def the_open_one(store: SqlStore) -> Deletion:
    (deletion,) = store.open_deletions(SCOPE)
    return deletion


@pytest.mark.parametrize(
    "step", ["scope.lock_new", "lease.fence", "claims.open", "resources.lock", "resources.eligible", "resources.doom"]
)
def test_a_death_before_the_commit_of_a_decision_leaves_nothing(place: Place, store: SqlStore, step: str) -> None:
    lease = lead(store)
    with dying_after(store, step):
        decide(store, lease, TARGET, VOLUME)
    assert place.count("deletion_claims") == place.count("provider_resources") == place.count("deletion_refs") == 0
    successor, new = next_leader(place)
    assert decide(successor, new, TARGET, VOLUME)


def test_a_death_after_the_decision_leaves_it_for_the_next_process(place: Place, store: SqlStore) -> None:
    warrant = decide(store, lead(store), TARGET, VOLUME)
    successor, new = next_leader(place)
    resumed = successor.warrant_of(the_open_one(successor), lease=new)
    assert (resumed.deletion_id, resumed.refs) == (warrant.deletion_id, warrant.refs)
    assert successor.finalise_deletion(resumed, proved_absent=resumed.refs, lease=new)


def test_a_lost_answer_to_the_decision_is_made_good_by_deciding_again(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    with losing_the_commit_answer(store):
        decide(store, lease, TARGET, VOLUME)
    assert decide(store, lease, TARGET, VOLUME).deletion_id == the_open_one(store).id
    assert place.count("deletion_claims") == 1
    assert place.broken() == {}


def test_a_lost_answer_to_a_finalisation_is_made_good_by_finalising_again(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET)
    with losing_the_commit_answer(store):
        store.finalise_deletion(warrant, proved_absent=[TARGET], lease=lease)
    assert store.finalise_deletion(warrant, proved_absent=[TARGET], lease=lease) is True
    assert store.open_deletions(SCOPE) == ()


@pytest.mark.parametrize("operation", ["extend", "strike"])
def test_a_lost_answer_to_a_change_is_made_good_by_repeating_it(place: Place, store: SqlStore, operation: str) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET)
    steps: dict[str, Callable[[], Warrant]] = {
        "extend": lambda: store.extend_deletion(warrant, found=[VOLUME], lease=lease),
        "strike": lambda: store.strike(warrant, ref=TARGET, why="protected", lease=lease),
    }
    with losing_the_commit_answer(store):
        steps[operation]()
    before = place.rows("SELECT * FROM deletion_refs ORDER BY kind")
    repeated = steps[operation]()
    assert repeated.refs == ({TARGET, VOLUME} if operation == "extend" else frozenset())
    assert place.rows("SELECT * FROM deletion_refs ORDER BY kind") == before


def test_a_lost_answer_to_taking_the_lease_costs_one_ttl_and_no_more(place: Place, store: SqlStore) -> None:
    with losing_the_commit_answer(store):
        lead(store)
    with pytest.raises(NotLeaderError):
        lead(store)
    place.sql("UPDATE leases SET expires_ms = 0")
    assert lead(store).token == 2


@pytest.mark.parametrize("step", ["finalise.rows", "claims.change"])
def test_a_death_inside_a_finalisation_keeps_the_deletion_open_and_whole(
    place: Place, store: SqlStore, step: str
) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET, VOLUME)
    with dying_after(store, step):
        store.finalise_deletion(warrant, proved_absent=warrant.refs, lease=lease)
    assert place.count("provider_resources", "live IS NULL") == 2
    assert place.broken() == {}
    successor, new = next_leader(place)
    resumed = successor.warrant_of(the_open_one(successor), lease=new)
    assert successor.finalise_deletion(resumed, proved_absent=resumed.refs, lease=new)


def test_a_leader_that_was_paused_after_its_decision_stops_at_its_next_write(place: Place, store: SqlStore) -> None:
    old = lead(store)
    warrant = decide(store, old, TARGET)
    successor, new = next_leader(place)
    taken = successor.warrant_of(the_open_one(successor), lease=new)
    with pytest.raises(NotLeaderError):
        store.note_sent(warrant, lease=old)
    with pytest.raises(NotLeaderError):
        store.finalise_deletion(warrant, proved_absent=[TARGET], lease=old)
    assert successor.finalise_deletion(taken, proved_absent=[TARGET], lease=new)


def test_a_history_of_many_failures_never_gives_a_deletion_up(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET)
    place.sql("UPDATE deletion_claims SET attempts = 1000")
    store.note_error(warrant, error="500", retry_seconds=30, lease=lease)
    assert the_open_one(store).attempts == 1001


@pytest.mark.postgres
def test_a_killed_backend_inside_a_decision_frees_the_lease_and_decides_nothing(postgres_place: Place) -> None:
    place = postgres_place
    store = place.store()
    lease = lead(store, ttl_seconds=0)
    gate = Gate(store, "resources.doom")
    decision = Job(lambda: decide(store, lease, TARGET))
    assert gate.reached.wait(20)
    place.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
        "AND state = 'idle in transaction' AND application_name = 'reconciler'"
    )
    assert lead(place.store(), "second").token == lease.token + 1
    gate.go.set()
    ended = decision.join()
    assert ended.code == "RC0201"
    assert place.count("deletion_claims") == 0


@pytest.mark.postgres
def test_a_connection_that_died_while_it_was_idle_is_replaced(postgres_place: Place) -> None:
    store = postgres_place.store()
    lead(store)
    postgres_place.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
        "AND application_name = 'reconciler'"
    )
    assert store.memory(SCOPE).present

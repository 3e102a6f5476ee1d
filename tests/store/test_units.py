"""The unit of work: guarded, retried as a whole, and honest about what failed."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, select, text

from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.errors import InternalError, StoreError
from reconciler.kernel.guards import assert_outside_transaction
from reconciler.store import SqlStore, urls
from reconciler.store.engine import make_engine
from reconciler.store.locks import locked
from reconciler.store.tables import scopes, sweeps
from reconciler.store.text import storable, storable_json
from reconciler.store.unit import Database
from tests.store.place import SCOPE, Place, lead


class RecordingClock(VirtualClock):
    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        super().sleep(seconds)


def test_a_network_call_inside_a_unit_of_work_is_an_error(store: SqlStore) -> None:
    def work(_: Connection) -> None:
        assert_outside_transaction("a call to the provider")

    for unit in (store.database.write, store.database.read):
        with pytest.raises(InternalError) as error:
            unit("a test", work)
        assert error.value.code == "RC0901"
    assert_outside_transaction("a call to the provider")


def test_a_unit_of_work_inside_another_is_an_error(store: SqlStore) -> None:
    with pytest.raises(InternalError):
        store.database.write("outer", lambda _: store.memory(SCOPE))


def test_a_lock_in_a_reader_is_an_error(store: SqlStore) -> None:
    with pytest.raises(InternalError) as error:
        store.database.read("a test", lambda c: locked(c, select(scopes.c.id), step="a test"))
    assert error.value.code == "RC0902"


def test_a_failed_unit_of_work_keeps_nothing(place: Place, store: SqlStore) -> None:
    def work(connection: Connection) -> None:
        connection.execute(text("INSERT INTO scopes VALUES ('x', 1)"))
        raise KeyError("our own mistake")

    with pytest.raises(KeyError):
        store.database.write("a test", work)
    assert place.count("scopes") == 0


@pytest.mark.postgres
def test_a_reader_cannot_write_to_postgresql(postgres_place: Place) -> None:
    store = postgres_place.store()
    with pytest.raises(StoreError):
        store.database.read("a test", lambda c: c.execute(text("INSERT INTO scopes VALUES ('x', 1)")))
    assert lead(store).token == 1  # the connection that went back to the pool writes again


def test_readers_see_one_snapshot(place: Place, store: SqlStore) -> None:
    def work(connection: Connection) -> tuple[int, int]:
        query = text("SELECT count(*) FROM scopes")
        before = connection.execute(query).scalar_one()
        place.sql("INSERT INTO scopes VALUES ('x', 1)")
        return before, connection.execute(query).scalar_one()

    assert store.database.read("a test", work) == (0, 0)


@pytest.mark.parametrize("state", ["40001", "40P01", "55P03"])
@pytest.mark.postgres
def test_postgresql_contention_runs_the_whole_unit_again_five_times_at_most(postgres_place: Place, state: str) -> None:
    clock = RecordingClock()
    store = postgres_place.store(clock=clock)
    runs: list[int] = []

    def work(connection: Connection) -> int:
        connection.execute(text("INSERT INTO scopes VALUES ('x', 1)"))
        runs.append(1)
        if len(runs) < enough:
            connection.exec_driver_sql(f"DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{state}'; END $$")
        return len(runs)

    enough = 5
    assert store.database.write("a test", work) == 5
    assert clock.slept == [0.05, 0.1, 0.2, 0.4]
    assert postgres_place.count("scopes") == 1
    enough = 100
    postgres_place.sql("DELETE FROM scopes")
    runs.clear()
    with pytest.raises(StoreError) as error:
        store.database.write("a test", work)
    assert (len(runs), error.value.code) == (5, "RC0205")
    assert postgres_place.count("scopes") == 0


def test_a_busy_sqlite_file_is_tried_five_times(sqlite_place: Place) -> None:
    clock = RecordingClock()
    store = sqlite_place.store(clock=clock, busy_timeout_ms=0)
    other = sqlite3.connect(sqlite_place.url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError) as error:
        lead(store)
    assert error.value.code == "RC0205"
    assert clock.slept == [0.05, 0.1, 0.2, 0.4]
    assert store.memory(SCOPE).present  # a reader goes on beside a writer
    other.close()
    assert lead(store).token == 1


def test_an_error_that_is_no_contention_is_not_tried_again(place: Place) -> None:
    clock = RecordingClock()
    store = place.store(clock=clock)
    with pytest.raises(StoreError) as error:
        store.database.write("a test", lambda c: c.execute(text("SELECT nonsense FROM scopes")))
    assert error.value.code == "RC0200"
    assert clock.slept == []


def test_an_error_repeats_neither_statement_nor_values(store: SqlStore) -> None:
    statement = text("INSERT INTO scopes VALUES (:id, NULL)")
    with pytest.raises(StoreError) as error:
        store.database.write("a test", lambda c: c.execute(statement, {"id": "hunter2"}))
    assert error.value.code == "RC0215"
    assert "hunter2" not in str(error.value)
    assert "INSERT" not in str(error.value)
    assert error.value.__cause__ is None


@pytest.mark.postgres
def test_a_role_that_defaults_to_another_isolation_still_runs_read_committed(postgres_place: Place) -> None:
    name = urls.parse(postgres_place.url).database
    postgres_place.sql(f"ALTER DATABASE \"{name}\" SET default_transaction_isolation = 'repeatable read'")
    store = postgres_place.store()
    level = store.database.write("a test", lambda c: c.exec_driver_sql("SHOW transaction_isolation").scalar_one())
    assert level == "read committed"


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.postgres
def test_a_writer_at_another_isolation_is_refused(postgres_place: Place, level: Any) -> None:
    parsed = urls.parse(postgres_place.url)
    engine = make_engine(parsed)
    database = Database(engine.execution_options(isolation_level=level), parsed, clock=VirtualClock())
    with pytest.raises(StoreError) as error:
        database.write("a test", lambda _: None)
    assert error.value.code == "RC0213"
    database.close()


@pytest.mark.postgres
def test_nothing_is_left_on_a_connection_that_a_pooler_may_hand_to_others(postgres_place: Place) -> None:
    store = postgres_place.store()
    for _ in range(10):
        lead(store, ttl_seconds=0)
    with store.database.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM pg_prepared_statements").scalar_one() == 0
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar_one() == "0"


@pytest.mark.postgres
def test_a_writer_never_waits_or_idles_for_ever(postgres_place: Place) -> None:
    def work(connection: Connection) -> list[str]:
        names = ("lock_timeout", "idle_in_transaction_session_timeout")
        return [connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in names]

    assert postgres_place.store().database.write("a test", work) == ["5s", "30s"]


# -- what may be shown, what may be stored


@pytest.mark.parametrize(
    "url", ["postgresql://me:hunter2@db.example/x", "postgres://me@db.example/x?password=hunter2&sslmode=require"]
)
def test_no_password_of_a_url_is_shown(url: str) -> None:
    parsed = urls.parse(url)
    assert "hunter2" not in urls.shown(parsed)
    assert urls.shown(parsed).startswith("postgresql://me")
    assert urls.scrubbed("could not log in with hunter2", parsed) == "could not log in with ***"


def mounts(tmp_path: Path, kind: str) -> Path:
    table = tmp_path / "mountinfo"
    table.write_text(
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        f"23 22 0:5 / {tmp_path}/my\\040share rw shared:1 - {kind} server:/x rw\n"
        f"24 22 0:6 / {tmp_path}/my\\040share/local rw - tmpfs tmpfs rw\n"
    )
    return table


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs"])
def test_sqlite_on_a_network_file_system_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(StoreError) as error:
        urls.refuse_network_file_system(tmp_path / "my share" / "store.db", mounts=mounts(tmp_path, kind))
    assert error.value.code == "RC0209"


@pytest.mark.parametrize("place", ["store.db", "my share/local/store.db", "my share2/store.db"])
def test_sqlite_on_a_local_disk_is_taken(tmp_path: Path, place: str) -> None:
    urls.refuse_network_file_system(tmp_path / place, mounts=mounts(tmp_path, "nfs"))


def test_a_machine_without_a_mount_table_is_taken(tmp_path: Path) -> None:
    urls.refuse_network_file_system(tmp_path, mounts=tmp_path / "no such table")


texts = st.text(st.characters(), max_size=20) | st.sampled_from(["\0", "a\ud800", "\udfffx", "\U0001f600"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@given(text_=texts, limit=st.none() | st.integers(1, 30))
def test_storable_text_is_short_has_no_nul_and_is_stable(text_: str, limit: int | None) -> None:
    clean = storable(text_, limit=limit)
    clean.encode()
    assert "\0" not in clean
    assert limit is None or len(clean) <= limit
    assert storable(clean, limit=limit) == clean


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_has_no_word_for_becomes_null(number: float) -> None:
    assert storable_json([number]) == [None]


@given(text_=st.text(max_size=30).filter(lambda t: "\0" not in t))
def test_ordinary_text_is_stored_as_it_is(text_: str) -> None:
    assert storable(text_) == text_


def test_any_json_comes_back_as_it_was_made_storable(place: Place) -> None:
    store = place.store()
    place.sql("INSERT INTO scopes VALUES ('x', 1)")
    tried: list[Any] = []

    @given(value=values)
    def check(value: Any) -> None:
        tried.append(value)
        clean = storable_json({"v": value})
        with store.database.engine.connect() as connection, connection.begin() as transaction:
            connection.execute(_insert(clean))
            found = connection.execute(select(_details())).scalar_one()
            transaction.rollback()
        assert found == clean

    check()
    assert tried


def _insert(details: Any) -> Any:
    parts = {"scans": details, "counts": details, "serials": details, "summary": details}
    return sweeps.insert().values(
        id="x", scope_id="x", started_by="x", started_ms=1, finished_ms=1, complete=True, **parts
    )


def _details() -> Any:
    return sweeps.c.scans

"""Opening a database: created, migrated, or refused with a reason."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.errors import ConfigError, StoreError
from reconciler.store import SqlStore, current, open_store, upgrade, urls
from reconciler.store.schema import HEAD, run_alembic
from tests.conftest import Server
from tests.store.place import SCOPE, Place, lead, make_ids
from tests.store.racing import Job


def opened(url: str, *, create: bool = True) -> SqlStore:
    return open_store(url, clock=VirtualClock(), ids=make_ids(), create=create)


def refused(url: str, *, create: bool = True) -> StoreError:
    with pytest.raises(StoreError) as error:
        opened(url, create=create)
    return error.value


def run(url: str, statement: str) -> None:
    engine = create_engine(urls.parse(url))
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


# -- SQLite


def test_a_sqlite_file_is_created_and_migrated_on_first_use(tmp_path: Path) -> None:
    path = tmp_path / "state" / "reconciler" / "store.db"
    store = opened(f"sqlite:///{path}")
    assert store.memory(SCOPE).present
    store.close()
    assert current(f"sqlite:///{path}").is_head


def test_a_sqlite_file_is_for_its_owner_alone_and_so_are_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "state" / "store.db"
    opened(f"sqlite:///{path}").close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_without_create_a_missing_file_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    assert refused(f"sqlite:///{path}", create=False).code == "RC0201"
    assert not path.exists()
    assert current(f"sqlite:///{path}").found is None
    assert not path.exists()


def test_without_create_an_empty_file_is_not_migrated(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    error = refused(f"sqlite:///{path}", create=False)
    assert error.code == "RC0204"
    assert "db upgrade" in error.hint
    assert path.stat().st_size == 0


def test_many_first_users_at_once_make_one_schema(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    for job in [Job(lambda: opened(url).close()) for _ in range(4)]:
        job.join().get()
    assert current(url).is_head


def test_writers_use_a_write_ahead_log_and_lose_nothing_in_a_power_cut(tmp_path: Path) -> None:
    store = opened(f"sqlite:///{tmp_path / 'store.db'}")
    with store.database.engine.connect() as connection:
        pragmas = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        ]
    store.close()
    assert pragmas == ["wal", 2, 1, 5_000]


def test_a_file_of_another_program_is_not_written_into(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE workers (id)")
    connection.close()
    error = refused(f"sqlite:///{path}")
    assert error.code == "RC0214"
    assert "workers" in error.message


def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"no database, but long enough to have a header" * 100)
    assert refused(f"sqlite:///{path}").code == "RC0206"


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    assert refused(f"sqlite:///{tmp_path}").code == "RC0201"


def test_a_place_where_nothing_can_be_made_is_read_only(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refused(f"sqlite:///{tmp_path / 'file' / 'store.db'}").code == "RC0202"


@contextmanager
def nobody(path: Path) -> Iterator[None]:
    """As a user who may read the file and its folder and write neither; root may write everywhere."""
    path.chmod(0o444)
    path.parent.chmod(0o555)
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that another user can reach, which pytest's own is not."""
    folder = Path(tempfile.mkdtemp(prefix="reconciler-store-"))
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


def test_a_sqlite_file_that_may_not_be_written_is_read_only(shared_folder: Path) -> None:
    path = shared_folder / "store.db"
    url = f"sqlite:///{path}"
    opened(url).close()
    with nobody(path):
        codes = []
        try:
            store = opened(url, create=False)  # SQLite may need a file beside it even to read
        except StoreError as error:
            codes.append(error.code)
        else:
            with pytest.raises(StoreError) as written:
                lead(store)
            codes.append(written.value.code)
            store.close()
    assert codes == ["RC0202"]


def test_a_write_that_sqlite_refuses_as_read_only_says_so(sqlite_place: Place) -> None:
    store = sqlite_place.store()
    with store.database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only=ON")
    assert store.memory(SCOPE).present
    with pytest.raises(StoreError) as error:
        lead(store)
    assert error.value.code == "RC0202"


# -- PostgreSQL


@pytest.mark.postgres
def test_a_postgresql_database_is_migrated_by_upgrade_only(server: Server) -> None:
    url = server.create(None)
    error = refused(url)
    assert error.code == "RC0204"
    assert "db upgrade" in error.hint
    assert upgrade(url).found is None
    opened(url).close()
    server.drop(url)


@pytest.mark.postgres
def test_a_server_that_is_down_cannot_be_reached(server: Server) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        error = refused(f"postgresql://user:hunter2@127.0.0.1:{port}/db")
    assert error.code == "RC0201"
    assert "hunter2" not in f"{error.message} {error.hint} {error!r}"
    assert "user:***@" in error.message


@pytest.mark.postgres
def test_a_database_that_does_not_exist_cannot_be_reached(server: Server) -> None:
    url = server.template.replace(str(urls.parse(server.template).database), "no_such_database")
    assert refused(url).code == "RC0201"


@pytest.mark.postgres
def test_a_read_only_postgresql_can_be_read_and_not_written(postgres_place: Place) -> None:
    name = urls.parse(postgres_place.url).database
    postgres_place.sql(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    store = opened(postgres_place.url)
    assert store.memory(SCOPE).present
    with pytest.raises(StoreError) as error:
        lead(store)
    assert error.value.code == "RC0202"
    store.close()


@pytest.mark.postgres
def test_two_upgrades_at_once_make_one_schema(server: Server) -> None:
    url = server.create(None)
    for job in [Job(lambda: upgrade(url)) for _ in range(3)]:
        job.join().get()
    assert current(url).is_head
    server.drop(url)


@pytest.mark.postgres
def test_another_programs_table_under_a_name_that_a_newer_schema_needs_is_not_overwritten(server: Server) -> None:
    """`workers` is a likely name, and the older schema did not need it."""
    url = server.create(server.template)
    store = opened(url)
    store.database.write("downgrade", lambda connection: run_alembic(connection, "downgrade", "0003"))
    store.close()
    run(url, "CREATE TABLE workers (id text)")
    with pytest.raises(StoreError) as error:
        upgrade(url)
    assert (error.value.code, "workers" in error.value.message) == ("RC0214", True)
    assert current(url).found == "0003"
    server.drop(url)


@pytest.mark.postgres
def test_another_programs_tables_beside_ours_are_no_obstacle_unless_a_name_is_taken(server: Server) -> None:
    url = server.create(None)
    run(url, "CREATE TABLE machines (id text)")
    run(url, "CREATE TABLE alembic_version (version_num text)")
    upgrade(url)
    opened(url).close()
    other = server.create(None)
    run(other, "CREATE TABLE leases (id text)")
    with pytest.raises(StoreError) as error:
        upgrade(other)
    assert error.value.code == "RC0214"
    server.drop(url)
    server.drop(other)


# -- both


def test_a_schema_newer_than_known_is_left_alone(place: Place) -> None:
    place.sql("UPDATE reconciler_version SET version_num = '9999'")
    for attempt in (lambda: opened(place.url), lambda: upgrade(place.url)):
        with pytest.raises(StoreError) as error:
            attempt()
        assert error.value.code == "RC0203"
        assert error.value.hint
    assert current(place.url).found == "9999"


def test_upgrading_says_what_was_there_and_twice_is_once(empty_url: str) -> None:
    assert upgrade(empty_url).found is None
    assert upgrade(empty_url).found == HEAD
    assert current(empty_url).is_head


@pytest.mark.parametrize(
    "url",
    [
        "mysql://user:hunter2@host/db",
        "no url at all hunter2",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=ro&uri=true",
        "postgresql://user:hunter2@host:notaport/db",
    ],
)
def test_other_urls_are_a_mistake_in_the_configuration_and_are_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as error:
        opened(url)
    assert error.value.code == "RC0210"
    assert "hunter2" not in f"{error.value.message} {error.value.hint}"

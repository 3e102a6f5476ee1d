"""A database per test, on SQLite and on PostgreSQL.

The server is `RECONCILER_TEST_POSTGRES_URL` where that is set (a superuser's URL; databases are made and dropped in
it), else a temporary cluster of its own per test process. Each test gets a copy of a migrated template. Where there is
neither, the PostgreSQL half is left out and one skipped test says so, with the command that brings a server.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from reconciler.store import SqlStore, upgrade
from tests.store.place import HAS_POSTGRES, SERVER_VARIABLE, Place
from tools.postgres import temporary_cluster

_numbers = itertools.count()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if HAS_POSTGRES:
        return
    left_out = [item for item in items if item.get_closest_marker("postgres")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


class Server:
    """Makes and drops databases."""

    def __init__(self, url: str) -> None:
        self._url = make_url(url).set(drivername="postgresql+psycopg")
        self._engine = create_engine(self._url, isolation_level="AUTOCOMMIT")
        self._prefix = f"reconciler_test_{os.getpid()}"
        self.template = self.create(None)
        upgrade(self.template)

    def create(self, template: str | None) -> str:
        name = f"{self._prefix}_{next(_numbers)}"
        copy = f' TEMPLATE "{make_url(template).database}"' if template else ""
        self._run(f'CREATE DATABASE "{name}"{copy}')
        return self._url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)

    def drop(self, url: str) -> None:
        self._run(f'DROP DATABASE IF EXISTS "{make_url(url).database}" WITH (FORCE)')

    def _run(self, statement: str) -> None:
        with self._engine.connect() as connection:
            connection.execute(text(statement))

    def close(self) -> None:
        self.drop(self.template)
        self._engine.dispose()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    given = os.environ.get(SERVER_VARIABLE)
    if given:
        made = Server(given)
        yield made
        made.close()
        return
    with temporary_cluster() as cluster:
        made = Server(cluster.url())
        yield made
        made.close()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "template.db"
    upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_place(sqlite_template: Path, tmp_path: Path) -> Iterator[Place]:
    path = tmp_path / "store.db"
    shutil.copyfile(sqlite_template, path)
    place = Place(f"sqlite:///{path}")
    yield place
    place.close()


@pytest.fixture
def postgres_place(server: Server) -> Iterator[Place]:
    place = Place(server.create(server.template))
    yield place
    place.close()
    server.drop(place.url)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest) -> Place:
    """A migrated database of either kind, empty."""
    name = "sqlite_place" if request.param == "sqlite" else "postgres_place"
    made: Place = request.getfixturevalue(name)
    return made


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without a table; the SQLite file is not there yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'new' / 'store.db'}"
        return
    server: Server = request.getfixturevalue("server")
    url = server.create(None)
    yield url
    server.drop(url)


@pytest.fixture
def store(place: Place) -> SqlStore:
    return place.store()


@pytest.fixture
def fresh_place(
    request: pytest.FixtureRequest, sqlite_template: Path, tmp_path: Path
) -> Iterator[Callable[[str], Place]]:
    """A new database on each call, for property tests that need one per example. The caller closes it."""
    made: list[str] = []

    def make(kind: str) -> Place:
        if kind == "postgresql":
            server: Server = request.getfixturevalue("server")
            made.append(server.create(server.template))
            return Place(made[-1])
        path = tmp_path / f"example{next(_numbers)}.db"
        shutil.copyfile(sqlite_template, path)
        return Place(f"sqlite:///{path}")

    yield make
    for url in made:
        request.getfixturevalue("server").drop(url)

"""The schema as it is migrated, against the schema as the code means it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, inspect, text

import reconciler.store.migrations
from reconciler.store import check, upgrade, urls
from reconciler.store.check import schema_differences
from reconciler.store.schema import HEAD, REVISIONS, run_alembic
from reconciler.store.tables import ORPHAN_VIEW, ORPHAN_VIEW_SQL, VERSION_TABLE, metadata
from tests.conftest import Server
from tests.store.place import Place, decide, hold, lead, ref


def test_the_chain_is_linear_and_is_the_one_that_the_code_knows() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(reconciler.store.migrations.__file__).parent))
    script = ScriptDirectory.from_config(config)
    assert len(script.get_heads()) == 1
    assert tuple(step.revision for step in reversed(list(script.walk_revisions()))) == REVISIONS


def test_a_migrated_database_is_what_the_tables_say(place: Place) -> None:
    with place.engine.connect() as connection:
        assert schema_differences(connection) == []


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_constraints_and_partial_indexes_are_what_the_tables_say(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Alembic compares neither CHECKs nor the conditions of indexes nor what a foreign key does on update."""
    if kind == "sqlite":
        meant, made = (f"sqlite:///{tmp_path / name}" for name in ("meant.db", "made.db"))
    else:
        server: Server = request.getfixturevalue("server")
        meant, made = server.create(None), server.create(None)
    engine = create_engine(urls.parse(meant))
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(text(ORPHAN_VIEW_SQL))
    upgrade(made)
    other = create_engine(urls.parse(made))
    assert described(other) == described(engine)
    assert view(other) == view(engine)
    engine.dispose()
    other.dispose()


def described(engine: Engine) -> dict[str, Any]:
    inspector = inspect(engine)
    tables = set(inspector.get_table_names()) - {VERSION_TABLE}
    return {name: described_table(inspector, name) for name in tables}


def described_table(inspector: Any, name: str) -> dict[str, Any]:
    return {
        "columns": {c["name"]: (str(c["type"]), c["nullable"], c["default"]) for c in inspector.get_columns(name)},
        "primary": inspector.get_pk_constraint(name),
        "checks": sorted((c["name"], c["sqltext"]) for c in inspector.get_check_constraints(name)),
        "foreign": sorted(inspector.get_foreign_keys(name), key=lambda key: key["name"]),
        "unique": sorted(inspector.get_unique_constraints(name), key=lambda key: key["name"]),
        "indexes": sorted(
            (i["name"], i["column_names"], i["unique"], sorted((k, str(v)) for k, v in i["dialect_options"].items()))
            for i in inspector.get_indexes(name)
        ),
    }


def view(engine: Engine) -> str:
    return str(inspect(engine).get_view_definition(ORPHAN_VIEW))


def test_down_and_up_again_is_the_same_schema(place: Place) -> None:
    database = place.store().database

    def down(connection: Connection) -> None:
        run_alembic(connection, "downgrade", "base")

    database.write("downgrade", down)
    assert set(inspect(place.engine).get_table_names()) <= {VERSION_TABLE}
    upgrade(place.url)
    assert all(line.ok for line in check(place.url))


def test_a_migration_that_fails_leaves_nothing_behind(empty_url: str) -> None:
    """One transaction, on SQLite too: its driver would commit before each CREATE TABLE by default."""
    upgrade(empty_url)
    place = Place(empty_url)

    def half(connection: Connection) -> None:
        run_alembic(connection, "downgrade", "base")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        place.store().database.write("downgrade", half)
    place.close()
    assert all(line.ok for line in check(empty_url))


def test_every_hold_on_a_resource_is_a_clause_of_the_view(place: Place) -> None:
    """A table with a composite key to (id, live) that the view forgets makes decisions fail late."""
    inspector = inspect(place.engine)
    holders = {
        name
        for name in inspector.get_table_names()
        for key in inspector.get_foreign_keys(name)
        if key["referred_table"] == "provider_resources" and key["referred_columns"] == ["id", "live"]
    }
    assert holders == {"adoptions", "releases", "workers"}
    definition = str(inspector.get_view_definition(ORPHAN_VIEW))
    assert all(name in definition for name in holders)


@pytest.mark.postgres
def test_there_is_no_trigger_of_ours(postgres_place: Place) -> None:
    assert postgres_place.rows("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal") == []


# -- db check


def failing(url: str) -> list[str]:
    return [line.text for line in check(url) if not line.ok]


def test_a_database_in_use_passes_every_check(place: Place) -> None:
    store = place.store()
    lease = lead(store)
    hold(store, ref(1))
    warrant = decide(store, lease, ref(2), ref(3))
    store.strike(warrant, ref=ref(3), why="protected", lease=lease)
    lines = check(place.url)
    assert all(line.ok for line in lines)
    assert {"schema version", "tables", "view", "foreign keys", "references", "protocol"} <= {x.name for x in lines}
    assert str(lines[0]).startswith(f"ok   schema version: {HEAD} in ")


def test_check_writes_nothing(place: Place) -> None:
    before = {name: place.rows(f"SELECT * FROM {name}") for name in metadata.tables}
    check(place.url)
    assert {name: place.rows(f"SELECT * FROM {name}") for name in metadata.tables} == before


def test_check_finds_a_column_too_many(place: Place) -> None:
    place.sql("ALTER TABLE sightings ADD COLUMN surprise text")
    assert any("surprise" in line for line in failing(place.url))


def test_check_finds_the_view_gone(place: Place) -> None:
    place.sql("DROP VIEW orphan_resources")
    assert any("orphan_resources is missing" in line for line in failing(place.url))


def test_check_finds_a_doomed_resource_of_a_finished_deletion(place: Place) -> None:
    store = place.store()
    decide(store, lead(store), ref(1))
    place.sql("UPDATE deletion_claims SET stage = 'finalized', finished_ms = 1, outcome = 'gone'")
    lines = failing(place.url)
    assert any("a doomed resource belongs to an open deletion" in line for line in lines)
    assert any("each id of a finished deletion is struck or proved absent" in line for line in lines)


def test_check_says_that_an_old_schema_is_old(empty_url: str) -> None:
    if empty_url.startswith("sqlite"):
        upgrade(empty_url)
    place = Place(empty_url)
    if empty_url.startswith("sqlite"):
        place.sql(f"DELETE FROM {VERSION_TABLE}")
    assert failing(empty_url)[0].startswith("none in ")
    place.close()


@pytest.mark.postgres
def test_check_finds_foreign_keys_switched_off(postgres_place: Place) -> None:
    postgres_place.sql("ALTER TABLE adoptions DISABLE TRIGGER ALL")
    assert any("switched off on adoptions" in line for line in failing(postgres_place.url))


@pytest.mark.postgres
def test_check_finds_a_constraint_that_was_never_validated(postgres_place: Place) -> None:
    name = "fk_adoptions_resource_id_resource_live"
    postgres_place.sql(f"ALTER TABLE adoptions DROP CONSTRAINT {name}")
    postgres_place.sql(
        f"ALTER TABLE adoptions ADD CONSTRAINT {name} FOREIGN KEY (resource_id, resource_live) "
        "REFERENCES provider_resources (id, live) ON UPDATE RESTRICT ON DELETE RESTRICT NOT VALID"
    )
    assert any(name in line for line in failing(postgres_place.url))


def test_check_finds_a_dangling_reference_in_a_file(sqlite_place: Place) -> None:
    """The raw connection enforces nothing, as another program's would not."""
    sqlite_place.sql("INSERT INTO sightings VALUES ('no such scope', 'ip', 'fr-par-1', 'x', 1)")
    assert any("dangling in sightings" in line for line in failing(sqlite_place.url))

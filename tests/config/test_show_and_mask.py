"""`config show`: values with their origins, and no secret."""

from __future__ import annotations

import tomllib
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.config.mask import masked_url
from reconciler.config.settings import Layer
from reconciler.config.show import Row, rows, schema
from tests.config.world import FULL, MINIMAL, loaded

ZONES, NEWLINE = 'zones = ["nl-ams-1"]', "\n"


def table(folder: Path, text: str = MINIMAL, **env: str) -> dict[str, Row]:
    return {row.key: row for row in rows(loaded(folder, text, env=env))}


def test_every_value_is_shown_with_its_origin(tmp_path: Path) -> None:
    shown = table(tmp_path, FULL, RECONCILER_PRICES__IP_HOUR="0.006")
    assert (shown["scope[1].zones"].text, str(shown["scope[1].zones"].origin)) == (
        '["nl-ams-1"]',
        f"{tmp_path}/reconciler.toml:{FULL[: FULL.index(ZONES)].count(NEWLINE) + 1}",
    )
    assert (shown["prices.ip_hour"].text, str(shown["prices.ip_hour"].origin)) == (
        "0.006",
        "RECONCILER_PRICES__IP_HOUR",
    )
    assert (shown["scope[1].grace"].text, str(shown["scope[1].grace"].origin)) == ("900", "default")


def test_defaults_are_shown_too(tmp_path: Path) -> None:
    shown = table(tmp_path)
    assert shown["limits.reconcile.eur_month"].value == 300.0
    assert shown["limits.reconcile.eur_month"].origin.layer is Layer.DEFAULT


def test_the_default_database_is_shown_as_what_it_came_to(tmp_path: Path) -> None:
    row = table(tmp_path, XDG_STATE_HOME="/state")["database_url"]
    assert (row.value, row.origin.layer) == ("sqlite:////state/reconciler/reconciler.db", Layer.DEFAULT)


def test_the_database_of_a_url_file_is_shown_masked_with_the_files_origin(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://app:hunter2@db/x")
    row = table(tmp_path, 'database_url_file = "url"\n' + MINIMAL)["database_url"]
    assert (row.value, str(row.origin)) == ("postgresql://app:***@db/x", f"{tmp_path}/reconciler.toml:1")


def test_passwords_are_masked_wherever_a_url_is_shown(tmp_path: Path) -> None:
    text = MINIMAL.replace("[state]", '[state]\nbackend_url = "postgres://u:hunter2@h/d"')
    shown = table(tmp_path, text, RECONCILER_DATABASE_URL="postgresql://app:hunter2@db/x?sslpassword=hunter2")
    assert "hunter2" not in " ".join(row.text for row in shown.values())


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("sqlite:////var/lib/reconciler.db", "sqlite:////var/lib/reconciler.db"),
        ("postgresql://db:5432/x", "postgresql://db:5432/x"),
        ("postgresql://app@db/x", "postgresql://app@db/x"),
        ("postgresql://app:pw@db/x?sslmode=require", "postgresql://app:***@db/x?sslmode=require"),
        ("postgresql://app:p@ss/w:rd@db/x", "postgresql://app:***@db/x"),
        ("postgresql:///x?user=a&password=pw", "postgresql:///x?user=a&password=***"),
        ("postgresql://app:p?w@db/x", "postgresql://***"),
        ("postgresql://app:password/x", "postgresql://***"),
        ("postgresql://[::1]:5432/x", "postgresql://[::1]:5432/x"),
        ("hunter2", "***"),
    ],
)
def test_a_url_is_masked(url: str, masked: str) -> None:
    assert masked_url(url) == masked


@given(st.text(min_size=1, max_size=12, alphabet="hH/?#@:%&=[]. ").map(lambda noise: f"Z{noise}Z"))
def test_no_character_of_a_password_gets_through_however_it_is_written(password: str) -> None:
    assert "Z" not in masked_url(f"postgresql://app:{password}@db/x")


def test_the_published_schema_takes_a_full_document() -> None:
    jsonschema.validate(tomllib.loads(FULL), schema())


def test_the_published_schema_refuses_an_unknown_key() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"limit": {}}, schema())

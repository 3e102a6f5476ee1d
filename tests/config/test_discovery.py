"""Which file counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.config.discover import discover
from reconciler.config.load import load_settings
from reconciler.kernel.errors import ConfigError
from tests.config.world import MINIMAL, home, write

PYPROJECT = "[tool.reconciler]\n" + MINIMAL.replace("[state]", "[tool.reconciler.state]").replace(
    "[[scope]]", "[[tool.reconciler.scope]]"
)


def found(start: Path, *, explicit: Path | None = None, **environ: str) -> Path | None:
    start.mkdir(parents=True, exist_ok=True)
    result = discover(start, environ=environ, explicit=explicit)
    return result.path if result else None


def test_a_file_in_the_working_directory_is_found(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert found(tmp_path) == path


def test_a_file_of_a_folder_above_is_found(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert found(tmp_path / "a" / "b") == path


def test_the_search_ends_at_the_folder_of_the_pulumi_project(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path / "a", "name: a\n", name="Pulumi.yaml")
    assert found(tmp_path / "a" / "b") is None


def test_the_folder_of_the_pulumi_project_itself_is_searched(tmp_path: Path) -> None:
    write(tmp_path, "name: a\n", name="Pulumi.yaml")
    path = write(tmp_path)
    assert found(tmp_path / "stacks") == path


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    write(tmp_path)
    near = write(tmp_path / "a")
    assert found(tmp_path / "a" / "b") == near


def test_a_pyproject_with_our_table_is_a_configuration(tmp_path: Path) -> None:
    write(tmp_path, PYPROJECT, name="pyproject.toml")
    assert [scope.name for scope in load_settings(tmp_path, environ=home(tmp_path)).scopes] == ["ci"]


def test_a_pyproject_that_says_nothing_of_us_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path)
    write(tmp_path / "a", '[tool.other]\nx = 1\n[project]\nname = "a"\n', name="pyproject.toml")
    assert found(tmp_path / "a") == path


def test_two_configurations_in_one_folder_are_refused(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, PYPROJECT, name="pyproject.toml")
    with pytest.raises(ConfigError) as raised:
        found(tmp_path)
    assert raised.value.code == "RC0126"


def test_a_broken_pyproject_beside_our_own_file_is_none_of_our_business(tmp_path: Path) -> None:
    path = write(tmp_path)
    write(tmp_path, "[[[", name="pyproject.toml")
    assert found(tmp_path) == path


def test_the_variable_names_a_file(tmp_path: Path) -> None:
    write(tmp_path)
    named = write(tmp_path / "elsewhere", name="mine.toml")
    assert found(tmp_path, RECONCILER_CONFIG=str(named)) == named


def test_the_option_beats_the_variable(tmp_path: Path) -> None:
    by_option, by_variable = write(tmp_path, name="a.toml"), write(tmp_path, name="b.toml")
    assert found(tmp_path, explicit=by_option, RECONCILER_CONFIG=str(by_variable)) == by_option


def test_a_relative_name_is_relative_to_the_working_directory(tmp_path: Path) -> None:
    write(tmp_path / "a", name="mine.toml")
    assert found(tmp_path / "a", explicit=Path("mine.toml")) == tmp_path / "a" / "mine.toml"


@pytest.mark.parametrize("name", ["nowhere.toml", "."])
def test_a_named_file_that_is_none_is_an_error_and_not_a_reason_to_search(tmp_path: Path, name: str) -> None:
    write(tmp_path)
    with pytest.raises(ConfigError, match="RECONCILER_CONFIG names") as raised:
        found(tmp_path, RECONCILER_CONFIG=name)
    assert raised.value.code == "RC0125"


def test_a_named_pyproject_without_our_table_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, '[project]\nname = "a"\n', name="pyproject.toml")
    with pytest.raises(ConfigError, match=r"has no \[tool.reconciler\]") as raised:
        found(tmp_path, explicit=path)
    assert raised.value.code == "RC0125"


def test_no_file_at_all_is_an_error_that_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no configuration") as raised:
        load_settings(tmp_path, environ=home(tmp_path))
    assert raised.value.code == "RC0111"
    assert "reconciler config init" in raised.value.hint


def test_a_file_without_a_scope_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, '[state]\nstacks = ["a/b"]\n')
    with pytest.raises(ConfigError, match=r"declares no scope") as raised:
        load_settings(tmp_path, environ=home(tmp_path))
    assert str(path) in raised.value.message
    assert raised.value.code == "RC0111"


def test_a_file_that_is_not_toml_is_named_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, "[state]\nstacks = nope\n")
    with pytest.raises(ConfigError, match=r"reconciler\.toml cannot be read: it is not TOML: .*line 2") as raised:
        load_settings(tmp_path, environ=home(tmp_path))
    assert raised.value.code == "RC0112"


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "reconciler.toml").write_bytes(b'x = "\xff"')
    with pytest.raises(ConfigError, match="not UTF-8") as raised:
        load_settings(tmp_path, environ=home(tmp_path))
    assert raised.value.code == "RC0112"


def test_an_error_of_the_parser_never_repeats_a_value(tmp_path: Path) -> None:
    write(tmp_path, "database_url = postgresql://app:hunter2@db/x\n")
    with pytest.raises(ConfigError) as raised:
        load_settings(tmp_path, environ=home(tmp_path))
    assert "hunter2" not in raised.value.message + raised.value.hint


def test_a_byte_order_mark_does_not_hide_the_first_key(tmp_path: Path) -> None:
    (tmp_path / "reconciler.toml").write_bytes(b"\xef\xbb\xbf" + MINIMAL.encode())
    assert load_settings(tmp_path, environ=home(tmp_path)).scopes[0].name == "ci"

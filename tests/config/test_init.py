"""`config init`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from reconciler.config.init import init_config, render
from reconciler.config.load import load, load_settings
from reconciler.kernel.errors import ConfigError
from tests.config.world import PROJECT, UUID, home, write


def test_the_written_file_is_a_valid_configuration_with_the_given_scope(tmp_path: Path) -> None:
    write(tmp_path, "name: workers\nruntime: python\n", name="Pulumi.yaml")
    path = init_config(tmp_path, scope_uuid=UUID, project=PROJECT)
    (scope,) = load_settings(tmp_path, environ=home(tmp_path)).scopes
    assert path == tmp_path / "reconciler.toml"
    assert (scope.uuid, scope.project, scope.stacks) == (UUID, PROJECT, ("workers/*",))


def test_what_is_commented_out_is_the_default(tmp_path: Path) -> None:
    text = render(scope_uuid=UUID, project=PROJECT, stacks=["a/*"])
    write(tmp_path / "commented", text)
    skip = r"database_url_file|backend_url|\[\[fleet|name =|match ="
    filled = re.sub(rf"^# (?!{skip})(?=[a-z_]+ = )", "", text, flags=re.MULTILINE)
    write(tmp_path / "filled", filled)
    assert len(tomllib.loads(filled)["scope"][0]) > len(tomllib.loads(text)["scope"][0])
    first, second = (load(tmp_path / name, environ=home(tmp_path)).document for name in ("commented", "filled"))
    assert first == second


def test_the_commented_fleet_is_a_valid_one(tmp_path: Path) -> None:
    text = render(scope_uuid=UUID, project=PROJECT, stacks=["a/*"])
    write(tmp_path, re.sub(r"^# (?=\[\[fleet|name =|match =)", "", text, flags=re.MULTILINE))
    assert [fleet.name for fleet in load_settings(tmp_path, environ=home(tmp_path)).scopes[0].fleets] == ["linux"]


def test_without_a_project_the_key_is_left_to_the_user_and_the_error_names_it(tmp_path: Path) -> None:
    write(tmp_path, "name: workers\n", name="Pulumi.yaml")
    init_config(tmp_path, scope_uuid=UUID, project=None)
    with pytest.raises(ConfigError, match=r"scope\[0\]\.project: this key is missing"):
        load_settings(tmp_path, environ=home(tmp_path))


def test_without_a_pulumi_project_the_stacks_are_left_to_the_user(tmp_path: Path) -> None:
    init_config(tmp_path, scope_uuid=UUID, project=PROJECT)
    with pytest.raises(ConfigError) as raised:
        load_settings(tmp_path, environ=home(tmp_path))
    assert raised.value.code == "RC0124"


@pytest.mark.parametrize("content", ["", "[[[", "x = 1\n"])
def test_an_existing_file_is_never_overwritten_whatever_is_in_it(tmp_path: Path, content: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(ConfigError, match="is there already") as raised:
        init_config(tmp_path, scope_uuid=UUID, project=PROJECT)
    assert raised.value.code == "RC0128"
    assert path.read_text() == content


def test_a_pyproject_with_our_table_is_in_the_way_too(tmp_path: Path) -> None:
    write(tmp_path, "[tool.reconciler]\n", name="pyproject.toml")
    with pytest.raises(ConfigError) as raised:
        init_config(tmp_path, scope_uuid=UUID, project=PROJECT)
    assert raised.value.code == "RC0128"
    assert not (tmp_path / "reconciler.toml").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot write") as raised:
        init_config(tmp_path / "nowhere", scope_uuid=UUID, project=PROJECT)
    assert raised.value.code == "RC0129"

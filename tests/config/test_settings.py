"""From a file to the frozen values that the other rooms take."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.kernel.errors import ConfigError
from reconciler.model.scope import KNOWN_ZONES, FleetMatch, Limits, Never, Ownership, Rail, Scope
from tests.config.world import FULL, MINIMAL, OTHER, PROJECT, UUID, home, loaded, write


def test_a_minimal_file_makes_a_scope_with_the_defaults_of_the_model(tmp_path: Path) -> None:
    (scope,) = loaded(tmp_path).settings.scopes
    assert scope == Scope(name="ci", uuid=UUID, project=PROJECT, zones=KNOWN_ZONES, stacks=("ci/*",))


def test_limits_that_nobody_sets_are_the_limits_of_the_model(tmp_path: Path) -> None:
    assert loaded(tmp_path).settings.limits == Limits()


@pytest.mark.parametrize("adapter", ["native", "none"])
def test_the_records_adapter_reaches_the_settings(tmp_path: Path, adapter: str) -> None:
    given = loaded(tmp_path, MINIMAL + f'[records]\nadapter = "{adapter}"\n')
    assert given.settings.records_adapter == adapter
    assert loaded(tmp_path).settings.records_adapter == "none"


def test_every_key_of_a_scope_reaches_the_model(tmp_path: Path) -> None:
    ci, render = loaded(tmp_path, FULL).settings.scopes
    assert ci == Scope(
        name="ci",
        uuid=UUID,
        project=PROJECT,
        zones=KNOWN_ZONES,
        stacks=("ci/linux-prod", "render/*"),
        ownership=Ownership.TWO_PROOFS,
        never=Never(tags=("keep",), names=("bastion*", "pvc-*")),
        fleets=(
            FleetMatch(
                name="linux",
                controller="external",
                urns=("**::scaleway:instance/server:Server::ci-*",),
                tags=("role=ci",),
                names=("ci-linux-*",),
                require=2,
                max_create_seconds=1500,
                actions=(("detached_ip", "ask"), ("detached_volume", "destroy"), ("orphan", "ask")),
            ),
        ),
        grace_seconds=1200,
        create_seconds=600,
        limits=Limits(
            reconcile=Rail(count=20, percent=5.0, eur_month=300.0),
            per_hour=400,
            shrink_percent=25.0,
            error_percent=10.0,
            unknown_percent=10.0,
            clock_skew_seconds=30.0,
            plan_ttl_seconds=7200,
        ),
        ip_hour_eur=0.005,
        sbs_gb_hour_eur=0.0001,
    )
    assert (render.uuid, render.zones, render.never.names, render.fleets) == (OTHER, ("nl-ams-1",), ("gateway",), ())


def test_every_scope_gets_all_stacks_because_each_may_own_something_in_it(tmp_path: Path) -> None:
    assert {scope.stacks for scope in loaded(tmp_path, FULL).settings.scopes} == {("ci/linux-prod", "render/*")}


def test_paths_are_relative_to_the_files_folder_and_not_to_the_working_directory(tmp_path: Path) -> None:
    write(tmp_path, FULL)
    (tmp_path / "deep").mkdir()
    settings = loaded(tmp_path / "deep" / "x", FULL, config=tmp_path / "reconciler.toml").settings
    assert settings.state.work_dir == tmp_path / "infra"
    assert settings.state.projects == {"ci": tmp_path / "infra" / "ci"}
    assert settings.database_url == f"sqlite:///{tmp_path}/memory.db"


def test_the_commands_and_the_output_are_as_set(tmp_path: Path) -> None:
    settings = loaded(tmp_path, FULL).settings
    assert (settings.pulumi.command, settings.pulumi.export_seconds) == ("/opt/pulumi/bin/pulumi", 60)
    assert (settings.pulumi.preview_seconds, settings.pulumi.refresh_seconds) == (300, 1200)
    assert (settings.output.format, settings.output.color) == ("json", "never")
    assert settings.state.backend_url == "file:///var/lib/pulumi"


def test_a_fleet_of_the_only_scope_need_not_name_it(tmp_path: Path) -> None:
    fleet = '\n[[fleet]]\nname = "linux"\nmatch = { tags = ["a"], name = "b" }\n'
    assert [fleet.name for fleet in loaded(tmp_path, MINIMAL + fleet).settings.scopes[0].fleets] == ["linux"]


def test_a_uuid_in_another_spelling_is_brought_into_the_one_that_tags_use(tmp_path: Path) -> None:
    assert loaded(tmp_path, MINIMAL.replace(UUID, UUID.upper())).settings.scopes[0].uuid == UUID


def test_the_default_database_is_a_sqlite_file_in_the_state_folder(tmp_path: Path) -> None:
    settings = loaded(tmp_path, env={"XDG_STATE_HOME": "/state"}).settings
    assert settings.database_url == "sqlite:////state/reconciler/reconciler.db"


def test_without_a_state_folder_the_database_is_below_the_home(tmp_path: Path) -> None:
    expected = f"sqlite:///{tmp_path}/home/.local/state/reconciler/reconciler.db"
    assert loaded(tmp_path).settings.database_url == expected


def test_a_relative_state_folder_counts_as_unset_as_the_xdg_specification_says(tmp_path: Path) -> None:
    assert str(tmp_path / "home") in loaded(tmp_path, env={"XDG_STATE_HOME": "state"}).settings.database


def test_the_database_comes_from_its_own_variable(tmp_path: Path) -> None:
    url = "postgresql://app:secret@db/reconciler"
    assert loaded(tmp_path, env={"RECONCILER_DATABASE_URL": url}).settings.database_url == url


def test_a_bare_database_url_of_another_program_is_never_taken(tmp_path: Path) -> None:
    url = "postgresql://other/app"
    assert url not in loaded(tmp_path, env={"DATABASE_URL": url}).settings.database


def test_a_relative_sqlite_path_in_the_environment_stays_relative_to_the_working_directory(tmp_path: Path) -> None:
    settings = loaded(tmp_path, env={"RECONCILER_DATABASE_URL": "sqlite:///here.db"}).settings
    assert settings.database_url == "sqlite:///here.db"


def test_the_database_url_may_be_in_a_file_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, "postgresql://app:secret@db/reconciler\n", name="url")
    settings = loaded(tmp_path, 'database_url_file = "url"\n' + MINIMAL).settings
    assert settings.database_url == "postgresql://app:secret@db/reconciler"


@pytest.mark.parametrize("content", ["", "  \n"])
def test_an_empty_database_url_file_is_refused(tmp_path: Path, content: str) -> None:
    write(tmp_path, content, name="url")
    with pytest.raises(ConfigError, match="is empty") as raised:
        loaded(tmp_path, 'database_url_file = "url"\n' + MINIMAL)
    assert raised.value.code == "RC0127"


def test_a_database_url_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere.* cannot be read") as raised:
        loaded(tmp_path, 'database_url_file = "nowhere"\n' + MINIMAL)
    assert raised.value.code == "RC0127"


def test_the_higher_layer_decides_between_url_and_file(tmp_path: Path) -> None:
    text = 'database_url = "sqlite:////by/file.db"\n' + MINIMAL
    write(tmp_path, "sqlite:////by/url-file.db", name="url")
    assert loaded(tmp_path, text, env={"RECONCILER_DATABASE_URL_FILE": "url"}).settings.database.endswith(
        "/by/url-file.db"
    )
    text = 'database_url_file = "url"\n' + MINIMAL
    env = {"RECONCILER_DATABASE_URL": "sqlite:////by/env.db"}
    assert loaded(tmp_path, text, env=env).settings.database_url == "sqlite:////by/env.db"


def test_without_any_place_for_a_database_whoever_needs_one_stops_and_nobody_else(tmp_path: Path) -> None:
    settings = loaded(tmp_path, env={"HOME": ""}).settings
    with pytest.raises(ConfigError) as raised:
        _ = settings.database
    assert raised.value.code == "RC0127"


def test_the_repr_of_settings_and_of_all_that_was_loaded_shows_no_password(tmp_path: Path) -> None:
    text = MINIMAL.replace("[state]", '[state]\nbackend_url = "postgres://u:hunter2@h/d"')
    result = loaded(tmp_path, text, env={"RECONCILER_DATABASE_URL": "postgresql://app:hunter2@db/x"})
    assert "hunter2" not in repr(result)
    assert "hunter2" not in repr(result.settings.state)
    assert "hunter2" not in repr(result.layers)


def test_a_command_that_needs_no_scope_works_without_any_file(tmp_path: Path) -> None:
    from reconciler.config.load import load_settings

    settings = load_settings(tmp_path, environ=home(tmp_path), need_scopes=False)
    assert (settings.scopes, settings.source) == ((), None)


@pytest.mark.parametrize("text", ["a = " + "[" * 5000 + "]" * 5000, "a = " + "9" * 5000])
def test_toml_that_no_parser_can_hold_is_a_mistake_and_no_bug(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        loaded(tmp_path, text)
    assert raised.value.code == "RC0112"

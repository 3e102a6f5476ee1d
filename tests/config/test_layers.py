"""Which layer wins, and where each value is said to come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reconciler.config.layers import Layers, Source
from reconciler.config.load import Loaded, load
from reconciler.config.settings import Layer
from tests.config.world import MINIMAL, home, loaded, write

KEY = ("limits", "shrink_percent")
VARIABLE = "RECONCILER_LIMITS__SHRINK_PERCENT"


def stack_of(folder: Path, *, user: float | None, file: float | None, env: float | None, flag: float | None) -> Loaded:
    """A configuration in which the given layers set one and the same key."""
    environ = home(folder)
    write(folder / "work", MINIMAL + (f"[limits]\nshrink_percent = {file}\n" if file is not None else ""))
    if user is not None:
        write(folder / "home/.config/reconciler", f"[limits]\nshrink_percent = {user}\n", name="config.toml")
    if env is not None:
        environ[VARIABLE] = str(env)
    return load(folder / "work", environ=environ, flags={"limits.shrink_percent": flag})


VALUE = st.none() | st.integers(min_value=1, max_value=99).map(float)


@given(user=VALUE, file=VALUE, env=VALUE, flag=VALUE)
def test_the_highest_layer_that_sets_a_key_wins_and_is_named(
    user: float | None, file: float | None, env: float | None, flag: float | None, tmp_path_factory: Any
) -> None:
    result = stack_of(tmp_path_factory.mktemp("layers"), user=user, file=file, env=env, flag=flag)
    order = ((Layer.FLAG, flag), (Layer.ENVIRONMENT, env), (Layer.FILE, file), (Layer.USER, user))
    layer, value = next(((layer, value) for layer, value in order if value is not None), (Layer.DEFAULT, 30.0))
    assert result.settings.limits.shrink_percent == value
    assert result.layers.origin(KEY).layer is layer


def test_an_origin_names_file_and_line(tmp_path: Path) -> None:
    result = stack_of(tmp_path, user=None, file=7, env=None, flag=None)
    assert result.layers.origin(KEY).where == f"{tmp_path}/work/reconciler.toml:9"


def test_an_origin_names_the_variable(tmp_path: Path) -> None:
    assert stack_of(tmp_path, user=None, file=7, env=8, flag=None).layers.origin(KEY).where == VARIABLE


def test_an_origin_names_the_command_line(tmp_path: Path) -> None:
    assert stack_of(tmp_path, user=1, file=7, env=8, flag=9).layers.origin(KEY).where == "command line"


def test_tables_are_merged_key_by_key(tmp_path: Path) -> None:
    result = loaded(
        tmp_path,
        MINIMAL + "[limits.reconcile]\ncount = 3\n",
        env={"RECONCILER_LIMITS__RECONCILE__PERCENT": "2.5"},
        flags={"limits.reconcile.eur_month": 10},
    )
    rail = result.settings.limits.reconcile
    assert (rail.count, rail.percent, rail.eur_month) == (3, 2.5, 10.0)


def test_lists_are_replaced_as_a_whole(tmp_path: Path) -> None:
    result = loaded(tmp_path, env={"RECONCILER_STATE__STACKS": '["a/b"]'})
    assert result.settings.scopes[0].stacks == ("a/b",)


def test_a_list_of_tables_may_come_from_the_environment(tmp_path: Path) -> None:
    scope = '[{"name": "env", "uuid": "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c13", "project": '
    scope += '"5ca1ab1e-0000-4000-8000-000000000002"}]'
    result = loaded(tmp_path, MINIMAL + 'grace = "1h"\n', env={"RECONCILER_SCOPE": scope})
    assert [one.name for one in result.settings.scopes] == ["env"]
    assert result.layers.origin(("scope", 0, "name")).where == "RECONCILER_SCOPE"


def test_what_a_replaced_list_does_not_say_is_default_and_not_the_lower_layers(tmp_path: Path) -> None:
    scope = '[{"name": "env", "uuid": "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c13", "project": '
    scope += '"5ca1ab1e-0000-4000-8000-000000000002"}]'
    result = loaded(tmp_path, MINIMAL + 'grace = "1h"\n', env={"RECONCILER_SCOPE": scope})
    assert result.settings.scopes[0].grace_seconds == 900
    assert result.layers.origin(("scope", 0, "grace")).layer is Layer.DEFAULT


def test_an_empty_variable_is_an_unset_one(tmp_path: Path) -> None:
    assert loaded(tmp_path, env={VARIABLE: ""}).settings.limits.shrink_percent == 30.0


def test_a_whole_table_and_one_of_its_keys_may_both_be_set_in_the_environment(tmp_path: Path) -> None:
    env = {"RECONCILER_LIMITS": '{"shrink_percent": 11, "error_percent": 12}', VARIABLE: "13"}
    limits = loaded(tmp_path, env=env).settings.limits
    assert (limits.shrink_percent, limits.error_percent) == (13.0, 12.0)


def test_text_in_the_environment_stays_text_where_a_number_would_do_too(tmp_path: Path) -> None:
    assert loaded(tmp_path, env={"RECONCILER_PULUMI__COMMAND": "123"}).settings.pulumi.command == "123"


def test_a_flag_that_was_not_given_changes_nothing(tmp_path: Path) -> None:
    result = loaded(tmp_path, MINIMAL + '[output]\ncolor = "never"\n', flags={"output.color": None})
    assert result.settings.output.color == "never"


def test_a_user_file_alone_may_hold_the_scopes(tmp_path: Path) -> None:
    write(tmp_path / "config" / "reconciler", name="config.toml")
    (tmp_path / "work").mkdir()
    environ = {**home(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert [scope.name for scope in load(tmp_path / "work", environ=environ).settings.scopes] == ["ci"]


DATA = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6
)


@given(low=st.dictionaries(st.sampled_from("abc"), DATA), high=st.dictionaries(st.sampled_from("abc"), DATA))
def test_merging_a_layer_over_itself_or_over_nothing_changes_nothing(low: dict[str, Any], high: dict[str, Any]) -> None:
    def merged(*layers: dict[str, Any]) -> dict[str, Any]:
        return Layers(tuple(Source(layer=Layer.FILE, name="x", data=data) for data in layers)).merged()

    once = merged(low, high)
    assert merged(low, high, high) == once
    assert merged({}, once) == once == merged(once, {})

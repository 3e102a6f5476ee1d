"""Every mistake is named by file, line and key path, with its code and a hint."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.config.errors import InvalidConfig, dotted
from reconciler.config.load import load
from reconciler.model.scope import KNOWN_ZONES
from tests.config.world import FULL, MINIMAL, PROJECT, UUID, home, mistake, mistakes

FLEET = '\n[[fleet]]\nname = "linux"\nmatch = {{ tags = ["a"], name = "b"{} }}\n{}\n'


def test_an_unknown_key_is_named_with_file_line_and_the_key_that_was_meant(tmp_path: Path) -> None:
    problem = mistake(tmp_path, MINIMAL + 'zonez = ["fr-par-1"]\n')
    assert str(problem) == f"{tmp_path}/reconciler.toml:8: scope[0].zonez: unknown key"
    assert (problem.code, problem.hint) == ("RC0113", "Did you mean `zones`?")


def test_an_unknown_table_is_named(tmp_path: Path) -> None:
    problem = mistake(tmp_path, MINIMAL + "[limit]\ncount = 1\n")
    assert (dotted(problem.path), problem.hint) == ("limit", "Did you mean `limits`?")
    assert problem.where.endswith(":8")


def test_an_unknown_key_of_an_inline_table_has_the_line_of_the_table(tmp_path: Path) -> None:
    problem = mistake(tmp_path, MINIMAL + "[limits]\nreconcile = { cout = 1 }\n")
    assert (dotted(problem.path), problem.where[-2:]) == ("limits.reconcile.cout", ":9")


def test_a_key_that_resembles_none_points_to_the_reference(tmp_path: Path) -> None:
    assert "docs/configuration.md" in mistake(tmp_path, MINIMAL + "qqqq = 1\n").hint


def test_a_mistake_in_a_pyproject_has_its_line_there(tmp_path: Path) -> None:
    text = '[project]\nname = "a"\n\n[tool.reconciler.limits]\nshrink_percent = 101\n'
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(InvalidConfig) as raised:
        load(tmp_path, environ=home(tmp_path))
    assert str(raised.value.problems[0]).startswith(f"{tmp_path}/pyproject.toml:5: limits.shrink_percent: ")


def test_a_mistake_in_the_environment_names_the_variable(tmp_path: Path) -> None:
    problem = mistake(tmp_path, MINIMAL, env={"RECONCILER_LIMITS__RECONCILE__COUNT": "many"})
    assert str(problem).startswith("RECONCILER_LIMITS__RECONCILE__COUNT: limits.reconcile.count: ")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("RECONCILER_LIMITS__RECONCILE__CONT", "Did you mean `count`?"),
        ("RECONCILER_LIMIT__SHRINK_PERCENT", "Did you mean RECONCILER_LIMITS__SHRINK_PERCENT?"),
        ("RECONCILER_DATABSE_URL", "Did you mean RECONCILER_DATABASE_URL?"),
        ("RECONCILER_NONSENSE__X", "docs/configuration.md lists every key."),
    ],
)
def test_a_variable_that_resembles_a_key_is_an_error(tmp_path: Path, name: str, meant: str) -> None:
    problem = mistake(tmp_path, MINIMAL, env={name: "7"})
    assert (problem.code, problem.hint, problem.where) == ("RC0113", meant, name)


@pytest.mark.parametrize("name", ["RECONCILER_PORT", "RECONCILER_CLOCK_FILE", "RECONCILER_TOOLCHAIN_DIR"])
def test_a_variable_that_is_none_of_our_keys_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "reconciler.toml").write_text(MINIMAL)
    assert load(tmp_path, environ={**home(tmp_path), name: "7"}).settings.scopes


def test_all_mistakes_of_all_layers_are_in_one_error(tmp_path: Path) -> None:
    text = MINIMAL.replace(UUID, "nope") + "[output]\ncolor = 3\n"
    problems = mistakes(tmp_path, text, env={"RECONCILER_PULUMI__COMAND": "x", "RECONCILER_STAT__X": "1"})
    assert sorted(dotted(problem.path) for problem in problems) == [
        "output.color",
        "pulumi.comand",
        "scope[0].uuid",
        "stat.x",
    ]


def test_the_error_speaks_of_the_first_mistake_and_counts_the_rest(tmp_path: Path) -> None:
    (tmp_path / "reconciler.toml").write_text(MINIMAL + "zonez = 1\nnevr = 1\n")
    with pytest.raises(InvalidConfig) as raised:
        load(tmp_path, environ=home(tmp_path))
    assert raised.value.message.endswith("scope[0].zonez: unknown key (and 1 more)")
    assert "reconciler config validate" in raised.value.hint
    assert raised.value.exit_status == 64


def test_a_grace_that_a_create_may_outlast_is_refused(tmp_path: Path) -> None:
    problem = mistake(tmp_path, MINIMAL + 'grace = "10m"\n')
    assert (problem.code, dotted(problem.path)) == ("RC0115", "scope[0].grace")
    assert problem.message == "a grace of 10m does not exceed the create deadline of 10m"
    assert problem.where.endswith(":8")


def test_a_longer_create_deadline_needs_a_longer_grace(tmp_path: Path) -> None:
    assert mistake(tmp_path, MINIMAL + 'create_deadline = "20m"\n').code == "RC0115"


def test_an_unknown_zone_lists_the_known_ones(tmp_path: Path) -> None:
    problem = mistake(tmp_path, MINIMAL + 'zones = ["fr-par-1", "fr-par-9"]\n')
    assert (problem.code, dotted(problem.path)) == ("RC0116", "scope[0].zones")
    assert "fr-par-9" in problem.message
    assert all(zone in problem.hint for zone in KNOWN_ZONES)


def test_a_zone_list_without_zones_is_refused(tmp_path: Path) -> None:
    assert dotted(mistake(tmp_path, MINIMAL + "zones = []\n").path) == "scope[0].zones"


@pytest.mark.parametrize(("key", "value"), [("name", "ci"), ("uuid", UUID)])
def test_two_scopes_must_differ_in_name_and_uuid(tmp_path: Path, key: str, value: str) -> None:
    other = {"name": "other", "uuid": UUID.replace("6f1e", "7f1e"), "project": PROJECT, key: value}
    lines = "\n".join(f"{name} = {json.dumps(text)}" for name, text in other.items())
    problem = mistake(tmp_path, f"{MINIMAL}\n[[scope]]\n{lines}\n")
    assert (problem.code, dotted(problem.path)) == ("RC0117", f"scope[1].{key}")


def test_two_fleets_of_one_scope_must_differ_in_name(tmp_path: Path) -> None:
    problem = mistake(tmp_path, MINIMAL + FLEET.format("", "") + FLEET.format("", 'scope = "ci"'))
    assert (problem.code, dotted(problem.path)) == ("RC0118", "fleet[1].name")


def test_two_fleets_of_different_scopes_may_have_one_name(tmp_path: Path) -> None:
    second = FULL.replace('name = "linux"\nscope = "ci"', 'name = "linux"\nscope = "render"').partition("[[fleet]]")[2]
    text = FULL.replace("[records]", "[[fleet]]" + second.partition("[records]")[0] + "[records]")
    (tmp_path / "reconciler.toml").write_text(text)
    scopes = load(tmp_path, environ=home(tmp_path)).settings.scopes
    assert [[fleet.name for fleet in scope.fleets] for scope in scopes] == [["linux"], ["linux"]]


def test_a_fleet_of_no_scope_is_refused_with_the_scopes_there_are(tmp_path: Path) -> None:
    problem = mistake(tmp_path, MINIMAL + FLEET.format("", 'scope = "cd"'))
    assert (problem.code, problem.hint) == ("RC0119", "Scopes are: ci.")


def test_a_fleet_must_name_its_scope_when_there_are_several(tmp_path: Path) -> None:
    problem = mistake(tmp_path, FULL.replace('scope = "ci"\n', ""))
    assert (problem.code, dotted(problem.path), problem.hint) == ("RC0121", "fleet[0].scope", "Scopes are: ci, render.")


@pytest.mark.parametrize("adapter", ["sql", "garm"])
def test_a_records_adapter_that_this_version_lacks_is_refused_by_name(tmp_path: Path, adapter: str) -> None:
    problem = mistake(tmp_path, MINIMAL + f'[records]\nadapter = "{adapter}"\n')
    assert (problem.code, dotted(problem.path)) == ("RC0120", "records.adapter")
    assert "not available" in problem.message


def test_an_adapter_that_never_was_is_an_invalid_value(tmp_path: Path) -> None:
    assert mistake(tmp_path, MINIMAL + '[records]\nadapter = "mongo"\n').code == "RC0114"


@pytest.mark.parametrize("key", ["name", "uuid", "project"])
def test_a_missing_key_is_named_at_its_scope(tmp_path: Path, key: str) -> None:
    lines = [line for line in MINIMAL.splitlines() if not line.startswith(key)]
    problem = mistake(tmp_path, "\n".join(lines))
    assert (problem.code, dotted(problem.path)) == ("RC0121", f"scope[0].{key}")
    assert problem.where.endswith(":4")


def test_scopes_without_any_stack_are_refused(tmp_path: Path) -> None:
    problem = mistake(tmp_path, MINIMAL.replace('stacks = ["ci/*"]', ""))
    assert (problem.code, dotted(problem.path)) == ("RC0124", "state.stacks")


def test_url_and_file_in_one_place_are_refused(tmp_path: Path) -> None:
    problem = mistake(tmp_path, 'database_url = "sqlite:///a"\ndatabase_url_file = "b"\n' + MINIMAL)
    assert (problem.code, dotted(problem.path)) == ("RC0122", "database_url_file")


def test_more_signals_than_are_declared_can_never_match_and_are_refused(tmp_path: Path) -> None:
    problem = mistake(tmp_path, MINIMAL + FLEET.format(", require = 3", ""))
    assert (problem.code, dotted(problem.path)) == ("RC0123", "fleet[0].match.require")


def test_an_elastic_fleet_is_not_declared_here(tmp_path: Path) -> None:
    problem = mistake(tmp_path, MINIMAL + FLEET.format("", 'controller = "elastic"'))
    assert "WorkerFleet" in problem.message


@pytest.mark.parametrize(
    ("actions", "path"),
    [
        ('orphans = "ask"', "fleet[0].actions.orphans"),
        ('orphan = "delete"', "fleet[0].actions.orphan"),
        ('missing = "destroy"', "fleet[0].actions.missing"),
        ('detached_disk = "ask"', "fleet[0].actions.detached_disk"),
    ],
)
def test_an_action_that_makes_no_sense_is_refused(tmp_path: Path, actions: str, path: str) -> None:
    problem = mistake(tmp_path, MINIMAL + FLEET.format("", f"actions = {{ {actions} }}"))
    assert (problem.code, dotted(problem.path)) == ("RC0114", path)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("count = true", "limits.reconcile.count"),
        ("count = -1", "limits.reconcile.count"),
        ("count = 1.5", "limits.reconcile.count"),
        ('count = "5"', "limits.reconcile.count"),
        ("percent = nan", "limits.reconcile.percent"),
        ("percent = 101", "limits.reconcile.percent"),
        ("eur_month = inf", "limits.reconcile.eur_month"),
        ("eur_month = -0.01", "limits.reconcile.eur_month"),
    ],
)
def test_a_value_that_would_switch_a_rail_off_is_refused(tmp_path: Path, line: str, path: str) -> None:
    problem = mistake(tmp_path, f"{MINIMAL}[limits.reconcile]\n{line}\n")
    assert (problem.code, dotted(problem.path)) == ("RC0114", path)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (MINIMAL.replace('"ci/*"', '"ci"'), "state.stacks[0]"),
        (MINIMAL.replace('"ci/*"', '"ci/a", "b c/d"'), "state.stacks[1]"),
        (MINIMAL.replace("[state]", '[state]\nbackend_url = "s3"'), "state.backend_url"),
        (MINIMAL.replace(PROJECT, "my-project"), "scope[0].project"),
        (MINIMAL + 'grace = "soon"\n', "scope[0].grace"),
        (MINIMAL + 'ownership = "tag"\n', "scope[0].ownership"),
        (MINIMAL + 'never = { tags = "keep" }\n', "scope[0].never.tags"),
        (MINIMAL + '[pulumi.deadlines]\nexport = "0s"\n', "pulumi.deadlines.export"),
        (MINIMAL + '[prices]\nip_hour = "free"\n', "prices.ip_hour"),
    ],
)
def test_a_wrong_value_is_named_by_its_path(tmp_path: Path, text: str, path: str) -> None:
    problem = mistake(tmp_path, text)
    assert (problem.code, dotted(problem.path)) == ("RC0114", path)


def test_no_mistake_repeats_a_value(tmp_path: Path) -> None:
    text = MINIMAL.replace(PROJECT, "hunter2").replace(UUID, "hunter2").replace('"ci/*"', '"hunter2"')
    text += 'grace = "hunter2"\nownership = "hunter2"\n[output]\ncolor = "hunter2"\n[prices]\nip_hour = "hunter2"\n'
    problems = mistakes(tmp_path, text, env={"RECONCILER_LIMITS__SHRINK_PERCENT": "hunter2"})
    assert len(problems) == 8
    assert "hunter2" not in " ".join(f"{problem} {problem.hint}" for problem in problems)


def _tables(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if isinstance(value, dict) else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += _tables(inner, (*path, key))
    return found


DOCUMENT = tomllib.loads(FULL)
# The two tables whose keys are the user's own: any name is taken in one, the other has a rule of its own.
CLOSED = [path for path in _tables(DOCUMENT) if path[-1:] not in (("projects",), ("actions",))]


def _toml(value: Any) -> str:
    """A document as TOML: everything in inline tables, one top-level key per line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(inner) for inner in value) + "]"
    return json.dumps(value)


@given(place=st.sampled_from(CLOSED), key=st.from_regex(r"zz[a-z_]{1,8}", fullmatch=True))
def test_an_unknown_key_anywhere_is_reported_with_its_path(
    place: tuple[Any, ...], key: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    document = copy.deepcopy(DOCUMENT)
    table: Any = document
    for part in place:
        table = table[part]
    table[key] = 1
    folder = tmp_path_factory.mktemp("unknown")
    problem = mistake(folder, "\n".join(f"{name} = {_toml(value)}" for name, value in document.items()))
    assert (problem.code, problem.path) == ("RC0113", (*place, key))
    top = list(document).index((*place, key)[0]) + 1
    assert problem.where == f"{folder}/reconciler.toml:{top}"


@given(place=st.sampled_from([path for path in CLOSED if path and all(isinstance(part, str) for part in path)]))
def test_an_unknown_variable_anywhere_is_reported_with_its_path(
    place: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> None:
    name = "RECONCILER_" + "__".join(part.upper() for part in (*place, "zzz"))
    problem = mistake(tmp_path_factory.mktemp("unknown"), MINIMAL, env={name: "1"})
    assert (problem.path, problem.where) == ((*place, "zzz"), name)

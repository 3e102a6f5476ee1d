"""`Pulumi.<stack>.yaml`: every mistake is named by its key path, before anything is registered."""

from __future__ import annotations

import copy
import json
import runpy
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reconciler_fleet.config import FleetConfigError, parse, to_args
from tests.stacks.engine import SERVER, Ran, run

ROOT = Path(__file__).resolve().parents[2]
SCOPE = "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c11"
FLEET: dict[str, Any] = {
    "name": "linux",
    "zone": "fr-par-1",
    "type": "DEV1-S",
    "image": "ubuntu_noble",
    "replicas": 2,
    "root": {"size_gb": 20},
    "volumes": [{"name": "cache", "size_gb": 10}],
}


def wrong(*, fleet: dict[str, Any] | None = None, **keys: Any) -> list[str]:
    """The lines of the error for one fleet with these changes; a value of `...` takes the key away."""
    entry = {key: value for key, value in {**FLEET, **(fleet or {})}.items() if value is not ...}
    with pytest.raises(FleetConfigError) as raised:
        parse({"scope": SCOPE, "fleets": [entry], **keys})
    return [line.strip() for line in str(raised.value).splitlines()[1:]]


def program(config: dict[str, Any], *, secret: tuple[str, ...] = (), into: Ran | None = None) -> Ran:
    raw = {f"reconciler:{key}": value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
    return run(lambda: runpy.run_path(str(ROOT / "stacks"), run_name="__main__"), config=raw, secret=secret, into=into)


NAME_RULE = "a name has 1 to 40 lower-case letters, digits and hyphens, and no hyphen at either end"
COUNT_RULE = "a fleet has either `replicas` (static) or `min` and `max` (elastic)"
BAD_VOLUME = {"name": "a", "size_gb": 1, "iop": 1}


@pytest.mark.parametrize(
    ("fleet", "line"),
    [
        ({"root": {"size_gb": 0}}, "[0].root.size_gb: a size is 1 to 10000 GB"),
        ({"root": {"iops": 7}}, "[0].root.iops: IOPS are one of 5000, 15000"),
        ({"root": {"size": 20}}, "[0].root.size: unknown key; did you mean `size_gb`?"),
        ({"volumes": [BAD_VOLUME]}, "[0].volumes[0].iop: unknown key; did you mean `iops`?"),
        ({"replica": 3}, "[0].replica: unknown key; did you mean `replicas`?"),
        ({"user_data": "x"}, "[0].user_data: unknown key"),
        ({"image": ...}, "[0].image: this key is missing"),
        ({"replicas": True}, "[0].replicas: a number, not true or false"),
        ({"replicas": ...}, f"[0]: {COUNT_RULE}"),
        ({"max": 3}, f"[0]: {COUNT_RULE}"),
        ({"name": "Linux"}, f"[0].name: {NAME_RULE}"),
        ({"public_ip": "dynamic"}, "[0].public_ip: Input should be 'flexible' or 'none'"),
        ({"cloud_init": "a", "cloud_init_file": "b"}, "[0]: `cloud_init` and `cloud_init_file` exclude each other"),
    ],
)
def test_a_mistake_is_named_by_its_key_path(fleet: dict[str, Any], line: str) -> None:
    assert wrong(fleet=fleet) == [f"reconciler:fleets{line}"]


def test_an_unknown_zone_lists_the_known_ones() -> None:
    (line,) = wrong(fleet={"zone": "fr-par-4"})
    assert line.startswith("reconciler:fleets[0].zone: unknown zone; known are fr-par-1, ")
    assert line.endswith("it-mil-1")


def test_a_misspelt_key_of_the_stack_is_an_error_and_not_a_stack_without_fleets() -> None:
    assert wrong(fleet={}, fleet_s=[]) == ["reconciler:fleet_s: unknown key; did you mean `fleets`?"]


def test_all_mistakes_come_in_one_error() -> None:
    lines = wrong(fleet={"zone": "mars", "replica": 1, "root": {"size_gb": -1}}, scope="nope")
    assert [line.partition(": ")[0] for line in sorted(lines)] == [
        "reconciler:fleets[0].replica",
        "reconciler:fleets[0].root.size_gb",
        "reconciler:fleets[0].zone",
        "reconciler:scope",
    ]


def test_fleets_without_a_scope_are_refused() -> None:
    with pytest.raises(FleetConfigError, match="`reconciler:scope` is missing"):
        parse({"fleets": [FLEET]})


def test_two_fleets_of_one_name_are_refused() -> None:
    with pytest.raises(FleetConfigError, match="same name: linux"):
        parse({"scope": SCOPE, "fleets": [FLEET, FLEET]})


def test_values_are_never_repeated_in_an_error() -> None:
    lines = wrong(fleet={"cloud_init": ["hunter2"], "image": 5, "public_ip": "hunter2"})
    assert len(lines) == 3
    assert "hunter2" not in " ".join(lines)


def _tables(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if isinstance(value, dict) else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += _tables(inner, (*path, key))
    return found


WHOLE: dict[str, Any] = {"scope": SCOPE, "fleets": [FLEET, {**FLEET, "name": "arm"}]}


@given(place=st.sampled_from(_tables(WHOLE)), key=st.from_regex(r"zz[a-z_]{1,8}", fullmatch=True))
def test_an_unknown_key_anywhere_is_named_by_its_path(place: tuple[Any, ...], key: str) -> None:
    document = copy.deepcopy(WHOLE)
    table: Any = document
    for part in place:
        table = table[part]
    table[key] = 1
    with pytest.raises(FleetConfigError) as raised:
        parse(document)
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in (*place, key)).lstrip(".")
    assert f"reconciler:{path}: unknown key" in str(raised.value)


def test_a_wrong_configuration_stops_the_program_before_it_registers_anything() -> None:
    ran = Ran()
    with pytest.raises(FleetConfigError):
        program({"scope": SCOPE, "fleets": [FLEET, {**FLEET, "name": "arm", "zone": "mars"}]}, into=ran)
    assert ran.resources == []


def test_an_unreadable_cloud_init_of_the_last_fleet_stops_the_program_before_it_registers_the_first() -> None:
    ran = Ran()
    fleets = [FLEET, {**FLEET, "name": "arm", "cloud_init_file": "no/such/file"}]
    with pytest.raises(FleetConfigError):
        program({"scope": SCOPE, "fleets": fleets}, into=ran)
    assert ran.resources == []


def test_a_value_that_is_no_list_is_named_without_being_repeated() -> None:
    with pytest.raises(FleetConfigError, match="reconciler:fleets: this is not a list") as raised:
        program({"scope": SCOPE, "fleets": "hunter2"})
    assert "hunter2" not in str(raised.value)


def test_a_stack_without_any_key_declares_nothing() -> None:
    assert program({}).outputs == {}


def test_a_stack_with_a_scope_and_no_fleets_says_so_in_its_output() -> None:
    assert program({"scope": SCOPE}).outputs["reconciler"]["fleets"] == []


def test_the_shipped_program_declares_what_the_stack_file_lists() -> None:
    ran = program({"scope": SCOPE, "fleets": [FLEET]})
    assert [server.name for server in ran.of(SERVER)] == ["linux-0", "linux-1"]
    assert [fleet["name"] for fleet in ran.outputs["reconciler"]["fleets"]] == ["linux"]


def test_one_secret_value_makes_every_inline_cloud_init_a_secret() -> None:
    fleets = [{**FLEET, "cloud_init": "hunter2"}]
    ran = program({"scope": SCOPE, "fleets": fleets}, secret=("reconciler:fleets",))
    assert {server.inputs["cloudInit"]["value"] for server in ran.of(SERVER)} == {"hunter2"}
    assert "hunter2" not in json.dumps(ran.outputs)
    assert ran.secret_outputs == set()


def test_a_cloud_init_file_is_read_from_the_project_folder(tmp_path: Path) -> None:
    (tmp_path / "boot.yaml").write_text("#cloud-config\n")
    config = parse({"scope": SCOPE, "fleets": [{**FLEET, "cloud_init_file": "boot.yaml"}]})
    assert to_args(config, 0, root=tmp_path, secret=False).cloud_init == "#cloud-config\n"


def test_a_cloud_init_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = parse({"scope": SCOPE, "fleets": [{**FLEET, "cloud_init_file": "boot.yaml"}]})
    with pytest.raises(FleetConfigError, match=r"reconciler:fleets\[0\]\.cloud_init_file: cannot read .*boot\.yaml"):
        to_args(config, 0, root=tmp_path, secret=False)


def test_an_inline_cloud_init_of_a_stack_without_secrets_stays_plain() -> None:
    config = parse({"scope": SCOPE, "fleets": [{**FLEET, "cloud_init": "x"}]})
    assert not isinstance(to_args(config, 0, root=ROOT, secret=False).cloud_init, pulumi.Output)


def test_the_example_stack_file_is_valid() -> None:
    text = (ROOT / "stacks" / "Pulumi.dev.yaml.example").read_text(encoding="utf-8")
    keys = yaml.safe_load(text)["config"]
    assert parse({key.removeprefix("reconciler:"): value for key, value in keys.items()}).fleets


def test_the_project_file_runs_the_shipped_program_in_the_projects_own_environment() -> None:
    project = yaml.safe_load((ROOT / "Pulumi.yaml").read_text(encoding="utf-8"))
    assert project["runtime"] == {"name": "python", "options": {"virtualenv": ".venv"}}
    assert (ROOT / project["main"] / "__main__.py").is_file()

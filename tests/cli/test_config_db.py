"""`config`, `db` and `simulate` on the real rooms behind them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import jsonschema
import pytest

from reconciler.cli.main import main
from reconciler.report.schema import drift_schema
from reconciler.store.schema import HEAD

PROJECT = "11111111-1111-4111-8111-111111111111"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("RECONCILER_CONFIG", "RECONCILER_CLOCK_FILE", "SCW_DEFAULT_PROJECT_ID", "SCW_CONFIG_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RECONCILER_DATABASE_URL", f"sqlite:///{tmp_path / 'x.db'}")
    return tmp_path


def declare(folder: Path) -> None:
    (folder / "Pulumi.yaml").write_text("name: ci\nruntime: python\n")
    assert main(["config", "init", "--project", PROJECT]) == 0


def test_init_writes_a_configuration_that_validates(empty_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declare(empty_folder)
    capsys.readouterr()
    assert main(["config", "validate"]) == 0
    assert "valid; scopes: main" in capsys.readouterr().out


def test_init_takes_the_project_of_the_environment(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCW_DEFAULT_PROJECT_ID", PROJECT)
    assert main(["config", "init"]) == 0
    assert PROJECT in (empty_folder / "reconciler.toml").read_text()


def test_init_overwrites_nothing(empty_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declare(empty_folder)
    assert main(["config", "init"]) == 64
    assert "error[RC0128]" in capsys.readouterr().err


def test_validate_names_every_mistake(empty_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (empty_folder / "reconciler.toml").write_text('nope = 1\n[limits]\nshrink_percent = "x"\n')
    assert main(["config", "validate"]) == 64
    err = capsys.readouterr().err
    assert err.count("error[") == 2
    assert "reconciler.toml:1" in err


def test_a_missing_configuration_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drift"]) == 64
    assert "error[RC0111]" in capsys.readouterr().err


def test_show_names_the_origin_of_each_value(empty_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declare(empty_folder)
    capsys.readouterr()
    assert main(["config", "show", "-j"]) == 0
    rows = {row["key"]: row["origin"] for row in json.loads(capsys.readouterr().out)}
    assert rows["limits.shrink_percent"] == "default"
    assert re.search(r"reconciler\.toml:\d+$", rows["scope[0].project"])
    assert rows["database_url"] == "RECONCILER_DATABASE_URL"


def test_show_masks_a_password(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RECONCILER_DATABASE_URL", "postgresql://me:hunter2@db/x")
    assert main(["config", "show", "--origin"]) == 0
    assert "hunter2" not in capsys.readouterr().out


def test_the_schemas_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "schema", "drift"]) == 0
    assert capsys.readouterr().out == drift_schema()
    assert main(["config", "schema"]) == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))


def test_the_database_is_made_named_and_checked(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*argv: str) -> tuple[int, str]:
        status = main(argv)
        return status, capsys.readouterr().out

    assert said("db", "current")[1].endswith(f"schema none, known {HEAD}\n")
    assert f"schema none -> {HEAD}" in said("db", "upgrade")[1]
    assert "nothing to do" in said("db", "upgrade")[1]
    assert json.loads(said("db", "current", "-j")[1])["found"] == HEAD
    status, text = said("db", "check")
    assert (status, "FAIL" in text) == (0, False)
    assert all(one["ok"] for one in json.loads(said("db", "check", "-j")[1]))


def test_a_file_that_is_no_database_is_an_error(empty_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (empty_folder / "x.db").write_text("this is no database, and long enough to be taken for one" * 20)
    assert main(["db", "check"]) == 1
    assert "error[RC0206]" in capsys.readouterr().err


def test_the_simulator_prints_what_points_at_it(empty_folder: Path) -> None:
    argv = [sys.executable, "-m", "reconciler.cli.main", "-q", "simulate", "serve", "--clock-file", "clock.json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=empty_folder) as child:
        try:
            assert child.stdout is not None
            lines = [child.stdout.readline() for _ in range(8)]
            exports = dict(line.removeprefix("export ").strip().split("=", 1) for line in lines)
            with urllib.request.urlopen(f"{exports['SCW_API_URL']}/_simulator/stats", timeout=10) as answer:
                assert answer.status == 200
            assert exports["RECONCILER_CLOCK_FILE"] == str(empty_folder / "clock.json")
        finally:
            child.terminate()


def test_a_wrong_speed_is_a_usage_error() -> None:
    assert main(["simulate", "serve", "--speed", "0"]) == 64

"""The demo: refuses without its tools, and tells its story with them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from reconciler.cli.demo.commands import Shell
from reconciler.cli.demo.stage import build, require_tools
from reconciler.cli.demo.world import DemoWorld
from reconciler.cli.main import main
from reconciler.cli.options import Globals
from reconciler.cli.output import Out
from reconciler.config.load import load_settings
from reconciler.kernel.errors import EngineError, ReconcilerError

SCOPE = "99999999-9999-4999-8999-999999999999"
PROJECT = "11111111-1111-4111-8111-111111111111"


def test_without_the_engine_the_demo_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path))
    assert main(["demo"]) == 1
    err = capsys.readouterr().err
    assert "error[RC0150]" in err
    assert "pulumi, pulumi-language-python, pulumi-resource-scaleway" in err
    assert "make toolchain" in err


def test_an_installed_plugin_is_as_good_as_one_on_path(tmp_path: Path) -> None:
    for name in ("pulumi", "pulumi-language-python"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    environ = {"PATH": str(tmp_path), "PULUMI_HOME": str(tmp_path / "home")}
    with pytest.raises(EngineError, match="pulumi-resource-scaleway"):
        require_tools(environ)
    plugin = tmp_path / "home" / "plugins" / "resource-scaleway-v1.60.0"
    plugin.mkdir(parents=True)
    (plugin / "pulumi-resource-scaleway").write_text("")
    require_tools(environ)


def test_a_missing_python_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "reconciler_fleet" else name)
    with pytest.raises(EngineError, match="the Python package reconciler_fleet"):
        require_tools({"PATH": str(tmp_path), "PULUMI_HOME": str(tmp_path)})


def test_the_stage_is_a_valid_configuration_and_a_valid_project(tmp_path: Path) -> None:
    build(tmp_path, scope=SCOPE, project=PROJECT)
    settings = load_settings(tmp_path, environ={"HOME": str(tmp_path)})
    assert [(scope.uuid, scope.project) for scope in settings.scopes] == [(SCOPE, PROJECT)]
    stack = yaml.safe_load((tmp_path / "Pulumi.dev.yaml").read_text())
    assert stack["config"]["reconciler:scope"] == SCOPE


def test_nothing_of_the_users_reaches_the_demo(tmp_path: Path) -> None:
    stage = build(tmp_path, scope=SCOPE, project=PROJECT)
    mine = {"SCW_SECRET_KEY": "x", "SCW_PROFILE": "x", "PULUMI_ACCESS_TOKEN": "x", "RECONCILER_DATABASE_URL": "x"}
    made = stage.environment({**mine, "PATH": "/bin", "PULUMI_HOME": "/p"}, {"SCW_API_URL": "http://127.0.0.1:1"})
    assert "x" not in made.values()
    assert (made["PATH"], made["PULUMI_HOME"]) == ("/bin", "/p")


def test_the_world_of_the_demo_is_served_moved_and_ended(tmp_path: Path) -> None:
    with DemoWorld(clock_file=tmp_path / "clock.json") as world:
        made = world.mutate(op="add_server", name="bastion", tags=["owner=alice"])
        assert {entry["id"] for entry in world.objects(*made.values())} == set(made.values())
        assert [entry["name"] for entry in world.named("bastion")] == ["bastion"]
        world.advance(2)
    assert (tmp_path / "clock.json").exists()


def test_a_step_that_ends_otherwise_stops_the_story(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(folder=tmp_path, environ={"PATH": ""}, out=Out(Globals()), color=False)
    with pytest.raises(ReconcilerError, match="to end with 0, and it ended with 64"):
        shell.reconciler("drift", expect=0)
    assert "$ reconciler drift" in capsys.readouterr().out


@pytest.mark.engine
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("pulumi") is None, reason="pulumi is not on PATH: make toolchain")
def test_the_story_ends_in_sync_with_the_stranger_untouched(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    out = capfd.readouterr().out
    assert "saved 7.56 EUR/month of 7.56 EUR/month of waste" in out
    assert "as their owner left them" in out

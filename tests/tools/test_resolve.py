"""Where each tool comes from, and the one directory that is put before PATH."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.tools.fakes import PULUMI, SCALEWAY, make_environment, make_tree, write_executable, write_go, write_tool
from tools import modules, toolchain
from tools.console import ToolError
from tools.pins import LANGUAGE, MANIFEST, Pins, cache_directory
from tools.release import Downloader, pulumi_release
from tools.resolve import Found, Resolver
from tools.shelf import Shelf

CLOSED = "http://127.0.0.1:1"  # nothing listens on this port


@pytest.fixture(autouse=True)
def no_space_needed_and_no_go_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "NEEDED_BYTES", {PULUMI: 0, SCALEWAY: 0})
    monkeypatch.setattr(modules, "NEEDED_TOGETHER", 0)
    monkeypatch.setattr("tools.golang._FALLBACK", "/nonexistent/go")


@pytest.fixture
def pins(tmp_path: Path) -> Pins:
    return make_tree(tmp_path / "tree")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The directory on PATH where a test installs tools."""
    return tmp_path / "machine"


@pytest.fixture
def environment(tmp_path: Path, machine: Path) -> dict[str, str]:
    return make_environment(tmp_path, machine)


def resolver_for(pins: Pins, environment: dict[str, str], *, source: str | None = None) -> Resolver:
    downloader = Downloader(Shelf(cache_directory(environment)), base=CLOSED)
    return Resolver(environment, source=source, pins=pins, downloader=downloader)


def sources(tools: dict[str, Found]) -> dict[str, str]:
    return {tool: found.source for tool, found in tools.items()}


def install_everything(machine: Path) -> None:
    write_tool(machine / PULUMI, "v3.280.0")
    write_tool(machine / SCALEWAY, "1.60.0")
    write_tool(machine / LANGUAGE, "")


def test_what_is_on_path_wins_and_nothing_is_put_before_it(
    pins: Pins, environment: dict[str, str], machine: Path
) -> None:
    install_everything(machine)
    write_go(machine)
    resolver = resolver_for(pins, environment)
    tools = resolver.ensure()
    assert sources(tools) == dict.fromkeys((PULUMI, SCALEWAY, LANGUAGE), "path")
    assert (tools[PULUMI].version, tools[SCALEWAY].version) == ("3.280.0", "1.60.0")
    assert resolver.directory(tools) is None


def test_what_is_missing_is_built_and_the_rest_stays_that_of_path(
    pins: Pins, environment: dict[str, str], machine: Path
) -> None:
    write_tool(machine / PULUMI, "v3.280.0")
    write_go(machine)
    resolver = resolver_for(pins, environment)
    tools = resolver.ensure()
    directory = resolver.directory(tools)
    assert sources(tools) == {PULUMI: "path", SCALEWAY: "modules", LANGUAGE: "stand-in"}
    assert directory is not None
    assert sorted(path.name for path in directory.iterdir()) == [LANGUAGE, SCALEWAY, MANIFEST]


def test_the_directory_says_where_each_tool_is_from(pins: Pins, environment: dict[str, str], machine: Path) -> None:
    write_go(machine)
    resolver = resolver_for(pins, environment)
    tools = resolver.ensure()
    directory = resolver.directory(tools)
    assert directory is not None
    manifest = json.loads((directory / MANIFEST).read_text())
    assert manifest == {
        PULUMI: {"version": "3.274.1", "source": "modules", "path": tools[PULUMI].path},
        SCALEWAY: {"version": "1.60.0+terraform.2.81.0", "source": "modules", "path": tools[SCALEWAY].path},
        LANGUAGE: {"version": "0.0.0", "source": "stand-in", "path": str(pins.language_host)},
    }
    assert (directory / PULUMI).resolve() == Path(tools[PULUMI].path).resolve()


def test_the_directory_stays_the_same_while_nothing_changes(
    pins: Pins, environment: dict[str, str], machine: Path
) -> None:
    write_go(machine)
    first, second = resolver_for(pins, environment), resolver_for(pins, environment)
    assert first.directory(first.ensure()) == second.directory(second.ensure())


def test_our_own_directory_on_path_is_not_taken_for_an_installation(
    pins: Pins, environment: dict[str, str], machine: Path
) -> None:
    write_go(machine)
    resolver = resolver_for(pins, environment)
    directory = resolver.directory(resolver.ensure())
    environment["PATH"] = f"{directory}:{environment['PATH']}"
    again = resolver_for(pins, environment)
    tools = again.ensure()
    assert sources(tools) == {PULUMI: "modules", SCALEWAY: "modules", LANGUAGE: "stand-in"}
    assert again.directory(tools) == directory


def test_a_shim_that_does_not_answer_is_no_installation(
    pins: Pins, environment: dict[str, str], machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_executable(machine / PULUMI, "#!/bin/sh\necho 'version not installed' >&2\nexit 127\n")
    assert resolver_for(pins, environment).status()[PULUMI] is None
    assert "does not answer" in capsys.readouterr().err


def test_a_cli_without_policy_packs_in_its_language_host_is_too_old(
    pins: Pins, environment: dict[str, str], machine: Path
) -> None:
    write_tool(machine / PULUMI, "v3.220.0")
    assert resolver_for(pins, environment).status()[PULUMI] is None


def test_pulumis_own_directory_counts_although_it_is_not_on_path(pins: Pins, environment: dict[str, str]) -> None:
    home = Path(environment["HOME"]) / ".pulumi"
    install_everything(home / "bin")
    resolver = resolver_for(pins, environment)
    tools = resolver.ensure()
    directory = resolver.directory(tools)
    assert sources(tools) == dict.fromkeys((PULUMI, SCALEWAY, LANGUAGE), "path")
    assert directory is not None
    assert (directory / PULUMI).resolve() == home / "bin" / PULUMI


@pytest.mark.parametrize(("version", "counts"), [("1.60.3", True), ("1.59.0", False)])
def test_a_plugin_that_pulumi_installed_counts_if_it_suits_the_sdk(
    pins: Pins, environment: dict[str, str], tmp_path: Path, version: str, counts: bool
) -> None:
    environment["PULUMI_HOME"] = str(tmp_path / "pulumi-home")
    write_tool(tmp_path / "pulumi-home" / "plugins" / f"resource-scaleway-v{version}" / SCALEWAY, version)
    found = resolver_for(pins, environment).status()[SCALEWAY]
    assert (found is not None and found.source == "path") == counts


def test_the_language_host_beside_an_installed_cli_is_used_instead_of_the_stand_in(
    pins: Pins, environment: dict[str, str], machine: Path, tmp_path: Path
) -> None:
    install_everything(tmp_path / "opt" / "pulumi")
    machine.mkdir()
    (machine / PULUMI).symlink_to(tmp_path / "opt" / "pulumi" / PULUMI)
    found = resolver_for(pins, environment).status()[LANGUAGE]
    assert found is not None
    assert (found.source, found.path) == ("path", str(tmp_path / "opt" / "pulumi" / LANGUAGE))


def test_a_downloaded_cli_brings_its_own_language_host(pins: Pins, environment: dict[str, str]) -> None:
    entry = cache_directory(environment) / pulumi_release(pins).name
    for name in pulumi_release(pins).executables:
        write_tool(entry / name, "v3.274.1")
    resolver = resolver_for(pins, environment, source="release")
    found = {tool: entry for tool, entry in resolver.status().items() if entry is not None}
    directory = resolver.directory(found)
    assert sources(found) == {PULUMI: "release", LANGUAGE: "release"}
    assert directory is not None
    assert os.access(directory / f"{LANGUAGE}-exec", os.X_OK)


def test_with_nothing_to_be_had_the_hint_names_every_way_to_get_it(pins: Pins, environment: dict[str, str]) -> None:
    with pytest.raises(ToolError) as caught:
        resolver_for(pins, environment).ensure()
    assert caught.value.code == "RC8001"
    for way in ("pulumi plugin install", "github.com", "Go 1.26.6"):
        assert way in caught.value.hint


def test_a_forced_source_that_lacks_a_tool_is_an_error_although_another_has_it(
    pins: Pins, environment: dict[str, str], machine: Path
) -> None:
    write_tool(machine / PULUMI, "v3.280.0")
    write_go(machine)
    with pytest.raises(ToolError, match=SCALEWAY) as caught:
        resolver_for(pins, environment, source="path").ensure()
    assert caught.value.code == "RC8002"


def test_a_forced_build_passes_path_over(pins: Pins, environment: dict[str, str], machine: Path) -> None:
    install_everything(machine)
    write_go(machine)
    tools = resolver_for(pins, environment, source="modules").ensure()
    assert sources(tools) == {PULUMI: "modules", SCALEWAY: "modules", LANGUAGE: "stand-in"}


def test_the_command_prints_an_empty_line_when_path_has_everything(
    environment: dict[str, str], machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install_everything(machine)
    assert toolchain.main(["ensure"], environment) == 0
    assert capsys.readouterr().out == "\n"


def test_the_command_reports_an_error_in_two_lines_and_exits_1(
    environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert toolchain.main(["ensure", "--source", "path"], environment) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split(":")[0] for line in printed.err.splitlines()] == ["error[RC8002]", "hint"]


def test_status_gets_nothing_and_exits_1_for_what_is_missing(
    environment: dict[str, str], machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tool(machine / PULUMI, "v3.280.0")
    assert toolchain.main(["status", "--json"], environment) == 1
    described = json.loads(capsys.readouterr().out)
    assert described[PULUMI] == {"version": "3.280.0", "source": "path", "path": str(machine / PULUMI)}
    assert described[SCALEWAY] is None
    assert not cache_directory(environment).exists()

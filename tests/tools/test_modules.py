"""Builds from Go modules: what Go is given, and what killed, failed and simultaneous builds leave behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.tools.fakes import PULUMI, SCALEWAY, make_environment, make_tree, write_go
from tools import modules
from tools.console import ToolError
from tools.golang import go_environment
from tools.modules import ModuleBuilder, check_space
from tools.pins import TREE, Pins, cache_directory
from tools.shelf import Shelf


@pytest.fixture(autouse=True)
def no_space_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "NEEDED_BYTES", {PULUMI: 0, SCALEWAY: 0})
    monkeypatch.setattr(modules, "NEEDED_TOGETHER", 0)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    write_go(tmp_path / "go-bin")
    return make_environment(tmp_path, tmp_path / "go-bin")


@pytest.fixture
def pins(tmp_path: Path) -> Pins:
    return make_tree(tmp_path / "tree")


def builder_for(pins: Pins, environment: dict[str, str]) -> ModuleBuilder:
    return ModuleBuilder(pins, Shelf(cache_directory(environment)), environment)


def calls(environment: dict[str, str]) -> list[tuple[list[str], dict[str, str]]]:
    lines = Path(environment["FAKE_GO_LOG"]).read_text().splitlines()
    return [(arguments, variables) for arguments, variables in map(json.loads, lines)]


def builds(environment: dict[str, str]) -> list[list[str]]:
    return [arguments for arguments, _ in calls(environment) if arguments[0] == "build"]


def leftovers(environment: dict[str, str]) -> list[str]:
    return sorted(path.name for path in cache_directory(environment).iterdir() if path.name != "lock")


class Builders:
    """Builders in processes of their own, and one compiler that works until it is let go."""

    def __init__(self, pins: Pins, root: Path) -> None:
        self._pins = pins
        self._processes: list[subprocess.Popen[bytes]] = []
        self.hold = root / "hold"
        os.mkfifo(self.hold)
        os.mkfifo(f"{self.hold}.started")

    def start(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.tools.driver", str(self._pins.tree)],
            cwd=TREE,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self._processes.append(process)
        return process

    def start_and_hold(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """A builder whose compiler has begun and waits for `let_go`."""
        process = self.start({**environment, "FAKE_GO_HOLD": str(self.hold)})
        assert Path(f"{self.hold}.started").read_text() == "begun"
        return process

    def let_go(self) -> None:
        self.hold.write_text("")  # returns when the compiler has begun to wait

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()
        with suppress(OSError):  # a compiler that outlived a failed test
            os.close(os.open(self.hold, os.O_WRONLY | os.O_NONBLOCK))


def read_until(process: subprocess.Popen[bytes], text: str) -> None:
    """Read the process's stderr up to a line that has the text; fails when it ends before."""
    assert process.stderr is not None
    assert any(text in line.decode() for line in process.stderr)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


@pytest.fixture
def builders(pins: Pins, tmp_path: Path) -> Iterator[Builders]:
    group = Builders(pins, tmp_path)
    yield group
    group.close()


def test_both_tools_are_built_and_only_they_are_kept(pins: Pins, environment: dict[str, str]) -> None:
    builder = builder_for(pins, environment)
    builder.build([PULUMI, SCALEWAY])
    assert leftovers(environment) == [builder.entry_name(PULUMI), builder.entry_name(SCALEWAY)]
    for tool in (PULUMI, SCALEWAY):
        built = builder.built(tool)
        assert built is not None
        assert [path.name for path in built.parent.iterdir()] == [tool]


def test_what_is_built_is_not_built_again(pins: Pins, environment: dict[str, str]) -> None:
    builder_for(pins, environment).build([PULUMI])
    builder_for(pins, environment).build([PULUMI])
    assert len(builds(environment)) == 1


def test_both_binaries_carry_their_version(pins: Pins, environment: dict[str, str]) -> None:
    builder_for(pins, environment).build([PULUMI, SCALEWAY])
    flags = [arguments[arguments.index("-ldflags") + 1] for arguments in builds(environment)]
    assert flags[0].endswith("version.Version=v3.274.1")
    assert flags[1].endswith("main.version=1.60.0+terraform.2.81.0")


def test_source_that_a_patch_does_not_match_is_not_built(pins: Pins, environment: dict[str, str]) -> None:
    environment["FAKE_GO_SOURCE"] = "call other()\n"
    with pytest.raises(ToolError) as caught:
        builder_for(pins, environment).build([SCALEWAY])
    assert (caught.value.code, builds(environment)) == ("RC8011", [])


def test_a_failed_build_shows_what_go_said_and_leaves_nothing_that_looks_finished(
    pins: Pins, environment: dict[str, str]
) -> None:
    environment["FAKE_GO_FAIL"] = "1"
    builder = builder_for(pins, environment)
    with pytest.raises(ToolError, match="undefined: nothing works") as caught:
        builder.build([PULUMI])
    assert (caught.value.code, builder.built(PULUMI), leftovers(environment)) == ("RC8015", None, [])


def test_a_builder_that_is_told_to_stop_ends_its_compiler_and_leaves_nothing(
    pins: Pins, environment: dict[str, str], builders: Builders
) -> None:
    process = builders.start_and_hold(environment)
    process.terminate()
    assert process.wait() == 128 + signal.SIGTERM
    assert leftovers(environment) == []
    builder_for(pins, environment).build([PULUMI])  # returns: no compiler holds the lock any more


def test_a_killed_builder_leaves_nothing_that_a_later_one_takes_for_finished(
    pins: Pins, environment: dict[str, str], builders: Builders
) -> None:
    kill(builders.start_and_hold(environment))
    builder = builder_for(pins, environment)
    assert builder.built(PULUMI) is None
    assert leftovers(environment) != []
    builders.let_go()
    builder.build([PULUMI])
    assert leftovers(environment) == [builder.entry_name(PULUMI)]


def test_the_compiler_of_a_killed_builder_still_keeps_others_out(
    environment: dict[str, str], builders: Builders
) -> None:
    kill(builders.start_and_hold(environment))
    second = builders.start(environment)
    read_until(second, "waiting")
    builders.let_go()
    read_until(second, "the other build is over")


def test_a_second_builder_says_that_it_waits_and_then_uses_what_the_first_built(
    environment: dict[str, str], builders: Builders
) -> None:
    first = builders.start_and_hold(environment)
    second = builders.start(environment)
    read_until(second, "another build holds the lock, waiting")
    builders.let_go()
    assert (first.wait(), second.wait()) == (0, 0)
    assert len(builds(environment)) == 1


def test_without_go_a_forced_build_says_which_go_is_needed(
    pins: Pins, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.golang._FALLBACK", "/nonexistent/go")
    environment["PATH"] = ""
    with pytest.raises(ToolError, match=r"1\.26\.6") as caught:
        builder_for(pins, environment).build([PULUMI])
    assert caught.value.code == "RC8013"


def test_an_old_go_is_refused_before_anything_is_downloaded(pins: Pins, environment: dict[str, str]) -> None:
    environment["FAKE_GO_VERSION"] = "1.25.9"
    with pytest.raises(ToolError, match=r"1\.25\.9") as caught:
        builder_for(pins, environment).build([PULUMI])
    assert (caught.value.code, builds(environment)) == ("RC8014", [])


def test_an_old_go_may_fetch_a_new_one_if_its_user_says_so(pins: Pins, environment: dict[str, str]) -> None:
    environment.update(FAKE_GO_VERSION="1.25.9", GOTOOLCHAIN="auto")
    builder_for(pins, environment).build([PULUMI])
    assert calls(environment)[-1][1]["GOTOOLCHAIN"] == "auto"


def test_go_sees_the_users_proxy_and_nothing_else_of_the_users_go_settings(
    pins: Pins, environment: dict[str, str]
) -> None:
    environment.update(GOPROXY="https://proxy.example", GOPRIVATE="x.org")
    environment.update(GOFLAGS="-race", GOOS="plan9", CGO_CFLAGS="-O9")
    builder_for(pins, environment).build([PULUMI])
    seen = calls(environment)[-1][1]
    assert {name: seen.get(name) for name in ("GOPROXY", "GOFLAGS", "GOOS", "CGO_CFLAGS", "GOPRIVATE", "GOENV")} == {
        "GOPROXY": "https://proxy.example",
        "GOFLAGS": "-modcacherw",
        "GOOS": None,
        "CGO_CFLAGS": None,
        "GOPRIVATE": "x.org",
        "GOENV": "off",
    }


def test_what_the_users_module_cache_has_is_taken_from_there(tmp_path: Path) -> None:
    downloads = tmp_path / "cache" / "download"
    downloads.mkdir(parents=True)
    settings = {"GOMODCACHE": str(tmp_path), "GOPROXY": "https://proxy.example"}
    seen = go_environment({}, settings, work=tmp_path / "work")
    assert seen["GOPROXY"] == f"file://{downloads},https://proxy.example"


def test_too_little_space_is_said_with_the_figure_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules, "NEEDED_TOGETHER", 10 * modules.GIGABYTE)
    with pytest.raises(ToolError, match=r"7\.5 GB are missing") as caught:
        check_space(tmp_path, [PULUMI, SCALEWAY], free=int(2.5 * modules.GIGABYTE))
    assert caught.value.code == "RC8016"


def test_a_cache_that_cannot_be_made_is_said(pins: Pins, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environment["RECONCILER_TOOLCHAIN_DIR"] = os.fspath(tmp_path / "file" / "cache")
    with pytest.raises(ToolError) as caught:
        builder_for(pins, environment).build([PULUMI])
    assert caught.value.code == "RC8012"

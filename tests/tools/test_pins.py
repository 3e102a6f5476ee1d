"""Versions are read from the files that other tools read too, and a built tool's key changes with its sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.fakes import PULUMI, SCALEWAY, make_tree
from tools.console import ToolError
from tools.pins import Pins, cache_directory


def test_the_shipped_pins_can_be_read() -> None:
    pins = Pins()
    assert pins.scaleway_stamp.startswith(f"{pins.scaleway}+terraform.")
    assert pins.go >= (1, 26)
    assert pins.pulumi.startswith("3.")


def test_the_plugin_says_the_version_that_the_locked_sdk_asks_for(tmp_path: Path) -> None:
    assert make_tree(tmp_path).scaleway_stamp == "1.60.0+terraform.2.81.0"


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "patches.toml"])
def test_a_change_of_any_source_changes_the_key(tmp_path: Path, file: str) -> None:
    pins = make_tree(tmp_path)
    before = pins.key(SCALEWAY)
    with (pins.scaleway_module / file).open("a") as output:
        output.write("# changed\n")
    assert Pins(tmp_path).key(SCALEWAY) != before


def test_a_change_of_the_plugin_does_not_rebuild_the_cli(tmp_path: Path) -> None:
    pins = make_tree(tmp_path)
    before = pins.key(PULUMI)
    (pins.scaleway_module / "main.go").write_text("package main\n")
    assert Pins(tmp_path).key(PULUMI) == before


def test_another_locked_sdk_changes_the_plugins_key(tmp_path: Path) -> None:
    before = make_tree(tmp_path).key(SCALEWAY)
    (tmp_path / "uv.lock").write_text('[[package]]\nname = "pulumiverse-scaleway"\nversion = "1.61.0"\n')
    assert Pins(tmp_path).key(SCALEWAY) != before


def test_a_tree_without_a_pin_is_refused(tmp_path: Path) -> None:
    make_tree(tmp_path)
    (tmp_path / "uv.lock").write_text("")
    with pytest.raises(ToolError, match="pulumiverse-scaleway") as caught:
        _ = Pins(tmp_path).scaleway
    assert caught.value.code == "RC8010"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"RECONCILER_TOOLCHAIN_DIR": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/reconciler/toolchain"),
        ({"HOME": "/c"}, "/c/.cache/reconciler/toolchain"),
    ],
)
def test_the_cache_is_outside_the_tree(variables: dict[str, str], expected: str) -> None:
    assert cache_directory(variables) == Path(expected)

"""Which tools would be used, without starting what is not needed."""

from __future__ import annotations

import json
import os
from importlib import metadata
from pathlib import Path

from tests.engine.fakes import FakePulumi


def plugin(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "pulumi-resource-scaleway"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    return path


def test_a_toolchain_directory_says_where_its_tools_are_from(fake: FakePulumi) -> None:
    path = plugin(fake.bin)
    told = {
        "pulumi": {"version": "3.274.1", "source": "release"},
        "pulumi-resource-scaleway": {"version": "1.60.0", "source": "modules"},
    }
    (fake.bin / "reconciler-toolchain.json").write_text(json.dumps(told))
    fake.answer("version", "v3.274.1\n")
    info = fake.engine().info()
    assert (info.cli_path, info.cli_version) == (str(fake.path), "3.274.1")
    assert (info.plugin_path, info.plugin_version, info.source) == (str(path), "1.60.0", "modules")


def test_a_plugin_below_the_home_is_found_the_newest_one(fake: FakePulumi) -> None:
    home = fake.root / "pulumi-home"
    plugin(home / "plugins" / "resource-scaleway-v1.9.0")
    newest = plugin(home / "plugins" / "resource-scaleway-v1.60.0")
    fake.answer("version", "v3.274.1\n")
    info = fake.engine(PULUMI_HOME=str(home), PATH=f"{fake.bin}:/usr/bin:/bin").info()
    assert (info.plugin_path, info.plugin_version, info.source) == (str(newest), "1.60.0", "plugins")


def test_what_is_not_there_is_none_and_no_error(fake: FakePulumi) -> None:
    fake.path.unlink()
    info = fake.engine(PATH=str(fake.bin)).info()
    assert (info.cli_path, info.cli_version, info.plugin_path, info.plugin_version, info.source) == (None,) * 5


def test_a_broken_manifest_and_a_silent_cli_are_no_error(fake: FakePulumi) -> None:
    (fake.bin / "reconciler-toolchain.json").write_text("[")
    fake.answer("version", "", status=1)
    info = fake.engine(PATH=f"{fake.bin}:/usr/bin:/bin").info()
    assert (info.cli_path, info.cli_version) == (str(fake.path), None)


def test_the_sdk_is_not_imported_for_its_version(fake: FakePulumi) -> None:
    fake.answer("version", "v3.274.1\n")
    import sys

    before = "pulumiverse_scaleway" in sys.modules
    assert fake.engine(PATH=f"{fake.bin}:{os.defpath}").info().sdk_version == metadata.version("pulumiverse_scaleway")
    assert ("pulumiverse_scaleway" in sys.modules) is before

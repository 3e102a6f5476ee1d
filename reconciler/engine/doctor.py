"""Which tools the engine would use, and where they are from.

Order of the CLI for a plugin: PATH, then the plugins below PULUMI_HOME. A test toolchain lies in one directory with a
`reconciler-toolchain.json` that says of each tool its version and whether it was found on the machine, downloaded as
a release, or built from modules. The SDK's version is read from its metadata: importing it costs a second and 80 MB.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from reconciler.engine.cli import PulumiCli
from reconciler.kernel.errors import EngineError
from reconciler.ports.engine import EngineInfo

MANIFEST: Final = "reconciler-toolchain.json"
PLUGIN: Final = "pulumi-resource-scaleway"
_SDK: Final = "pulumiverse_scaleway"
_VERSION: Final = re.compile(r"v?(\d+\.\d+\.\d+\S*)")


def info(cli: PulumiCli) -> EngineInfo:
    binary = cli.binary()
    told = _manifest(binary)
    plugin, source = _plugin(cli.env)
    if plugin is not None and plugin.parent == _directory(binary):
        source = told.get(PLUGIN, {}).get("source", source)
    return EngineInfo(
        cli_path=binary,
        cli_version=_cli_version(cli) if binary else None,
        plugin_path=str(plugin) if plugin else None,
        plugin_version=_plugin_version(plugin, told),
        source=source or told.get("pulumi", {}).get("source") or ("path" if binary else None),
        sdk_version=_sdk_version(),
    )


def _directory(binary: str | None) -> Path | None:
    return Path(binary).parent if binary else None


def _manifest(binary: str | None) -> Mapping[str, Mapping[str, str]]:
    directory = _directory(binary)
    if directory is None:
        return {}
    try:
        content = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {tool: fields for tool, fields in content.items() if isinstance(fields, dict)}


def _cli_version(cli: PulumiCli) -> str | None:
    try:
        found = _VERSION.search(cli.version())
    except EngineError:
        return None
    return found.group(1) if found else None


def _plugin(env: Mapping[str, str]) -> tuple[Path | None, str | None]:
    """The plugin that the CLI would take, and `path` or `plugins`."""
    if env.get("PULUMI_IGNORE_AMBIENT_PLUGINS", "").lower() not in ("1", "true"):
        ambient = shutil.which(PLUGIN, path=env.get("PATH"))
        if ambient:
            return Path(ambient), "path"
    home = Path(env.get("PULUMI_HOME") or Path(env.get("HOME") or Path.home()) / ".pulumi")
    installed = sorted(home.glob(f"plugins/resource-scaleway-v*/{PLUGIN}"), key=lambda path: _order(path.parent.name))
    return (installed[-1], "plugins") if installed else (None, None)


def _order(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", name))


def _plugin_version(plugin: Path | None, told: Mapping[str, Mapping[str, str]]) -> str | None:
    """From the directory's name, or from the manifest: running a plugin only to ask it takes a second."""
    if plugin is None:
        return None
    found = _VERSION.search(plugin.parent.name.removeprefix("resource-scaleway-"))
    return found.group(1) if found else told.get(PLUGIN, {}).get("version")


def _sdk_version() -> str | None:
    try:
        return metadata.version(_SDK)
    except metadata.PackageNotFoundError:
        return None

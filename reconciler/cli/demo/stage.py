"""The folder of a demo: a Pulumi project with the shipped program, a configuration, a file backend, a database.

The environment that goes with it names nothing of the user's: no `SCW_*`, no backend, no configuration of their own.
Only PATH and Pulumi's home stay, because the tools are there.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import reconciler
from reconciler.kernel.errors import EngineError

FLEET: Final = "linux"
STACK: Final = "demo/dev"
REPLICAS: Final = 3
ZONE: Final = "fr-par-1"

_DROPPED: Final = ("SCW_", "PULUMI_", "RECONCILER_")
_KEPT: Final = frozenset({"PULUMI_HOME"})
_TOOLS: Final = ("pulumi", "pulumi-language-python")
_PACKAGES: Final = ("reconciler_fleet", "pulumi", "pulumiverse_scaleway")

# The program of the source tree, for an installation that has only the library.
_PROGRAM: Final = """\
from pathlib import Path

from reconciler_fleet import WorkerFleet, export_fleets, load

config, fleets = load(Path(__file__).resolve().parent.parent)
if config.scope is not None:
    export_fleets(config.scope, [WorkerFleet(name, args) for name, args in fleets])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where the demo happens. `scope` is the uuid in the owner tags."""

    folder: Path
    scope: str

    @property
    def clock_file(self) -> Path:
        return self.folder / "clock.json"

    def environment(self, base: Mapping[str, str], cloud: Mapping[str, str]) -> dict[str, str]:
        """What every command of the demo runs with; `cloud` are the variables of the simulator."""
        kept = {name: value for name, value in base.items() if name in _KEPT or not name.startswith(_DROPPED)}
        return {
            **kept,
            **cloud,
            "RECONCILER_CLOCK_FILE": str(self.clock_file),
            "RECONCILER_TOOLCHAIN_PYTHON": sys.executable,
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "XDG_CONFIG_HOME": str(self.folder / "home"),
            "SCW_CONFIG_PATH": str(self.folder / "scw.yaml"),
        }


def require_tools(environ: Mapping[str, str]) -> None:
    """Raise EngineError RC0150 unless everything is there that `pulumi up` needs."""
    missing = [tool for tool in _TOOLS if shutil.which(tool, path=environ.get("PATH")) is None]
    if not _plugin_found(environ):
        missing.append("pulumi-resource-scaleway")
    # Looked for and not imported: that would cost a second and 80 MB.
    missing += [f"the Python package {name}" for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise EngineError(
            f"the demo runs the real Pulumi engine, and these are missing: {', '.join(missing)}",
            code="RC0150",
            hint="In the source tree `make toolchain` gets all of them, and `make demo` runs the demo with them; "
            "elsewhere install Pulumi and the extra `stacks`, and run `pulumi plugin install resource scaleway`.",
        )


def _plugin_found(environ: Mapping[str, str]) -> bool:
    if shutil.which("pulumi-resource-scaleway", path=environ.get("PATH")) is not None:
        return True
    home = Path(environ.get("PULUMI_HOME") or Path(environ.get("HOME") or Path.home()) / ".pulumi")
    return any(home.glob("plugins/resource-scaleway-v*/pulumi-resource-scaleway"))


def build(folder: Path, *, scope: str, project: str) -> Stage:
    """Write everything into an empty folder."""
    for name in ("state", "home", "program"):
        (folder / name).mkdir()
    for name, text in _files(scope=scope, project=project).items():
        (folder / name).write_text(text, encoding="utf-8")
    return Stage(folder=folder, scope=scope)


def _files(*, scope: str, project: str) -> dict[str, str]:
    return {
        "program/__main__.py": _program(),
        "reconciler.toml": _settings(scope=scope, project=project),
        "scw.yaml": _yaml({}),  # no profile of the user's is read
        "Pulumi.yaml": _yaml({"name": "demo", "runtime": _runtime(), "main": "program/"}),
        "Pulumi.dev.yaml": _yaml({"config": {"reconciler:scope": scope, "reconciler:fleets": [_fleet()]}}),
    }


def _program() -> str:
    shipped = Path(reconciler.__file__).resolve().parents[1] / "stacks" / "__main__.py"
    return shipped.read_text(encoding="utf-8") if shipped.is_file() else _PROGRAM


def _runtime() -> dict[str, Any]:
    """The interpreter that runs us has what the program imports; a virtual environment is named by its folder."""
    in_venv = sys.prefix != sys.base_prefix
    return {"name": "python", **({"options": {"virtualenv": sys.prefix}} if in_venv else {})}


def _fleet() -> dict[str, Any]:
    return {
        "name": FLEET,
        "zone": ZONE,
        "type": "DEV1-S",
        "image": "ubuntu_noble",
        "replicas": REPLICAS,
        "tags": ["role=ci"],
    }


def _settings(*, scope: str, project: str) -> str:
    return f"""\
database_url = "sqlite:///reconciler.db"

[state]
stacks = ["demo/*"]

[[scope]]
name = "demo"
uuid = "{scope}"
project = "{project}"
zones = ["{ZONE}"]
ownership = "tags"  # the project is dedicated to the fleet: the exact owner tags are proof enough
"""


def _yaml(content: Mapping[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(dict(content), sort_keys=False)

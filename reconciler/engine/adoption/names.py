"""Names that Pulumi makes up, told to it again.

A server without a name in the program is called `web-1a2b3c4`: its Pulumi name and seven random digits, new in every
run. Its create can equal the machine of an earlier run only if the CLI takes the name of that run, and there is one
setting for that, per type: `pulumi:autonaming` with a pattern. It is given in a copy of the stack's configuration, so
that nothing is written into the project.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from reconciler.engine.checkpoint import Checkpoint
from reconciler.kernel.errors import EngineError

_KEY: Final = "pulumi:autonaming"
_PROJECT_FILES: Final = ("Pulumi.yaml", "Pulumi.yml", "Pulumi.json")


def from_pending(state: Checkpoint) -> dict[str, str]:
    """URN -> the name that an interrupted create was sent with."""
    found = {}
    for item in state.pending:
        name = item.resource.inputs.get("name")
        if item.operation == "creating" and isinstance(name, str):
            found[item.resource.urn] = name
    return found


def configuration(directory: Path, stack: str) -> dict[str, Any]:
    """The settings file of a stack; empty when there is none. Raises EngineError RC0543."""
    path = settings_path(directory, stack)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise EngineError(
            f"{path.name} cannot be read ({type(error).__name__})",
            code="RC0543",
            hint="`pulumi config` in the project's directory says what is wrong with it.",
        ) from None
    return content if isinstance(content, dict) else {}


def settings_path(directory: Path, stack: str) -> Path:
    """Where the CLI keeps the settings of a stack: beside Pulumi.yaml, or where that says."""
    for file in _PROJECT_FILES:
        try:
            content = yaml.safe_load((directory / file).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            continue
        for key in ("stackConfigDir", "config"):  # the second is the older name of the first
            if isinstance(content, dict) and isinstance(content.get(key), str):
                return directory / str(content[key]) / f"Pulumi.{stack}.yaml"
        break
    return directory / f"Pulumi.{stack}.yaml"


def with_names(settings: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The settings with each type (`scaleway:instance/server:Server`) bound to one name."""
    config = dict(settings.get("config") or {})
    given = config.get(_KEY)
    naming = dict(given) if isinstance(given, dict) else {}
    providers = dict(naming.get("providers") or {})
    scaleway = dict(providers.get("scaleway") or {})
    resources = dict(scaleway.get("resources") or {})
    resources |= {kind: {"pattern": name, "enforce": True} for kind, name in sorted(names.items())}
    providers["scaleway"] = {**scaleway, "resources": resources}
    config[_KEY] = {**naming, "providers": providers}
    return {**settings, "config": config}


def write(path: Path, settings: Mapping[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(dict(settings), allow_unicode=True), encoding="utf-8")
    path.chmod(0o600)
    return path

"""`config init`: a commented reconciler.toml with a fresh scope uuid. It never overwrites anything."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from reconciler.config.discover import FILE_NAME, PULUMI_NAMES, in_folder
from reconciler.kernel.errors import ConfigError
from reconciler.kernel.text import visible
from reconciler.model.scope import Limits

_PROJECT_NAME: Final = re.compile(r"""^name:\s*["']?([A-Za-z0-9_.-]+)["']?\s*(?:#.*)?$""", re.MULTILINE)

_TEMPLATE: Final = """\
# Configuration of reconciler. Every key with its default: docs/configuration.md
# A key that is commented out shows its default.

# The database that keeps what was seen and decided. Better set by RECONCILER_DATABASE_URL, or by a file:
# database_url_file = "/run/secrets/reconciler-database-url"

[state]
# Every stack that may own something in the projects below. One that cannot be read, and nothing is called left over.
stacks = [{stacks}]
# backend_url = "file:///var/lib/pulumi"   # default: the backend that `pulumi login` chose
# work_dir = "."
# projects = {{}}                            # Pulumi project -> folder of its Pulumi.yaml, where not in work_dir

[[scope]]
name = "main"
# Written once and never changed: it is in the owner tags of everything that belongs to this scope.
# The Pulumi program has to know it too: pulumi config set reconciler:scope {uuid}
uuid = "{uuid}"
# The id of the Scaleway project.
{project}
# zones = "all"                            # or a list, as in ["fr-par-1", "nl-ams-1"]
# ownership = "two-proofs"                 # "tags" where the project holds nothing but the fleet
# never = {{ tags = [], names = [], ids = [] }}
# grace = "15m"                            # how long a leftover is only watched; more than create_deadline
# create_deadline = "10m"

# Machines of a program that knows nothing of reconciler:
# [[fleet]]
# name = "linux"
# match = {{ tags = ["role=ci"], name = "ci-linux-*", require = 2 }}

[records]
# Rows about elastic workers (docs/records.md). "native": in the database above.
# adapter = "none"

[limits]
# What one run may change, in number, percent of the kind, and EUR a month. More, and it does nothing at all.
# reconcile = {{ count = {rail.count}, percent = {rail.percent}, eur_month = {rail.eur_month} }}
# lifecycle = {{ per_hour = {limits.per_hour} }}
# shrink_percent = {limits.shrink_percent}                    # an inventory that fell by more is not believed
"""


def init_config(folder: Path, *, scope_uuid: str, project: str | None) -> Path:
    """Write `folder`/reconciler.toml and return its path. `project` None: the key is left for the user to fill in.

    Raises ConfigError RC0128 when the folder has a configuration already, RC0129 when the file cannot be written.
    """
    path = folder / FILE_NAME
    try:
        existing = in_folder(folder)
    except ConfigError:
        existing = None  # a broken file is in the way as well; the exclusive create below finds it
    if existing is not None:
        raise _in_the_way(existing.path)
    text = render(scope_uuid=scope_uuid, project=project, stacks=_own_stacks(folder))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _in_the_way(path) from None
    except OSError as error:
        raise ConfigError(
            f"cannot write {visible(str(path))}: {error.strerror}", code="RC0129", hint="Check the folder."
        ) from None
    return path


def render(*, scope_uuid: str, project: str | None, stacks: list[str]) -> str:
    """The text of the file."""
    line = f"project = {json.dumps(project)}" if project else '# project = "…"'
    listed = ", ".join(json.dumps(stack) for stack in stacks)
    limits = Limits()
    return _TEMPLATE.format(uuid=scope_uuid, project=line, stacks=listed, limits=limits, rail=limits.reconcile)


def _in_the_way(path: Path) -> ConfigError:
    return ConfigError(
        f"{visible(str(path))} is there already",
        code="RC0128",
        hint="Edit it, or remove it first; nothing was written.",
    )


def _own_stacks(folder: Path) -> list[str]:
    """All stacks of the Pulumi project in this folder; none where there is no such project."""
    for name in PULUMI_NAMES:
        try:
            found = _PROJECT_NAME.search((folder / name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        if found:
            return [f"{found[1]}/*"]
    return []

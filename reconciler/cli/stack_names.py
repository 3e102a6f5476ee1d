"""Stack names as people type them: `prod` in a project's folder means what `pulumi` would take it for."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from reconciler.kernel.errors import UsageError
from reconciler.kernel.text import visible

_FILES: Final = ("Pulumi.yaml", "Pulumi.yml")


def full_name(name: str, *, start: Path) -> str:
    """`project/stack`; a name without a slash gets the project of the Pulumi.yaml in `start` or above it.

    Raises UsageError RC0666 when there is none that names a project.
    """
    if "/" in name:
        return name
    project = _project(start)
    if project is None:
        raise UsageError(
            f"the stack {visible(name)!r} needs its project's name: no Pulumi.yaml here or above names one",
            code="RC0666",
            hint=f"Write PROJECT/{visible(name)}, or run it in the project's folder.",
        )
    return f"{project}/{name}"


def _project(start: Path) -> str | None:
    import yaml

    for folder in (start, *start.parents):
        for file in _FILES:
            try:
                content = yaml.safe_load((folder / file).read_text(encoding="utf-8"))
            except FileNotFoundError:
                continue
            except (OSError, UnicodeError, yaml.YAMLError):
                return None
            project = content.get("name") if isinstance(content, dict) else None
            return project if isinstance(project, str) and project else None
    return None

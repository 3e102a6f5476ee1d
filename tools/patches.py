"""Patches to vendored Go source, each of which must fit exactly or stop the build.

A patch is a text to find and its replacement. It is refused unless the text occurs exactly once: after a change of
pins, a patch that silently does nothing (or hits something else) would be found out minutes later by the compiler,
or never.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools.console import ToolError

_HINT = "the pinned modules and patches.toml do not belong together: adapt the patch, or restore go.mod and go.sum"


@dataclass(frozen=True, slots=True)
class Patch:
    module: str
    file: str
    find: str
    replace: str
    reason: str


def load_patches(path: Path) -> list[Patch]:
    """Read `[[patch]]` tables. Raises ToolError RC8011 for a file that is not one of patches."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["patch"]
        return [Patch(**entry) for entry in entries]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise ToolError(f"{path} is not a list of patches: {error}", code="RC8011", hint=_HINT) from error


def apply_patch(patch: Patch, vendor: Path) -> None:
    """Change one file below `vendor`. Raises ToolError RC8011 when the text is not there exactly once."""
    target = vendor / patch.module / patch.file
    try:
        source = target.read_text(encoding="utf-8")
    except OSError as error:
        raise ToolError(
            f"a patch does not apply: {patch.file} of {patch.module} cannot be read", code="RC8011", hint=_HINT
        ) from error
    count = source.count(patch.find)
    if count != 1:
        raise ToolError(
            f"a patch does not apply: {patch.file} of {patch.module} has {patch.find.strip()!r} "
            f"{count} times instead of once",
            code="RC8011",
            hint=_HINT,
        )
    # Replace the file, do not write into it: `go mod vendor` may have linked it to a shared, read-only one.
    changed = target.with_name(target.name + ".patched")
    changed.write_text(source.replace(patch.find, patch.replace), encoding="utf-8")
    changed.replace(target)


def apply_patches(patches: list[Patch], vendor: Path) -> None:
    for patch in patches:
        apply_patch(patch, vendor)

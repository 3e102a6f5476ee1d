"""Where in a repository a stack is declared: the place that review tools show a remark at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from reconciler.config.settings import StateSettings
from reconciler.report.review import Place

_FALLBACK: Final = Place("Pulumi.yaml")


class Locator:
    """`Pulumi.<stack>.yaml` at the line that names the fleet, else that file, else Pulumi.yaml; relative to `root`."""

    def __init__(self, state: StateSettings, *, start: Path) -> None:
        self._projects: Mapping[str, Path] = state.projects
        self._work_dir = state.work_dir
        self._root = repository_root(start)
        self._known: dict[tuple[str | None, str | None], Place] = {}

    def __call__(self, stack: str | None, fleet: str | None) -> Place:
        key = (stack, fleet)
        if key not in self._known:
            self._known[key] = self._look(stack, fleet)
        return self._known[key]

    def _look(self, stack: str | None, fleet: str | None) -> Place:
        project, _, name = (stack or "").rpartition("/")
        folder = self._projects.get(project.rpartition("/")[2], self._work_dir)
        for file in (folder / f"Pulumi.{name}.yaml", folder / "Pulumi.yaml"):
            text = _text(file)
            path = self._relative(file) if text is not None else None
            if text is not None and path is not None:
                return Place(path, _line_of(fleet, text))
        return _FALLBACK

    def _relative(self, file: Path) -> str | None:
        try:
            path = file.resolve().relative_to(self._root).as_posix()
            path.encode()
        except ValueError:
            return None  # outside the repository, or no Unicode: a review tool could not show it
        return path


def repository_root(start: Path) -> Path:
    """The nearest folder with `.git`, else `start`."""
    start = start.resolve()
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):  # no UTF-8, or a stack's name that no file has
        return None


def _line_of(fleet: str | None, text: str) -> int:
    if fleet is None:
        return 1
    named = re.compile(rf"""^[\s{{-]*name:\s*["']?{re.escape(fleet)}["']?\s*(?:[,}}#].*)?$""")
    return next((number for number, line in enumerate(text.splitlines(), start=1) if named.match(line)), 1)

"""Where a stack's state is kept, as far as we need to know it.

A DIY backend (file, object store, database) has no organizations: the CLI wants the word `organization` in their
place. Only of a `file://` backend can we read the lock files; Pulumi Cloud tells of an update in progress in its
listing; of the others nothing is known without taking the lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

_FILE: Final = "file://"
_CLOUD: Final = ("https://", "http://")


@dataclass(frozen=True, slots=True)
class Backend:
    """`url` may hold a password (`postgres://`), so it is not in the repr."""

    url: str
    directory: Path | None = None  # of a file backend, where `.pulumi` lies

    def __repr__(self) -> str:
        return f"Backend({self.url.partition('://')[0]})"

    @property
    def cloud(self) -> bool:
        return self.url.startswith(_CLOUD)


def backend_of(url: str, *, env: Mapping[str, str], cwd: Path) -> Backend:
    """The backend behind a URL as the CLI resolves it: `file://~`, `file://~/x` and `file://./x` become absolute, so
    that a child in another directory means the same place."""
    if not url.startswith(_FILE):
        return Backend(url)
    text, mark, query = url.removeprefix(_FILE).partition("?")
    text = unquote(text)
    if text.startswith("~"):
        home = Path(env.get("HOME") or Path.home())
        directory = home / text[1:].lstrip("/")
    else:
        directory = cwd / text
    absolute = Path(directory).absolute()
    return Backend(f"{_FILE}{absolute}{mark}{query}", Path(_normal(absolute)))


def _normal(path: Path) -> str:
    """Without `.` and `..`, as the CLI cleans it; symbolic links stay."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts[1:] = parts[1:-1]
        elif part != ".":
            parts.append(part)
    return str(Path(*parts))

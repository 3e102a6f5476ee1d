"""Who holds a stack, found out without holding it ourselves.

A `file://` backend keeps one JSON file per lock below `.pulumi/locks/<organization>/<project>/<stack>/`, with pid,
user, host and time; the CLI has no lease and no expiry, so a killed `up` leaves its file. `stack export` and
`refresh --preview-only` take no lock, which is why reading is safe while an `up` runs.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from reconciler.engine.stacks import StackName
from reconciler.kernel.clock import iso, parse_instant
from reconciler.kernel.text import visible
from reconciler.model.state import Lock

# A clock that was stepped between the start of a child and its lock may put the lock before the start.
_SLACK_MS: Final = 5_000


class _LockFile(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    pid: int = 0
    username: str = ""
    hostname: str = ""
    timestamp: str = ""


def directory_of(root: Path, name: StackName) -> Path:
    return root / ".pulumi" / "locks" / name.organization / name.project / name.stack


def host() -> str:
    """This machine's name as the CLI writes it into a lock."""
    return socket.gethostname()


def _files(root: Path, name: StackName) -> Iterator[tuple[Path, bytes]]:
    """The lock files that are there; one that goes away while we look held nothing any more."""
    directory = directory_of(root, name)
    try:
        paths = sorted(path for path in directory.iterdir() if path.suffix == ".json")
    except (FileNotFoundError, NotADirectoryError):
        return
    for path in paths:
        try:
            yield path, path.read_bytes()
        except FileNotFoundError:
            continue


def _parse(raw: bytes) -> _LockFile | None:
    try:
        return _LockFile.model_validate_json(raw)
    except ValidationError:
        return None


def _instant(text: str) -> int | None:
    try:
        return parse_instant(text)
    except ValueError:
        return None


def read(root: Path, name: StackName) -> tuple[Lock, ...]:
    """Every lock on a stack of a file backend. A file that cannot be decoded is a lock too: the CLI obeys it."""
    found = []
    for path, raw in _files(root, name):
        content = _parse(raw)
        if content is None:
            found.append(Lock(created_by="unknown", source=path.name))
            continue
        found.append(
            Lock(
                created_by=visible(f"{content.username}@{content.hostname}"),
                pid=content.pid or None,
                created_ms=_instant(content.timestamp),
                source=path.name,
            )
        )
    return tuple(found)


def remove(root: Path, name: StackName, *, pid: int, since_ms: int) -> int:
    """Remove the locks that one process of this host took, and no other (`pulumi cancel` would remove every one).

    `since_ms`: when that process started; an older lock with its pid is somebody else's. Returns how many were removed.
    """
    removed = 0
    for path, raw in _files(root, name):
        content = _parse(raw)
        if content is None or content.pid != pid or content.hostname != host():
            continue
        created = _instant(content.timestamp)
        if created is None or created < since_ms - _SLACK_MS:
            continue
        _unlink(path)
        removed += 1
    return removed


def _unlink(path: Path) -> None:
    path.unlink(missing_ok=True)
    # The blob library keeps attributes in a file beside each object; without its object it means nothing.
    path.with_name(f"{path.name}.attrs").unlink(missing_ok=True)


def release(root: Path, name: StackName, lock: Lock) -> bool:
    """Remove this one lock. False when its file is gone or says something else by now: then it is not this lock."""
    now = {held.source: held for held in read(root, name)}
    if now.get(lock.source) != lock:
        return False
    _unlink(directory_of(root, name) / lock.source)
    return True


def describe(lock: Lock) -> str:
    """`ci@host-1 (pid 4711) since 2026-11-30T01:02:03.000Z`."""
    pid = f" (pid {lock.pid})" if lock.pid is not None else ""
    since = f" since {iso(lock.created_ms)}" if lock.created_ms is not None else ""
    return f"{lock.created_by}{pid}{since}"

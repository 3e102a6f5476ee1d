"""The place of a rehearsal: a `file://` backend in a temporary directory with a copy of the stack.

The copy is the export of the stack, pending operations included, written as such a backend keeps it: `stack import`
would drop them. Its secrets stay encrypted as they are. Stacks that the program refers to are copied too, for their
outputs.

The directory is deleted at the end. If this process is killed, nobody does that; so each directory is held by a file
lock, which dies with its holder, and the next rehearsal removes those that nobody holds. With them go the processes
that were started for them: a CLI that is left alone dies at its next word (its output goes nowhere), and a provider
plugin whose CLI has died lives for ever (both tried). Their environment names the directory, which nobody else's does.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reconciler.engine import processes
from reconciler.engine.stacks import DIY_ORGANIZATION, StackName

PREFIX: Final = "reconciler-rehearsal-"
_HELD: Final = "held"


@dataclass(frozen=True, slots=True)
class Scratch:
    """`url`: for PULUMI_BACKEND_URL. `directory`: for whatever else the rehearsal writes."""

    directory: Path
    url: str

    def add(self, name: StackName, export: Mapping[str, Any]) -> None:
        """Put a stack here, as `stack export` printed it."""
        path = self.directory / "backend" / ".pulumi" / "stacks" / name.project / f"{name.stack}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        checkpoint = {
            "stack": str(at_home(name)),
            "latest": export.get("deployment") or {},
        }
        content = {"version": export.get("version", 3), "checkpoint": checkpoint}
        if export.get("features"):
            content["features"] = export["features"]
        path.write_text(json.dumps(content), encoding="utf-8")

    def credentials(self) -> Path:
        """A directory for the CLI's own notes of where it is logged in, so that the user's stay as they are."""
        path = self.directory / "credentials"
        path.mkdir(exist_ok=True)
        return path


def at_home(name: StackName) -> StackName:
    """The same stack in the scratch backend, which has one organization."""
    return StackName(DIY_ORGANIZATION, name.project, name.stack)


@contextmanager
def scratch() -> Iterator[Scratch]:
    """A fresh, empty backend, readable by this user alone."""
    sweep()
    directory, held = _make()
    try:
        backend = directory / "backend"
        (backend / ".pulumi").mkdir(parents=True)
        (backend / ".pulumi" / "meta.yaml").write_text("version: 1\n", encoding="utf-8")
        yield Scratch(directory, f"file://{backend}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(held)


def _make() -> tuple[Path, int]:
    while True:
        directory = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(OSError):  # somebody's sweep was faster than our lock
            held = os.open(directory / _HELD, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if (directory / _HELD).exists():
                    return directory, held
            except OSError:
                os.close(held)
                raise
            os.close(held)


def sweep() -> int:
    """Remove what killed rehearsals of this user left. Returns how many."""
    removed = 0
    for directory in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if directory.stat().st_uid == os.getuid():
                _remove_unheld(directory)
                removed += 1
    return removed


def _left_running(directory: Path) -> list[int]:
    """Processes whose backend is in this directory."""
    named = f"PULUMI_BACKEND_URL=file://{directory}/".encode()
    found = []
    for process in processes.table() if processes.has_proc() else ():
        with suppress(OSError):
            environ = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
            if any(item.startswith(named) for item in environ):
                found.append(process.pid)
    return found


def _remove_unheld(directory: Path) -> None:
    """Raises OSError when the process that made it holds it, or has not come to lock it yet."""
    held = os.open(directory / _HELD, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Under the lock, or its maker could take it for his own meanwhile.
        processes.send(_left_running(directory), signal.SIGKILL)
        shutil.rmtree(directory)
    finally:
        os.close(held)

"""Where finished tools are kept, and how two builds at once are kept apart.

One entry is one directory, `<tool>-<origin>-<key>`, with the executables of that tool. It is made under another
name and renamed when it is complete, so a killed build never leaves something that looks finished. One lock file
(`flock`) serialises the builders; the builder's children inherit it, so a compiler that outlives a killed builder
still holds it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.console import Stopwatch, ToolError, say

WORK = "work"
_PART = ".part-"


def make_directory(path: Path) -> None:
    """Create it with its parents. Raises ToolError RC8012 when that is not possible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(
            f"the cache directory {path} cannot be made: {error.strerror}",
            code="RC8012",
            hint="set RECONCILER_TOOLCHAIN_DIR to a directory that you can write to",
        ) from error


def remove_tree(path: Path) -> None:
    """Remove a directory, also one with read-only parts, as Go's module cache has them."""
    for directory, _, _ in os.walk(path):
        Path(directory).chmod(stat.S_IRWXU)
    shutil.rmtree(path, ignore_errors=True)


class Shelf:
    """The cache directory. Every change to it happens inside `with shelf.locked()`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock_descriptor: int | None = None

    def entry(self, name: str) -> Path:
        return self.root / name

    def has(self, name: str, executables: tuple[str, ...]) -> bool:
        """Whether the entry is complete: a directory that has all the executables."""
        return all(os.access(self.entry(name) / executable, os.X_OK) for executable in executables)

    @property
    def inherited(self) -> tuple[int, ...]:
        """Descriptors that a child process must keep open, so that it holds the lock too."""
        return () if self._lock_descriptor is None else (self._lock_descriptor,)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock; when another process has it, say so and wait."""
        make_directory(self.root)
        descriptor = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._acquire(descriptor)
            self._lock_descriptor = descriptor
            self._sweep()
            yield
        finally:
            self._lock_descriptor = None
            os.close(descriptor)

    def _acquire(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            watch = Stopwatch()
            say("another build holds the lock, waiting")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            say(f"the other build is over, after {watch}")

    def _sweep(self) -> None:
        """Under the lock nobody else builds, so half-made entries are what a killed build left."""
        for path in self.root.glob(f"{_PART}*"):
            remove_tree(path)

    def make(self, name: str, fill: Callable[[Path], None]) -> Path:
        """Let `fill` fill a new directory, then give it its name at once. The lock must be held."""
        part = self.root / f"{_PART}{name}-{uuid.uuid4().hex[:8]}"
        part.mkdir(parents=True)
        try:
            fill(part)
            final = self.entry(name)
            if final.exists():  # incomplete: the caller has looked
                remove_tree(final)
            part.rename(final)
        finally:
            if part.exists():
                remove_tree(part)
        return final

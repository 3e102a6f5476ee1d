"""Tools that the machine has already: on PATH, in `~/.pulumi/bin`, or as a plugin that Pulumi installed.

Being there is not enough: a shim of a version manager is on PATH and answers with an error. So each candidate is
asked for its version.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.console import say
from tools.pins import LANGUAGE, PULUMI, SCALEWAY, Pins

# Policy packs run through the language host, as the tests of them expect, since this release of the CLI.
OLDEST_PULUMI = (3, 221, 0)
_ANSWER_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Installed:
    """`on_path` is false for a tool that is there but that the engine would not find by itself."""

    path: Path
    version: str
    on_path: bool


class Installation:
    """What one environment has, apart from the directories in `ignored` (our own)."""

    def __init__(self, environment: Mapping[str, str], *, pins: Pins, ignored: tuple[Path, ...] = ()) -> None:
        self._environment = environment
        self._pins = pins
        self._ignored = tuple(path.resolve() for path in ignored)
        self._found: dict[str, Installed | None] = {}

    @property
    def home(self) -> Path:
        return Path(self._environment.get("PULUMI_HOME") or Path(self._environment.get("HOME") or "/") / ".pulumi")

    def find(self, tool: str) -> Installed | None:
        """The first candidate that answers, or None. Asked once per tool."""
        if tool not in self._found:
            self._found[tool] = self._language() if tool == LANGUAGE else self._first(tool)
        return self._found[tool]

    def _first(self, tool: str) -> Installed | None:
        for path, on_path in self._candidates(tool):
            version = self._version(tool, path)
            if version is not None:
                return Installed(path, version, on_path)
        return None

    def _language(self) -> Installed | None:
        """The language host needs no version of its own: it belongs to the CLI that it lies beside."""
        cli = self.find(PULUMI)
        for path, on_path in self._candidates(LANGUAGE):
            return Installed(path, cli.version if cli else "unknown", on_path)
        if cli is not None:
            sibling = cli.path.resolve().parent / LANGUAGE
            if os.access(sibling, os.X_OK):
                return Installed(sibling, cli.version, False)
        return None

    def _candidates(self, tool: str) -> Iterator[tuple[Path, bool]]:
        for directory in self._environment.get("PATH", "").split(os.pathsep):
            path = Path(directory) / tool
            if directory and os.access(path, os.X_OK) and path.is_file() and not self._ours(path):
                yield path, True
        path = self.home / "bin" / tool
        if os.access(path, os.X_OK):
            yield path, False
        if tool == SCALEWAY:
            major_minor = ".".join(self._pins.scaleway.split(".")[:2])
            for plugin in sorted((self.home / "plugins").glob(f"resource-scaleway-v{major_minor}.*/{tool}")):
                yield plugin, False

    def _ours(self, path: Path) -> bool:
        return any(directory in path.resolve().parents or directory in path.parents for directory in self._ignored)

    def _version(self, tool: str, path: Path) -> str | None:
        arguments = ["version"] if tool == PULUMI else ["-version"]
        quiet = {**self._environment, "PULUMI_SKIP_UPDATE_CHECK": "true"}
        try:
            done = subprocess.run(
                [str(path), *arguments],
                env=quiet,
                cwd="/",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_ANSWER_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        found = re.search(r"^v?(\d+)\.(\d+)\.(\d+)\S*$", done.stdout.strip(), re.MULTILINE)
        if done.returncode != 0 or found is None:
            say(f"{path} does not answer to `{' '.join(arguments)}`: passed over")
            return None
        if tool == PULUMI and tuple(int(part) for part in found.groups()) < OLDEST_PULUMI:
            say(f"{path} is {found[0]}, older than v{'.'.join(map(str, OLDEST_PULUMI))}: passed over")
            return None
        return found[0].removeprefix("v")

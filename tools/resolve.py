"""Decides where each tool comes from, and puts what is not on PATH into one directory.

Order per tool: what the machine has, the official release, a build from Go modules. The language host is special:
no proxy serves its module, so instead of a build there is the stand-in of this tree. The directory holds links and
`reconciler-toolchain.json`, which says of each tool where it is from:
`{tool: {"version": ..., "source": "path" | "release" | "modules" | "stand-in", "path": ...}}`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.console import ToolError, say
from tools.golang import find_go
from tools.installed import Installation
from tools.modules import ModuleBuilder
from tools.pins import LANGUAGE, MANIFEST, PULUMI, SCALEWAY, TOOLS, Pins, cache_directory
from tools.release import Downloader, Release, Unreachable, pulumi_release, scaleway_release
from tools.shelf import Shelf

SOURCES = ("path", "release", "modules")


@dataclass(frozen=True, slots=True)
class Found:
    """One tool and its source. `link` is false for what PATH has already."""

    version: str
    source: str
    path: str
    link: bool = True

    def described(self) -> dict[str, str]:
        fields = asdict(self)
        del fields["link"]
        return fields


class Resolver:
    """`source` forces one of SOURCES; None takes the first that works."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        source: str | None = None,
        pins: Pins | None = None,
        builder: ModuleBuilder | None = None,
        downloader: Downloader | None = None,
    ) -> None:
        self._environment = environment
        self._source = source
        self._pins = pins or Pins()
        self._shelf = Shelf(cache_directory(environment))
        self._builder = builder or ModuleBuilder(self._pins, self._shelf, environment)
        self._downloader = downloader or Downloader(self._shelf)
        ours = (self._shelf.root, self._pins.language_host.parent)
        self._installation = Installation(environment, pins=self._pins, ignored=ours)

    def _may(self, source: str) -> bool:
        return self._source in (None, source)

    # What there is, without the network and without building.

    def _present(self, tool: str) -> Found | None:
        if self._may("path"):
            installed = self._installation.find(tool)
            if installed is not None:
                return Found(installed.version, "path", str(installed.path), link=not installed.on_path)
        if tool == LANGUAGE:
            return None
        if self._may("release"):
            found = self._downloaded(tool)
            if found is not None:
                return found
        built = self._builder.built(tool) if self._may("modules") else None
        return Found(self._built_version(tool), "modules", str(built)) if built else None

    def _built_version(self, tool: str) -> str:
        return self._pins.pulumi if tool == PULUMI else self._pins.scaleway_stamp

    def _release(self, tool: str) -> Release:
        return pulumi_release(self._pins) if tool == PULUMI else scaleway_release(self._pins)

    def _downloaded(self, tool: str) -> Found | None:
        try:
            release = self._release(tool)
        except Unreachable:
            return None
        directory = self._downloader.had(release)
        return Found(release.version, "release", str(directory / tool)) if directory else None

    def _language(self, pulumi: Found | None) -> Found | None:
        """The host of the machine, else that of the CLI's release, else the stand-in."""
        present = self._present(LANGUAGE)
        if present is not None or self._source == "path":
            return present
        if pulumi is not None and pulumi.source == "release":
            return Found(pulumi.version, "release", str(Path(pulumi.path).with_name(LANGUAGE)))
        return Found("0.0.0", "stand-in", str(self._pins.language_host))

    def status(self) -> dict[str, Found | None]:
        """Each tool as it is now; None for one that `ensure` would have to get."""
        found = {tool: self._present(tool) for tool in (PULUMI, SCALEWAY)}
        return {**found, LANGUAGE: self._language(found[PULUMI])}

    # Getting what is missing.

    def ensure(self) -> dict[str, Found]:
        """All three tools. Raises ToolError RC8001 (nothing to be had) or RC8002 (a forced source lacks one)."""
        missing = [tool for tool in (PULUMI, SCALEWAY) if self._present(tool) is None]
        if missing and self._may("release"):
            missing = self._download(missing)
        if missing and self._may("modules"):
            self._build(missing)
        complete = {tool: found for tool, found in self.status().items() if found is not None}
        lacking = [tool for tool in TOOLS if tool not in complete]
        if lacking:
            raise ToolError(
                f"{', '.join(lacking)}: not to be had from the source `{self._source}`",
                code="RC8002",
                hint="leave out --source to take the first source that works",
            )
        return complete

    def _download(self, tools: list[str]) -> list[str]:
        """Try the releases; returns what is still missing."""
        missing = []
        for tool in tools:
            try:
                self._downloader.fetch(self._release(tool))
            except Unreachable as error:
                say(f"no official release of {tool}: {error}")
                missing.append(tool)
        return missing

    def _build(self, tools: list[str]) -> None:
        if self._source is None and find_go(self._environment) is None:
            raise ToolError(
                f"{' and '.join(tools)}: not on PATH, no official release within reach, and no Go to build with",
                code="RC8001",
                hint=self._ways(),
            )
        self._builder.build(tools)

    def _ways(self) -> str:
        go = ".".join(map(str, self._pins.go))
        return (
            "one of these is enough: install Pulumi (https://www.pulumi.com/docs/install/) and then run "
            f"`pulumi plugin install resource scaleway {self._pins.scaleway} "
            "--server github://api.github.com/pulumiverse`; or open the network to github.com; "
            f"or install Go {go} or newer (https://go.dev/dl/), with a Go module proxy within reach"
        )

    # One directory for PATH.

    def directory(self, tools: Mapping[str, Found]) -> Path | None:
        """A directory to put before PATH; None when PATH has everything."""
        links = {name: target for found in tools.values() if found.link for name, target in _links(found).items()}
        if not links:
            return None
        text = json.dumps({tool: found.described() for tool, found in sorted(tools.items())}, indent=2) + "\n"
        key = hashlib.sha256((text + json.dumps(links, sort_keys=True)).encode()).hexdigest()[:12]
        name = f"bin-{key}"
        if not self._shelf.has(name, tuple(links)):
            with self._shelf.locked():
                if not self._shelf.has(name, tuple(links)):
                    self._shelf.make(name, lambda part: _fill(part, links, text))
        return self._shelf.entry(name)


def _links(found: Found) -> dict[str, str]:
    """The tool, and its companion: the real language host starts a script that lies beside it."""
    path = Path(found.path)
    names = [path.name, f"{path.name}-exec"] if path.name == LANGUAGE else [path.name]
    return {name: str(path.with_name(name)) for name in names if path.with_name(name).exists()}


def _fill(part: Path, links: Mapping[str, str], manifest: str) -> None:
    for name, target in links.items():
        (part / name).symlink_to(target)
    (part / MANIFEST).write_text(manifest, encoding="utf-8")

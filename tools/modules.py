"""Builds `pulumi` and `pulumi-resource-scaleway` from Go modules, for machines that cannot have the releases.

Figures of a cold build on 2 cores are in docs/design/toolchain.md.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from tools.console import Stopwatch, ToolError, say
from tools.golang import Go, prepare_go
from tools.patches import apply_patches, load_patches
from tools.pins import PULUMI, SCALEWAY, Pins
from tools.shelf import WORK, Shelf, remove_tree

GIGABYTE = 1024**3
# Both together took 6.2 GB at their height, the CLI alone 3.3 GB; the rest is a margin.
NEEDED_BYTES = {PULUMI: 4 * GIGABYTE, SCALEWAY: 6 * GIGABYTE}
NEEDED_TOGETHER = 7 * GIGABYTE
MINUTES = {PULUMI: 5, SCALEWAY: 3}

_VERSION = "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version"


def check_space(root: Path, tools: list[str], *, free: int | None = None) -> None:
    """Raises ToolError RC8016 when the disk has less room than the build takes at its height."""
    needed = NEEDED_TOGETHER if len(tools) > 1 else NEEDED_BYTES[tools[0]]
    available = shutil.disk_usage(root).free if free is None else free
    if available < needed:
        raise ToolError(
            f"the build needs {needed / GIGABYTE:.1f} GB for a while, and {root} has {available / GIGABYTE:.1f} GB "
            f"left: {(needed - available) / GIGABYTE:.1f} GB are missing",
            code="RC8016",
            hint="free some space, or set RECONCILER_TOOLCHAIN_DIR to a directory on a larger disk",
        )


def build_pulumi(go: Go, pins: Pins, target: Path) -> None:
    """The CLI. Without the version stamp the Automation API refuses it."""
    _copy_module(pins.pulumi_module, target)
    flags = f"-s -w -X {_VERSION}=v{pins.pulumi}"
    package = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
    build = ["build", "-trimpath", "-tags", "osusergo,grpcnotrace", "-ldflags", flags, "-o", "out", package]
    go.run(build, directory=target / "src", what=f"building {PULUMI}")
    _keep_only(target, PULUMI)


def build_scaleway(go: Go, pins: Pins, target: Path) -> None:
    """The plugin, with the provider's source vendored and mended in the build directory alone."""
    _copy_module(pins.scaleway_module, target)
    source = target / "src"
    go.run(["mod", "vendor"], directory=source, what="downloading modules")
    apply_patches(load_patches(source / "patches.toml"), source / "vendor")
    flags = f"-s -w -X main.version={pins.scaleway_stamp}"
    build = ["build", "-mod=vendor", "-trimpath", "-ldflags", flags, "-o", f"out/{SCALEWAY}", "."]
    go.run(build, directory=source, what=f"building {SCALEWAY}")
    _keep_only(target, SCALEWAY)


def _copy_module(module: Path, target: Path) -> None:
    shutil.copytree(module, target / "src")
    (target / "src" / "out").mkdir()


def _keep_only(target: Path, executable: str) -> None:
    (target / "src" / "out" / executable).rename(target / executable)
    remove_tree(target / "src")


_BUILDERS = {PULUMI: build_pulumi, SCALEWAY: build_scaleway}


class ModuleBuilder:
    """Builds what is asked of it, and afterwards takes away what only the building needed."""

    def __init__(self, pins: Pins, shelf: Shelf, environment: Mapping[str, str]) -> None:
        self._pins = pins
        self._shelf = shelf
        self._environment = environment

    def entry_name(self, tool: str) -> str:
        return f"{tool}-modules-{self._pins.key(tool)}"

    def built(self, tool: str) -> Path | None:
        """The executable, if it was built before from exactly these pins."""
        name = self.entry_name(tool)
        return self._shelf.entry(name) / tool if self._shelf.has(name, (tool,)) else None

    def build(self, tools: list[str]) -> None:
        """Build several under one lock. Raises ToolError RC8011, RC8013 to RC8016."""
        with self._shelf.locked():
            missing = [tool for tool in tools if self.built(tool) is None]
            if missing:
                self._build(missing)

    def _build(self, tools: list[str]) -> None:
        work = self._shelf.entry(WORK)
        go = prepare_go(self._environment, needed=self._pins.go, work=work, inherited=self._shelf.inherited)
        check_space(self._shelf.root, tools)
        minutes = sum(MINUTES[tool] for tool in tools)
        what = " and ".join(tools)
        say(f"building {what} from Go modules: about {minutes} minutes on 2 cores, once per change of pins")
        watch = Stopwatch()
        for tool in tools:
            self._shelf.make(self.entry_name(tool), lambda part, tool=tool: _BUILDERS[tool](go, self._pins, part))  # type: ignore[misc]
            say(f"{tool} is built ({watch})")
        # Gigabytes that only a change of pins would use again. After a failure they stay, for the next try.
        remove_tree(work)

"""Which versions the toolchain has, and where it is kept.

Every version is written once, in a file that some other tool reads too: the CLI's and the Terraform provider's in
`go.mod`, the plugin's in `uv.lock`, for it has to suit the Python SDK. A built tool is stored under a key, the
digest of everything that it is made from, so a change of a pin or a patch builds anew and an old build is never
taken for a new one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tools.console import ToolError

PULUMI = "pulumi"
SCALEWAY = "pulumi-resource-scaleway"
LANGUAGE = "pulumi-language-python"
TOOLS = (PULUMI, SCALEWAY, LANGUAGE)

DIRECTORY_VARIABLE = "RECONCILER_TOOLCHAIN_DIR"
MANIFEST = "reconciler-toolchain.json"

TREE = Path(__file__).resolve().parent.parent
# Raise it when the way of building changes and the result with it.
_RECIPE = "1"


def cache_directory(environment: Mapping[str, str]) -> Path:
    """`$RECONCILER_TOOLCHAIN_DIR`, or `reconciler/toolchain` below the user's cache directory."""
    chosen = environment.get(DIRECTORY_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = Path(environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME") or "~") / ".cache")
    return base.expanduser().absolute() / "reconciler" / "toolchain"


@dataclass(frozen=True)
class Pins:
    """The pinned versions of one source tree."""

    tree: Path = TREE

    @property
    def pulumi_module(self) -> Path:
        return self.tree / "tools" / "toolchain" / "pulumi"

    @property
    def scaleway_module(self) -> Path:
        return self.tree / "tools" / "toolchain" / "scaleway"

    @property
    def language_host(self) -> Path:
        return self.tree / "tools" / "bin" / LANGUAGE

    @cached_property
    def pulumi(self) -> str:
        """Version of the CLI, without "v"."""
        return _required(self.pulumi_module / "go.mod", "github.com/pulumi/pulumi/pkg/v3")

    @cached_property
    def terraform_provider(self) -> str:
        return _required(self.scaleway_module / "go.mod", "github.com/scaleway/terraform-provider-scaleway/v2")

    @cached_property
    def scaleway(self) -> str:
        """Version of the Scaleway plugin that the locked Python SDK asks for, without "v"."""
        lock = self.tree / "uv.lock"
        found = re.search(r'^name = "pulumiverse-scaleway"\nversion = "([^"]+)"', _read(lock), re.MULTILINE)
        if not found:
            raise _unreadable(lock, "pulumiverse-scaleway")
        return found[1]

    @property
    def scaleway_stamp(self) -> str:
        """What the built plugin says it is: the SDK's version, for the engine warns of a lower one, and in the
        part of a version that no comparison reads, that it is a build of the Terraform provider."""
        return f"{self.scaleway}+terraform.{self.terraform_provider}"

    @cached_property
    def go(self) -> tuple[int, ...]:
        """The oldest Go that can build both."""
        return max(_go_version(module / "go.mod") for module in (self.pulumi_module, self.scaleway_module))

    def key(self, tool: str) -> str:
        """12 hex digits that change with anything that the built tool is made from."""
        module, stamp = {
            PULUMI: (self.pulumi_module, self.pulumi),
            SCALEWAY: (self.scaleway_module, self.scaleway_stamp),
        }[tool]
        digest = hashlib.sha256(f"{_RECIPE} {tool} {stamp}\n".encode())
        for path in sorted(entry for entry in module.iterdir() if entry.is_file()):
            digest.update(f"{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
        return digest.hexdigest()[:12]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ToolError(
            f"{path} cannot be read: {error.strerror}",
            code="RC8010",
            hint="the toolchain's pins are part of the source tree: check it out again",
        ) from error


def _unreadable(path: Path, name: str) -> ToolError:
    return ToolError(f"{path} does not pin {name}", code="RC8010", hint="restore the file from version control")


def _required(path: Path, module: str) -> str:
    found = re.search(rf"^\s*(?:require )?{re.escape(module)} v(\S+)", _read(path), re.MULTILINE)
    if not found:
        raise _unreadable(path, module)
    return found[1]


def _go_version(path: Path) -> tuple[int, ...]:
    found = re.search(r"^go (\d+(?:\.\d+)*)$", _read(path), re.MULTILINE)
    if not found:
        raise _unreadable(path, "go")
    return tuple(int(part) for part in found[1].split("."))

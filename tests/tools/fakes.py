"""A source tree with pins, executables that answer, and a `go` that builds nothing: what the tests of tools/ need."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tools.pins import PULUMI, SCALEWAY, Pins

PATCHED_FILE = "internal/service.go"
PATCHED_MODULE = "example.com/provider"

_PATCHES = f"""
[[patch]]
module = "{PATCHED_MODULE}"
file = "{PATCHED_FILE}"
find = "old()\\n"
replace = "new()\\n"
reason = "renamed"
"""

# Stands for Go: answers `version` and `env`, fills vendor/, writes the file after -o. FAKE_GO_LOG collects the calls.
# FAKE_GO_HOLD names a pipe: `build` says that it has begun on FAKE_GO_HOLD.started, and waits for this one's end.
_GO = """#!{python}
import json, os, pathlib, sys
arguments, environment = sys.argv[1:], os.environ
with open(environment["FAKE_GO_LOG"], "a") as log:
    log.write(json.dumps([arguments, dict(environment)]) + "\\n")
if arguments[0] == "version":
    print("go version go" + environment.get("FAKE_GO_VERSION", "1.26.8") + " linux/amd64")
elif arguments[0] == "env":
    print(json.dumps({{name: environment.get(name, "") for name in arguments[2:]}}))
elif arguments[:2] == ["mod", "vendor"]:
    target = pathlib.Path("vendor", "{module}", "{file}")
    target.parent.mkdir(parents=True)
    target.write_text(environment.get("FAKE_GO_SOURCE", "call old()\\n"))
elif arguments[0] == "build":
    hold = environment.get("FAKE_GO_HOLD")
    output = pathlib.Path(arguments[arguments.index("-o") + 1])
    output = output / "pulumi" if output.is_dir() else output
    output.write_text("#!/bin/sh\\n")  # half of it, as a killed linker leaves it
    if hold:
        pathlib.Path(hold + ".started").write_text("begun")
        pathlib.Path(hold).read_text()
    if environment.get("FAKE_GO_FAIL"):
        sys.exit("undefined: nothing works")
    output.write_text("#!/bin/sh\\necho built\\n")
    output.chmod(0o755)
"""


def write_executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def write_tool(path: Path, version: str) -> Path:
    """An executable that answers to every argument with its version."""
    return write_executable(path, f"#!/bin/sh\necho {version}\n")


def write_go(directory: Path) -> Path:
    text = _GO.format(python=sys.executable, module=PATCHED_MODULE, file=PATCHED_FILE)
    return write_executable(directory / "go", text)


def make_tree(root: Path) -> Pins:
    """A source tree with everything that pins are read from."""
    pulumi, scaleway = root / "tools" / "toolchain" / "pulumi", root / "tools" / "toolchain" / "scaleway"
    for module, requirement in (
        (pulumi, "github.com/pulumi/pulumi/pkg/v3 v3.274.1"),
        (scaleway, "github.com/scaleway/terraform-provider-scaleway/v2 v2.81.0"),
    ):
        module.mkdir(parents=True)
        (module / "go.mod").write_text(f"module example.com/x\n\ngo 1.26.6\n\nrequire (\n\t{requirement}\n)\n")
        (module / "go.sum").write_text("")
    (scaleway / "patches.toml").write_text(_PATCHES)
    (root / "uv.lock").write_text('[[package]]\nname = "pulumiverse-scaleway"\nversion = "1.60.0"\n')
    write_tool(root / "tools" / "bin" / "pulumi-language-python", "stand-in")
    return Pins(root)


def make_environment(root: Path, *path: Path) -> dict[str, str]:
    """Variables of a user with an empty home, whose PATH has the given directories and nothing of this machine."""
    home = root / "home"
    home.mkdir(exist_ok=True)
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join(map(str, path)),
        "RECONCILER_TOOLCHAIN_DIR": str(root / "cache"),
        "FAKE_GO_LOG": str(root / "go.log"),
    }


__all__ = ["PULUMI", "SCALEWAY", "make_environment", "make_tree", "write_executable", "write_go", "write_tool"]

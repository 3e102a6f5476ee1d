"""A Pulumi project in a directory: a program that a test writes, deploys and edits, as a user does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from reconciler.engine.adapter import PulumiEngine
from tests.engine.real import LIMITS, RealWorld

IP = "scaleway:instance/ip:Ip"
VOLUME = "scaleway:block/volume:Volume"
SERVER = "scaleway:instance/server:Server"
HEAD = "import pulumi\nimport pulumiverse_scaleway as scaleway\n\n"


def urn(token: str, name: str) -> str:
    return f"urn:pulumi:dev::proj::{token}::{name}"


class Project:
    """`directory` of the project `proj` with the stack `dev` in the world's backend."""

    def __init__(self, real: RealWorld) -> None:
        self.real, self.directory = real, real.root / "project"
        self.directory.mkdir()
        (self.directory / "Pulumi.yaml").write_text("name: proj\nruntime: python\n")
        self.write("")
        self.pulumi("stack", "init", "dev")

    @property
    def host(self) -> Mapping[str, str]:
        """The language host runs the program with the interpreter of the tests."""
        return {"RECONCILER_TOOLCHAIN_PYTHON": sys.executable}

    def write(self, program: str) -> None:
        (self.directory / "__main__.py").write_text(HEAD + program)

    def pulumi(self, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        ran = self.real.pulumi(*args, cwd=self.directory, **self.host)
        assert not check or ran.returncode == 0, ran.stdout + ran.stderr
        return ran

    def up(self) -> None:
        self.pulumi("up", "--yes", "--skip-preview", "--stack", "dev")

    def engine(self) -> PulumiEngine:
        return self.real.engine(limits=LIMITS, work_dirs={"proj": self.directory}, **self.host)

    def path(self, name: str) -> Path:
        return self.directory / name

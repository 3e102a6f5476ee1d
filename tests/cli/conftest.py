"""Run the command line inside the test process, on a fake world."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import main
from tests.fakes.estate import FakeWorld


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], world: FakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("drift", "-j")` on the fake world, in an empty folder, with no variable of the caller's."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI", "RECONCILER_CLOCK_FILE"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*argv: str) -> Ran:
        capsys.readouterr()
        status = main(argv, adapters=world)
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return invoke

"""Fixtures of the engine's tests; those of the real engine skip, counted, where it is not on PATH."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.fakes import FakePulumi
from tests.engine.real import RealWorld, Templates


@pytest.fixture
def fake(tmp_path: Path) -> FakePulumi:
    return FakePulumi(tmp_path)


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    return Templates(tmp_path_factory.mktemp("templates"))


@pytest.fixture
def real(tmp_path: Path, templates: Templates) -> Iterator[RealWorld]:
    for tool in ("pulumi", "pulumi-resource-scaleway"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} on PATH: `make test` brings one")
    with RealWorld(tmp_path, templates=templates) as world:
        yield world
        assert world.strays() == [], "a process of the engine outlived the test"

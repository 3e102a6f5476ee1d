from __future__ import annotations

from pathlib import Path

import pytest

from tests.apply.rig import Rig
from tests.store.place import Place


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}")


@pytest.fixture
def either_rig(place: Place, tmp_path: Path) -> Rig:
    """The rig on SQLite and on PostgreSQL."""
    return Rig(folder=tmp_path, url=place.url)

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apply.rig import Rig


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}")

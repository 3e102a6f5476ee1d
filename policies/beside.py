"""Makes `reconciler` importable: installed with the pack, or beside it in the source tree. Import it first."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

if find_spec("reconciler") is None:
    sys.path.append(str(Path(__file__).resolve().parent.parent))

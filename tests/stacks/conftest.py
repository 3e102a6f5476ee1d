"""The component library is imported from `stacks/`, as the shipped program imports it, installed or not."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

STACKS = str(Path(__file__).resolve().parents[2] / "stacks")
if STACKS not in sys.path:
    sys.path.insert(0, STACKS)

with warnings.catch_warnings():
    # pulumiverse_scaleway warns about its own old aliases when it is imported; the tests treat warnings as errors.
    warnings.simplefilter("ignore", DeprecationWarning)
    import pulumiverse_scaleway  # noqa: F401

"""Let Python's collector rest during work that makes no cycles.

A join of the ledgers, and reading a large world, make hundreds of thousands of small values in a process that holds
millions. The collector would walk through all of them, several times, to find nothing: that took two thirds of the time
of a join of 100,000 workers.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Reference counts go on freeing as ever. Nested uses are harmless."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            # Into the oldest generation without a look: enabling would begin with a pass over all that was made.
            gc.freeze()
            gc.unfreeze()
            gc.enable()

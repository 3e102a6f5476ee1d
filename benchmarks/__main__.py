"""`python -m benchmarks [NAME...]`: every benchmark, or those named. Ends with 1 when a budget was missed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Final

from benchmarks import join, simulator

BENCHMARKS: Final[dict[str, Callable[[], bool]]] = {"join": join.run, "simulator": simulator.run}


def main(names: Sequence[str]) -> int:
    unknown = set(names) - BENCHMARKS.keys()
    if unknown:
        print(f"no benchmark named {', '.join(sorted(unknown))}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 64
    chosen = names or list(BENCHMARKS)
    kept = {name: BENCHMARKS[name]() for name in chosen}
    print(f"benchmarks: {sum(kept.values())} of {len(kept)} within their budget")
    return 0 if all(kept.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

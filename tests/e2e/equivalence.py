"""Our verdicts against those of `pulumi refresh --preview-only` on the same worlds: `python -m tests.e2e.equivalence`.

Each world is a program, deployed by the real engine and provider into a simulated cloud, and a fault that happens to it
afterwards. Then both sides look. docs/design/equivalence.md says what must hold between them; a world in which it does
not is printed with its program, its fault and both verdicts, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from reconciler.diff.properties import BLIND_SPOTS
from reconciler.kernel.clock import SystemClock
from tests.e2e.equivalence_parts.batch import Batch, Result, run_batch
from tests.e2e.equivalence_parts.draft import LABEL, UUID
from tests.e2e.equivalence_parts.worlds import batches, worlds
from tests.e2e.rig import missing_tool

_BATCH: Final = 60
_MARK: Final = re.compile(r"(\?|\[\]|\[\+\])$")
_DECLARATIONS: Final = ("declared", "omitted", "ignored")


def main(argv: Sequence[str] | None = None) -> int:
    options = _parse(argv)
    missing = missing_tool()
    if missing is not None:
        print(f"equivalence: {missing} is not on PATH; `make equivalence` brings it", file=sys.stderr)
        return 1
    clock = SystemClock()
    started = clock.monotonic()
    cases = worlds(seed=options.seed, full=options.full, only=options.only)
    if not cases:
        print(f"equivalence: no cell is named like {options.only!r}", file=sys.stderr)
        return 1
    total = Batch()
    for number, batch in enumerate(batches(cases, size=_BATCH), start=1):
        with tempfile.TemporaryDirectory(prefix="equivalence-") as directory:
            done = run_batch(batch, directory=Path(directory))
        total.add(done)
        seconds = clock.monotonic() - started
        print(f"equivalence: stack {number} with {len(batch)} worlds, {seconds:.0f} s", file=sys.stderr)
    return _report(total, seed=options.seed, seconds=clock.monotonic() - started, whole=not options.only)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="equivalence", description="Compare our findings with the engine's refresh.")
    parser.add_argument("--full", action="store_true", help="both image kinds, with and without a secret: every cell")
    parser.add_argument("--seed", type=int, default=1, help="what is drawn at random in a world (default 1)")
    parser.add_argument("--only", default="", metavar="TEXT", help="cells whose name holds this text")
    return parser.parse_args(argv)


def _report(total: Batch, *, seed: int, seconds: float, whole: bool) -> int:
    for result in total.results:
        if result.mismatches:
            print(result.text(), end="\n\n")
    print("\n".join(_table(total.results)))
    print("\n".join(_tally(total.results)))
    unmet = sorted(_spots() - _met(total.results)) if whole else []
    for kind, path in unmet:
        print(f"MISMATCH: no world met the blind spot {kind} {path}")
    mismatches = sum(result.mismatches for result in total.results) + len(unmet)
    print(
        f"equivalence: {len(total.results)} worlds, {mismatches} mismatches; API calls: engine {total.engine_calls}, "
        f"ours {total.our_calls}; seed {seed}, {seconds:.0f} s"
    )
    return 1 if mismatches else 0


def _table(results: Sequence[Result]) -> list[str]:
    """Worlds per cell: a line for each fault, columns for image kind and declaration."""
    counts = Counter((one.case.cell.fault, one.case.cell.image, one.case.cell.declaration) for one in results)
    columns = [(image, declaration) for image in (LABEL, UUID) for declaration in _DECLARATIONS]
    lines = [f"{'worlds per cell':38}" + "".join(f"{f'{image} {word}':>16}" for image, word in columns)]
    for fault in dict.fromkeys(one.case.cell.fault for one in results):
        cells = [counts[fault, image, declaration] for image, declaration in columns]
        lines.append(f"{fault:38}" + "".join(f"{cell or '-':>16}" for cell in cells))
    return lines


def _tally(results: Sequence[Result]) -> list[str]:
    judged = [one for result in results for one in result.judged]
    engine = Counter(one.engine.operation for one in judged)
    ours = Counter(one.ours.kind for one in judged)
    blind = sum(1 for one in judged for difference in one.ours.differences if difference.blind)
    unlisted = sum(1 for one in judged if one.engine.operation == "update" and one.ours.kind == "same")
    words = ", ".join(f"{word} {engine[word]}" for word in ("same", "update", "delete", "failed"))
    kinds = ", ".join(f"{word} {ours[word]}" for word in ("same", "changed", "missing"))
    return [
        f"engine's verdicts on {len(judged)} resources: {words}",
        f"ours: {kinds}; differences in blind spots {blind}, updates listed as not compared {unlisted}",
    ]


def _spots() -> set[tuple[str, str]]:
    """(kind, path) of every row of the published table, without the mark that says when it holds."""
    return {(kind.value, _MARK.sub("", path)) for kind, path in BLIND_SPOTS}


def _met(results: Sequence[Result]) -> set[tuple[str, str]]:
    """The rows that some world met."""
    judged = [one for result in results for one in result.judged]
    return {(one.kind, _MARK.sub("", each.path)) for one in judged for each in one.ours.differences if each.blind}


if __name__ == "__main__":
    sys.exit(main())

"""`make adoption`: what runs in the cloud is taken into a stack's state, by the real engine and the real provider.

Every shape of worker, with its image by label and by UUID, with cloud-init in clear and as a secret, after a deploy
that was killed and after its entries were lost; four near misses for each; programs of other people; an adoption that
is killed at every point. One line each, and a line that says what was counted. Exit 1 when anything did not hold.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial

from tests.e2e.adoption_parts import kills, programs, rows
from tests.e2e.adoption_parts.rows import KILLED, Row
from tests.e2e.adoption_parts.shapes import SHAPES, VARIANTS
from tests.e2e.rig import missing_tool


def main(argv: Sequence[str] | None = None) -> int:
    options = _parse(argv)
    missing = missing_tool()
    if missing is not None:
        print(f"adoption: {missing} is not on PATH; `make adoption` brings it", file=sys.stderr)
        return 1
    started = time.monotonic()
    jobs = [job for job in _jobs() if options.only in job[0]]
    if not jobs:
        print(f"adoption: nothing is named like {options.only!r}", file=sys.stderr)
        return 1
    done: list[Row] = []
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for future in as_completed([pool.submit(run) for _, run in jobs]):
            row = future.result()
            print(row.line(), *(f"    {fault}" for fault in row.faults), sep="\n", flush=True)
            done.append(row)
    return _report(done, seconds=time.monotonic() - started)


def _jobs() -> list[tuple[str, Callable[[], Row]]]:
    """(name, what runs it), the long ones first."""
    after = [(shape, killed) for shape in SHAPES for killed in ((False, True) if shape.name in KILLED else (False,))]
    return [
        ("killed adoption", _killed),
        *((shape.name, partial(rows.run, shape, VARIANTS, killed=killed)) for shape, killed in after),
        *((program.name, partial(programs.run, program)) for program in programs.PROGRAMS),
    ]


def _killed() -> Row:
    found = kills.run()
    faults = [f"{point}: {what}" for point, what in found.faults.items()]
    return Row(
        "killed adoption", after="every point", adopted=len(found.points), kills=len(found.points), faults=faults
    )


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="adoption", description="Adopt every shape of worker, and refuse its misses.")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name holds this text")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="rows at the same time (default 2)")
    return parser.parse_args(argv)


def _report(done: Sequence[Row], *, seconds: float) -> int:
    faults = sum(len(row.faults) for row in done)
    adopted, refused = sum(row.adopted for row in done), sum(row.refused for row in done)
    killed = sum(row.kills for row in done)
    print(
        f"adoption: {len(done)} rows, {adopted} adopted, {refused} near misses refused, {killed} killed adoptions "
        f"finished by a second one, {faults} failures; {seconds:.0f} s"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

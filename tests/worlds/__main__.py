"""`python -m tests.worlds [--count N] [--first SEED] [--kind KIND] [--honest]`: many worlds, each with one lie.

The last line says what was counted. A violated invariant, or a world that does not come to rest once the lie has
ended, is printed with its seed, its lie and the smallest world that still falls for it; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.worlds.generate import build, recipe
from tests.worlds.lying import KINDS, Case, case, run_case, shrunk_case
from tests.worlds.runner import Report, lines, run


@dataclass
class Tally:
    worlds: Counter[str] = field(default_factory=Counter)
    sweeps: int = 0
    actions: int = 0
    destroyed: int = 0
    checks: int = 0
    told: Counter[str] = field(default_factory=Counter)
    violated: int = 0
    restless: int = 0

    def add(self, kind: str, report: Report) -> None:
        self.worlds[kind] += 1
        self.sweeps += report.sweeps
        self.actions += report.actions
        self.destroyed += report.destroyed
        self.checks += report.checks
        self.told[kind] += report.told
        self.violated += bool(report.violations)
        self.restless += bool(report.wrong)

    def lines(self) -> Iterator[str]:
        for kind, number in sorted(self.worlds.items()):
            yield f"  {kind:20} {number} worlds, told in {self.told[kind]} answers"
        yield (
            f"worlds: {self.worlds.total()} with {len(self.worlds)} kinds of lie, {self.sweeps} sweeps, "
            f"{self.actions} actions, {self.destroyed} destroyed, {self.checks} checks of invariants; "
            f"{self.violated} violations, {self.restless} worlds that did not come to rest"
        )


def _failed(one: Case, report: Report) -> None:
    print("\n".join(lines(report)))
    if report.violations:
        small = shrunk_case(one)
        print(f"  smallest: {small}")
        print("\n".join(f"    {line}" for line in lines(run_case(small))), flush=True)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.worlds", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--honest", action="store_true", help="no lies: the findings must equal the truth")
    given = parser.parse_args(arguments)
    tally, begun = Tally(), time.process_time()
    for seed in range(given.first, given.first + given.count):
        if given.honest:
            report = run(build(recipe(seed)))
            tally.add("none", report)
            if not report.ok:
                print("\n".join(lines(report)), flush=True)
            continue
        one = case(seed)
        if given.kind in (None, one.lie.kind):
            report = run_case(one)
            tally.add(one.lie.kind, report)
            if not report.ok:
                _failed(one, report)
    print("\n".join(tally.lines()))
    print(f"{time.process_time() - begun:.0f} s of processor time", file=sys.stderr)
    return 1 if tally.violated or tally.restless else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""Runs the product over a world for as long as it takes, and looks at the truth after every step.

A round is what a cron job does: `drift`, then `apply` in mode prune, which goes on with what an earlier run left, looks
again, plans, and acts. Sixteen minutes pass between two rounds, more than any grace. The condition of the world ends
with the first round. A lie is told during the first three and not afterwards, so that everything can come to rest; how
it is told is its own business.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from reconciler.kernel.errors import ReconcilerError
from reconciler.model.finding import Finding
from reconciler.simulator import Simulator
from tests.worlds.generate import GeneratedWorld
from tests.worlds.invariants import Watch
from tests.worlds.site import Site, status
from tests.worlds.truth import compare

COMMANDS: Final = ("drift", "apply")
ROUNDS: Final = 8
LYING_ROUNDS: Final = 3
BETWEEN_SECONDS: Final = 16 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """How a lie is told: `begin` and `end` on the simulator, and from which round on; `end` says how many answers it
    was told in. `comes_back`: it brings back what
    was gone; `lasts`: its effects may outlive it, so that the world need not come to rest."""

    name: str
    begin: Callable[[Simulator], None]
    end: Callable[[Simulator], int]
    from_round: int = 0
    comes_back: bool = False
    lasts: bool = False


@dataclass(slots=True, kw_only=True)
class Report:
    """What one run came to. `violations` are of invariants; `wrong`: findings that are not the truth's, first and last;
    `refused`: codes of errors that the product raised, which is its right."""

    name: str
    violations: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    sweeps: int = 0
    actions: int = 0
    destroyed: int = 0
    checks: int = 0
    told: int = 0
    rested: bool = False

    @property
    def ok(self) -> bool:
        return not self.violations and not self.wrong


def run(
    world: GeneratedWorld,
    *,
    lie: Telling | None = None,
    commands: Sequence[str] = COMMANDS,
    rounds: int = ROUNDS,
) -> Report:
    """Run a world to its end. Never raises for what the product does: that is a violation."""
    return _Run(world, lie=lie, commands=commands).through(rounds)


class _Run:
    def __init__(self, world: GeneratedWorld, *, lie: Telling | None, commands: Sequence[str]) -> None:
        self.world, self.lie, self.commands = world, lie, commands
        self.site = Site(world)
        self.watch = Watch(self.site, comes_back=lie is not None and lie.comes_back)
        self.report = Report(name=f"{world.recipe}{'; ' + lie.name if lie is not None else ''}")
        self.blocked = world.recipe.condition.blocks
        self.last: list[str] | None = None

    def through(self, rounds: int) -> Report:
        try:
            for number in range(rounds):
                self._tell(number)
                self._round(number)
                if self.report.violations or self._at_rest(number):
                    break
                self.site.clock.advance(BETWEEN_SECONDS)
        finally:
            self.site.close()
        if self.report.ok and not self.report.rested and "apply" in self.commands:
            self.report.wrong += [f"after {rounds} rounds: {one}" for one in self.last or ["no sweep came through"]]
        self.report.checks, self.report.destroyed = self.watch.checks, len(self.watch.destroyed)
        return self.report

    def _tell(self, number: int) -> None:
        if self.lie is not None and number == self.lie.from_round:
            self.lie.begin(self.site.simulator)
        if self.lie is not None and number == LYING_ROUNDS:
            self.report.told += self.lie.end(self.site.simulator)

    def _round(self, number: int) -> None:
        if "drift" in self.commands:
            findings = self._sweep()
            if number == 0 and self.lie is None and findings is not None:
                self.report.wrong += [f"first: {one}" for one in compare(findings, self.world.truth.first)]
        if "apply" in self.commands:
            self._apply()
        if number == 0:
            self.site.end_condition()
            self.blocked = False

    def _at_rest(self, number: int) -> bool:
        """Nothing is left but what the truth leaves. What asks for ever, or outlives its lie, is not compared."""
        if self.last is None or number < (1 if self.lie is None else LYING_ROUNDS + 1):
            return False
        if not self.world.settles or (self.lie is not None and self.lie.lasts):
            self.report.rested = number >= LYING_ROUNDS + 1
        else:
            self.report.rested = not self.last
        return self.report.rested

    # -- the commands

    def _sweep(self) -> tuple[Finding, ...] | None:
        self.site.begin_command()
        found: list[tuple[Finding, ...]] = []
        self._guarded(lambda: found.append(self._look()))
        self.report.violations += self.watch.after_sweep(found[0] if found else ())
        return found[0] if found else None

    def _look(self) -> tuple[Finding, ...]:
        self.report.sweeps += 1
        world, findings = self.site.sweep()
        self.report.statuses.append(status(world, findings))
        return findings

    def _apply(self) -> None:
        self.site.begin_command()
        self._guarded(self._resume)
        self.report.violations += self.watch.after_run(blocked=self.blocked)
        self._guarded(self._prune)
        self.report.violations += self.watch.after_run(blocked=self.blocked)

    def _resume(self) -> None:
        self.site.resume()

    def _prune(self) -> None:
        self.report.sweeps += 1
        world, findings = self.site.sweep(trigger="apply")
        self.last = compare(findings, self.world.truth.last)
        plan = self.site.plan(world, findings)
        self.report.violations += self.watch.after_sweep(findings)
        outcome = self.site.apply(plan)
        self.report.actions += len(outcome.outcomes)

    def _guarded(self, step: Callable[[], None]) -> None:
        """What the product raises by design ends the step; anything else is a fault of its own."""
        try:
            step()
        except ReconcilerError as error:
            self.report.refused.append(error.code)
        except Exception as error:
            self.report.violations.append(f"crashed: {''.join(traceback.format_exception(error)[-3:])}")


def lines(report: Report) -> Iterator[str]:
    """A failed run in words."""
    yield report.name
    yield from (f"  violated: {one}" for one in report.violations)
    yield from (f"  wrong: {one}" for one in report.wrong)

"""One lie for each world, drawn from the catalogue, and the search for the smallest world that falls for it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from reconciler.kernel.randomness import SeededRandomness
from reconciler.simulator import Simulator
from reconciler.simulator.lies import LIES, Lie, lie_to_json, sample_lie
from tests.worlds.generate import Recipe, build, recipe
from tests.worlds.runner import LYING_ROUNDS, Report, Telling, run
from tests.worlds.truth import Whose

# Nothing is created here, so a create that fails is a lie that nobody would be told.
KINDS: Final = tuple(sorted(LIES.keys() - {"create_fails"}))
_OBJECTS: Final = ("server", "ip", "block_volume", "volume", "private_nic", "ipam_ip")
_ABOUT_OBJECTS: Final = frozenset(
    {
        "list_lag",
        "tag_lag",
        "shrunk_list",
        "missing_item",
        "hiding_403",
        "server_error",
        "delete_stays",
        "delete_undone",
        "terminate_sticks",
        "other_resource",
        "stale_answer",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A world and its lie."""

    recipe: Recipe
    lie: Lie
    from_round: int

    @property
    def telling(self) -> Telling:
        return telling(self.lie, from_round=self.from_round)

    def __str__(self) -> str:
        return f"{json.dumps(lie_to_json(self.lie))} from round {self.from_round} on; {self.recipe}"


def case(seed: int) -> Case:
    """The kinds in turn, so that a thousand cases have each of them about as often."""
    kind, chance = KINDS[seed % len(KINDS)], random.Random(f"lie:{seed}")
    made = recipe(seed, size=chance.choice((2, 4, 6, 8)))
    lie = sample_lie(kind, SeededRandomness(chance.getrandbits(32)))
    if chance.random() < 0.5:  # as long as it can be, and to everybody
        lie = replace(lie, match=replace(lie.match, times=0, probability=1.0, until_ms=None))
    if LIES[kind].changes:  # the deletions are in the first round
        return Case(recipe=made, lie=lie, from_round=0)
    return Case(recipe=made, lie=_aimed(lie, made, chance), from_round=chance.choice((0, 0, 1)))


def _aimed(lie: Lie, made: Recipe, chance: random.Random) -> Lie:
    """A third is about everything, a third about one kind of objects, a third about a few of them: the fewer answers
    are false, the less there is to notice."""
    match chance.choice(("all", "kind", "ids")):
        case "kind":
            return replace(lie, match=replace(lie.match, kinds=(chance.choice(_OBJECTS),)))
        case "ids" if lie.kind in _ABOUT_OBJECTS:
            things = build(made).truth.things
            whose = chance.choice((Whose.HELD, Whose.IN_USE, Whose.LEFTOVER))
            ids = sorted(id_ for id_, thing in things.items() if thing.whose is whose) or sorted(things)
            few = chance.sample(ids, min(len(ids), chance.randint(1, 4)))
            return replace(lie, match=replace(lie.match, ids=tuple(few)))
        case _:
            return lie


def telling(lie: Lie, *, from_round: int) -> Telling:
    """What changes the outcome may last: the deletion that is put off, the server that sticks."""

    def begin(simulator: Simulator) -> None:
        simulator.lies.set([lie])

    def end(simulator: Simulator) -> int:
        told = sum(int(one["fired"]) for one in simulator.lies.counts())
        simulator.lies.clear()
        return told

    return Telling(
        name=json.dumps(lie_to_json(lie)),
        begin=begin,
        end=end,
        from_round=from_round,
        comes_back=lie.kind == "delete_undone",
        lasts=LIES[lie.kind].changes,
    )


def run_case(one: Case) -> Report:
    return run(build(one.recipe), lie=one.telling)


def shrunk(of: Recipe, fails: Callable[[Recipe], bool]) -> Recipe:
    """The smallest recipe, by leaving out one scene at a time, that still fails."""
    smaller = True
    while smaller:
        smaller = False
        for label, _ in of.scenes:
            without = of.without({label})
            if fails(without):
                of, smaller = without, True
                break
    return of


def shrunk_case(one: Case) -> Case:
    def fails(made: Recipe) -> bool:
        report = run(build(made), lie=one.telling)
        return bool(report.violations)

    return Case(recipe=shrunk(one.recipe, fails), lie=one.lie, from_round=one.from_round)


__all__ = ["KINDS", "LYING_ROUNDS", "Case", "case", "run_case", "shrunk", "shrunk_case", "telling"]

"""Whole worlds from a seed, with the truth beside them; see docs/design/worlds.md.

::

    world = generate(7)                      # all ledgers, and `world.truth`
    report = run(world)                      # observe, diff, plan, apply, over and over, checked after each step
    report = run(generate(7), lie=telling(lie_from_json({"lie": "empty_list"}), from_round=0))

`recipe` and `build` are the two halves of `generate`; `shrunk` finds the smallest recipe that still fails.
"""

from tests.worlds.generate import ALL, GeneratedWorld, Recipe, build, calm, generate, recipe
from tests.worlds.lying import Case, case, run_case, shrunk, shrunk_case, telling
from tests.worlds.runner import Report, Telling, lines, run
from tests.worlds.truth import Expected, Thing, Truth, Whose

__all__ = [
    "ALL",
    "Case",
    "Expected",
    "GeneratedWorld",
    "Recipe",
    "Report",
    "Telling",
    "Thing",
    "Truth",
    "Whose",
    "build",
    "calm",
    "case",
    "generate",
    "lines",
    "recipe",
    "run",
    "run_case",
    "shrunk",
    "shrunk_case",
    "telling",
]

"""Lies about the world: what a cloud says that is not so.

A fault (`faults`) is something that goes wrong with a request. A lie is an answer that arrives, is well formed, and is
wrong: a list that lacks half of what exists, a 403 for what may be seen, a deletion that was accepted and never
happens. A reconciler that believes its inventory destroys machines on the word of such answers, so each kind of them
is here to be told on purpose, by rule, by chance that repeats itself, or by script.

A lie never changes the truth. `Simulator.editing()` and the world dump always show the world as it is; reads are
answered from a view (`view`). Only the kinds about outcomes (`LieKind.changes`) decide what happens, and what they
leave is the truth from then on.

::

    simulator.lies.set([lie_from_json({"lie": "shrunk_list", "kinds": ["server"], "share": 0.5, "times": 3})])
    simulator.lies.counts()
    simulator.lies.clear()
"""

from __future__ import annotations

from reconciler.simulator.lies.behaviour import LieKind
from reconciler.simulator.lies.book import LieBook
from reconciler.simulator.lies.catalogue import LIES
from reconciler.simulator.lies.decode import MATCH, lie_from_json, sample_lie
from reconciler.simulator.lies.lie import Lie, Match, lie_to_json
from reconciler.simulator.lies.script import Step, step_from_json

__all__ = [
    "LIES",
    "MATCH",
    "Lie",
    "LieBook",
    "LieKind",
    "Match",
    "Step",
    "lie_from_json",
    "lie_to_json",
    "sample_lie",
    "step_from_json",
]

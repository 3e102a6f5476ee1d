"""The lies in force, their counters, and what they have put off for later.

The simulator asks the book about each request (`meet`), lets time pass through it (`pass_time`), and hands it the
world; everything happens under the simulator's lock. Time passes in one order: transitions, steps of a script and
put-off outcomes happen by their moment, whoever looks and however often.
"""

from __future__ import annotations

import heapq
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from reconciler.kernel.clock import Clock
from reconciler.kernel.randomness import Randomness
from reconciler.simulator import transitions
from reconciler.simulator.faults import path_pattern
from reconciler.simulator.lies.asked import Asked
from reconciler.simulator.lies.behaviour import Behaviour
from reconciler.simulator.lies.catalogue import LIES
from reconciler.simulator.lies.dice import dice
from reconciler.simulator.lies.history import History
from reconciler.simulator.lies.lie import Lie
from reconciler.simulator.lies.script import Step, do_step
from reconciler.simulator.mint import Mint
from reconciler.simulator.wire import Json
from reconciler.simulator.world import Change, World


class LieBook:
    """`Simulator.lies`. Thread-safe: it shares the simulator's lock."""

    def __init__(self, world: World, *, clock: Clock, seed: int, lock: threading.RLock, mint: Mint) -> None:
        self._lock, self._clock, self._seed, self._mint = lock, clock, seed, mint
        self._armed: list[Armed] = []
        self._put_off: list[tuple[int, int, Callable[[World, int], None]]] = []
        self._numbers = 0
        self._world = world
        self._history = History()
        self._heard: list[Change] = []
        self._watched: World | None = None
        self._late: list[str] = []

    # --- What tests, cases and the admin API do ----------------------------------------------------------------------

    def set(self, lies: Iterable[Lie], *, script: Sequence[Step] = ()) -> None:
        """Let these be the lies, and nothing else, from now on; a script that was under way ends."""
        fresh = list(lies)
        with self._lock:
            self._keep_put_off(scripts=False)
            self._armed, self._late = [], []
            for lie in fresh:
                self.add(lie)
            self.play(script)
            self._attend()

    def add(self, lie: Lie) -> None:
        with self._lock:
            self._armed.append(Armed(lie, now_ms=self._clock.now_ms(), seed=self._seed, place=len(self._armed)))
            self._attend()

    def clear(self, name: str | None = None) -> int:
        """Stop telling the lies of that name, or all; returns how many. What they have put off still happens."""
        with self._lock:
            kept = [item for item in self._armed if name is not None and item.lie.name != name]
            gone = len(self._armed) - len(kept)
            self._armed = kept
            self._attend()
            return gone

    def play(self, script: Sequence[Step]) -> None:
        """Do each step at its moment, counted from now."""
        with self._lock:
            start = self._clock.now_ms()
            for step in script:
                self.later(start + step.at_ms, _ScriptStep(step, self, self._mint))

    def counts(self) -> list[Json]:
        """Per lie: name, kind, how many requests it matched, how often it was told."""
        with self._lock:
            return [
                {"name": item.lie.name, "lie": item.lie.kind, "matched": item.matched, "fired": item.fired}
                for item in self._armed
            ]

    def lies(self) -> list[Lie]:
        with self._lock:
            return [item.lie for item in self._armed]

    def late(self) -> list[str]:
        """A line for each operation of a script that came too late: its target was gone by then."""
        with self._lock:
            return list(self._late)

    # --- What the simulator does, with the lock held -----------------------------------------------------------------

    def attend(self, world: World) -> None:
        """Another world has taken the place of the one so far: what was put off for that one is forgotten."""
        self._keep_put_off(scripts=True)
        self._world = world
        self._attend()

    def pass_time(self, now_ms: int) -> None:
        """Let everything happen that is due by now, in the order of its moments."""
        while self._put_off and self._put_off[0][0] <= now_ms:
            due_ms, _, action = heapq.heappop(self._put_off)
            self._settle(due_ms)
            action(self._world, due_ms)
        self._settle(now_ms)
        self._history.forget(now_ms)

    def told(self, asked: Asked) -> list[tuple[Behaviour, Randomness]]:
        """The lies that are told to this request, in the order in which they were set."""
        found = []
        for item in self._armed:
            thrown = item.meet(asked) if item.fits(asked) else None
            if thrown is not None:
                found.append((item.behaviour, thrown))
        return found

    @property
    def empty(self) -> bool:
        return not self._armed

    def note_late(self, lines: Iterable[str]) -> None:
        self._late.extend(lines)

    def later(self, due_ms: int, action: Callable[[World, int], None]) -> None:
        """Do this when its moment has come."""
        self._numbers += 1
        heapq.heappush(self._put_off, (due_ms, self._numbers, action))

    def _keep_put_off(self, *, scripts: bool) -> None:
        self._put_off = [item for item in self._put_off if isinstance(item[2], _ScriptStep) == scripts]
        heapq.heapify(self._put_off)

    def _settle(self, now_ms: int) -> None:
        transitions.settle(self._world, now_ms)
        heard, self._heard[:] = list(self._heard), []
        self._history.extend(heard)
        for item in self._armed:
            if item.behaviour.of_events and heard:
                item.behaviour.heard(self._world, heard, item.meet_event)

    def _attend(self) -> None:
        """Watch the world while a lie needs to know what changed, and only then."""
        needs = max((item.behaviour.history_ms for item in self._armed), default=0)
        wanted = needs > 0 or any(item.behaviour.of_events for item in self._armed)
        self._history.keep(needs)
        for item in self._armed:
            item.behaviour.history = self._history
        if self._watched is not None and (not wanted or self._watched is not self._world):
            self._watched.unwatch(self._heard)
            self._watched = None
            self._heard.clear()
            self._history.clear()
        if wanted and self._watched is None:
            self._world.watch(self._heard)
            self._watched = self._world


class Armed:
    """A lie in force: since when, and how often it was met and told."""

    def __init__(self, lie: Lie, *, now_ms: int, seed: int, place: int) -> None:
        self.lie, self.matched, self.fired = lie, 0, 0
        self.behaviour = LIES[lie.kind].build(lie)
        self._set_ms, self._seed = now_ms, seed
        self._label = f"{place}/{lie.kind}/{lie.name}"
        self._met: Counter[str] = Counter()
        self._path = path_pattern(lie.match.path) if lie.match.path else None

    def fits(self, asked: Asked) -> bool:
        match = self.lie.match
        return (
            not self.behaviour.of_events
            and self._in_time(asked.now_ms)
            and (not match.methods or asked.request.method in match.methods)
            and (not match.kinds or asked.kind in match.kinds)
            and (not match.zones or asked.place in match.zones)
            and (not match.ids or asked.lists or asked.target in match.ids)
            and (self._path is None or self._path.search(asked.request.path) is not None)
            and self.behaviour.concerns(asked)
        )

    def meet(self, asked: Asked) -> Randomness | None:
        """Count this match; its dice if the lie is told, None if not."""
        request = asked.request
        return self._throw(f"{request.method} {request.path}?{request.query}")

    def meet_event(self, record: Any, zone: str, at_ms: int) -> Randomness | None:
        """The same for an object that something happened to."""
        match = self.lie.match
        if not self._in_time(at_ms) or (match.zones and zone not in match.zones):
            return None
        if match.ids and record.id not in match.ids:
            return None
        return self._throw(record.id)

    def _in_time(self, now_ms: int) -> bool:
        since, match = now_ms - self._set_ms, self.lie.match
        return since >= match.after_ms and (match.until_ms is None or since < match.until_ms)

    def _throw(self, what: str) -> Randomness | None:
        self.matched += 1
        match, number = self.lie.match, self.matched - self.lie.match.skip
        if number < 1 or (match.times and self.fired >= match.times):
            return None
        if (match.nth and number not in match.nth) or (match.every and number % match.every):
            return None
        self._met[what] += 1
        thrown = dice(self._seed, self._label, what, str(self._met[what]))
        if match.probability < 1 and thrown.uniform(0, 1) >= match.probability:
            return None
        self.fired += 1
        return thrown


@dataclass(frozen=True, slots=True)
class _ScriptStep:
    """A step of a script that waits for its moment."""

    step: Step
    book: LieBook
    mint: Mint

    def __call__(self, world: World, now_ms: int) -> None:
        self.book.note_late(do_step(self.step, self.book, world, self.mint, now_ms=now_ms))

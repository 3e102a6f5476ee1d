"""An adoption that dies: `python victim.py ORDERS`, where the orders say what to adopt and at which point to be killed.

A point is `child:N` (when the N-th child has just been started), `after:N` (when it has ended), `call:N` (when the gate
has received the N-th changing call), `answered:N` (when it has answered it). Children are noted in a journal before
anything else happens, as the product does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reconciler.engine.adapter import PulumiEngine
from reconciler.engine.adoption.gate import AdoptionGate
from reconciler.engine.cli import PulumiCli
from reconciler.model.resources import Kind, Ref
from reconciler.ports.engine import ChildProcess
from tests.e2e.adoption_parts.site import LIMITS, STACK

_ANSWER_SECONDS = 0.2


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Fate:
    """Counts what happens and dies when it is time."""

    def __init__(self, point: str) -> None:
        self._what, number = point.split(":")
        self._left = int(number)
        self._lock = threading.Lock()

    def meet(self, what: str) -> bool:
        """Whether this is the point."""
        with self._lock:
            if what == self._what:
                self._left -= 1
            return what == self._what and self._left == 0


def arm(fate: Fate) -> None:
    """Put the points into the product's ways."""
    stream, change = PulumiCli.stream, AdoptionGate.change

    def doomed_stream(self: PulumiCli, *args: Any, on_start: Callable[..., None] | None = None, **more: Any) -> Any:
        def started(*told: Any) -> None:
            if on_start is not None:
                on_start(*told)
            if fate.meet("child"):
                die()

        finished = stream(self, *args, on_start=started, **more)
        if fate.meet("after"):
            die()
        return finished

    def doomed_change(self: AdoptionGate, call: Any) -> Any:
        if fate.meet("call"):
            die()
        reply = change(self, call)
        if fate.meet("answered"):
            threading.Timer(_ANSWER_SECONDS, die).start()
        return reply

    PulumiCli.stream = doomed_stream  # type: ignore[method-assign]
    AdoptionGate.change = doomed_change  # type: ignore[method-assign]


def main() -> None:
    orders = json.loads(Path(sys.argv[1]).read_text())
    journal = Path(orders["journal"])

    def on_child(child: ChildProcess) -> None:
        with journal.open("a") as file:
            file.write(json.dumps(asdict(child)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    targets = {urn: Ref(Kind(kind), zone, identity) for urn, (kind, zone, identity) in orders["targets"].items()}
    arm(Fate(orders["point"]))
    engine = PulumiEngine(env=os.environ, directory=Path(orders["project"]), limits=LIMITS)
    engine.adopt(STACK, targets, on_child=on_child)


if __name__ == "__main__":
    main()

"""A simulator as a process: what `reconciler simulate serve` runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from reconciler.kernel.clock import Clock, SharedClock, SystemClock
from reconciler.kernel.randomness import SystemRandomness
from reconciler.simulator import worldfile
from reconciler.simulator.core import Simulator
from reconciler.simulator.http import serve
from reconciler.simulator.world import World

__all__ = ["run", "serve"]


def run(
    *,
    port: int = 0,
    world_file: Path | None = None,
    speed: float = 1.0,
    clock_file: Path | None = None,
    ready: Callable[[str], None],
    stop: threading.Event | None = None,
) -> None:
    """Serve until `stop` is set or the process is interrupted; `ready` is told the URL.

    With `clock_file` time is shared with whoever reads the same file (RECONCILER_CLOCK_FILE), and the admin API can
    move it for all. Raises ConfigError for a bad world file or a port that is taken; KeyboardInterrupt passes through.
    """
    clock: Clock = SharedClock(clock_file) if clock_file is not None else SystemClock()
    world = worldfile.load(world_file) if world_file is not None else World()
    simulator = Simulator(world, clock=clock, randomness=SystemRandomness(), speed=speed)
    ended = stop or threading.Event()
    with serve(simulator, port=port) as server:
        ready(server.url)
        ended.wait()

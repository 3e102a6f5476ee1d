"""A scan of ten thousand workers with all their children stays within the bound on list calls."""

from __future__ import annotations

from math import ceil
from pathlib import Path

from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.executor import SerialExecutor
from reconciler.model.memory import NO_MEMORY
from reconciler.model.resources import Kind
from reconciler.observe import observe
from tests.apply.rig import Rig

WORKERS = 10_000
# Kinds whose lists cannot be sorted newest first are read twice.
PASSES = {Kind.IP: 2, Kind.INSTANCE_VOLUME: 2}


def test_list_calls_of_ten_thousand_workers_stay_within_the_bound(tmp_path: Path) -> None:
    """At most ceil(N / 100) + 1 calls a kind and zone, twice where one pass proves nothing; nothing is written."""
    clock = VirtualClock()
    rig = Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}", replicas=WORKERS, clock=clock)
    world = observe(
        scope=rig.scope,
        cloud=rig.cloud,
        engine=rig.engine,
        memory=NO_MEMORY,
        clock=rig.clock,
        executor=SerialExecutor(),
        ids=rig.ids(),
    )
    for scan in world.inventory.scans.values():
        assert scan.complete, scan.reason
        bound = PASSES.get(scan.kind, 1) * (ceil(len(scan.items) / 100) + 1)
        assert scan.calls <= bound, f"{scan.kind}: {scan.calls} calls for {len(scan.items)} items, bound {bound}"
    assert len(world.inventory.by_ref) >= 3 * WORKERS
    assert {entry.method for entry in rig.simulator.traffic.entries()} == {"GET"}

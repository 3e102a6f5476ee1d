"""What `apply` leaves to a person decides its status; what its own plan settles does not."""

from __future__ import annotations

import pytest

from reconciler.cli.applying import left_by
from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.ids import Ids
from reconciler.kernel.randomness import SeededRandomness
from reconciler.model.finding import FindingKind
from reconciler.model.plan import Mode
from reconciler.plan import build_plan
from tests.builders import NOW, fleet, found, machine, remembered, world


@pytest.mark.parametrize(
    ("replicas", "mode", "left"),
    [
        (1, Mode.REPAIR, []),
        (2, Mode.REPAIR, ["linux/1"]),
        (1, Mode.OBSERVE, ["linux/0"]),
    ],
)
def test_a_slot_that_an_adoption_fills_is_not_left_vacant(replicas: int, mode: Mode, left: list[str]) -> None:
    stray = machine(0)
    in_world = world(*stray.cloud, fleets=[fleet(replicas)], memory=remembered(*stray.cloud))
    findings = found(in_world)
    ids = Ids(clock=VirtualClock(start_ms=NOW), randomness=SeededRandomness(1))
    plan = build_plan(in_world, findings, mode=mode, ids=ids)
    vacant = [one for one in left_by(plan, findings) if one.kind is FindingKind.VACANT]
    assert [one.subjects[0].worker for one in vacant] == left

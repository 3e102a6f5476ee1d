"""A quiet world is written to by nothing but one sweep row (rule 14)."""

from __future__ import annotations

from reconciler.model.memory import Written
from reconciler.model.plan import Mode
from tests.apply.rig import Rig, slot_tags
from tests.store.counting import counting


def written_by_a_sweep(rig: Rig) -> tuple[Written, int]:
    """What the sweep says that it wrote, and what the database counted."""
    with counting(rig.store) as counted:
        rig.sweep()
    return rig.written, counted.total


def test_the_second_sweep_of_an_unchanged_world_inserts_one_row(either_rig: Rig) -> None:
    either_rig.apply(mode=Mode.REPAIR)
    either_rig.sweep()
    assert written_by_a_sweep(either_rig) == (Written(inserted=1, updated=0, deleted=0), 1)


def test_the_second_sweep_after_one_that_opened_findings_inserts_one_row(either_rig: Rig) -> None:
    either_rig.sweep()  # opens: untagged roots
    either_rig.stranger("kill_server", server="linux-1")
    either_rig.stranger("add_ip", tags=list(slot_tags(1)))
    either_rig.sweep()  # opens: missing, detached
    assert written_by_a_sweep(either_rig) == (Written(inserted=1, updated=0, deleted=0), 1)


def test_a_sweep_sends_nothing_but_reads(either_rig: Rig) -> None:
    either_rig.stranger("kill_server", server="linux-1")
    either_rig.sweep()
    either_rig.sweep()
    assert {entry.method for entry in either_rig.simulator.traffic.entries()} == {"GET"}


def test_a_second_apply_makes_no_change(either_rig: Rig) -> None:
    """The startup reconciliation completes; the second one has nothing to do."""
    either_rig.apply(mode=Mode.REPAIR)
    again = either_rig.apply(mode=Mode.REPAIR)
    assert again.plan.actions == ()
    assert again.outcomes == ()

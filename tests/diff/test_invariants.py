"""What holds in every world."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from reconciler.diff import diff
from reconciler.diff.remember import sweep_record
from reconciler.model.finding import ActionKind, Finding, FindingKind, Verdict
from reconciler.model.inventory import Presence
from reconciler.model.resources import Kind, Server
from reconciler.model.world import World
from tests.diff.oracle import held_by_a_row, moving, objections, resource_of, state_ids
from tests.diff.worlds import shuffled, worlds

# Explaining a failure takes longer than finding it; the failing world says enough.
CALM = settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
ENTRY_KINDS = (FindingKind.MISSING, FindingKind.CHANGED)
LEFTOVERS = (FindingKind.ORPHAN, FindingKind.DETACHED, FindingKind.DUPLICATE, FindingKind.UNMANAGED)


def acting(world: World, action: ActionKind) -> list[Finding]:
    return [one for one in diff(world) if one.verdict is Verdict.ACT and one.action is action]


@CALM
@given(worlds())
def test_nothing_is_destroyed_that_anything_speaks_for(world: World) -> None:
    """Rules 1, 3, 7 and 9, against a second, plain reading of the world."""
    for finding in acting(world, ActionKind.DESTROY):
        event(f"acts on {finding.kind.value}")
        assert objections(world, finding) == []


@CALM
@given(worlds())
def test_only_leftovers_are_ever_destroyed(world: World) -> None:
    for finding in diff(world):
        if finding.action is ActionKind.DESTROY:
            assert finding.kind in (FindingKind.ORPHAN, FindingKind.DETACHED, FindingKind.STALE_ROW)


@CALM
@given(worlds())
def test_state_forgets_only_what_is_proved_absent_and_was_in_both_reads(world: World) -> None:
    """Rules 1 to 3."""
    for finding in diff(world):
        if finding.action is not ActionKind.REFRESH or finding.kind is not FindingKind.MISSING:
            continue
        if finding.verdict is not Verdict.ACT:
            continue
        event("acts on missing")
        first = finding.subjects[0]
        assert first.ref is not None
        assert finding.stack is not None
        assert world.inventory.probes[first.ref].presence is Presence.ABSENT
        for read in (world.states_before, world.states):
            assert any(
                entry.urn == first.urn and entry.ref == first.ref and not entry.pending_delete
                for entry in read[finding.stack].resources
            )
        assert finding.stack not in moving(world)
        assert not world.states[finding.stack].pending


@CALM
@given(worlds())
def test_tags_are_written_only_to_what_is_there_and_ours_to_touch(world: World) -> None:
    for finding in acting(world, ActionKind.TAG):
        event("acts on tags")
        ref = finding.refs[0]
        thing = resource_of(world, ref)
        assert thing is not None
        assert thing.project == world.scope.project
        assert finding.tags_after is not None
        assert set(thing.tags) <= set(finding.tags_after)
        assert finding.stack not in moving(world)
        own = f"reconciler:scope={world.scope.uuid}"
        assert all(tag == own for tag in finding.tags_after if tag.startswith("reconciler:scope="))
        assert not set(world.scope.never.tags) & set(thing.tags)


@CALM
@given(worlds())
def test_rows_are_written_only_for_what_is_surely_theirs(world: World) -> None:
    """Rules 1, 2 and 4: a row is given the one machine with its id, and ends by a proof alone."""
    for finding in acting(world, ActionKind.ATTACH) + acting(world, ActionKind.PURGE):
        event(f"{finding.action.value}: {finding.kind.value}")
        row = world.records.row(finding.row or "")
        assert row is not None
        assert world.unread_records is None
        if not row.live:
            assert row.deletion_finished
            continue
        assert world.records_before.row(row.id) == row
        if row.machine is not None:
            assert finding.action is ActionKind.PURGE
            assert world.inventory.probes[row.machine].presence is Presence.ABSENT
            continue
        scan = world.inventory.scans[Kind.SERVER, row.zone]
        assert scan.complete
        mine = [one for one in servers_of(world) if f"reconciler:worker={row.id}" in one.tags]
        assert [one.ref for one in mine] == list(finding.refs)
        assert (finding.action is ActionKind.ATTACH) == bool(mine)
        since = row.changed_ms if row.create_sent_ms is None else row.create_sent_ms
        assert since + 900_000 <= world.finished_ms


@CALM
@given(worlds())
def test_a_row_is_written_only_for_a_running_worker_that_never_had_one(world: World) -> None:
    """A late create is never written down as a worker whose row was lost."""
    for finding in acting(world, ActionKind.RECORD):
        event("records")
        worker = finding.row
        thing = resource_of(world, finding.refs[0])
        assert isinstance(thing, Server)
        assert thing.state == "running"
        assert f"reconciler:worker={worker}" in thing.tags
        assert worker not in world.records.ended
        assert all(worker != row.id for read in (world.records_before, world.records) for row in read.workers)
        assert thing.id not in state_ids(world)
        assert thing.ref not in world.memory.doomed
        assert not moving(world)
        assert not world.unread
        assert [one.ref for one in servers_of(world) if f"reconciler:worker={worker}" in one.tags] == [thing.ref]


def servers_of(world: World) -> list[Server]:
    found = {item.ref for scan in world.inventory.scans.values() for item in scan.items if item.ref.kind is Kind.SERVER}
    found |= {ref for ref in world.inventory.probes if ref.kind is Kind.SERVER}
    there = [resource_of(world, ref) for ref in sorted(found)]
    return [one for one in there if isinstance(one, Server) and one.project == world.scope.project]


@CALM
@given(worlds())
def test_only_what_is_free_and_ours_to_take_is_adopted(world: World) -> None:
    own, held = f"reconciler:scope={world.scope.uuid}", state_ids(world)
    for finding in acting(world, ActionKind.ADOPT):
        event(f"adopts {finding.kind.value}")
        assert finding.stack is not None
        assert finding.stack not in moving(world)
        assert not world.unread
        named = [one for one in finding.subjects if one.ref is not None and one.urn is not None]
        assert named
        for one in named:
            assert one.ref is not None
            thing = resource_of(world, one.ref)
            assert thing is not None
            assert thing.project == world.scope.project
            assert thing.id not in held
            assert all(tag == own for tag in thing.tags if tag.startswith("reconciler:scope="))
            assert not set(world.scope.never.tags) & set(thing.tags)
            assert one.ref not in world.memory.doomed
            assert one.ref not in world.memory.held


@CALM
@given(worlds())
def test_what_is_unknown_or_waits_or_is_asked_is_never_also_acted_on(world: World) -> None:
    acted = {one.subjects[0] for one in diff(world) if one.verdict is Verdict.ACT}
    others = {one.subjects[0] for one in diff(world) if one.verdict is not Verdict.ACT and one.kind in LEFTOVERS}
    assert not acted & others


@CALM
@given(worlds(), st.integers(0, 2**16))
def test_the_findings_do_not_depend_on_the_order_of_reading(world: World, seed: int) -> None:
    assert diff(shuffled(world, seed)) == diff(world)


@CALM
@given(worlds())
def test_one_difference_is_one_finding(world: World) -> None:
    findings = diff(world)
    assert max(Counter(one.id for one in findings).values(), default=1) == 1
    entries = Counter((one.stack, one.subjects[0].urn) for one in findings if one.kind in ENTRY_KINDS)
    assert max(entries.values(), default=1) == 1
    first = Counter(one.subjects[0].ref for one in findings if one.kind in LEFTOVERS)
    assert max(first.values(), default=1) == 1


@CALM
@given(worlds())
def test_what_is_destroyed_is_destroyed_once(world: World) -> None:
    """No two findings would destroy the same thing, and none would destroy what another finding spares."""
    destroyed = Counter(ref for one in acting(world, ActionKind.DESTROY) for ref in one.refs)
    assert max(destroyed.values(), default=1) == 1
    spared = {
        one.subjects[0].ref
        for one in diff(world)
        if one.kind in LEFTOVERS and not (one.verdict is Verdict.ACT and one.action is ActionKind.DESTROY)
    }
    assert not spared & set(destroyed)


@CALM
@given(worlds())
def test_what_a_state_holds_is_a_leftover_in_no_finding(world: World) -> None:
    held = state_ids(world)
    for finding in diff(world):
        if finding.kind in (FindingKind.ORPHAN, FindingKind.DETACHED):
            assert not held & {ref.id for ref in finding.refs}


@CALM
@given(worlds())
def test_every_leftover_of_the_project_is_accounted_for(world: World) -> None:
    """Whatever no state holds is in some finding, or is in order on a machine that a state or a row holds."""
    held = state_ids(world)
    shown = {ref for one in diff(world) for ref in one.refs}
    for scan in world.inventory.scans.values():
        for item in scan.items:
            if item.project != world.scope.project or item.id in held or item.ref.kind.value in ("ipam", "nic"):
                continue
            if item.ref in shown or held_by_a_row(world, item):
                continue
            assert getattr(item, "server_id", None) in held


@CALM
@given(worlds())
def test_a_sweep_of_an_unchanged_world_adds_nothing_to_the_memory(world: World) -> None:
    """Rule 14, whatever the first sweep saw."""
    first = sweep_record(world, diff(world), trigger="drift")
    memory = replace(
        world.memory,
        lineage={**world.memory.lineage, **{line.ref: line for line in first.new_lineage}},
        unowned_since={
            ref: since
            for ref, since in {**world.memory.unowned_since, **first.newly_unowned}.items()
            if ref not in first.owned_again
        },
    )
    later = replace(world, memory=memory, finished_ms=world.finished_ms + 60_000)
    second = sweep_record(later, diff(later), trigger="drift")
    assert (second.new_lineage, dict(second.newly_unowned), second.owned_again) == ((), {}, ())

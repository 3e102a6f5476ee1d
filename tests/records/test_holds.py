"""What a live row holds is never left over, from whichever side it is looked at."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reconciler.diff.exit import sweep_exit
from reconciler.diff.remember import sweep_record
from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.model.memory import Lineage, Recorded
from reconciler.model.records import WorkerState
from reconciler.model.resources import Resource
from reconciler.model.scope import Ownership
from tests.builders import NOW, PROJECT, booking, entry_of, found, ip, only, scope, server, state, uid, volume
from tests.records.rows import (
    WORKER,
    doomed,
    old_memory,
    row,
    tombstone,
    unread,
    view,
    with_records,
    worker_machine,
    worker_tags,
)

ONE = worker_machine()
TAGS = scope(ownership=Ownership.TAGS)
LEFTOVER = (FindingKind.ORPHAN, FindingKind.DETACHED, FindingKind.DUPLICATE, FindingKind.UNMANAGED)


def test_a_machine_that_a_row_records_is_in_order() -> None:
    assert found(with_records(*ONE.cloud, rows=[row(ONE)], memory=old_memory(*ONE.cloud), scope=TAGS)) == []


@pytest.mark.parametrize("of", list(WorkerState))
def test_a_row_holds_its_machine_in_every_state_that_it_may_be_in(of: WorkerState) -> None:
    given = with_records(*ONE.cloud, rows=[row(ONE, state=of)], memory=old_memory(*ONE.cloud), scope=TAGS)
    assert [one for one in found(given) if one.kind in LEFTOVER] == []


def test_a_row_holds_by_the_machines_id_where_the_tags_are_gone() -> None:
    bare = worker_machine(tags=())
    given = with_records(*bare.cloud, rows=[row(bare)], memory=old_memory(*bare.cloud))
    assert found(given) == []


def test_a_row_without_a_machine_holds_by_the_workers_tag() -> None:
    given = with_records(*ONE.cloud, rows=[row()], memory=old_memory(*ONE.cloud), scope=TAGS)
    assert [one.kind for one in found(given)] == [FindingKind.UNRESOLVED_CREATE]


def test_what_a_row_holds_does_not_go_with_somebody_elses_orphan() -> None:
    """Its tags name two workers, one of them with a row: it hangs on a machine that nobody wants any more."""
    orphan = worker_machine(uid("another"), label="burst-7")
    claimed = replace(orphan.ip, tags=(*orphan.ip.tags, f"reconciler:worker={WORKER}"))
    cloud = (orphan.server, orphan.root, claimed)
    rows = view(row(ONE), ended=tombstone(uid("another")))
    given = with_records(*cloud, records=rows, memory=old_memory(*cloud), scope=TAGS)
    (finding,) = [one for one in found(given) if one.kind is FindingKind.ORPHAN]
    assert (finding.verdict, claimed.ref in finding.refs) == (Verdict.ASK, False)
    assert WORKER in finding.reason


def test_a_row_that_only_the_first_read_had_still_holds() -> None:
    """Rule 3: it may have ended after the inventory was read, and says nothing about what was listed."""
    given = with_records(*ONE.cloud, before=view(row(ONE)), records=view(), memory=old_memory(*ONE.cloud), scope=TAGS)
    assert [one for one in found(given) if one.kind in LEFTOVER] == []


def test_without_its_row_the_same_machine_is_an_orphan() -> None:
    """The other side: nothing but the row keeps it."""
    stopped = replace(ONE.server, state="stopped")
    given = with_records(stopped, ONE.root, ONE.ip, memory=old_memory(stopped), scope=TAGS)
    assert only(given, FindingKind.ORPHAN).verdict is Verdict.ACT


def test_a_doomed_row_holds_nothing() -> None:
    memory = old_memory(ONE.server, doomed=frozenset({ONE.ref}))
    given = with_records(*ONE.cloud, rows=[doomed(row(ONE))], memory=memory, scope=TAGS)
    assert only(given, FindingKind.ORPHAN).verdict is Verdict.ACT


@pytest.mark.parametrize("child", [ip("free", tags=worker_tags()), volume("free", tags=worker_tags())], ids=str)
def test_a_free_child_with_the_tag_of_a_live_row_is_not_left_over(child: Resource) -> None:
    given = with_records(*ONE.cloud, child, rows=[row(ONE)], memory=old_memory(child), scope=TAGS)
    assert found(given) == []
    without = with_records(child, memory=old_memory(child), scope=TAGS)
    assert only(without, FindingKind.DETACHED).verdict is Verdict.ACT


def test_a_free_volume_that_was_last_seen_on_a_recorded_machine_is_not_left_over() -> None:
    free = volume("was-on-it")
    line = Lineage(
        ref=free.ref,
        source="attached",
        fleet="burst",
        stack=None,
        urn=None,
        worker=WORKER,
        server_id=ONE.server.id,
        first_seen_ms=NOW,
    )
    memory = old_memory(free, lineage={free.ref: line})
    assert found(with_records(*ONE.cloud, free, rows=[row(ONE)], memory=memory)) == []
    assert only(with_records(free, memory=memory)).kind is FindingKind.DETACHED


def test_a_child_of_a_recorded_machine_that_no_list_shows_is_not_unmanaged() -> None:
    given = with_records(ONE.root, ONE.ip, booking(ONE.ip), rows=[row(ONE)])
    assert [one.kind for one in found(given) if one.kind in LEFTOVER] == []


def test_a_machine_of_another_scopes_tag_is_held_by_its_id_all_the_same() -> None:
    other = worker_machine(tags=worker_tags(scope=uid("another")))
    assert found(with_records(*other.cloud, rows=[row(other)], memory=old_memory(*other.cloud))) == []


def test_the_memory_alone_keeps_a_recorded_machine_where_the_adapter_reads_no_rows() -> None:
    """Rows of another time or another scope are holds in the database all the same."""
    stopped = replace(ONE.server, state="stopped")
    memory = old_memory(stopped, recorded={stopped.ref: Recorded(worker=WORKER, holds=True)})
    given = with_records(stopped, ONE.root, ONE.ip, records=None, memory=memory, scope=TAGS)
    given = replace(given, records=replace(given.records, adapter="none", workers=()))
    finding = only(given, FindingKind.ORPHAN)
    assert (finding.verdict, finding.reason) == (Verdict.ASK, f"the row of worker {WORKER} holds it")


@pytest.mark.parametrize("child", [ip("free", tags=worker_tags()), volume("free", tags=worker_tags())], ids=str)
def test_the_memory_alone_keeps_what_carries_a_recorded_workers_tag_too(child: Resource) -> None:
    memory = old_memory(child, recorded={ONE.ref: Recorded(worker=WORKER, holds=True)})
    given = with_records(*ONE.cloud, child, records=None, memory=memory, scope=TAGS)
    given = replace(given, records=replace(given.records, adapter="none", workers=()))
    finding = only(given, FindingKind.DETACHED)
    assert (finding.verdict, finding.reason) == (Verdict.ASK, f"the row of worker {WORKER} holds it")


# -- rows that were not read


def test_rows_that_were_not_read_let_nothing_be_an_orphan() -> None:
    stopped = replace(ONE.server, state="stopped")
    given = with_records(stopped, ONE.root, ONE.ip, memory=old_memory(stopped), scope=TAGS)
    blind = replace(given, records=unread(), records_before=unread())
    finding = only(blind, FindingKind.ORPHAN)
    assert (finding.verdict, "the rows of workers" in finding.reason) == (Verdict.UNKNOWN, True)


@pytest.mark.parametrize("when", ["records", "records_before"])
def test_one_of_the_two_reads_that_failed_is_enough(when: str) -> None:
    free = ip("free", tags=worker_tags(uid("nobody")))
    given = replace(with_records(free, memory=old_memory(free), scope=TAGS), **{when: unread()})  # type: ignore[arg-type]
    assert only(given, FindingKind.DETACHED).verdict is Verdict.UNKNOWN
    incomplete = only(given, FindingKind.INCOMPLETE)
    assert incomplete.ledgers == {"records": "unread"}
    assert sweep_exit(given, found(given)) == 7


def test_a_sweep_that_could_not_read_the_rows_is_not_complete_and_teaches_no_sighting() -> None:
    free = ip("free", tags=worker_tags(uid("nobody")))
    given = with_records(free, scope=TAGS)
    assert sweep_record(given, tuple(found(given)), trigger="drift").complete
    blind = replace(given, records=unread())
    record = sweep_record(blind, tuple(found(blind)), trigger="drift")
    assert (record.complete, record.newly_unowned, record.closable) == (False, {}, frozenset())


# -- doubles


def test_a_second_machine_with_the_id_of_a_recorded_one_is_asked_about() -> None:
    again = worker_machine(label="burst-1-again")
    given = with_records(*ONE.cloud, *again.cloud, rows=[row(ONE)], memory=old_memory(again.server), scope=TAGS)
    finding = only(given)
    assert (finding.kind, finding.verdict, finding.action) == (FindingKind.DUPLICATE, Verdict.ASK, ActionKind.NONE)
    assert finding.refs[0] == again.ref


def test_two_machines_for_one_row_without_a_machine_are_both_asked_about() -> None:
    """None is kept silently, and none is attached."""
    again = worker_machine(label="burst-1-again")
    given = with_records(*ONE.cloud, *again.cloud, rows=[row()], memory=old_memory(), scope=TAGS)
    kinds = [(one.kind, one.verdict) for one in found(given)]
    ask = (FindingKind.DUPLICATE, Verdict.ASK)
    assert sorted(kinds) == sorted([ask, ask, (FindingKind.UNRESOLVED_CREATE, Verdict.ASK)])


def test_two_machines_of_one_worker_without_a_row_are_both_asked_about() -> None:
    again = worker_machine(label="burst-1-again")
    given = with_records(*ONE.cloud, *again.cloud, memory=old_memory(ONE.server, again.server), scope=TAGS)
    assert [(one.kind, one.verdict) for one in found(given)] == [(FindingKind.DUPLICATE, Verdict.ASK)] * 2


def test_two_machines_of_a_worker_that_ended_are_orphans() -> None:
    """Nothing is kept of a worker that was given up, so there is nothing to choose."""
    again = worker_machine(label="burst-1-again")
    memory = old_memory(ONE.server, again.server)
    records = view(ended=tombstone())
    given = with_records(*ONE.cloud, *again.cloud, records=records, memory=memory, scope=TAGS)
    assert [(one.kind, one.verdict) for one in found(given)] == [(FindingKind.ORPHAN, Verdict.ACT)] * 2


def test_a_machine_that_a_state_holds_is_the_states_to_judge() -> None:
    static = server("static", tags=worker_tags(uid("nobody")), project=PROJECT)
    given = with_records(static, states=[state(entry_of(static))])
    assert found(given) == []


# -- lineage


def test_what_a_recorded_machine_was_made_with_is_remembered_for_the_day_on_which_it_is_gone() -> None:
    stranger = volume("mine", server_id=ONE.server.id, created_ms=NOW - 30 * 86_400_000)
    given = with_records(*ONE.cloud, stranger, rows=[row(ONE)])
    record = sweep_record(given, tuple(found(given)), trigger="drift")
    assert {line.ref for line in record.new_lineage} == {ONE.root.ref, ONE.ip.ref}
    assert {(line.worker, line.server_id) for line in record.new_lineage} == {(WORKER, ONE.server.id)}


def test_what_is_remembered_of_a_recorded_machine_is_written_once() -> None:
    given = with_records(*ONE.cloud, rows=[row(ONE)])
    lines = sweep_record(given, (), trigger="drift").new_lineage
    again = replace(given, memory=replace(given.memory, lineage={line.ref: line for line in lines}))
    assert sweep_record(again, (), trigger="drift").new_lineage == ()

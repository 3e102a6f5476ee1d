"""What every adapter of the records ledger promises. Rows are on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reconciler.kernel.errors import IncompleteError, NotLeaderError, RefusedError, StoreError
from reconciler.model.records import NO_RECORDS, WorkerState
from reconciler.model.resources import Kind, Ref
from reconciler.ports.records import Records
from reconciler.records.native import NativeRecords
from reconciler.records.none import NoRecords, UnavailableRecords
from tests.builders import uid
from tests.records.desk import MACHINE, OTHER, WORKER, Desk, new
from tests.records.rows import elastic
from tests.store.place import OTHER_SCOPE, SCOPE, Place, decide, hold, lead, ref


@pytest.fixture
def desk(place: Place) -> Desk:
    return Desk.on(place)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(RefusedError) as caught:
        call()
    return caught.value.code


# -- adapters without rows


def test_none_expects_no_rows_and_refuses_to_write_one(desk: Desk) -> None:
    none: Records = NoRecords()
    assert none.read(SCOPE) == NO_RECORDS
    assert not none.read(SCOPE).expected
    assert none.ended(SCOPE, [WORKER]) == {}
    row = desk.record()
    assert refused(lambda: none.record(SCOPE, new(), fleet=elastic(), lease=desk.lease)) == "RC0560"
    assert refused(lambda: none.attach(SCOPE, row, MACHINE, lease=desk.lease)) == "RC0560"
    assert refused(lambda: none.purge(SCOPE, row, why="", lease=desk.lease)) == "RC0560"


def test_rows_that_are_out_of_reach_are_not_no_rows(desk: Desk) -> None:
    row = desk.record()
    away: Records = UnavailableRecords("native", "no database")
    calls: list[Callable[[], object]] = [
        lambda: away.read(SCOPE),
        lambda: away.ended(SCOPE, []),
        lambda: away.record(SCOPE, new(), fleet=elastic(), lease=desk.lease),
        lambda: away.attach(SCOPE, row, MACHINE, lease=desk.lease),
        lambda: away.purge(SCOPE, row, why="", lease=desk.lease),
    ]
    for call in calls:
        with pytest.raises(IncompleteError) as caught:
            call()
        assert caught.value.code == "RC0561"


def test_a_database_that_does_not_answer_is_an_error_and_not_an_empty_table(sqlite_place: Place) -> None:
    desk = Desk.on(sqlite_place)
    sqlite_place.sql("DROP VIEW orphan_resources")
    sqlite_place.sql("DROP TABLE workers")
    with pytest.raises(StoreError):
        desk.records.read(SCOPE)


# -- record


def test_a_recorded_machine_has_a_row_and_its_fleet_has_one(desk: Desk) -> None:
    row = desk.record()
    view = desk.records.read(SCOPE)
    assert view.workers == (row,)
    assert (row.machine, row.state, row.fleet, row.live) == (MACHINE, WorkerState.BOOTSTRAPPING, "burst", True)
    assert (row.create_sent_ms, row.create_confirmed_ms, row.ready_ms) == (None, None, None)
    assert [(one.id, one.name, one.retired_ms) for one in view.fleets] == [(elastic().uid, "burst", None)]


def test_recording_the_same_again_is_the_same_row(desk: Desk) -> None:
    assert desk.record() == desk.record()
    assert desk.place.count("workers") == 1


def test_a_worker_has_one_machine(desk: Desk) -> None:
    desk.record()
    assert refused(lambda: desk.record(WORKER, ref(2))) == "RC0232"


def test_a_machine_has_one_worker(desk: Desk) -> None:
    desk.record()
    assert refused(lambda: desk.record(OTHER)) == "RC0235"


def test_a_worker_that_ended_gets_no_row_again(desk: Desk) -> None:
    desk.records.purge(SCOPE, desk.record(), why="gone", lease=desk.lease)
    assert refused(desk.record) == "RC0233"


def test_a_doomed_machine_is_not_recorded(desk: Desk) -> None:
    decide(desk.store, desk.lease, MACHINE)
    assert refused(desk.record) == "RC0234"
    assert desk.place.count("workers") == desk.place.count("fleets") == 0


@pytest.mark.parametrize("machine", [ref(1, Kind.IP), Ref(Kind.SERVER, "pl-waw-1", ref(1).id)], ids=str)
def test_a_workers_machine_is_a_server_in_its_zone(desk: Desk, machine: Ref) -> None:
    assert refused(lambda: desk.record(WORKER, machine)) == "RC0562"
    row = desk.intend(OTHER)
    assert refused(lambda: desk.records.attach(SCOPE, row, machine, lease=desk.lease)) == "RC0562"


def test_a_fleet_that_is_declared_again_retires_the_one_before(desk: Desk) -> None:
    desk.record()
    desk.record(OTHER, ref(2), fleet=elastic(uid=uid("again"), revision="ffffffffffff"))
    fleets = {one.id: one for one in desk.records.read(SCOPE).fleets}
    assert fleets[elastic().uid].retired_ms is not None
    assert (fleets[uid("again")].retired_ms, fleets[uid("again")].revision) == (None, "ffffffffffff")


def test_a_fleet_that_moved_keeps_its_row(desk: Desk) -> None:
    desk.record()
    desk.record(OTHER, ref(2), fleet=elastic(stack="ci/moved", revision="ffffffffffff"))
    (fleet,) = desk.records.read(SCOPE).fleets
    assert (fleet.stack, fleet.revision, fleet.retired_ms) == ("ci/moved", "ffffffffffff", None)


def test_a_fleet_of_another_scope_is_not_taken_over(desk: Desk) -> None:
    desk.record()
    call = desk.records.record
    assert refused(lambda: call(OTHER_SCOPE, new(OTHER, ref(2)), fleet=elastic(), lease=desk.lease)) == "RC0236"


def test_the_rows_of_one_scope_are_not_anothers(desk: Desk) -> None:
    desk.record()
    assert desk.records.read(OTHER_SCOPE).workers == ()
    other = elastic(uid=uid("other"))
    assert refused(lambda: desk.records.record(OTHER_SCOPE, new(), fleet=other, lease=desk.lease)) == "RC0232"


# -- attach


def test_an_attached_machine_confirms_the_create(desk: Desk) -> None:
    row = desk.records.attach(SCOPE, desk.intend(), MACHINE, lease=desk.lease)
    assert (row.machine, row.state) == (MACHINE, WorkerState.BOOTSTRAPPING)
    assert row.create_confirmed_ms == row.changed_ms
    assert desk.row() == row


def test_attaching_the_same_again_is_the_same_row(desk: Desk) -> None:
    before = desk.intend()
    row = desk.records.attach(SCOPE, before, MACHINE, lease=desk.lease)
    assert desk.records.attach(SCOPE, before, MACHINE, lease=desk.lease) == row


def test_a_failed_row_stays_failed_when_its_machine_is_known(desk: Desk) -> None:
    row = desk.records.attach(SCOPE, desk.intend(state="failed"), MACHINE, lease=desk.lease)
    assert row.state is WorkerState.FAILED


def test_a_row_that_was_written_meanwhile_is_not_attached(desk: Desk) -> None:
    before = desk.intend()
    desk.set(failure="no")
    assert refused(lambda: desk.records.attach(SCOPE, before, MACHINE, lease=desk.lease)) == "RC0231"


def test_a_row_is_not_given_a_second_machine(desk: Desk) -> None:
    before = desk.intend()
    row = desk.records.attach(SCOPE, before, MACHINE, lease=desk.lease)
    for judged in (before, row):
        assert refused(lambda judged=judged: desk.records.attach(SCOPE, judged, ref(2), lease=desk.lease)) == "RC0231"  # type: ignore[misc]


def test_a_doomed_or_recorded_machine_is_not_attached(desk: Desk) -> None:
    row = desk.intend()
    decide(desk.store, desk.lease, MACHINE)
    assert refused(lambda: desk.records.attach(SCOPE, row, MACHINE, lease=desk.lease)) == "RC0234"
    desk.record(OTHER, ref(2))
    assert refused(lambda: desk.records.attach(SCOPE, row, ref(2), lease=desk.lease)) == "RC0235"


def test_a_row_that_is_gone_is_not_attached(desk: Desk) -> None:
    row = desk.intend()
    desk.records.purge(SCOPE, row, why="gone", lease=desk.lease)
    assert refused(lambda: desk.records.attach(SCOPE, row, MACHINE, lease=desk.lease)) == "RC0230"


# -- purge


def test_a_purged_row_leaves_a_tombstone_and_no_hold(desk: Desk) -> None:
    desk.records.purge(SCOPE, desk.record(), why="it was proved absent", lease=desk.lease)
    assert desk.records.read(SCOPE).workers == ()
    stone = desk.records.ended(SCOPE, [WORKER, OTHER])
    assert [(one.worker, one.machine_id, one.why) for one in stone.values()] == [
        (WORKER, MACHINE.id, "it was proved absent")
    ]
    assert desk.place.count("provider_resources") == 0
    assert desk.store.memory(SCOPE).recorded == {}


def test_purging_again_is_done(desk: Desk) -> None:
    row = desk.record()
    for _ in range(2):
        desk.records.purge(SCOPE, row, why="gone", lease=desk.lease)
    assert desk.place.count("worker_tombstones") == 1


def test_a_row_that_was_written_meanwhile_does_not_end(desk: Desk) -> None:
    before = desk.record()
    desk.set(state="ready", ready_ms=5)
    assert refused(lambda: desk.records.purge(SCOPE, before, why="gone", lease=desk.lease)) == "RC0231"


def test_an_adoption_keeps_the_resource_of_a_row_that_ends(desk: Desk) -> None:
    row = desk.record()
    hold(desk.store, MACHINE)
    desk.records.purge(SCOPE, row, why="gone", lease=desk.lease)
    assert desk.store.memory(SCOPE).held == {MACHINE}
    assert desk.place.broken() == {}


def test_a_doomed_row_ends_only_when_its_deletion_is_finished(desk: Desk) -> None:
    warrant = desk.doom(desk.record())
    doomed = desk.row()
    assert (doomed.live, doomed.machine, doomed.deletion_finished) == (False, MACHINE, False)
    assert refused(lambda: desk.records.purge(SCOPE, doomed, why="x", lease=desk.lease)) == "RC0237"
    assert desk.store.finalise_deletion(warrant, proved_absent=warrant.refs, lease=desk.lease)
    desk.records.purge(SCOPE, desk.row(), why="deleted", lease=desk.lease)
    assert desk.records.ended(SCOPE, [WORKER])[WORKER].machine_id == MACHINE.id
    assert desk.place.broken() == {}


# -- leases


def test_a_stale_leader_writes_no_row(desk: Desk) -> None:
    """Rule 13."""
    row = desk.record()
    other = desk.place.store()
    desk.place.clock.advance(3600)
    if desk.place.is_postgres:
        desk.place.sql("UPDATE leases SET expires_ms = 0")
    taken = lead(other, holder="second")
    fresh = NativeRecords(other)
    for call in (
        lambda: desk.record(OTHER, ref(2)),
        lambda: desk.records.attach(SCOPE, row, MACHINE, lease=desk.lease),
        lambda: desk.records.purge(SCOPE, row, why="x", lease=desk.lease),
    ):
        with pytest.raises(NotLeaderError):
            call()
    fresh.purge(SCOPE, row, why="x", lease=taken)

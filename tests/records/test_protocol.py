"""A row and a deletion: who holds, who is refused, and what the database itself says when nobody asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from reconciler.kernel.errors import RefusedError, StoreError
from reconciler.model.memory import Recorded
from reconciler.model.records import WorkerRow
from reconciler.model.resources import Kind
from reconciler.store import SqlStore, check
from tests.records.desk import MACHINE, OTHER, WORKER, Desk
from tests.store.place import PROJECT, SCOPE, Place, decide, hold, ref
from tests.store.racing import race

CHILD = ref(2, Kind.VOLUME)


@pytest.fixture
def desk(place: Place) -> Desk:
    return Desk.on(place)


def code_of(error: pytest.ExceptionInfo[RefusedError]) -> str:
    return error.value.code


@pytest.mark.parametrize("state", ["provisioning", "bootstrapping", "ready", "busy", "failed"])
def test_what_a_row_records_is_not_doomed_whatever_state_the_row_is_in(desk: Desk, state: str) -> None:
    desk.record()
    desk.set(state=state)
    with pytest.raises(RefusedError) as error:
        decide(desk.store, desk.lease, MACHINE, CHILD)
    assert code_of(error) == "RC0621"
    assert WORKER in str(error.value)
    assert desk.place.count("deletion_claims") == desk.place.count("provider_resources", "live IS NULL") == 0


def test_a_recorded_machine_that_is_found_late_is_struck_from_a_deletion(desk: Desk) -> None:
    desk.record()
    warrant = decide(desk.store, desk.lease, ref(9))
    assert not desk.store.extend_deletion(warrant, found=[MACHINE], lease=desk.lease).covers(MACHINE)
    assert desk.row().live


def test_a_decision_about_a_rows_machine_dooms_both_and_lets_go_of_it(desk: Desk) -> None:
    warrant = desk.doom(desk.record(), CHILD)
    assert warrant.refs == {MACHINE, CHILD}
    row = desk.row()
    assert (row.live, row.deletion_id, row.machine) == (False, warrant.deletion_id, MACHINE)
    assert desk.place.rows("SELECT live, resource_live FROM workers") == [(None, None)]
    assert desk.place.broken() == {}


def test_the_memory_tells_a_hold_of_a_row_from_one_of_an_adoption(desk: Desk) -> None:
    row = desk.record()
    memory = desk.store.memory(SCOPE)
    assert (memory.held, memory.recorded) == (frozenset(), {MACHINE: Recorded(worker=WORKER, holds=True)})
    hold(desk.store, MACHINE)
    assert desk.store.memory(SCOPE).held == {MACHINE}
    with pytest.raises(RefusedError):
        desk.doom(row)
    assert desk.row() == row


def test_of_a_doomed_row_the_memory_says_whose_machine_it_was(desk: Desk) -> None:
    desk.doom(desk.record())
    memory = desk.store.memory(SCOPE)
    assert memory.recorded == {MACHINE: Recorded(worker=WORKER, holds=False)}
    assert memory.doomed == {MACHINE}


def test_deciding_again_gives_the_same_deletion(desk: Desk) -> None:
    row = desk.record()
    assert desk.doom(row) == desk.doom(row)


def test_a_worker_that_reported_in_the_last_moment_stays(desk: Desk) -> None:
    judged = desk.record()
    desk.set(state="ready", ready_ms=5)
    with pytest.raises(RefusedError) as error:
        desk.doom(judged)
    assert code_of(error) == "RC0231"
    assert desk.row().live
    assert desk.place.count("deletion_claims") == 0


def test_a_row_is_doomed_with_its_own_machine_only(desk: Desk) -> None:
    row = desk.record()
    desk.record(OTHER, ref(3))
    with pytest.raises(RefusedError) as error:
        desk.store.decide_deletion(
            scope=SCOPE,
            project=PROJECT,
            target=ref(3),
            children=[],
            reason="r",
            finding_id="f",
            hour_nanos=0,
            lease=desk.lease,
            per_hour=9,
            worker=row,
        )
    assert code_of(error) == "RC0231"


def test_a_machine_that_is_struck_leaves_its_row_doomed(desk: Desk) -> None:
    """The decision never reverts: the row ends, and the machine is found again by the next sweep."""
    warrant = desk.doom(desk.record())
    warrant = desk.store.strike(warrant, ref=MACHINE, why="protected", lease=desk.lease)
    assert desk.store.finalise_deletion(warrant, proved_absent=[], lease=desk.lease)
    row = desk.row()
    assert (row.live, row.deletion_finished, row.machine) == (False, True, MACHINE)
    desk.records.purge(SCOPE, row, why="spared", lease=desk.lease)
    assert desk.place.broken() == {}


# -- the database's own word


def test_the_composite_key_refuses_the_decision_when_the_view_knows_nothing_of_the_row(desk: Desk) -> None:
    desk.place.without_eligibility()
    desk.record()
    with pytest.raises(RefusedError) as error:
        decide(desk.store, desk.lease, MACHINE)
    assert code_of(error) == "RC0621"
    assert desk.place.count("provider_resources", "live IS NULL") == 0


RAW = {
    "a hold on a doomed machine": "UPDATE workers SET resource_live = 1, live = 1, deletion_id = NULL",
    "a live row without its hold": "UPDATE workers SET live = 1, deletion_id = NULL",
    "a doomed row with a hold": "UPDATE workers SET resource_live = 1",
    "a deletion of a live row": "UPDATE workers SET live = 1",
    "a state that is none": "UPDATE workers SET state = 'asleep'",
    "a ready row without a machine": "UPDATE workers SET state = 'ready', resource_id = NULL",
    "a fleet that is gone": "DELETE FROM fleets",
    "a deletion that is gone": "DELETE FROM deletion_refs; DELETE FROM deletion_claims",
}


@pytest.mark.parametrize("what", RAW)
def test_no_program_can_write_what_the_protocol_forbids(desk: Desk, what: str) -> None:
    desk.doom(desk.record())
    with desk.store.database.engine.connect() as connection, connection.begin() as transaction:
        *before, last = RAW[what].split("; ")
        for statement in before:
            connection.execute(text(statement))
        with pytest.raises(Exception, match=r"(?i)constraint"):
            connection.execute(text(last))
        transaction.rollback()


def test_check_passes_on_rows_in_every_stage(desk: Desk) -> None:
    desk.doom(desk.record())
    desk.record(OTHER, ref(3))
    desk.intend("0198f0a0-0000-7000-8000-000000000003")
    assert [str(line) for line in check(desk.place.url) if not line.ok] == []


def test_check_finds_a_worker_that_is_there_and_has_ended(desk: Desk) -> None:
    desk.record()
    desk.place.sql(
        "INSERT INTO worker_tombstones (id, scope_id, fleet_id, zone, revision, why, buried_ms) "
        "SELECT id, scope_id, fleet_id, zone, revision, 'x', 1 FROM workers"
    )
    assert any("a row or a tombstone" in line.text for line in check(desk.place.url) if not line.ok)


def test_a_database_that_fails_in_the_middle_of_a_decision_keeps_neither_half(desk: Desk) -> None:
    row = desk.record()
    desk.place.sql("ALTER TABLE deletion_refs RENAME TO elsewhere")
    with pytest.raises(StoreError):
        desk.doom(row)
    assert desk.row() == row
    assert desk.place.count("deletion_claims") == 0


# -- races: two connections, the second proved waiting, both winners


Call = Callable[[SqlStore], Any]
STOPS = {"decide": "resources.doom", "record": "workers.insert", "attach": "workers.attach", "purge": "workers.delete"}


def call_of(name: str, desk: Desk, intent: WorkerRow | None) -> Call:
    """One unit of work about the machine, by another process."""

    def call(store: SqlStore) -> Any:
        other = Desk(desk.place, store, desk.lease)
        if name == "decide":
            return decide(store, desk.lease, MACHINE, CHILD)
        if name == "record":
            return other.record(OTHER)
        assert intent is not None
        if name == "attach":
            return other.records.attach(SCOPE, intent, MACHINE, lease=desk.lease)
        return other.records.purge(SCOPE, intent, why="none found", lease=desk.lease)

    return call


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        ("decide", "record", "RC0234"),
        ("record", "decide", "RC0621"),
        ("decide", "attach", "RC0234"),
        ("attach", "decide", "RC0621"),
        ("purge", "attach", "RC0230"),
        ("attach", "purge", "RC0231"),
        ("record", "attach", "RC0235"),
        ("attach", "record", "RC0235"),
    ],
)
def test_whoever_commits_first_wins_and_the_other_is_refused(desk: Desk, first: str, second: str, refused: str) -> None:
    intent = desk.intend() if {"attach", "purge"} & {first, second} else None
    mine, other = (call_of(name, desk, intent) for name in (first, second))
    winner, loser = race(desk.place, (desk.store, mine), other, stop_after=STOPS[first])
    assert (winner.code, loser.code) == (None, refused)
    assert desk.place.broken() == {}


def test_a_report_that_commits_first_keeps_its_worker(desk: Desk) -> None:
    """The agent's word and the decision: the row's lock orders them, and the mark tells them apart."""
    judged = desk.record()
    report = text("UPDATE workers SET state = 'ready', changed_ms = changed_ms + 1")

    def reports(store: SqlStore) -> None:
        store.database.write("report", lambda c: c.execute(report, execution_options={"step": "report"}))

    winner, loser = race(
        desk.place, (desk.store, reports), lambda other: desk.doom(judged, store=other), stop_after="report"
    )
    assert (winner.code, loser.code) == (None, "RC0231")
    assert desk.row().live


@pytest.mark.parametrize("first", ["doom", "purge"])
def test_of_a_decision_and_an_end_of_one_row_the_first_wins(desk: Desk, first: str) -> None:
    judged = desk.record()

    def doom(store: SqlStore) -> Any:
        return desk.doom(judged, store=store)

    def purge(store: SqlStore) -> Any:
        return Desk(desk.place, store, desk.lease).records.purge(SCOPE, judged, why="gone", lease=desk.lease)

    calls = {"doom": (doom, purge, "workers.doom", "RC0231"), "purge": (purge, doom, "workers.delete", "RC0230")}
    mine, other, stop, refused = calls[first]
    winner, loser = race(desk.place, (desk.store, mine), other, stop_after=stop)
    assert (winner.code, loser.code) == (None, refused)
    assert desk.place.broken() == {}


@pytest.mark.postgres
def test_the_second_statement_alone_is_enough_where_the_composite_key_is_gone(postgres_place: Place) -> None:
    """Two scopes have two mutexes: the resource's lock, and the view read after it, keep them apart."""
    postgres_place.sql("ALTER TABLE workers DROP CONSTRAINT fk_workers_resource_id_resource_live")
    desk = Desk.on(postgres_place)
    other = "0f0e4bb1-0000-4000-8000-000000000002"
    recorded, decision = race(
        postgres_place,
        (desk.store, lambda store: Desk(postgres_place, store, desk.lease).record()),
        lambda store: decide(store, desk.lease, MACHINE, scope=other),
        stop_after="workers.insert",
    )
    assert recorded.code is None
    assert decision.code == "RC0621"

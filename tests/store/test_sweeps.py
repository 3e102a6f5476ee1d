"""What a sweep writes, and what the next one reads back."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.model.finding import ActionKind, Difference, Evidence, Finding, FindingKind, Subject, Verdict
from reconciler.model.memory import CompleteSweep, Lineage, SweepRecord, Written
from reconciler.model.money import Cost
from reconciler.model.resources import Kind, Ref
from reconciler.store import SqlStore
from tests.store.counting import counting
from tests.store.place import OTHER_SCOPE, SCOPE, Place, decide, hold, lead, ref
from tests.store.racing import race

VOLUME = ref(1, Kind.VOLUME)
IP = ref(2, Kind.IP)


def finding(subject: Ref, verdict: Verdict = Verdict.WAIT, **changes: Any) -> Finding:
    values: dict[str, Any] = {
        "kind": FindingKind.DETACHED,
        "subjects": (Subject(kind=subject.kind.value, zone=subject.zone, id=subject.id, name="root"),),
        "verdict": verdict,
        "action": ActionKind.DESTROY,
        "reason": "nobody uses it",
        "rule": "rule 9",
    }
    return Finding(**(values | changes))


def lineage(of: Ref, worker: str = "linux/1") -> Lineage:
    return Lineage(
        ref=of,
        source="attached",
        fleet="linux",
        stack=None,
        urn=None,
        worker=worker,
        server_id=ref(9).id,
        first_seen_ms=1_000,
    )


def record(number: int, **changes: Any) -> SweepRecord:
    values: dict[str, Any] = {
        "sweep_id": f"sweep-{number}",
        "scope": SCOPE,
        "trigger": "drift",
        "started_ms": number * 60_000,
        "finished_ms": number * 60_000 + 5_000,
        "complete": True,
        "scans": ({"kind": "volume", "zone": "fr-par-1", "complete": True, "reason": None},),
        "counts": {Kind.SERVER: 3, Kind.VOLUME: 4},
        "serials": {"ci/prod": "17"},
        "summary": {"act": 0, "wait": 1},
    }
    return SweepRecord(**(values | changes))


FULL: dict[str, Any] = {
    "findings": (finding(VOLUME), finding(IP, Verdict.ASK)),
    "new_lineage": (lineage(VOLUME), lineage(IP)),
    "newly_unowned": {VOLUME: 500, IP: 600},
}


def test_an_empty_database_remembers_nothing(store: SqlStore) -> None:
    memory = store.memory(SCOPE)
    assert memory.present
    assert memory.first_complete_ms is None
    assert memory.last_complete is None
    assert [memory.unowned_since, memory.lineage, memory.episodes, memory.finalised] == [{}, {}, {}, {}]
    assert memory.destroyed_last_hour == 0


def test_a_sweep_is_remembered_as_it_was_recorded(store: SqlStore) -> None:
    store.record_sweep(record(1, **FULL))
    memory = store.memory(SCOPE)
    assert memory.first_complete_ms == 65_000
    assert memory.last_complete == CompleteSweep(
        sweep_id="sweep-1", finished_ms=65_000, counts={Kind.SERVER: 3, Kind.VOLUME: 4}, serials={"ci/prod": "17"}
    )
    assert memory.unowned_since == {VOLUME: 500, IP: 600}
    assert memory.lineage == {VOLUME: lineage(VOLUME), IP: lineage(IP)}
    assert {(e.verdict, e.opened_ms) for e in memory.episodes.values()} == {("wait", 65_000), ("ask", 65_000)}


def test_the_first_sweep_of_a_scope_counts_every_row_that_it_wrote(store: SqlStore) -> None:
    with counting(store) as counted:
        written = store.record_sweep(record(1, **FULL))
    # scope, sweep, two episodes, two sightings, two of lineage
    assert written == Written(inserted=8)
    assert counted.total == 8


def test_a_second_identical_sweep_inserts_one_row_and_writes_nothing_else(store: SqlStore) -> None:
    store.record_sweep(record(1, **FULL))
    with counting(store) as counted:
        written = store.record_sweep(record(2, **FULL))
    assert written == Written(inserted=1)
    assert counted.total == 1
    assert counted.inserted in (None, 1)


def test_age_cost_reason_and_evidence_of_an_open_episode_are_not_written(store: SqlStore) -> None:
    store.record_sweep(record(1, **FULL))
    moved = finding(
        VOLUME,
        reason="still nobody uses it",
        age_seconds=900,
        cost=Cost(hour_nanos=5),
        wait_until_ms=9,
        evidence=(Evidence(at_ms=1, source="list", text="seen"),),
    )
    with counting(store) as counted:
        store.record_sweep(record(2, **(FULL | {"findings": (moved, finding(IP, Verdict.ASK))})))
    assert counted.total == 1


def test_reading_the_memory_writes_nothing(place: Place, store: SqlStore) -> None:
    store.record_sweep(record(1, **FULL))
    with counting(store) as counted:
        store.memory(SCOPE)
    assert counted.total == 0


def test_a_changed_verdict_is_one_update_of_the_same_episode(place: Place, store: SqlStore) -> None:
    store.record_sweep(record(1, findings=(finding(VOLUME),)))
    written = store.record_sweep(record(2, findings=(finding(VOLUME, Verdict.ACT),)))
    assert written == Written(inserted=1, updated=1)
    (episode,) = store.memory(SCOPE).episodes.values()
    assert (episode.verdict, episode.opened_ms) == ("act", 65_000)
    assert place.count("drift_findings") == 1


def test_an_episode_closes_when_it_is_not_found_again(place: Place, store: SqlStore) -> None:
    store.record_sweep(record(1, **FULL))
    written = store.record_sweep(record(2, findings=(finding(IP, Verdict.ASK),)))
    assert written == Written(inserted=1, updated=1)
    assert [e.verdict for e in store.memory(SCOPE).episodes.values()] == ["ask"]
    assert place.rows("SELECT closed_ms, closed_sweep FROM drift_findings WHERE closed_ms IS NOT NULL") == [
        (125_000, "sweep-2")
    ]


def test_an_episode_of_what_was_not_read_stays_open(store: SqlStore) -> None:
    store.record_sweep(record(1, **FULL))
    closable = frozenset({finding(IP).id})
    assert store.record_sweep(record(2, complete=False, closable=closable)) == Written(inserted=1, updated=1)
    assert list(store.memory(SCOPE).episodes) == [finding(VOLUME).id]


def test_nothing_closes_when_nothing_was_read(store: SqlStore) -> None:
    store.record_sweep(record(1, **FULL))
    assert store.record_sweep(record(2, complete=False, closable=frozenset())) == Written(inserted=1)


def test_a_difference_that_comes_back_is_a_new_episode(place: Place, store: SqlStore) -> None:
    for number, findings in enumerate([(finding(VOLUME),), (), (finding(VOLUME),)], start=1):
        store.record_sweep(record(number, findings=findings))
    (episode,) = store.memory(SCOPE).episodes.values()
    assert episode.opened_ms == 185_000
    assert place.count("drift_findings") == 2


def test_one_difference_found_twice_in_a_sweep_is_one_episode(place: Place, store: SqlStore) -> None:
    store.record_sweep(record(1, findings=(finding(VOLUME, Verdict.ASK), finding(VOLUME))))
    (episode,) = store.memory(SCOPE).episodes.values()
    assert episode.verdict == "ask"


def test_episodes_of_another_scope_are_left_alone(store: SqlStore) -> None:
    store.record_sweep(record(1, **FULL))
    store.record_sweep(record(2, scope=OTHER_SCOPE))
    assert len(store.memory(SCOPE).episodes) == 2
    assert store.memory(OTHER_SCOPE).lineage == {}


def test_property_values_evidence_and_tags_are_not_stored(place: Place, store: SqlStore) -> None:
    secretive = finding(
        VOLUME,
        differences=(Difference(path="user_data", state="VALUE-A", cloud="VALUE-B"),),
        evidence=(Evidence(at_ms=1, source="get", text="VALUE-C"),),
        tags_after=("VALUE-D",),
    )
    store.record_sweep(record(1, findings=(secretive,)))
    assert "VALUE" not in json.dumps([str(row) for row in place.rows("SELECT * FROM drift_findings")])


def test_text_that_no_database_takes_does_not_stop_a_sweep(store: SqlStore) -> None:
    odd = dataclasses.replace(lineage(VOLUME), worker="a\0b\ud800")
    changes = {"findings": (finding(VOLUME, reason="nul \0"),), "new_lineage": (odd,), "summary": {"\0": 1}}
    assert store.record_sweep(record(1, **changes)).inserted == 4
    assert store.record_sweep(record(2, **changes)) == Written(inserted=1)


# -- sightings and lineage


def test_owned_again_forgets_a_sighting(store: SqlStore) -> None:
    store.record_sweep(record(1, newly_unowned={VOLUME: 500, IP: 600}))
    assert store.record_sweep(record(2, owned_again=(VOLUME, ref(7)))) == Written(inserted=1, deleted=1)
    assert store.memory(SCOPE).unowned_since == {IP: 600}


@pytest.mark.parametrize(("given", "kept", "updates"), [(400, 500, 0), (500, 500, 0), (700, 700, 1)])
def test_of_two_instants_the_later_one_stays(store: SqlStore, given: int, kept: int, updates: int) -> None:
    store.record_sweep(record(1, newly_unowned={VOLUME: 500}))
    written = store.record_sweep(record(2, newly_unowned={VOLUME: given}))
    assert written == Written(inserted=1, updated=updates)
    assert store.memory(SCOPE).unowned_since == {VOLUME: kept}


def test_lineage_that_moved_is_updated_and_keeps_when_it_was_first_seen(store: SqlStore) -> None:
    store.record_sweep(record(1, new_lineage=(lineage(VOLUME),)))
    moved = dataclasses.replace(lineage(VOLUME, "linux/2"), first_seen_ms=9_000)
    assert store.record_sweep(record(2, new_lineage=(moved,))) == Written(inserted=1, updated=1)
    assert store.memory(SCOPE).lineage == {VOLUME: lineage(VOLUME, "linux/2")}
    assert store.record_sweep(record(3, new_lineage=(moved,))) == Written(inserted=1)


# -- what the rails read


def test_an_incomplete_sweep_is_no_measure(store: SqlStore) -> None:
    store.record_sweep(record(1))
    store.record_sweep(record(2, complete=False, counts={}))
    memory = store.memory(SCOPE)
    assert memory.last_complete is not None
    assert memory.last_complete.sweep_id == "sweep-1"


def test_the_oldest_complete_sweep_says_how_long_the_memory_is(store: SqlStore) -> None:
    store.record_sweep(record(1, complete=False))
    store.record_sweep(record(2))
    store.record_sweep(record(3))
    memory = store.memory(SCOPE)
    assert memory.first_complete_ms == 125_000
    assert memory.last_complete is not None
    assert memory.last_complete.sweep_id == "sweep-3"


def finish(store: SqlStore, number: int, *, strike: bool = False) -> None:
    lease = store.acquire_lease(f"lease-{number}", holder="x", ttl_seconds=60)
    target, child = ref(number), ref(number, Kind.VOLUME)
    warrant = decide(store, lease, target, child)
    if strike:
        warrant = store.strike(warrant, ref=child, why="attached again", lease=lease)
    assert store.finalise_deletion(warrant, proved_absent=warrant.refs, lease=lease)


def test_what_we_finalised_since_the_last_complete_sweep_is_counted_by_kind(place: Place, store: SqlStore) -> None:
    finish(store, 101)
    place.clock.advance(1)
    now = place.clock.now_ms()
    store.record_sweep(record(1, finished_ms=now))
    finish(store, 102)
    place.clock.advance(1)
    finish(store, 103, strike=True)
    assert store.memory(SCOPE).finalised == {Kind.SERVER: 2, Kind.VOLUME: 1}
    assert store.memory(SCOPE).destroyed_last_hour == 3
    store.record_sweep(record(2, finished_ms=place.clock.now_ms() + 1))
    assert store.memory(SCOPE).finalised == {}


def test_deletions_of_more_than_an_hour_ago_are_not_in_the_hourly_count(place: Place, store: SqlStore) -> None:
    finish(store, 101)
    place.clock.advance(3_600)
    assert store.memory(SCOPE).destroyed_last_hour == 0


def test_held_and_doomed_are_told_apart(store: SqlStore) -> None:
    lease = lead(store)
    hold(store, IP)
    warrant = decide(store, lease, VOLUME, ref(3, Kind.VOLUME))
    store.strike(warrant, ref=ref(3, Kind.VOLUME), why="attached", lease=lease)
    memory = store.memory(SCOPE)
    assert memory.held == {IP}
    assert memory.doomed == {VOLUME}


def test_a_finalised_resource_is_forgotten(store: SqlStore) -> None:
    store.record_sweep(record(1, **FULL))
    lease = lead(store)
    warrant = decide(store, lease, VOLUME)
    assert store.memory(SCOPE).lineage.keys() == {VOLUME, IP}
    store.finalise_deletion(warrant, proved_absent=[VOLUME], lease=lease)
    memory = store.memory(SCOPE)
    assert memory.lineage.keys() == memory.unowned_since.keys() == {IP}


def test_two_sweeps_that_end_at_once_open_one_episode(place: Place, store: SqlStore) -> None:
    store.record_sweep(record(1))
    first, second = race(
        place,
        (store, lambda s: s.record_sweep(record(2, **FULL))),
        lambda other: other.record_sweep(record(3, **FULL)),
        stop_after="scope.lock",
    )
    assert first.get().inserted == 7
    assert second.get() == Written(inserted=1)
    assert place.count("drift_findings") == 2


refs_ = st.builds(ref, st.integers(1, 6), st.sampled_from([Kind.SERVER, Kind.VOLUME, Kind.IP]))
records = st.fixed_dictionaries(
    {
        "complete": st.booleans(),
        "findings": st.lists(st.builds(finding, refs_, st.sampled_from(list(Verdict))), max_size=5).map(tuple),
        "closable": st.none() | st.sets(refs_.map(lambda r: finding(r).id), max_size=4).map(frozenset),
        "new_lineage": st.lists(st.builds(lineage, refs_, st.sampled_from(["linux/1", "linux/2"])), max_size=4).map(
            tuple
        ),
        "newly_unowned": st.dictionaries(refs_, st.integers(0, 9), max_size=4),
        "owned_again": st.lists(refs_, max_size=4).map(tuple),
    }
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sweeps=st.lists(records, min_size=1, max_size=5))
def test_written_is_what_the_database_counts(store: SqlStore, sweeps: list[dict[str, Any]]) -> None:
    """Any series of sweeps: the counts are true, and the same sweep again inserts its row alone."""
    number = (
        len(store.memory(SCOPE).lineage)
        + store.database.read("count", lambda c: c.exec_driver_sql("SELECT count(*) FROM sweeps").scalar_one()) * 10
    )
    for offset, changes in enumerate(sweeps, start=1):
        with counting(store) as counted:
            written = store.record_sweep(record(number + offset, **changes))
        assert counted.total == written.inserted + written.updated + written.deleted
        if counted.inserted is not None:
            assert (counted.inserted, counted.updated, counted.deleted) == (
                written.inserted,
                written.updated,
                written.deleted,
            )
    again = sweeps[-1] | {"new_lineage": last_of(sweeps[-1]["new_lineage"])}
    assert store.record_sweep(record(number + len(sweeps) + 1, **again)) == Written(inserted=1)


def last_of(items: tuple[Lineage, ...]) -> tuple[Lineage, ...]:
    """A ref that is named twice ends with what was said of it last."""
    return tuple({item.ref: item for item in items}.values())

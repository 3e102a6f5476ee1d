"""Plans, runs and the journal."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from functools import partial

import pytest

from reconciler.kernel.errors import NotLeaderError, RefusedError, StoreError
from reconciler.model.plan import Mode, Plan
from reconciler.ports.store import Lease
from reconciler.store import SqlStore
from tests.store.place import OTHER_SCOPE, SCOPE, Place, lead
from tests.store.racing import Job, race

CANONICAL = '{"id":"plan-1","note":"\\u0000 exactly these bytes"}'


def plan(name: str = "plan-1") -> Plan:
    return Plan(
        id=name,
        scope=SCOPE,
        scope_name="ci",
        mode=Mode.PRUNE,
        created_ms=1,
        expires_ms=2,
        sweep_id="sweep-1",
        serials={},
        actions=(),
        rails=(),
    )


def begin(store: SqlStore, lease: Lease, run_id: str = "run-1", name: str = "plan-1") -> None:
    store.begin_run(run_id=run_id, plan=plan(name), digest=f"digest of {name}", canonical=CANONICAL, lease=lease)


def register(store: SqlStore, name: str = "plan-1") -> None:
    store.register_plan(plan(name), digest=f"digest of {name}", canonical=CANONICAL)


def test_a_digest_that_was_never_registered_has_no_status(store: SqlStore) -> None:
    assert store.plan_status("digest of plan-1") is None


def test_registering_twice_is_once(place: Place, store: SqlStore) -> None:
    register(store)
    register(store)
    assert store.plan_status("digest of plan-1") == "registered"
    assert place.count("plans") == 1


def test_an_edited_plan_does_not_take_the_place_of_the_registered_one(store: SqlStore) -> None:
    register(store)
    with pytest.raises(RefusedError) as refused:
        store.register_plan(plan(), digest="another digest", canonical="{}")
    assert refused.value.code == "RC0221"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("running", "partly-applied"),
        ("interrupted", "partly-applied"),
        ("partial", "partly-applied"),
        ("failed", "partly-applied"),
        ("done", "applied"),
    ],
)
def test_the_status_of_a_plan_follows_from_its_runs(store: SqlStore, status: str, expected: str) -> None:
    begin(store, lead(store))
    store.finish_run("run-1", status=status)
    assert store.plan_status("digest of plan-1") == expected


def test_an_applied_plan_is_refused(store: SqlStore) -> None:
    lease = lead(store)
    begin(store, lease)
    store.finish_run("run-1", status="done")
    with pytest.raises(RefusedError) as refused:
        begin(store, lease, "run-2")
    assert refused.value.code == "RC0220"


def test_a_partly_applied_plan_may_be_begun_again(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    begin(store, lease)
    store.finish_run("run-1", status="partial")
    begin(store, lease, "run-2")
    assert place.count("runs") == 2


def test_a_run_needs_the_lease(place: Place, store: SqlStore) -> None:
    old = lead(store, ttl_seconds=0)
    lead(store, "second")
    with pytest.raises(NotLeaderError):
        begin(store, old)
    assert place.count("runs") == place.count("plans") == 0


def test_beginning_the_same_run_again_is_resuming_it(place: Place, store: SqlStore) -> None:
    begin(store, lead(store, ttl_seconds=0))
    store.finish_run("run-1", status="interrupted")
    new = lead(store, "second")
    begin(store, new)
    assert place.rows("SELECT status, lease_token FROM runs") == [("running", new.token)]


def test_of_two_runs_of_one_plan_at_once_only_one_can_end_as_done(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    first, second = race(
        place,
        (store, lambda s: begin(s, lease)),
        lambda other: begin(other, lease, "run-2"),
        stop_after="lease.fence",
    )
    first.get(), second.get()
    store.finish_run("run-1", status="done")
    with pytest.raises(StoreError) as refused:
        store.finish_run("run-2", status="done")
    assert refused.value.code == "RC0215"


def test_a_scope_without_an_unfinished_run_has_none(store: SqlStore) -> None:
    assert store.unfinished_run(SCOPE) is None
    begin(store, lead(store))
    store.finish_run("run-1", status="failed")
    assert store.unfinished_run(SCOPE) is None


@pytest.mark.parametrize("status", ["running", "interrupted"])
def test_an_unfinished_run_comes_with_the_plan_as_it_was_registered(place: Place, store: SqlStore, status: str) -> None:
    begin(store, lead(store))
    store.finish_run("run-1", status=status)
    run = place.store().unfinished_run(SCOPE)
    assert run is not None
    assert (run.run_id, run.scope, run.plan_id, run.plan_digest) == ("run-1", SCOPE, "plan-1", "digest of plan-1")
    assert (run.plan_json, run.status, run.finished_ms) == (CANONICAL, status, None)
    assert run.started_ms == place.clock.now_ms()
    assert store.unfinished_run(OTHER_SCOPE) is None


def test_the_newest_unfinished_run_is_given(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    begin(store, lease)
    place.clock.advance(1)
    begin(store, lease, "run-2", "plan-2")
    run = store.unfinished_run(SCOPE)
    assert run is not None
    assert run.run_id == "run-2"


def test_a_finished_run_says_when(place: Place, store: SqlStore) -> None:
    begin(store, lead(store))
    place.clock.advance(3)
    store.finish_run("run-1", status="done")
    assert place.rows("SELECT finished_ms FROM runs") == [(place.clock.now_ms(),)]


def test_an_unknown_run_is_an_error(store: SqlStore) -> None:
    steps: tuple[Callable[[], None], ...] = (
        lambda: store.finish_run("no such run", status="done"),
        lambda: store.journal("no such run", action_id="a", step="s", details={}),
    )
    for step in steps:
        with pytest.raises(StoreError) as refused:
            step()
        assert refused.value.code == "RC0219"
    assert store.journal_of("no such run") == ()


def test_the_journal_keeps_order_time_and_details(place: Place, store: SqlStore) -> None:
    begin(store, lead(store))
    store.journal("run-1", action_id="a-1", step="child", details={"pid": 7, "argv": ("pulumi", "refresh")})
    place.clock.advance(1)
    store.journal("run-1", action_id="a-1", step="done", details={"refs": [], "ok": True, "share": 0.5, "why": None})
    first, second = place.store().journal_of("run-1")
    assert (first.seq, first.action_id, first.step) == (1, "a-1", "child")
    assert first.details == {"pid": 7, "argv": ["pulumi", "refresh"]}
    assert (second.seq, second.at_ms - first.at_ms) == (2, 1_000)
    assert second.details == {"refs": [], "ok": True, "share": 0.5, "why": None}


def test_details_that_are_no_json_are_refused_before_anything_is_written(store: SqlStore) -> None:
    begin(store, lead(store))
    with pytest.raises(TypeError):
        store.journal("run-1", action_id="a", step="s", details={"error": ValueError("who knows what it says")})
    assert store.journal_of("run-1") == ()


def test_threads_of_one_run_never_share_a_number(store: SqlStore) -> None:
    begin(store, lead(store))
    start = threading.Barrier(4)

    def write(thread: int) -> None:
        start.wait()
        for _ in range(5):
            store.journal("run-1", action_id=f"thread-{thread}", step="s", details={})

    jobs = [Job(partial(write, number)) for number in range(4)]
    for job in jobs:
        job.join().get()
    assert [entry.seq for entry in store.journal_of("run-1")] == list(range(1, 21))


def test_a_plan_of_another_scope_with_the_same_digest_is_a_broken_promise(store: SqlStore) -> None:
    register(store)
    twin = dataclasses.replace(plan("plan-2"), scope=OTHER_SCOPE)
    with pytest.raises(StoreError) as refused:
        store.register_plan(twin, digest="digest of plan-1", canonical=CANONICAL)
    assert refused.value.code == "RC0215"

"""Rows and deletions in any order, by several leaders: what holds in every state that can be reached.

No model of each answer here (tests/records/test_contract.py says those); what is held, doomed and ended must agree
after every step, whatever was refused.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from reconciler.kernel.errors import ReconcilerError
from reconciler.model.records import WorkerRow
from reconciler.model.warrant import Warrant
from reconciler.store import SqlStore
from tests.records.desk import Desk, new
from tests.records.rows import elastic
from tests.store.place import SCOPE, Place, decide, hold, lead, ref

WORKERS = ("w1", "w2", "w3")
MACHINES = (ref(1), ref(2), ref(3))
worker = st.sampled_from(WORKERS)
machine = st.sampled_from(MACHINES)
pick = st.integers(0, 50)


class Steps(RuleBasedStateMachine):
    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.store: SqlStore = place.store()
        self.judged: list[WorkerRow] = []  # rows as somebody saw them once: most are old by the time they are used
        self.warrants: list[Warrant] = []
        self.ended: set[str] = set()
        self.doomed_rows: set[str] = set()

    @initialize()
    def leader(self) -> None:
        self.desk = Desk(self.place, self.store, lead(self.store, holder="1"))

    def step(self, name: str, call: Callable[[], Any]) -> Any:
        try:
            answer = call()
        except ReconcilerError as error:
            event(f"{name}: {error.code}")
            return None
        event(f"{name}: done")
        return answer

    def look(self) -> None:
        self.judged += self.desk.records.read(SCOPE).workers

    def a_row(self, number: int) -> WorkerRow | None:
        return self.judged[number % len(self.judged)] if self.judged else None

    @rule(who=worker, which=machine)
    def record(self, who: str, which: Any) -> None:
        records, lease = self.desk.records, self.desk.lease
        self.step("record", lambda: records.record(SCOPE, new(who, which), fleet=elastic(), lease=lease))
        self.look()

    @rule(who=worker)
    def intend(self, who: str) -> None:
        if self.place.count("workers", f"id = '{who}'") or self.place.count("worker_tombstones", f"id = '{who}'"):
            return
        self.desk.intend(who)
        self.look()

    @rule(number=pick, which=machine)
    def attach(self, number: int, which: Any) -> None:
        row = self.a_row(number)
        if row is not None:
            self.step("attach", lambda: self.desk.records.attach(SCOPE, row, which, lease=self.desk.lease))
            self.look()

    @rule(number=pick)
    def purge(self, number: int) -> None:
        row = self.a_row(number)
        if row is not None:
            self.step("purge", lambda: self.desk.records.purge(SCOPE, row, why="x", lease=self.desk.lease))
            self.look()

    @rule(number=pick)
    def doom(self, number: int) -> None:
        row = self.a_row(number)
        if row is not None and row.machine is not None:
            warrant = self.step("doom", lambda: self.desk.doom(row))
            if warrant is not None:
                self.warrants.append(warrant)
            self.look()

    @rule(which=machine)
    def decide(self, which: Any) -> None:
        warrant = self.step("decide", lambda: decide(self.store, self.desk.lease, which))
        if warrant is not None:
            self.warrants.append(warrant)

    @rule(number=pick, spare=st.booleans())
    def end_a_deletion(self, number: int, spare: bool) -> None:
        if not self.warrants:
            return
        warrant, lease = self.warrants[number % len(self.warrants)], self.desk.lease

        def end() -> Any:
            left = warrant
            if spare:
                left = self.store.strike(warrant, ref=warrant.target, why="x", lease=lease)
            return self.store.finalise_deletion(left, proved_absent=left.refs, lease=lease)

        self.step("finalise", end)
        self.look()

    @rule(which=machine)
    def adopt(self, which: Any) -> None:
        self.step("hold", lambda: hold(self.store, which, urn=f"urn:{which.id}"))

    @rule(which=machine)
    def let_go(self, which: Any) -> None:
        with suppress(ReconcilerError):
            self.store.release_adoption(hold(self.store, which, urn=f"urn:{which.id}"))

    @invariant()
    def the_promises_hold(self) -> None:
        assert self.place.broken() == {}

    @invariant()
    def what_a_live_row_records_is_not_doomed(self) -> None:
        memory = self.store.memory(SCOPE)
        holding = {ref for ref, recorded in memory.recorded.items() if recorded.holds}
        assert not holding & memory.doomed
        rows = self.desk.records.read(SCOPE).workers
        assert {row.machine for row in rows if row.live and row.machine is not None} == holding

    @invariant()
    def a_worker_that_ended_or_is_doomed_never_comes_back(self) -> None:
        ended = set(self.desk.records.ended(SCOPE, WORKERS))
        rows = {row.id: row for row in self.desk.records.read(SCOPE).workers}
        assert self.ended <= ended
        assert not ended & rows.keys()
        assert all(one in ended or not rows[one].live for one in self.doomed_rows)
        self.ended |= ended
        self.doomed_rows |= {one for one, row in rows.items() if not row.live}

    def teardown(self) -> None:
        self.place.close()


@pytest.mark.parametrize(
    ("kind", "examples"), [("sqlite", 40), pytest.param("postgresql", 8, marks=pytest.mark.postgres)]
)
def test_any_order_of_steps_keeps_rows_and_deletions_apart(
    kind: str, examples: int, fresh_place: Callable[[str], Place]
) -> None:
    machine: Any = lambda: Steps(fresh_place(kind))  # noqa: E731  # the annotation wants a class, the call a factory
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

"""The deletion protocol against a model in sets: any order of steps, leaders old and new, warrants old and new.

After each step the database and the model agree on what is held, doomed and open, every promise of `db check` holds,
and tokens have only risen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from reconciler.kernel.errors import ReconcilerError
from reconciler.model.resources import Kind, Ref
from reconciler.model.warrant import Warrant
from reconciler.ports.store import Lease
from tests.store.place import SCOPE, Place, decide, ref

POOL = [ref(1), ref(2), ref(1, Kind.VOLUME), ref(2, Kind.VOLUME), ref(1, Kind.IP)]
some = st.sets(st.sampled_from(POOL), max_size=3)
one = st.sampled_from(POOL)
pick = st.integers(0, 50)


@dataclass
class Open:
    """A deletion in the model."""

    target: Ref
    token: int
    refs: set[Ref]
    struck: set[Ref] = field(default_factory=set)
    finished: bool = False

    @property
    def left(self) -> set[Ref]:
        return self.refs - self.struck


class Refused(Exception):
    """The code that the model expects."""


def outcome(call: Callable[[], Any]) -> Any:
    """What the call returns, or its refusal."""
    try:
        return call()
    except Refused as refused:
        return refused
    except ReconcilerError as error:
        return Refused(error.code)


class Protocol(RuleBasedStateMachine):
    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.store = place.store()
        self.leases: list[Lease] = []
        self.warrants: list[Warrant] = []
        self.deletions: dict[str, Open] = {}
        self.held: dict[Ref, str] = {}

    # -- the model

    @property
    def doomed(self) -> set[Ref]:
        return {ref for deletion in self.deletions.values() if not deletion.finished for ref in deletion.left}

    def leading(self, lease: Lease) -> None:
        if lease is not self.leases[-1]:
            raise Refused("RC0752")

    def owned(self, warrant: Warrant, lease: Lease) -> Open:
        self.leading(lease)
        deletion = self.deletions[warrant.deletion_id]
        if not warrant.fence_token == deletion.token == lease.token:
            raise Refused("RC0753")
        return deletion

    def unfinished(self, warrant: Warrant, lease: Lease) -> Open:
        deletion = self.owned(warrant, lease)
        if deletion.finished:
            raise Refused("RC0627")
        return deletion

    def same(self, model: Callable[[], Any], real: Callable[[], Any]) -> tuple[Any, Any] | None:
        """Both give a value, which is returned, or both refuse with the same code."""
        expected, value = outcome(model), outcome(real)
        refusals = [str(found) if isinstance(found, Refused) else None for found in (expected, value)]
        assert refusals[0] == refusals[1], f"expected {expected!r}, got {value!r}"
        return None if isinstance(expected, Refused) else (expected, value)

    def licensed(self, answer: tuple[Any, Any] | None) -> None:
        if answer is None:
            return
        deletion, warrant = answer
        known = self.deletions.setdefault(warrant.deletion_id, deletion)
        assert known is deletion
        assert warrant.refs == deletion.left
        assert (warrant.fence_token, warrant.target) == (deletion.token, deletion.target)
        self.warrants.append(warrant)

    # -- the steps

    @initialize()
    def first_leader(self) -> None:
        self.next_leader()

    @rule()
    def next_leader(self) -> None:
        lease = self.store.acquire_lease(SCOPE, holder=f"leader {len(self.leases)}", ttl_seconds=0)
        assert lease.token == len(self.leases) + 1
        self.leases.append(lease)

    @rule(wanted=one, children=some, leader=pick)
    def decide(self, wanted: Ref, children: set[Ref], leader: int) -> None:
        lease = self.any_lease(leader)

        def model() -> Open:
            self.leading(lease)
            for deletion in self.deletions.values():
                if deletion.target == wanted and not deletion.finished:
                    deletion.token = lease.token
                    return deletion
            for item in sorted({wanted, *children}):
                if item in self.doomed:
                    raise Refused("RC0626")
                if item in self.held:
                    raise Refused("RC0621")
            return Open(wanted, lease.token, {wanted, *children})

        self.licensed(self.same(model, lambda: decide(self.store, lease, wanted, *children, per_hour=10_000)))

    @precondition(lambda self: self.warrants)
    @rule(warrant=pick, found=some, leader=pick)
    def extend(self, warrant: int, found: set[Ref], leader: int) -> None:
        held, lease = self.any_warrant(warrant), self.any_lease(leader)

        def model() -> Open:
            deletion, taken = self.unfinished(held, lease), self.doomed | self.held.keys()
            new = found - deletion.refs
            deletion.refs |= new
            deletion.struck |= new & taken
            return deletion

        self.licensed(self.same(model, lambda: self.store.extend_deletion(held, found=found, lease=lease)))

    @precondition(lambda self: self.warrants)
    @rule(warrant=pick, struck=one, leader=pick)
    def strike(self, warrant: int, struck: Ref, leader: int) -> None:
        held, lease = self.any_warrant(warrant), self.any_lease(leader)

        def model() -> Open:
            deletion = self.unfinished(held, lease)
            if struck not in deletion.refs:
                raise Refused("RC0217")
            deletion.struck.add(struck)
            return deletion

        self.licensed(self.same(model, lambda: self.store.strike(held, ref=struck, why="attached", lease=lease)))

    @precondition(lambda self: self.warrants)
    @rule(warrant=pick, leader=pick, failed=st.booleans())
    def attempt(self, warrant: int, leader: int, failed: bool) -> None:
        held, lease = self.any_warrant(warrant), self.any_lease(leader)

        def real() -> None:
            if failed:
                self.store.note_error(held, error="500", retry_seconds=1, lease=lease)
            else:
                self.store.note_sent(held, lease=lease)

        self.same(lambda: self.unfinished(held, lease), real)

    @precondition(lambda self: self.warrants)
    @rule(warrant=pick, proved=some, everything=st.booleans(), leader=pick)
    def finalise(self, warrant: int, proved: set[Ref], everything: bool, leader: int) -> None:
        held, lease = self.any_warrant(warrant), self.any_lease(leader)
        proved = proved | self.deletions[held.deletion_id].left if everything else proved

        def model() -> bool:
            deletion = self.owned(held, lease)
            deletion.finished = deletion.finished or deletion.left <= proved
            return deletion.finished

        answer = self.same(model, lambda: self.store.finalise_deletion(held, proved_absent=proved, lease=lease))
        assert answer is None or answer[0] == answer[1]

    @precondition(lambda self: self.deletions)
    @rule(which=pick, leader=pick)
    def take_over(self, which: int, leader: int) -> None:
        ids = list(self.deletions)
        deletion_id, lease = ids[which % len(ids)], self.any_lease(leader)
        value = self.store.deletion_of(deletion_id)
        assert value is not None

        def model() -> Open:
            self.leading(lease)
            deletion = self.deletions[deletion_id]
            if deletion.finished:
                raise Refused("RC0627")
            deletion.token = lease.token
            return deletion

        self.licensed(self.same(model, lambda: self.store.warrant_of(value, lease=lease)))

    @rule(held=one)
    def hold(self, held: Ref) -> None:
        def model() -> None:
            if held in self.doomed:
                raise Refused("RC0623")

        answer = self.same(
            model, lambda: self.store.hold_for_adoption(scope=SCOPE, ref=held, stack="ci/prod", urn=f"urn:{held}")
        )
        if answer is not None:
            assert self.held.setdefault(held, answer[1]) == answer[1]

    @precondition(lambda self: self.held)
    @rule(which=pick)
    def release(self, which: int) -> None:
        refs = sorted(self.held)
        self.store.release_adoption(self.held.pop(refs[which % len(refs)]))

    @rule()
    def crash(self) -> None:
        """Another process goes on with what is on disk."""
        self.store.close()
        self.store = self.place.store()

    def any_lease(self, number: int) -> Lease:
        """The newest one twice out of three times."""
        return self.leases[-1] if number % 3 else self.leases[number % len(self.leases)]

    def any_warrant(self, number: int) -> Warrant:
        return self.warrants[-1 - (number // 3) % len(self.warrants)] if number % 3 else self.warrants[-1]

    # -- what holds after each step

    @invariant()
    def the_database_agrees_with_the_model(self) -> None:
        memory = self.store.memory(SCOPE)
        assert memory.held == self.held.keys()
        assert memory.doomed == self.doomed
        found = {deletion.id: deletion for deletion in self.store.open_deletions(SCOPE)}
        expected = {key: deletion for key, deletion in self.deletions.items() if not deletion.finished}
        assert found.keys() == expected.keys()
        for key, deletion in expected.items():
            assert set(found[key].refs) == deletion.refs
            assert set(found[key].struck) == deletion.struck
            assert found[key].fence_token == deletion.token

    @invariant()
    def every_promise_holds(self) -> None:
        assert self.place.broken() == {}
        assert not memory_overlaps(self.held.keys(), self.doomed)

    def teardown(self) -> None:
        self.place.close()


def memory_overlaps(held: Any, doomed: set[Ref]) -> set[Ref]:
    return set(held) & doomed


@pytest.mark.parametrize(
    ("kind", "examples"), [("sqlite", 60), pytest.param("postgresql", 12, marks=pytest.mark.postgres)]
)
def test_any_order_of_steps_keeps_the_protocol(kind: str, examples: int, fresh_place: Callable[[str], Place]) -> None:
    machine: Any = lambda: Protocol(fresh_place(kind))  # noqa: E731  # the annotation wants a class, the call a factory
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

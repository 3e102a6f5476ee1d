"""Errors, executor, guards, ids, safe text."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reconciler.kernel import errors
from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.errors import InternalError, ReconcilerError, worst_exit
from reconciler.kernel.executor import Executor, SerialExecutor, ThreadExecutor
from reconciler.kernel.guards import assert_outside_transaction, transaction
from reconciler.kernel.ids import Ids, fingerprint
from reconciler.kernel.randomness import SeededRandomness, SystemRandomness
from reconciler.kernel.text import visible

PRECEDENCE = (130, 143, 1, 3, 64, 75, 6, 4, 7, 5, 2, 0)


@given(st.lists(st.sampled_from(PRECEDENCE)))
def test_the_worst_of_several_exit_statuses_wins(statuses: list[int]) -> None:
    assert worst_exit(*statuses) == min(statuses, key=PRECEDENCE.index, default=0)


def test_a_status_that_nobody_knows_is_an_error() -> None:
    assert worst_exit(0, 99) == 1


def test_every_error_has_a_status_a_code_and_a_hint() -> None:
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, ReconcilerError)]
    assert len(classes) > 8
    for one in classes:
        made = one("what happened")
        assert (made.message, str(made)) == ("what happened", "what happened")
        assert made.code.startswith("RC")
        assert made.hint
        assert made.exit_status in PRECEDENCE
    assert ReconcilerError("x", code="RC1234", hint="do").code == "RC1234"


@pytest.mark.parametrize("executor", [SerialExecutor(), ThreadExecutor(workers=3)], ids=["serial", "threads"])
def test_one_bad_item_never_hides_the_others_and_order_is_kept(executor: Executor) -> None:
    """Rule 12."""

    def work(item: int) -> int:
        if item == 2:
            raise ValueError("two")
        return item * 10

    outcomes = executor.map(work, range(5))
    assert [one.value for one in outcomes] == [0, 10, None, 30, 40]
    assert isinstance(outcomes[2].error, ValueError)
    with pytest.raises(ValueError, match="two"):
        outcomes[2].unwrap()
    assert outcomes[3].unwrap() == 30


def test_a_call_inside_a_transaction_is_our_own_bug() -> None:
    """Rule 8."""
    assert_outside_transaction("a GET")
    with transaction("decide"), pytest.raises(InternalError) as caught:
        assert_outside_transaction("a GET")
    assert (caught.value.code, "decide" in caught.value.message) == ("RC0901", True)
    assert_outside_transaction("a GET")


def test_the_guard_goes_along_into_threads() -> None:
    with transaction("decide"):
        (outcome,) = ThreadExecutor(workers=1).map(lambda _: assert_outside_transaction("a GET"), [1])
    assert isinstance(outcome.error, InternalError)


def test_ids_are_uuids_of_version_7_that_sort_by_birth() -> None:
    clock = VirtualClock(start_ms=1_790_000_000_000)
    ids = Ids(clock=clock, randomness=SeededRandomness(1))
    made = []
    for _ in range(20):
        made.append(ids.new())
        clock.advance(0.001)
    assert made == sorted(made)
    assert {uuid.UUID(one).version for one in made} == {7}
    assert {uuid.UUID(one).variant for one in made} == {uuid.RFC_4122}
    assert uuid.UUID(made[0]).int >> 80 == 1_790_000_000_000


def test_two_runs_with_one_seed_make_the_same_ids() -> None:
    def run() -> list[str]:
        ids = Ids(clock=VirtualClock(), randomness=SeededRandomness(7))
        return [ids.new() for _ in range(3)]

    assert run() == run()


@given(st.lists(st.text(st.characters(exclude_categories=()))), st.lists(st.text(st.characters(exclude_categories=()))))
def test_a_fingerprint_is_of_the_parts_and_not_of_their_sum(one: list[str], other: list[str]) -> None:
    assert (fingerprint(*one) == fingerprint(*other)) == (one == other)


# Bidirectional controls, joiners and separators; what lies between them, such as U+202F, is a space or a sign.
_STEERING = frozenset(map(chr, (*range(0x2028, 0x202F), *range(0x2060, 0x2070))))


@given(st.text(st.characters(exclude_categories=())))
@example("\u202f and \u2030")
def test_text_that_is_shown_moves_no_cursor_and_reorders_no_line(text: str) -> None:
    shown = visible(text)
    assert shown == visible(shown) or len(shown) > 200
    assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char in _STEERING for char in shown)
    shown.encode()


def test_text_that_is_shown_is_cut() -> None:
    assert visible("x" * 300) == "x" * 199 + "…"
    assert visible("日本語 é 😀") == "日本語 é 😀"


def test_randomness_stays_in_its_bounds() -> None:
    for source in (SystemRandomness(), SeededRandomness(1)):
        assert 0 <= source.bits(4) < 16
        assert 2.0 <= source.uniform(2.0, 3.0) <= 3.0

"""When a read is sent again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cloud.retry import LAST_WINDOW_SECONDS, MAX_ATTEMPTS, next_delay, retryable
from reconciler.kernel.randomness import SeededRandomness


@pytest.mark.parametrize("status", [None, 429, 500, 502, 503, 504, 529])
def test_no_answer_throttling_and_server_errors_are_tried_again(status: int | None) -> None:
    assert next_delay(1, status, None, SeededRandomness(1)) is not None


@pytest.mark.parametrize("status", [200, 204, 301, 400, 401, 403, 404, 409, 412, 501])
def test_an_answer_that_is_final_is_not(status: int) -> None:
    assert next_delay(1, status, None, SeededRandomness(1)) is None
    assert not retryable(status)


def test_it_gives_up_after_a_bounded_number_of_requests() -> None:
    assert next_delay(MAX_ATTEMPTS - 1, 503, None, SeededRandomness(1)) is not None
    assert next_delay(MAX_ATTEMPTS, 503, None, SeededRandomness(1)) is None


@given(attempt=st.integers(1, MAX_ATTEMPTS - 1), seed=st.integers(0, 2**32))
def test_the_wait_lies_between_zero_and_a_window_that_doubles(attempt: int, seed: int) -> None:
    delay = next_delay(attempt, 429, None, SeededRandomness(seed))
    assert delay is not None
    assert 0 <= delay <= min(LAST_WINDOW_SECONDS, 0.5 * 2 ** (attempt - 1))


def test_two_clients_do_not_wait_alike() -> None:
    assert len({next_delay(4, 429, None, SeededRandomness(seed)) for seed in range(20)}) == 20


def test_retry_after_is_a_lower_bound() -> None:
    assert next_delay(1, 429, 7.0, SeededRandomness(1)) == 7.0

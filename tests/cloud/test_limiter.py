"""How many requests a second, whatever the threads do."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.cloud.limiter import Limiter
from reconciler.kernel.clock import SystemClock, VirtualClock

FAR = 1e9


def moments(limiter: Limiter, clock: VirtualClock, count: int) -> list[float]:
    found = []
    for _ in range(count):
        assert limiter.acquire(deadline=FAR)
        found.append(clock.monotonic())
    return found


@given(rate=st.integers(1, 60), pauses=st.lists(st.floats(0, 1.5), max_size=30), throttle=st.sets(st.integers(0, 29)))
@settings(deadline=None)
def test_no_window_of_one_second_sees_more_than_the_rate(rate: int, pauses: list[float], throttle: set[int]) -> None:
    clock = VirtualClock()
    limiter = Limiter(clock=clock, rate=rate)
    seen: list[float] = []
    for number, pause in enumerate(pauses):
        clock.advance(pause)
        if number in throttle:
            limiter.throttled()
        seen += moments(limiter, clock, 5)
    for index in range(len(seen) - rate):
        assert seen[index + rate] - seen[index] >= 1 - 1e-9


def test_a_burst_up_to_the_rate_does_not_wait() -> None:
    clock = VirtualClock()
    assert moments(Limiter(clock=clock, rate=50), clock, 50) == [0.0] * 50


def test_the_default_is_fifty_a_second() -> None:
    clock = VirtualClock()
    seen = moments(Limiter(clock=clock), clock, 501)
    assert seen[-1] == pytest.approx(10.0)


def test_a_429_halves_the_rate_and_quiet_seconds_bring_it_back_one_by_one() -> None:
    clock = VirtualClock()
    limiter = Limiter(clock=clock, rate=40)
    limiter.throttled()
    assert limiter.size == 20
    clock.advance(3.5)
    assert limiter.size == 23
    clock.advance(100)
    assert limiter.size == 40


def test_a_burst_of_429s_is_one_signal() -> None:
    clock = VirtualClock()
    limiter = Limiter(clock=clock, rate=40)
    for _ in range(10):
        limiter.throttled()
    assert limiter.size == 20
    clock.advance(1.0)
    limiter.throttled()
    assert limiter.size == 10


def test_the_rate_never_falls_below_one() -> None:
    clock = VirtualClock()
    limiter = Limiter(clock=clock, rate=2)
    for _ in range(5):
        limiter.throttled()
        clock.advance(1.0)
    assert limiter.size >= 1


def test_who_cannot_be_served_before_its_deadline_is_told_at_once() -> None:
    clock = VirtualClock()
    limiter = Limiter(clock=clock, rate=1)
    assert limiter.acquire(deadline=FAR)
    assert not limiter.acquire(deadline=0.5)
    assert clock.monotonic() == 0.0
    assert limiter.acquire(deadline=1.0)


class _Crowd(VirtualClock):
    """A clock on which many wait at once: sleeping is only noted."""

    def __init__(self) -> None:
        super().__init__()
        self.promised: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.promised.append(self.monotonic() + seconds)


def test_who_comes_later_is_not_served_earlier_when_the_rate_recovers() -> None:
    clock = _Crowd()
    limiter = Limiter(clock=clock, rate=64)
    for _ in range(6):
        limiter.throttled()
        clock.advance(1.0)
    for _ in range(100):
        assert limiter.acquire(deadline=FAR)
    clock.advance(10.0)
    for _ in range(20):
        assert limiter.acquire(deadline=FAR)
    assert clock.promised == sorted(clock.promised)


def test_threads_share_one_bucket() -> None:
    clock = SystemClock()
    limiter = Limiter(clock=clock, rate=20)
    seen: list[float] = []
    lock = threading.Lock()

    def work() -> None:
        for _ in range(3):
            assert limiter.acquire(deadline=clock.monotonic() + 60)
            with lock:
                seen.append(time.monotonic())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen.sort()
    assert len(seen) == 24
    # 24 requests at 20 a second need more than one second; a late wake-up may only stretch it.
    assert seen[-1] - seen[0] >= 0.95


def test_a_rate_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Limiter(clock=VirtualClock(), rate=0)

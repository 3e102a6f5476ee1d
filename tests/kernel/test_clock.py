"""Time as a parameter, and instants as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.kernel.clock import (
    AcceleratedClock,
    SharedClock,
    SystemClock,
    VirtualClock,
    clock_from_environment,
    iso,
    parse_instant,
)

YEAR_9999 = 253_402_300_799_999


@given(st.integers(0, YEAR_9999))
def test_an_instant_comes_back_from_its_text(epoch_ms: int) -> None:
    assert parse_instant(iso(epoch_ms)) == epoch_ms


def test_the_one_text_of_an_instant_is_utc_with_milliseconds() -> None:
    assert iso(1_790_000_000_007) == "2026-09-21T14:13:20.007Z"


@pytest.mark.parametrize(
    "text",
    ["2026-07-30T12:53:14.351916+00:00", "2026-07-30T12:53:14.351916Z", "2026-07-30T14:53:14.351916+02:00"],
)
def test_both_forms_of_the_provider_and_any_offset_are_the_same_instant(text: str) -> None:
    assert parse_instant(text) == 1_785_415_994_352


@pytest.mark.parametrize("text", ["2026-07-30T12:53:14", "2026-07-30", "yesterday", ""])
def test_a_time_without_a_zone_has_no_place_on_a_time_line(text: str) -> None:
    """Reports R121 and R123."""
    with pytest.raises(ValueError):
        parse_instant(text)


def test_a_virtual_clock_moves_only_when_it_is_told_to() -> None:
    clock = VirtualClock(start_ms=1000)
    assert (clock.now_ms(), clock.monotonic()) == (1000, 0.0)
    clock.sleep(2.5)
    clock.advance(0.5)
    assert (clock.now_ms(), clock.monotonic()) == (4000, 3.0)


def test_an_accelerated_clock_runs_and_sleeps_faster() -> None:
    base = VirtualClock(start_ms=1000)
    clock = AcceleratedClock(base, rate=60)
    base.advance(1)
    assert (clock.now_ms(), clock.monotonic()) == (61_000, 60.0)
    clock.sleep(60)
    assert base.now_ms() == 3000


def test_a_clock_cannot_stand_still_or_run_backwards() -> None:
    with pytest.raises(ValueError):
        AcceleratedClock(VirtualClock(), rate=0)


def test_two_processes_that_share_a_file_agree_on_the_time(tmp_path: Path) -> None:
    one, other = SharedClock(tmp_path / "clock"), SharedClock(tmp_path / "clock")
    assert (one.offset_ms(), other.offset_ms()) == (0, 0)
    one.advance(3600)
    other.advance(60)
    assert one.offset_ms() == other.offset_ms() == 3_660_000
    assert json.loads((tmp_path / "clock").read_text()) == {"offset_ms": 3_660_000}


def test_the_environment_chooses_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECONCILER_CLOCK_FILE", raising=False)
    assert type(clock_from_environment()) is SystemClock
    monkeypatch.setenv("RECONCILER_CLOCK_FILE", str(tmp_path / "clock"))
    assert isinstance(clock_from_environment(), SharedClock)

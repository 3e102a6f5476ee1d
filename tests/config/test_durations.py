"""Lengths of time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.config.durations import seconds, text


@pytest.mark.parametrize(
    ("written", "expected"),
    [("90s", 90), ("15m", 900), ("1h30m", 5400), ("2d", 172_800), ("1d1h1m1s", 90_061), (45, 45), ("0s", 0)],
)
def test_a_length_of_time_is_read(written: object, expected: int) -> None:
    assert seconds(written) == expected


@pytest.mark.parametrize("written", ["", "15", "15 m", "m", "-5m", "1.5h", "30m1h", True, 1.5, None, -1, "367d", "١s!"])
def test_anything_else_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="a length of time"):
        seconds(written)


@given(st.integers(min_value=0, max_value=366 * 86_400))
def test_writing_and_reading_a_length_gives_it_back(total: int) -> None:
    assert seconds(text(total)) == total

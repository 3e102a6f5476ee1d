"""Patterns are matched in linear time, whole, and never break on a tag's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.policy.patterns import LONGEST, PatternError, check_pattern, matches


def test_a_pattern_that_makes_others_hang_is_decided() -> None:
    assert not matches("(a+)+b", "a" * 50_000)


@pytest.mark.parametrize("pattern", ["(a", "(?=a)", r"(a)\1", "", "x" * (LONGEST + 1), "\ud800"])
def test_what_re2_does_not_take_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        check_pattern(pattern)


@pytest.mark.parametrize(("text", "fits"), [("role=ci", True), ("my-role=ci", False), ("role=ci\nx", False)])
def test_a_pattern_fits_the_whole_text(text: str, fits: bool) -> None:
    assert matches("role=[a-z]+", text) is fits


@given(st.text(st.characters(), max_size=50))
def test_any_text_can_be_asked_about(text: str) -> None:
    assert matches(".*", text)

"""The reference page: every rule is in it, with an example that holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reconciler.model.policy import CHECK_NAMES
from reconciler.policy.document import rule_tables
from reconciler.policy.examples import run_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "policy.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = {part.splitlines()[0]: part for part in re.split(r"^##+ ", TEXT, flags=re.M)[1:]}
EXAMPLES = {
    title.strip("`"): block
    for title, part in SECTIONS.items()
    for block in re.findall(r"^```yaml\n(.*?)^```", part, flags=re.M | re.S)
    if re.search(r"^cases:", block, flags=re.M)
}


@pytest.mark.parametrize("title", EXAMPLES)
def test_the_example_holds(title: str) -> None:
    results = run_text(EXAMPLES[title], source=title, directory=PAGE.parent)
    assert [(one.name, one.faults) for one in results if not one.ok] == []


@pytest.mark.parametrize("title", EXAMPLES)
def test_the_example_shows_a_violation(title: str) -> None:
    assert re.search(r"violates: \[[a-z]", EXAMPLES[title])


def test_every_check_has_an_example() -> None:
    assert sorted(rule_tables()) == sorted(CHECK_NAMES.values())
    assert sorted(name for name in EXAMPLES if name != "Exceptions") == sorted(CHECK_NAMES.values())

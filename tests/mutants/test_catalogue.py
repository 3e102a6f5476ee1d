"""The catalogue of mutants stays true: every patch applies, and no rule is left out, by tests and by cases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.mutants.__main__ import HERE, ROOT, Mutant, broken, catalogue, choose, patched_files

CASES = ROOT / "tests" / "cases"
PAIRS = [one for one in catalogue() if one.case]


def rules() -> frozenset[str]:
    """The numbers of docs/rules.md."""
    return frozenset(re.findall(r"^(\d+)\. \*\*", (ROOT / "docs" / "rules.md").read_text(), flags=re.M))


def rules_of(case: Path) -> set[str]:
    """What a case says that it holds."""
    given = yaml.safe_load(case.read_text())["rules"]
    return {str(rule) for rule in (given if isinstance(given, list) else [given])}


@pytest.mark.parametrize("mutant", catalogue(), ids=lambda mutant: mutant.patch)
def test_the_patch_applies_to_the_tree_as_it_is_and_leaves_it_a_program(mutant: Mutant, tmp_path: Path) -> None:
    for name in patched_files(mutant):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    with broken(tmp_path, mutant) as wrong:
        assert wrong == ""
        assert any((tmp_path / name).read_bytes() != (ROOT / name).read_bytes() for name in patched_files(mutant))
    assert all((tmp_path / name).read_bytes() == (ROOT / name).read_bytes() for name in patched_files(mutant))


def test_every_rule_has_a_mutant() -> None:
    """And no mutant breaks a rule that is not there; what is no rule has a word instead of a number."""
    assert {mutant.rule for mutant in catalogue() if mutant.rule.isdigit()} == rules()


def test_every_rule_has_a_mutant_that_a_case_notices() -> None:
    """A rule whose mutants no case notices may hold in a room, and never reach the command line."""
    assert {mutant.rule for mutant in PAIRS} == rules()


def test_every_mutant_names_what_must_fail() -> None:
    assert [mutant.patch for mutant in catalogue() if not mutant.test and not mutant.case] == []


@pytest.mark.parametrize("mutant", PAIRS, ids=lambda mutant: mutant.patch)
def test_a_case_that_notices_a_mutant_says_that_it_holds_the_rule(mutant: Mutant) -> None:
    assert mutant.rule in rules_of(CASES / mutant.case)


def test_every_patch_is_in_the_catalogue() -> None:
    assert {path.name for path in HERE.glob("*.patch")} == {mutant.patch for mutant in catalogue()}


def test_a_word_chooses_by_rule_or_name_and_cases_alone_can_be_asked_for() -> None:
    assert {mutant.rule for mutant in choose(["rule13"])} == {"13"}
    assert [mutant for mutant in choose(["--cases"]) if mutant.test or not mutant.case] == []
    assert len(choose(["--cases"])) == len(PAIRS)

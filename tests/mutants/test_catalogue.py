"""The catalogue of mutants stays true: every patch applies, and no rule that has code is left out."""

from __future__ import annotations

import subprocess

import pytest

from tests.mutants.__main__ import HERE, ROOT, Mutant, catalogue

# Rules 10, 11 and 12 speak of whole runs, periods and items; their tests are elsewhere.
RULES = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "13", "14", "15", "16", "17", "POST"}


@pytest.mark.parametrize("mutant", catalogue(), ids=lambda mutant: mutant.patch)
def test_the_patch_applies_to_the_tree_as_it_is(mutant: Mutant) -> None:
    command = ["patch", "-p1", "--batch", "--dry-run", "--fuzz=3", "-i", str(HERE / mutant.patch)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_rule_has_a_mutant() -> None:
    assert {mutant.rule for mutant in catalogue()} >= RULES


def test_every_patch_is_in_the_catalogue() -> None:
    assert {path.name for path in HERE.glob("*.patch")} == {mutant.patch for mutant in catalogue()}

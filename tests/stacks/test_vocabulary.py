"""The words that programs and the reconciler share are the same on both sides, and neither loads the other."""

from __future__ import annotations

import subprocess
import sys

import pytest

from reconciler.model import desired
from reconciler.model.scope import KNOWN_ZONES
from reconciler_fleet import vocabulary
from tests.stacks.conftest import STACKS


@pytest.mark.parametrize(
    "name",
    ["OUTPUT_NAME", "OUTPUT_SCHEMA_VERSION", "OWNER_TAG", "SCOPE_TAG", "FLEET_TAG", "SLOT_TAG", "REVISION_TAG"],
)
def test_both_sides_use_the_same_words(name: str) -> None:
    assert getattr(vocabulary, name) == getattr(desired, name)


def test_both_sides_know_the_same_zones() -> None:
    assert vocabulary.ZONES == KNOWN_ZONES


def test_owner_tags_stay_below_the_one_tag_limit_that_scaleway_publishes() -> None:
    longest = vocabulary.owner_tags(scope="6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c11", fleet="a" * 40, slot=999)
    assert max(map(len, longest)) <= 70


def test_a_host_name_made_from_the_longest_names_is_a_valid_one() -> None:
    assert len(f"{'a' * 40}-999") <= 63


def test_a_program_that_imports_the_components_does_not_load_the_reconciler() -> None:
    code = "import sys, reconciler_fleet; print([m for m in sys.modules if m.partition('.')[0] == 'reconciler'])"
    run = subprocess.run([sys.executable, "-c", code], cwd=STACKS, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"

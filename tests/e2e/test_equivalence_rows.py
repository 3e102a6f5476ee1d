"""What the engine's refresh says and what we say of the same world, for one world of each fault.

`make equivalence` crosses the faults with image kinds and declarations; here each fault has one world, and the relation
itself is shown to fail where it should.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.diff.properties import BLIND_SPOTS
from reconciler.model.finding import Verdict
from tests.e2e.equivalence_parts.batch import Batch, run_batch
from tests.e2e.equivalence_parts.catalog import rows
from tests.e2e.equivalence_parts.engine_side import EngineVerdict
from tests.e2e.equivalence_parts.our_side import OurDifference, OurVerdict
from tests.e2e.equivalence_parts.relation import covers, judge
from tests.e2e.equivalence_parts.worlds import batches, by_row, worlds
from tests.e2e.rig import missing_tool

PARTS = 2
DESIGN = Path(__file__).resolve().parents[2] / "docs" / "design" / "equivalence.md"


@pytest.mark.engine
@pytest.mark.parametrize("part", range(PARTS))
def test_our_verdicts_agree_with_the_engines_refresh_for_each_fault(part: int, tmp_path: Path) -> None:
    tool = missing_tool()
    if tool is not None:
        pytest.skip(f"no {tool} on PATH: `make test` brings one")
    total = Batch()
    cases = by_row(seed=1)[part::PARTS]
    for number, batch in enumerate(batches(cases, size=60)):
        total.add(run_batch(batch, directory=tmp_path / f"{number}"))
    assert len(total.results) == len(cases)
    assert not any(result.mismatches for result in total.results), "\n".join(
        result.text() for result in total.results if result.mismatches
    )


def test_each_fault_has_a_world() -> None:
    assert [case.cell.fault for case in by_row(seed=1)] == [row.name for row in rows()]


def test_the_same_seed_makes_the_same_worlds() -> None:
    assert worlds(seed=3, full=False) == worlds(seed=3, full=False)
    assert worlds(seed=3, full=False) != worlds(seed=4, full=False)


def test_the_full_run_has_two_worlds_or_more_for_each_cell() -> None:
    counts: dict[object, int] = {}
    for case in worlds(seed=1, full=True):
        counts[case.cell] = counts.get(case.cell, 0) + 1
    assert len(counts) > 200
    assert min(counts.values()) >= 2


# -- the relation fails where it should

CHANGED = OurVerdict(kind="changed", verdict=Verdict.ACT, differences=(OurDifference("tags", None),), confirmed=True)
BLIND = OurVerdict(kind="changed", verdict=Verdict.ASK, differences=(OurDifference("tags", "why"),), confirmed=True)


@pytest.mark.parametrize(
    ("engine", "ours", "text"),
    [
        (EngineVerdict("delete"), OurVerdict(), "says that it is gone"),
        (EngineVerdict("delete"), OurVerdict(kind="missing", verdict=Verdict.UNKNOWN), "our verdict is unknown"),
        (EngineVerdict("same"), OurVerdict(kind="missing", verdict=Verdict.ACT), "the engine does not"),
        (EngineVerdict("update", ("tags[0]",)), OurVerdict(), "neither report nor list"),
        (EngineVerdict("update", ("name", "tags[0]")), CHANGED, "the engine sees name"),
        (EngineVerdict("update"), OurVerdict(), "not what"),
        (EngineVerdict("same"), CHANGED, "the engine lacks"),
        (EngineVerdict("update", ("tags",)), BLIND, "and the engine sees it"),
        (EngineVerdict("same"), OurVerdict(kind="changed", differences=BLIND.differences), "no GET confirmed"),
        (EngineVerdict("replace"), OurVerdict(), "does not have"),
        (
            EngineVerdict("delete"),
            OurVerdict(kind="missing", verdict=Verdict.ACT, unknown="blind"),
            "is not believed, and we would act",
        ),
    ],
)
def test_a_broken_relation_is_named(engine: EngineVerdict, ours: OurVerdict, text: str) -> None:
    assert text in " ".join(judge(engine, ours))


@pytest.mark.parametrize(
    ("engine", "ours"),
    [
        (EngineVerdict("same"), OurVerdict()),
        (EngineVerdict("delete"), OurVerdict(kind="missing", verdict=Verdict.ACT)),
        (EngineVerdict("delete"), OurVerdict(unknown="the list may be blind")),
        (EngineVerdict("update", ("tags[1]",)), CHANGED),
        (EngineVerdict("update", ("userData.role",)), OurVerdict(unlisted={"userData": "in no listing"})),
        (EngineVerdict("same"), BLIND),
        (EngineVerdict("failed"), OurVerdict()),
    ],
)
def test_a_kept_relation_is_silent(engine: EngineVerdict, ours: OurVerdict) -> None:
    assert list(judge(engine, ours)) == []


@pytest.mark.parametrize(
    ("mine", "path", "expected"),
    [
        ("tags", "tags[1]", True),
        ("rootVolume.name", "rootVolume.name", True),
        ("rootVolume.name", "rootVolume.sizeInGb", False),
        ("userData", 'userData["cloud-init"]', True),
        ("ipIds", "ipId", True),
        ("ipId", "ipIds[1]", True),
        ("privateNetworks[+]", "privateNetworks", False),
        ("tag", "tags", False),
    ],
)
def test_a_property_covers_what_is_in_it(mine: str, path: str, expected: bool) -> None:
    assert covers(mine, path) is expected


def test_the_published_table_of_blind_spots_is_the_one_in_the_code() -> None:
    published = {line.strip() for line in DESIGN.read_text().splitlines() if line.startswith("| `")}
    assert published == {f"| `{kind.value}` | `{path}` | {reason} |" for (kind, path), reason in BLIND_SPOTS.items()}

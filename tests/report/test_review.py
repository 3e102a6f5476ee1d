"""What review tools get: valid, escaped, within their limits, and a remark that keeps its fingerprint."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.finding import FindingKind
from reconciler.model.world import Sweep
from reconciler.report import sarif
from reconciler.report.annotations import MOST_OF_A_KIND, to_github, to_gitlab
from reconciler.report.document import ScopeFailure
from reconciler.report.junit import to_junit
from reconciler.report.review import MEANINGS, Level, Place, Remark, of_results, safe
from reconciler.report.review_formats import REVIEW_FORMATS, render_review
from reconciler.report.sarif import to_sarif
from tests.builders import HOSTILE, found, remembered, server, volume, world

# The schema of OASIS, as the tests of gosec carry it (github.com/securego/gosec, report/sarif/testdata).
SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft4Validator(SCHEMA)


def remark(number: int = 0, **changes: Any) -> Remark:
    given: dict[str, Any] = {
        "rule": "drift/orphan",
        "meaning": "A server of ours that no ledger holds.",
        "level": Level.ERROR,
        "subject": f"server {number}",
        "message": f"server {number} is left over",
        "place": Place("ci/Pulumi.prod.yaml", 3),
        "fingerprint": f"{number:032x}",
    }
    return Remark(**(given | changes))


def sarif_of(*remarks: Remark) -> Any:
    document = json.loads(to_sarif(remarks))
    VALIDATOR.validate(document)
    return document["runs"][0]


HARD = st.builds(
    remark,
    number=st.integers(0, 9),
    level=st.sampled_from(Level),
    rule=st.sampled_from(["drift/orphan", "policy/role"]),
    subject=st.text(st.characters()).map(safe),
    message=st.text(st.characters()).map(safe),
    waived=st.one_of(st.none(), st.text(st.characters()).map(safe)),
)


@given(st.lists(HARD, max_size=6))
def test_whatever_is_in_a_text_every_format_stays_valid(remarks: list[Remark]) -> None:
    sarif_of(*remarks)
    ET.fromstring(to_junit(remarks))
    json.loads(to_gitlab(remarks))
    for line in to_github(remarks).splitlines():
        assert line.startswith(("::error ", "::warning ", "::notice "))


@pytest.mark.parametrize("name", REVIEW_FORMATS)
def test_nothing_to_say_is_said_in_every_format(name: str) -> None:
    text = render_review(name, ())
    assert text == "" if name == "github" else text


@pytest.mark.parametrize("name", REVIEW_FORMATS)
def test_no_format_carries_a_character_that_steers(name: str) -> None:
    text = render_review(name, [remark(message=safe(HOSTILE), subject=safe(HOSTILE))])
    assert not {"\x1b", "\x00", "\u202e", "\u2028"} & set(text)


def test_every_kind_of_finding_has_a_meaning() -> None:
    assert set(MEANINGS) == set(FindingKind)


# -- SARIF


def test_a_result_has_place_fingerprint_and_rule() -> None:
    run = sarif_of(remark(), remark(1, rule="drift/missing"))
    result = run["results"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["drift/missing", "drift/orphan"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("drift/orphan", 1, "error")
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "ci/Pulumi.prod.yaml"}, "region": {"startLine": 3}}
    assert result["partialFingerprints"] == {"primaryLocationLineHash": f"{0:032x}"}


def test_a_path_is_a_uri() -> None:
    run = sarif_of(remark(place=Place("my stacks/Pulumi.yaml")))
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "my%20stacks/Pulumi.yaml"


def test_what_is_let_through_is_suppressed_with_its_reason() -> None:
    run = sarif_of(remark(waived="exception of ann: moved"))
    assert run["results"][0]["suppressions"] == [{"kind": "external", "justification": "exception of ann: moved"}]


def test_over_the_limit_the_worst_are_kept_and_the_rest_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 3)
    run = sarif_of(*[remark(number) for number in range(5)])
    assert [one["partialFingerprints"]["primaryLocationLineHash"][-1] for one in run["results"]] == ["0", "1", "2"]
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].startswith("2 more")


def test_the_limit_is_githubs() -> None:
    assert sarif.MOST_RESULTS == 25_000


# -- JUnit


def test_junit_counts_what_fails_passes_and_is_skipped() -> None:
    root = ET.fromstring(
        to_junit([remark(), remark(1, level=Level.WARNING), remark(2, rule="policy/role", waived="in the baseline")])
    )
    assert {key: root.get(key) for key in ("tests", "failures", "skipped")} == {
        "tests": "3", "failures": "1", "skipped": "1",
    }  # fmt: skip
    assert [suite.get("name") for suite in root] == ["drift/orphan", "policy/role"]


def test_an_empty_junit_has_one_case_that_passes() -> None:
    root = ET.fromstring(to_junit(()))
    assert (root.get("tests"), len(root.findall(".//testcase")), root.find(".//failure")) == ("1", 1, None)


# -- GitHub


def test_github_gets_ten_of_a_kind_and_the_number_of_the_rest() -> None:
    lines = to_github([remark(number) for number in range(14)]).splitlines()
    assert len([line for line in lines if line.startswith("::error")]) == MOST_OF_A_KIND
    assert lines[-1] == "::notice title=reconciler::and 4 more; the whole report has all of them"


def test_notices_leave_room_for_that_number() -> None:
    lines = to_github([remark(number, level=Level.NOTE) for number in range(14)]).splitlines()
    assert len(lines) == MOST_OF_A_KIND


def test_a_command_cannot_be_broken_out_of() -> None:
    (line,) = to_github([remark(message="50%, a:b", place=Place("a,b:c.yaml"), rule="policy/x")]).splitlines()
    assert line == "::error file=a%2Cb%3Ac.yaml,line=1,title=policy/x::50%25, a:b"


def test_what_is_let_through_is_no_annotation() -> None:
    assert to_github([remark(waived="in the baseline")]) == ""


# -- GitLab


def test_gitlab_merges_nothing_and_keeps_one_of_a_fingerprint() -> None:
    entries = json.loads(to_gitlab([remark(), remark(1), remark()]))
    assert [entry["fingerprint"][-1] for entry in entries] == ["0", "1"]
    assert entries[0]["check_name"] == "reconciler/drift/orphan"
    assert entries[0]["location"] == {"path": "ci/Pulumi.prod.yaml", "lines": {"begin": 3}}


# -- from results


def place(stack: str | None, fleet: str | None) -> Place:
    return Place(f"{stack}-{fleet}.yaml")


def test_findings_are_remarks_the_worst_first_and_strangers_are_none() -> None:
    leftover = volume("left", tags=(), name=HOSTILE)
    given_world = world(leftover, server("bastion"), memory=remembered(leftover))
    sweep = Sweep(world=given_world, findings=tuple(found(given_world)), exit_status=2)
    remarks = of_results([sweep, ScopeFailure(name="x", code="RC0300", message="m", hint="h", exit_status=3)], place)
    assert sorted(one.rule for one in remarks) == ["drift/detached", "drift/not-swept"]
    assert all(one.level is Level.ERROR for one in remarks)
    assert "EUR/month" in next(one.message for one in remarks if one.rule == "drift/detached")


def test_the_same_finding_has_the_same_fingerprint_whatever_its_price() -> None:
    leftover = volume("left", tags=())
    one, other = (
        of_results(
            [Sweep(world=made, findings=tuple(found(made)), exit_status=2)],
            place,
        )[0]
        for made in (
            world(leftover, memory=remembered(leftover)),
            world(replace(leftover, size=2 * leftover.size), memory=remembered(leftover)),
        )
    )
    assert one.fingerprint == other.fingerprint
    assert one.message != other.message

"""The table of public reports stays true: what it names exists, and the page says what it says."""

from __future__ import annotations

import re

import pytest

from tests.cases.reports import FOLDER, PAGE, ROOT, VERDICTS, Report, load, page

REPORTS = load()
SOURCE = re.compile(r"^source: \[?(?P<ids>[^\]\n]+)", re.M)


def test_the_page_is_made_from_the_table() -> None:
    assert PAGE.read_text() == page(REPORTS), "run: python -m tests.cases.reports"


def test_no_report_is_there_twice_and_their_order_is_that_of_their_numbers() -> None:
    ids = [report.id for report in REPORTS]
    assert ids == sorted(set(ids))


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.id)
def test_a_verdict_comes_with_what_shows_it(report: Report) -> None:
    key, _ = VERDICTS[report.verdict]
    assert getattr(report, key)
    assert report.source
    given = {key for key in ("cases", "tests", "reason") if getattr(report, key)}
    assert given <= {key, "tests"}, "one verdict, one answer; a test may stand beside a case"
    assert not report.needs or report.verdict in ("case", "test", "later")


def test_every_case_of_the_folder_is_in_the_table_and_the_other_way_round() -> None:
    named = {case for report in REPORTS for case in report.cases}
    assert named == {path.stem for path in FOLDER.glob("*.yaml")}


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.id)
def test_a_case_names_the_report_that_it_plays(report: Report) -> None:
    for case in report.cases:
        match = SOURCE.search((FOLDER / f"{case}.yaml").read_text())
        assert match is not None
        assert report.id in re.split(r",\s*", match["ids"].strip())
        assert case.startswith(f"{report.id}-")


@pytest.mark.parametrize("report", [one for one in REPORTS if one.tests], ids=lambda report: report.id)
def test_a_test_that_is_named_exists(report: Report) -> None:
    for node in report.tests:
        path, _, name = node.partition("::")
        text = (ROOT / path).read_text()
        assert not name or f"def {name}(" in text

"""Public reports of other tools' faults, and what here shows that they do not happen: `python -m tests.cases.reports`.

`reports.toml` is the table that people edit; `docs/reports.md` is made from it, and a test holds the two equal. A
report has one verdict. A case is better than a test, because anybody can read it and run it; a test is named only where
no world can show the point. What cannot be shown yet says what the product must be able to do first.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
FOLDER: Final = HERE / "reports"
PAGE: Final = ROOT / "docs" / "reports.md"
# verdict -> (the key that it must have, its heading in the totals)
VERDICTS: Final = {
    "case": ("cases", "shown by a case"),
    "test": ("tests", "shown by a test"),
    "later": ("needs", "waits for something"),
    "not-applicable": ("reason", "cannot happen here"),
}
_ISSUE: Final = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)#(?P<number>\d+)")
_INTRO: Final = """\
# Public reports

What went wrong in other tools that create, watch and delete machines, from their public issue trackers, in our own
words. Each is a question to this product, and the last column is the answer: a case under `tests/cases/reports/` that
[plays it](cases.md), a test, or what has to come first. `reconciler simulate run tests/cases/reports` runs all of them.
This page is made by `python -m tests.cases.reports`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One public report. `cases` are stems of files in `FOLDER`, `tests` pytest node ids; `needs` beside a case names
    the part that is still open."""

    id: str
    group: str
    title: str
    source: tuple[str, ...]
    verdict: str
    cases: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    needs: str = ""
    reason: str = ""


def load() -> tuple[Report, ...]:
    """The table, in its order."""
    entries: list[dict[str, Any]] = tomllib.loads((HERE / "reports.toml").read_text())["report"]
    return tuple(Report(**{key: _frozen(value) for key, value in entry.items()}) for entry in entries)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def page(reports: Sequence[Report]) -> str:
    """docs/reports.md."""
    return "\n".join([_INTRO, *_totals(reports), *_tables(reports)])


def _totals(reports: Sequence[Report]) -> Iterator[str]:
    counts = Counter(report.verdict for report in reports)
    yield "| | reports |"
    yield "|---|---|"
    for verdict, (_, words) in VERDICTS.items():
        if counts[verdict]:
            yield f"| {words} | {counts[verdict]} |"
    yield f"| all | {len(reports)} |"
    cases = {case for report in reports for case in report.cases}
    yield f"\n{len(cases)} cases.\n"


def _tables(reports: Sequence[Report]) -> Iterator[str]:
    for group, members in groupby(reports, key=lambda report: report.group):
        yield f"## {group}\n"
        yield "| report | what went wrong | reported in | here |"
        yield "|---|---|---|---|"
        for report in members:
            sources = ", ".join(map(_linked, report.source))
            yield f"| {report.id} | {report.title} | {sources} | {_answer(report)} |"
        yield ""


def _linked(source: str) -> str:
    match = _ISSUE.fullmatch(source)
    return f"[{source}](https://github.com/{match['repo']}/issues/{match['number']})" if match else source


def _answer(report: Report) -> str:
    shown = [f"`{name}`" for name in (*report.cases, *report.tests)]
    if report.needs:
        shown.append(f"{'the rest ' if shown else ''}waits for: {report.needs}")
    if report.reason:
        shown.append(report.reason)
    return "<br>".join(shown)


def main() -> int:
    """Write the page. Prints what was counted."""
    reports = load()
    PAGE.write_text(page(reports))
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}: {len(reports)} reports\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

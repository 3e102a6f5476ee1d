"""`docs/incidents.md`, made from the rows: what happened, and what shows that it does not happen here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tests.incidents.rows import Row, rows

_GROUPS: Final = {
    "M": ("One fleet's bill", "What left 78 volumes and 65 addresses on the bill of one fleet of workers."),
    "A": ("What was asked for after it", "What had to hold before that fleet was trusted again."),
    "D": ("A deletion that is cut off", "Each point at which a deletion can die, and what must follow."),
    "P": ("A provisioning that is cut off", "Each point at which making a machine can die, and what must follow."),
    "I": ("An adoption that is cut off", "Each point at which taking a machine into a state can die."),
    "W": ("A sweep", "What a sweep may conclude, and when."),
}
_HEAD: Final = """\
# Incidents

What went wrong once, or can, and what shows that it does not happen here. Most rows are a *case*: a file in
`tests/cases` that plays the incident against the [simulator](simulator.md), and that you can run yourself:

```console
$ reconciler simulate run tests/cases/rows
```

A row that a test shows better names the test. A row that nothing shows yet says what has to come first.
"""


def page() -> str:
    """The whole page as Markdown."""
    known = rows()
    parts = [_HEAD, _count(known)]
    for letter, (title, text) in _GROUPS.items():
        parts += [f"## {title}\n", f"{text}\n", _table(row for row in known if row.group == letter)]
    return "\n".join(parts)


def _count(known: Sequence[Row]) -> str:
    count = Counter(row.verdict for row in known)
    part = sum(1 for row in known if row.first and row.verdict != "later")
    return (
        f"Of {len(known)} rows {count['case']} are cases, {count['test']} are tests, {count['later']} come later, and "
        f"{count['not-applicable']} do not apply. Of {part} of the cases and tests something comes later.\n"
    )


def _table(group: Iterable[Row]) -> str:
    lines = [f"| {row.id} | {_cell(row.what)} | {_cell(_shown(row))} |" for row in group]
    return "\n".join(["| row | what happened, what must follow | shown by |", "|---|---|---|", *lines, ""])


def _shown(row: Row) -> str:
    """What shows it, and what is left to be shown."""
    parts = [f"`{case}`" for case in row.cases]
    parts += [f"`{test.rpartition('::')[2]}`" for test in row.tests]
    if row.first:
        parts.append(f"*{'later' if row.verdict == 'later' else 'the rest later'}*: first {row.first}")
    if row.verdict == "not-applicable":
        parts.append(f"*does not apply*: {row.why}")
    elif row.why:
        parts.append(row.why)
    return "; ".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

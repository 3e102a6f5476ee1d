"""GitHub's workflow commands and GitLab's code quality report.

GitHub shows ten annotations of a kind a step and drops the rest without a word: the ten worst are written, and one
that says how many more there are. `%`, CR and LF are escaped in both parts of a command, `:` and `,` in its properties.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from reconciler.report.review import Level, Remark, counted, worst

MOST_OF_A_KIND: Final = 10
_COMMANDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
_SEVERITIES: Final = {Level.ERROR: "major", Level.WARNING: "minor", Level.NOTE: "info"}


def to_github(remarks: Sequence[Remark]) -> str:
    """Lines for stdout of a step."""
    lines: list[str] = []
    more = 0
    for level, command in _COMMANDS.items():
        # One notice is kept for the number of those that are left out.
        most = MOST_OF_A_KIND - (level is Level.NOTE)
        kept, left_out = worst([remark for remark in counted(remarks) if remark.level is level], most)
        more += left_out
        lines += [_command(command, remark) for remark in kept]
    if more:
        lines.append(f"::notice title=reconciler::and {more} more; the whole report has all of them")
    return "".join(f"{line}\n" for line in lines)


def _command(command: str, remark: Remark) -> str:
    file, title = _property(remark.place.path), _property(remark.rule)
    return f"::{command} file={file},line={remark.place.line},title={title}::{_data(remark.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def to_gitlab(remarks: Sequence[Remark]) -> str:
    """`artifacts:reports:codequality`. Fingerprints are unique, or GitLab would merge what is on one line."""
    entries = {
        remark.fingerprint: {
            "description": remark.message,
            "check_name": f"reconciler/{remark.rule}",
            "fingerprint": remark.fingerprint,
            "severity": _SEVERITIES[remark.level],
            "location": {"path": remark.place.path, "lines": {"begin": remark.place.line}},
        }
        for remark in counted(remarks)
    }
    return json.dumps(list(entries.values()), indent=2, ensure_ascii=True) + "\n"

"""Results of cases for people and machines: a verdict a line, a total, and for what failed both sides and the way to
run it again."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import Any

from reconciler.cases.judge import Failure
from reconciler.cases.problems import Problem, place
from reconciler.cases.runner import Verdict
from reconciler.kernel.text import visible

_LINE = 400


def lines(verdict: Verdict, *, rerun: str) -> Iterator[str]:
    """One line; below a failed one, what differs."""
    about = ", ".join([*verdict.source, *(f"rule {rule}" for rule in verdict.rules)])
    if verdict.skipped is not None:
        yield f"skip  {verdict.name}  {verdict.skipped}"
        return
    yield f"{'ok  ' if verdict.passed else 'FAIL'}  {verdict.name}  {verdict.seconds:.1f} s  {about}".rstrip()
    for failure in verdict.failures:
        yield f"      {_where(verdict, failure)}: {failure.what}"
        yield from (f"        - {visible(line, limit=_LINE)}" for line in failure.expected)
        yield from (f"        + {visible(line, limit=_LINE)}" for line in failure.actual)
    if verdict.failures:
        yield f"      again: {rerun}"


def total(verdicts: Sequence[Verdict], *, seconds: float) -> str:
    failed = sum(bool(verdict.failures) for verdict in verdicts)
    skipped = sum(verdict.skipped is not None for verdict in verdicts)
    passed = len(verdicts) - failed - skipped
    word = "case" if len(verdicts) == 1 else "cases"
    return f"{len(verdicts)} {word}: {passed} passed, {failed} failed, {skipped} skipped ({seconds:.1f} s)"


def document(verdicts: Sequence[Verdict]) -> str:
    """JSON: `schema_version`, `passed`, `failed`, `skipped`, `cases`."""
    cases = [_entry(verdict) for verdict in verdicts]
    counted = {status: sum(one["status"] == status for one in cases) for status in ("passed", "failed", "skipped")}
    return json.dumps({"schema_version": 1, **counted, "cases": cases}, indent=2) + "\n"


def junit(verdicts: Sequence[Verdict]) -> str:
    """JUnit XML: one suite, one test case a case."""
    suite = ET.Element(
        "testsuite",
        name="reconciler cases",
        tests=str(len(verdicts)),
        failures=str(sum(bool(verdict.failures) for verdict in verdicts)),
        skipped=str(sum(verdict.skipped is not None for verdict in verdicts)),
        time=f"{sum(verdict.seconds for verdict in verdicts):.3f}",
    )
    for verdict in verdicts:
        case = ET.SubElement(suite, "testcase", name=verdict.name, classname="cases", time=f"{verdict.seconds:.3f}")
        case.set("file", _xml(verdict.path))
        if verdict.skipped is not None:
            ET.SubElement(case, "skipped", message=_xml(verdict.skipped))
        elif verdict.failures:
            text = "\n".join(_told(verdict, failure) for failure in verdict.failures)
            ET.SubElement(case, "failure", message=_xml(verdict.failures[0].what)).text = _xml(text)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode") + "\n"


def _where(verdict: Verdict, failure: Failure) -> str:
    if not failure.mark.line:
        return failure.where
    return f"{place(verdict.path, Problem(code='', message='', hint='', mark=failure.mark))} ({failure.where})"


def _told(verdict: Verdict, failure: Failure) -> str:
    sides = [*(f"- {line}" for line in failure.expected), *(f"+ {line}" for line in failure.actual)]
    return "\n".join([f"{_where(verdict, failure)}: {failure.what}", *sides])


def _xml(text: str) -> str:
    """XML 1.0 has no place for control characters, whatever they are escaped to."""
    return "\n".join(visible(line, limit=4000) for line in text.split("\n"))


def _entry(verdict: Verdict) -> dict[str, Any]:
    status = "skipped" if verdict.skipped is not None else "failed" if verdict.failures else "passed"
    return {
        "name": verdict.name,
        "path": verdict.path,
        "status": status,
        "reason": verdict.skipped,
        "source": list(verdict.source),
        "rules": list(verdict.rules),
        "seconds": round(verdict.seconds, 3),
        "failures": [
            {
                "where": failure.where,
                "line": failure.mark.line or None,
                "what": failure.what,
                "expected": list(failure.expected),
                "actual": list(failure.actual),
            }
            for failure in verdict.failures
        ],
    }

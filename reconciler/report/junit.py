"""JUnit XML: one case a remark. What blocks fails, what is let through is skipped, the rest passes with a word.

There is no schema that all readers share; this is the part that they do. Control characters make XML malformed even
as `&#27;` (report R185), so texts come here without any.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree as ET  # only written here, nothing is parsed

from reconciler.report.review import Level, Remark


def to_junit(remarks: Sequence[Remark]) -> str:
    """One suite a rule. Without remarks one case that passes: an empty run would show as none."""
    root = ET.Element("testsuites", name="reconciler")
    in_order = sorted(remarks, key=lambda remark: remark.rule)
    totals = {"tests": 0, "failures": 0, "skipped": 0}
    for rule, group in groupby(in_order, key=lambda remark: remark.rule):
        suite = ET.SubElement(root, "testsuite", name=rule)
        counts = {"tests": 0, "failures": 0, "skipped": 0}
        for remark in group:
            _case(suite, remark, counts)
        _count(suite, counts)
        totals = {key: totals[key] + counts[key] for key in totals}
    if not remarks:
        suite = ET.SubElement(root, "testsuite", name="reconciler")
        ET.SubElement(suite, "testcase", classname="reconciler", name="nothing to report")
        totals["tests"] = 1
        _count(suite, totals)
    _count(root, totals)
    ET.indent(root)
    # ASCII with character references: it is what it says it is, whatever encoding stdout has.
    text = ET.tostring(root, encoding="us-ascii", xml_declaration=False).decode("ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _case(suite: ET.Element, remark: Remark, counts: dict[str, int]) -> None:
    counts["tests"] += 1
    place = f"{remark.place.path}:{remark.place.line}"
    case = ET.SubElement(suite, "testcase", classname=remark.rule, name=remark.subject, file=remark.place.path)
    if remark.waived is not None:
        counts["skipped"] += 1
        ET.SubElement(case, "skipped", message=remark.waived)
    elif remark.level is Level.ERROR:
        counts["failures"] += 1
        failure = ET.SubElement(case, "failure", message=remark.message, type=remark.rule)
        failure.text = f"{remark.message}\n{place}\n{remark.fingerprint}"
    else:
        ET.SubElement(case, "system-out").text = remark.message


def _count(element: ET.Element, counts: dict[str, int]) -> None:
    for key, value in counts.items():
        element.set(key, str(value))
    element.set("errors", "0")

"""Each row is shown by something that exists, and the page says what the rows say."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.incidents.page import page
from tests.incidents.rows import CASES, ROOT, VERDICTS, Row, rows

EXPECTED = {
    *(f"M{number}" for number in range(1, 21)),
    *(f"A{number}" for number in range(1, 8)),
    *(f"D{number}" for number in range(16)),
    *(f"P{number}" for number in range(12)),
    *(f"I{number}" for number in range(9)),
    *(f"W{number}" for number in range(1, 7)),
}
each = pytest.mark.parametrize("row", rows(), ids=lambda row: row.id)


@cache
def functions(path: Path) -> frozenset[str]:
    """`name` of each function at the top of a module, `Class::name` of those in a class."""
    body = ast.parse(path.read_text()).body
    inner = {f"{one.name}::{node.name}" for one in body if isinstance(one, ast.ClassDef) for node in _defs(one.body)}
    return frozenset({node.name for node in _defs(body)} | inner)


def _defs(body: Sequence[ast.stmt]) -> Iterator[ast.FunctionDef]:
    return (node for node in body if isinstance(node, ast.FunctionDef))


def test_no_row_is_left_out_and_none_is_there_twice() -> None:
    assert sorted(row.id for row in rows()) == sorted(EXPECTED)


@each
def test_a_row_has_a_verdict_and_what_the_verdict_needs(row: Row) -> None:
    assert row.verdict in VERDICTS
    assert row.missing() is None


@each
def test_every_test_that_a_row_names_exists(row: Row) -> None:
    for node in row.tests:
        path, _, name = node.partition("::")
        assert name in functions(ROOT / path), node


@each
def test_every_case_that_a_row_names_exists_and_names_the_row(row: Row) -> None:
    for case in row.cases:
        text = (CASES / case).read_text()
        assert row.id in text, f"{case} does not say that it plays {row.id}"


def test_every_case_file_is_named_by_a_row() -> None:
    there = {str(path.relative_to(CASES)) for path in (CASES / "rows").glob("*.yaml")}
    assert there == {case for row in rows() for case in row.cases}


def test_the_page_is_the_one_that_the_rows_make() -> None:
    assert (ROOT / "docs" / "incidents.md").read_text() == page(), "run `python -m tests.incidents`"

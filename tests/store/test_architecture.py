"""What the code of the product may not do, read from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import reconciler
from tests.store.place import HAS_POSTGRES, SERVER_VARIABLE

ROOT = Path(reconciler.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))


def calls(path: Path, name: str) -> Iterator[int]:
    """Lines of `path` that call something whose last name is `name`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
            if called == name:
                yield node.lineno


def callers(name: str, *, under: Path = ROOT) -> set[str]:
    return {str(path.relative_to(ROOT)) for path in under.rglob("*.py") if list(calls(path, name))}


def test_warrants_are_made_in_one_module() -> None:
    assert callers("Warrant") == {"store/deletions.py"}


def test_a_warrant_is_made_in_one_place_and_only_from_what_a_unit_of_work_returned() -> None:
    """`_warrant` is the one maker, and each call of it wraps a `write`, which returns after its commit."""
    tree = ast.parse((ROOT / "store/deletions.py").read_text(encoding="utf-8"))
    makers = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and list(_named_calls(n, "Warrant"))]
    assert [maker.name for maker in makers] == ["_warrant"]
    uses = list(_named_calls(tree, "_warrant"))
    assert len(uses) == 4
    for use in uses:
        (argument,) = use.args
        assert isinstance(argument, ast.Call)
        assert isinstance(argument.func, ast.Attribute)
        assert ast.unparse(argument.func) == "self._database.write"


def _named_calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def test_nobody_copies_a_warrant_with_other_ids() -> None:
    """`dataclasses.replace` on a warrant would widen it; the word may not stand beside `warrant` anywhere."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("replace", "dataclasses.replace"):
                assert not node.args or "warrant" not in ast.unparse(node.args[0]).lower(), path


def test_rows_are_locked_in_one_module() -> None:
    assert callers("with_for_update") == {"store/locks.py"}


def test_transactions_are_opened_in_one_module() -> None:
    assert callers("begin", under=ROOT / "store") == {"store/unit.py"}


def test_the_journal_is_only_ever_appended_to() -> None:
    for path in (ROOT / "store").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("update", "delete"):
                assert not node.args or ast.unparse(node.args[0]) != "journal", path


def test_no_code_path_makes_a_doomed_row_live_again() -> None:
    """`live` is set in one place of a resource and in one of a worker's row, each time to NULL."""
    found = {
        (path.name, ast.unparse(keyword.value))
        for path in (ROOT / "store").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "live"
    }
    assert found == {("resources.py", "None"), ("workers.py", "None")}


def test_postgresql_was_there_to_test_against() -> None:
    """The one skip that stands for every test of the PostgreSQL half."""
    if not HAS_POSTGRES:
        pytest.skip(
            "no PostgreSQL: the PostgreSQL half of tests/store was left out; "
            f"`apt-get install -y postgresql` brings a server, or set {SERVER_VARIABLE}"
        )

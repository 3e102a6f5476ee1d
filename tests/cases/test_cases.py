"""Every case of this folder holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.cases.reader import load
from reconciler.cases.results import lines
from reconciler.cases.suite import Options, find, one
from reconciler.cli.case_world import COMMANDS_OF_CASES, invoke
from reconciler.kernel.clock import SystemClock
from tests.cases.support import HERE

CASES = find([HERE])


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_case_holds(path: Path) -> None:
    verdict = one(path, Options(invoke=invoke, commands=COMMANDS_OF_CASES), SystemClock())
    assert verdict.passed, "\n" + "\n".join(lines(verdict, rerun=f"reconciler simulate run {path}"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_case_says_why_and_which_rule_or_report(path: Path) -> None:
    case = load(path, commands=COMMANDS_OF_CASES)
    assert len(case.why) > 30
    assert case.rules or case.source

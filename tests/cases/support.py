"""Cases from text, run in this process."""

from __future__ import annotations

from pathlib import Path

from reconciler.cases.judge import Failure
from reconciler.cases.model import Case
from reconciler.cases.problems import InvalidCase
from reconciler.cases.reader import parse
from reconciler.cases.runner import run_case
from reconciler.cli.case_world import COMMANDS_OF_CASES, invoke

HERE = Path(__file__).parent
PATH = Path("here.yaml")


def case_of(text: str) -> Case:
    return parse(text, path=PATH, commands=COMMANDS_OF_CASES)


def wrong(text: str) -> list[tuple[str, int]]:
    """(code, line) of every mistake; none for a valid case."""
    try:
        case_of(text)
    except InvalidCase as error:
        return [(problem.code, problem.mark.line) for problem in error.problems]
    return []


def told(text: str) -> str:
    """Everything that is said about a text that is no case."""
    try:
        case_of(text)
    except InvalidCase as error:
        return "\n".join(error.lines())
    return ""


def run(text: str) -> tuple[Failure, ...]:
    return run_case(case_of(text), invoke=invoke)


def whats(text: str) -> list[str]:
    """What failed, without the sides."""
    return [failure.what for failure in run(text)]

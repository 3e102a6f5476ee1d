"""The reference pages say what the program says."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from reconciler.cli.main import cli
from reconciler.kernel import errors
from tests.cli.test_help import commands

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"RC\d{4}")
SOURCES = [
    path
    for folder in ("reconciler", "stacks", "tools")
    for pattern in ("*.py", "bin/*")
    for path in (ROOT / folder).rglob(pattern)
    if path.is_file() and "__pycache__" not in path.parts
]


def command_of(path: tuple[str, ...]) -> click.Command:
    found: click.Command = cli
    for name in path:
        assert isinstance(found, click.Group)
        below = found.get_command(click.Context(found), name)
        assert below is not None
        found = below
    return found


def section(path: tuple[str, ...]) -> str:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    parts = re.split(r"^### reconciler ", text, flags=re.MULTILINE)
    return next((part for part in parts if part.splitlines()[0] == " ".join(path)), "")


def test_the_error_page_lists_exactly_the_codes_of_the_source() -> None:
    used = {code for path in SOURCES for code in CODE.findall(path.read_text(encoding="utf-8"))}
    rows = re.findall(r"^\| (RC\d{4}) \|", (ROOT / "docs" / "errors.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(used) == sorted(rows)


def test_every_exit_status_is_on_its_page() -> None:
    statuses = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    rows = re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(statuses) == sorted(map(int, rows))


def test_the_page_has_the_precedence_of_the_code() -> None:
    text = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    listed = re.search(r"wins: ([\d, ]+)\.", text)
    assert listed is not None
    order = [int(number) for number in listed.group(1).split(", ")]
    for place, status in enumerate(order):
        assert errors.worst_exit(*order[place:]) == status


@pytest.mark.parametrize("path", commands(), ids=" ".join)
def test_every_command_and_option_is_documented(path: tuple[str, ...]) -> None:
    text, command = section(path), command_of(path)
    assert text, "no section"
    own = [
        option
        for parameter in command.params
        if isinstance(parameter, click.Option) and parameter.expose_value
        for option in parameter.opts
    ]
    assert [option for option in own if f"`{option}" not in text] == []


def test_no_section_is_about_a_command_that_does_not_exist() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    named = re.findall(r"^### reconciler (.+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(" ".join(path) for path in commands())

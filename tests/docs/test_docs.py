"""The documentation is built and held against the code."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from reconciler.cli.main import cli
from reconciler.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def targets(page: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    return [target for target in LINK.findall(text) if "://" not in target and not target.startswith("#")]


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in targets(page):
        assert (page.parent / target.partition("#")[0]).exists(), f"{page.name} links to {target}"


def test_every_page_is_reachable_from_the_index() -> None:
    """A page that nothing links to is a page that nobody reads."""
    linked = {(page.parent / target.partition("#")[0]).resolve() for page in PAGES for target in targets(page)}
    linked |= {(ROOT / target.partition("#")[0]).resolve() for target in targets(ROOT / "README.md")}
    lost = [
        str(page.relative_to(ROOT)) for page in PAGES if page.parent.name != "design" and page.resolve() not in linked
    ]
    assert [page for page in lost if page != "docs/index.md"] == []


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    shutil.copyfile(ROOT / "mkdocs.yml", tmp_path / "mkdocs.yml")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(tmp_path / "mkdocs.yml")]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "site" / "index.html").exists()


def test_the_readme_names_only_commands_that_exist() -> None:
    """In code: `reconciler NAME`, in a line of its own or between backticks."""
    named = set(re.findall(r"(?:`|^\$ ?)reconciler ([a-z]+)", (ROOT / "README.md").read_text(), flags=re.M))
    assert named
    assert named - COMMANDS.keys() == set()


def silent(command: click.Command, path: str) -> list[str]:
    """Options and commands below `path` that say nothing about themselves."""
    found = [f"{path} {one.name}" for one in command.params if isinstance(one, click.Option) and not one.help]
    if not (command.help or command.short_help):
        found.append(path)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            found += silent(child, f"{path} {name}")
    return found


def test_every_command_and_option_says_what_it_does() -> None:
    assert silent(cli, "reconciler") == []


def test_every_command_is_documented() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    assert [name for name in COMMANDS if f"`{name}" not in text and f"reconciler {name}" not in text] == []

"""`--help`: cheap, complete, and importing nothing heavy."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from importlib import import_module

import click
import pytest

from reconciler.cli.main import cli
from reconciler.cli.table import COMMANDS
from tests.cli.conftest import Run

HEAVY = ("pulumi", "pulumiverse_scaleway", "sqlalchemy", "alembic", "pydantic", "pydantic_settings", "httpx2", "rich",
         "structlog", "yaml", "grpc")  # fmt: skip
BUDGET_SECONDS = 0.150


def commands(group: click.Group | None = None, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command by its words, groups included."""
    group = group or cli
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        found.append((*path, name))
        if isinstance(command, click.Group):
            found += commands(command, (*path, name))
    return found


def imported_by(*argv: str) -> set[str]:
    """The modules that one command line imports, in a process of its own."""
    script = (
        "import sys\nfrom reconciler.cli.main import main\n"
        f"status = main({list(argv)!r})\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\nsys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stderr.split())


@pytest.mark.parametrize("argv", [("--help",), ("--version",), ("-h",), ("drift", "--help"), ("apply", "--help")])
def test_help_imports_nothing_heavy(argv: tuple[str, ...]) -> None:
    modules = imported_by(*argv)
    assert not [name for name in HEAVY if name in modules]


def test_help_imports_no_command() -> None:
    assert not [name for name in imported_by("--help") if name.startswith("reconciler.cli.commands.")]


def test_help_stays_within_its_cpu_budget() -> None:
    """The best of seven: what is measured is the program and not what else the machine does."""
    argv = [sys.executable, "-m", "reconciler.cli.main", "--help"]

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(argv, stdout=subprocess.DEVNULL, check=True, timeout=60, env=dict(os.environ))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(once() for _ in range(7)) < BUDGET_SECONDS


@pytest.mark.parametrize("path", commands(), ids=" ".join)
def test_every_command_has_help_and_takes_the_global_options(path: tuple[str, ...], run: Run) -> None:
    ran = run(*path, "-h")
    assert ran.status == 0
    for option in ("--config", "--quiet", "--no-input", "--color"):
        assert option in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    """The table's line is the help of the list; the command's own first line must not promise something else."""
    command = import_module(f"reconciler.cli.commands.{COMMANDS[name].module}").command
    assert isinstance(command, click.Command)
    assert command.help
    assert COMMANDS[name].help.endswith(".")


def test_the_help_lists_every_command(run: Run) -> None:
    listed = run("--help").out
    assert [name for name in COMMANDS if f"\n  {name} " not in listed] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_prints_a_script_for_each_shell(run: Run, shell: str) -> None:
    ran = run("completion", shell)
    assert (ran.status, "_RECONCILER_COMPLETE" in ran.out) == (0, True)


def test_completion_knows_the_commands() -> None:
    environ = {**os.environ, "_RECONCILER_COMPLETE": "bash_complete", "COMP_WORDS": "reconciler dr", "COMP_CWORD": "1"}
    argv = [sys.executable, "-c", "from reconciler.cli.main import main; main()"]
    done = subprocess.run(argv, capture_output=True, text=True, env=environ, check=True, timeout=60)
    assert done.stdout.strip() == "plain,drift"


@pytest.mark.parametrize("group", ["config", "db", "plan", "policy", "simulate"])
def test_no_command_is_cut_off_in_the_list_of_its_group(group: str, run: Run) -> None:
    assert "..." not in run(group, "--help").out.partition("Commands:")[2]

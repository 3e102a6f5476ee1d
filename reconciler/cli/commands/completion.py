"""`completion`: the script that a shell evaluates to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "fish", "powershell", "zsh")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
def command(shell: str) -> int:
    """Print the completion script of SHELL, for example: eval "$(reconciler completion bash)"."""
    from reconciler.cli.main import cli

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(cli, {}, "reconciler", "_RECONCILER_COMPLETE").source())
    return 0

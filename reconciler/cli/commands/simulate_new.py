"""`simulate new`: a case to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_OK

if TYPE_CHECKING:
    from reconciler.cli.options import Globals


@click.command("new")
@click.argument("name", metavar="NAME")
@click.pass_obj
def new(options: Globals, name: str) -> int:
    """Write NAME.yaml, a commented case that holds."""
    from reconciler.cases.template import write

    path = write(name, Path.cwd())
    out = Out(options)
    out.text(f"{path.name}\n")
    out.progress(f"run it: reconciler simulate run {path.name}")
    return EXIT_OK

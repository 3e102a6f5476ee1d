"""`simulate`: a Scaleway on loopback, to try everything on without an account and without a bill."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.commands.simulate_list import list_cases
from reconciler.cli.commands.simulate_new import new
from reconciler.cli.commands.simulate_record import record
from reconciler.cli.commands.simulate_run import run
from reconciler.kernel.errors import EXIT_OK

if TYPE_CHECKING:
    from reconciler.cli.options import Globals


@click.group("simulate")
def command() -> None:
    """Serve a local Scaleway API to try things on, and run cases on one."""


command.add_command(run)
command.add_command(list_cases)
command.add_command(new)
command.add_command(record)


@command.command("serve")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0: any free port.")
@click.option("--world", "world_file", type=click.Path(path_type=Path), metavar="FILE", help="A world (JSON Lines).")
@click.option(
    "--speed", type=click.FloatRange(min=0, min_open=True), default=1.0, help="How much faster things happen."
)
@click.option(
    "--clock-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Share time with whoever has RECONCILER_CLOCK_FILE set to the same file.",
)
@click.pass_obj
def serve(options: Globals, port: int, world_file: Path | None, speed: float, clock_file: Path | None) -> int:
    """Serve until Ctrl-C, and print the variables that point Scaleway's tools, and this one, at it."""
    from reconciler.cli.errors import say
    from reconciler.simulator.serve import run as serve_world

    def ready(url: str) -> None:
        from reconciler.simulator.defaults import environment

        variables = environment(url)
        if clock_file is not None:
            variables["RECONCILER_CLOCK_FILE"] = str(clock_file.resolve())
        for name, value in variables.items():
            sys.stdout.write(f"export {name}={shlex.quote(value)}\n")
        sys.stdout.flush()
        if not options.quiet:
            say(f"serving {url}; Ctrl-C ends it")

    serve_world(port=port, world_file=world_file, speed=speed, clock_file=clock_file, ready=ready)
    return EXIT_OK

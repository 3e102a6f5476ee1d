"""`demo`: the whole story on this machine, in about a minute, without an account."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.output import Out, wants_color
from reconciler.kernel.errors import EXIT_OK

if TYPE_CHECKING:
    from reconciler.cli.options import Globals


@click.command("demo")
@click.option("--keep", is_flag=True, help="Keep the folder, and say where it is.")
@click.pass_obj
def command(options: Globals, keep: bool) -> int:
    """Break a simulated fleet and watch it being repaired.

    Runs the real Pulumi engine and provider against a simulated Scaleway on loopback, in a folder of its own. Asks
    nothing, costs nothing, and touches nothing else.
    """
    from reconciler.cli.demo.stage import require_tools

    require_tools(os.environ)
    out = Out(options)
    folder = Path(tempfile.mkdtemp(prefix="reconciler-demo-")).resolve()
    try:
        _play(folder, options, out)
    finally:
        if keep:
            out.progress(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return EXIT_OK


def _play(folder: Path, options: Globals, out: Out) -> None:
    from reconciler.cli.demo.commands import Shell
    from reconciler.cli.demo.stage import build
    from reconciler.cli.demo.story import Story
    from reconciler.cli.demo.world import DemoWorld
    from reconciler.kernel.clock import SystemClock
    from reconciler.kernel.ids import Ids
    from reconciler.kernel.randomness import SystemRandomness
    from reconciler.simulator.defaults import PROJECT_ID

    clock = SystemClock()
    scope = Ids(clock=clock, randomness=SystemRandomness()).new()
    stage = build(folder, scope=scope, project=PROJECT_ID)
    with DemoWorld(clock_file=stage.clock_file) as world:
        shell = Shell(
            folder=folder,
            environ=stage.environment(os.environ, world.environment()),
            out=out,
            color=wants_color(sys.stdout, mode=options.color or "auto", environ=os.environ),
        )
        Story(stage=stage, world=world, shell=shell, clock=clock).tell()

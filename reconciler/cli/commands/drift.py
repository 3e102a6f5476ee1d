"""`drift`: read everything, show every difference, write nothing but one row about having looked.

It takes no lease, so that it never stands in the way of an `apply`, and it works without a store, with read-only keys
and on an estate that knows nothing of this program.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.output import FORMATS, Out, Target, TargetType, targets_of
from reconciler.kernel.errors import EXIT_DRIFT, EXIT_OK, EXIT_POLICY, worst_exit
from reconciler.report.review_formats import REVIEW_FORMATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cli.composition import Runtime
    from reconciler.cli.options import Globals
    from reconciler.report.document import ScopeResult


@click.command("drift")
@click.option("--scope", "names", multiple=True, metavar="NAME", help="Look at this scope only; repeatable.")
@click.option(
    "-o",
    "--output",
    "chosen",
    multiple=True,
    type=TargetType((*FORMATS, *REVIEW_FORMATS)),
    help="console, json, sarif, junit, github or gitlab; repeatable.",
)
@click.option("-j", "--json", "as_json", is_flag=True, help="The same as -o json.")
@click.option("--exit-zero", is_flag=True, help="End with 0 when there is drift (errors and gaps keep their status).")
@click.option("--no-store", is_flag=True, help="Neither read nor write the database (ends with 7: no memory).")
@click.option("--program", is_flag=True, help="Run the stacks' programs in a preview: what they declare now.")
@click.pass_obj
def command(
    options: Globals,
    names: tuple[str, ...],
    chosen: tuple[Target, ...],
    as_json: bool,
    program: bool,
    exit_zero: bool,
    no_store: bool,
) -> int:
    """Show every difference between state, cloud and records, with its price.

    Ends with 0 when everything is in sync, 2 when something is to be repaired or decided, 5 when a policy is
    violated, 7 when something could not be read.
    """
    from reconciler.cli.composition import open_runtime
    from reconciler.cli.sweeping import open_memories, sweep_scopes

    out = Out(options)
    runtime = open_runtime(options)
    targets = targets_of(chosen, as_json=as_json, default=runtime.settings.output.format)
    scopes = runtime.scopes(names)
    memories = open_memories(runtime, out, wanted=not no_store)
    results = sweep_scopes(runtime, scopes, memories=memories, trigger="drift", out=out, program=program)
    status = worst_exit(*(result.exit_status for result in results))
    if exit_zero and status in (EXIT_DRIFT, EXIT_POLICY):
        status = EXIT_OK
    _write(results, targets, status=status, runtime=runtime, out=out)
    return status


def _write(
    results: Sequence[ScopeResult], targets: Sequence[Target], *, status: int, runtime: Runtime, out: Out
) -> None:
    from reconciler.cli.locations import Locator
    from reconciler.report.document import ScopeFailure, build
    from reconciler.report.jsontext import dumps
    from reconciler.report.review import of_results
    from reconciler.report.review_formats import render_review
    from reconciler.report.sweep_text import render

    nothing_read = all(isinstance(result, ScopeFailure) for result in results)  # stderr has said why
    for target in targets:
        if target.format == "json":
            out.text(dumps(build(results, exit_code=status)), path=target.path)
        elif target.format in REVIEW_FORMATS:
            remarks = of_results(results, Locator(runtime.settings.state, start=Path.cwd()))
            out.text(render_review(target.format, remarks), path=target.path)
        elif target.path is not None or not nothing_read:
            blocks = render(results, now_ms=runtime.clock.now_ms(), full=out.full)
            out.blocks(blocks, path=target.path)

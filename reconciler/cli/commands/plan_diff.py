"""`plan diff`: from one plan to another. Looks at nothing but the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_OK

if TYPE_CHECKING:
    from reconciler.cli.options import Globals


@click.command("diff")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("-j", "--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def command(options: Globals, before: str, after: str, as_json: bool) -> int:
    """Show which actions B adds to A, takes away and changes, and how price and limits move.

    A and B are plan files or digests of registered plans. Ends with 0 whether they differ or not.
    """
    from reconciler.cli.composition import open_runtime
    from reconciler.cli.plan_files import find_plan
    from reconciler.plan.compare import compare
    from reconciler.report import plan_diff_text
    from reconciler.report.jsontext import dumps

    out, runtime = Out(options), open_runtime(options)
    old, new = find_plan(before, runtime), find_plan(after, runtime)
    difference = compare(old.plan, new.plan)
    if as_json:
        out.text(dumps(plan_diff_text.document(difference, before=old.digest, after=new.digest)))
    else:
        out.blocks(plan_diff_text.render(difference, full=out.full))
    return EXIT_OK

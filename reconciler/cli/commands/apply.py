"""`apply`: carry out a plan. Nothing happens without a database, a lease, a registered plan and somebody's yes.

A run that was killed is finished first. Without a plan file the world is read anew, the plan is shown, and a person
says yes (or `-y` did); with one, the file was the review. Every condition is checked again, live, by the apply room.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.output import FORMATS, Out, Target, TargetType, targets_of
from reconciler.kernel.errors import RefusedError

if TYPE_CHECKING:
    from reconciler.cli.options import Globals


@click.command("apply")
@click.argument("plan_file", required=False, type=click.Path(path_type=Path), metavar="[PLANFILE]")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--scope", "names", multiple=True, metavar="NAME", help="This scope only; repeatable.")
@click.option(
    "--mode",
    type=click.Choice(["observe", "repair", "prune"]),
    default="prune",
    show_default=True,
    help="repair: tags, gated refresh. prune: also destroys what is proved left over.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and stop.")
@click.option("-m", "--message", metavar="MSG", help="Why; kept in the journal of the run.")
@click.option("-o", "--output", "chosen", multiple=True, type=TargetType(FORMATS), help="console or json.")
@click.option("-j", "--json", "as_json", is_flag=True, help="The same as -o json.")
@click.pass_obj
def command(
    options: Globals,
    plan_file: Path | None,
    yes: bool,
    names: tuple[str, ...],
    mode: str,
    dry_run: bool,
    message: str | None,
    chosen: tuple[Target, ...],
    as_json: bool,
) -> int:
    """Carry out a plan, or plan and apply in one go.

    Ends with 0 when everything was done and nothing is left, 2 when something is left that a person decides or `pulumi
    up` does, 4 when a part was not done, 6 when it was refused, 75 when somebody else is at it. Ctrl-C once finishes
    the current item, twice stops.
    """
    out = Out(options)
    if not (yes or dry_run or plan_file is not None or out.may_ask):
        raise RefusedError(
            "nobody is there to say yes",
            code="RC0142",
            hint="Give -y, or a plan that was reviewed: `reconciler plan --out FILE`, `reconciler apply FILE`.",
        )
    from reconciler.cli.apply_session import Request
    from reconciler.cli.applying import apply_scopes
    from reconciler.cli.composition import open_runtime
    from reconciler.cli.plan_files import read_plan_file
    from reconciler.model.plan import Mode

    runtime = open_runtime(options)
    request = Request(
        plan_text=read_plan_file(plan_file) if plan_file is not None else None,
        mode=Mode(mode),
        ask=not yes and plan_file is None,
        dry_run=dry_run,
        message=message,
        targets=targets_of(chosen, as_json=as_json, default=runtime.settings.output.format),
    )
    return apply_scopes(runtime, request, names=names, out=out)

"""`plan`: what would be done, under which conditions, within which limits; registered, so that `apply` may trust it.

Only a plan whose digest is in the store can be applied: a file says what somebody wrote, the store says what this
program proposed. A store that does not answer gives a plan to look at, and 7.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from reconciler.cli.commands import plan_approve, plan_diff, plan_show
from reconciler.cli.output import FORMATS, Out, Target, TargetType, targets_of
from reconciler.kernel.errors import EXIT_INCOMPLETE, EXIT_OK, EXIT_REFUSED, StoreError, UsageError, worst_exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cli.options import Globals
    from reconciler.cli.sweeping import Memories
    from reconciler.model.plan import Plan


@click.group("plan", invoke_without_command=True)
@click.option("--scope", "names", multiple=True, metavar="NAME", help="Plan for this scope only; repeatable.")
@click.option(
    "--mode",
    type=click.Choice(["observe", "repair", "prune"]),
    default="prune",
    show_default=True,
    help="repair: tags, gated refresh. prune: also destroys what is proved left over.",
)
@click.option("--out", "path", type=click.Path(path_type=Path), metavar="FILE", help="Keep the plan for `apply FILE`.")
@click.option("-o", "--output", "chosen", multiple=True, type=TargetType(FORMATS), help="console or json.")
@click.option("-j", "--json", "as_json", is_flag=True, help="The same as -o json.")
@click.option("--program", is_flag=True, help="Run the stacks' programs in a preview: what they declare now.")
@click.pass_context
def command(
    context: click.Context,
    names: tuple[str, ...],
    mode: str,
    path: Path | None,
    chosen: tuple[Target, ...],
    as_json: bool,
    program: bool,
) -> int:
    """Show the repair, its conditions and limits, and keep it for `apply`.

    Ends as `drift` does, and with 6 when a limit forbids the plan as a whole, with 7 when it could not be registered
    and so cannot be applied. The commands below are about plans that were made before.
    """
    options: Globals = context.obj
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return EXIT_OK
    from reconciler.cli.composition import open_runtime
    from reconciler.cli.sweeping import open_memories, sweep_scopes, warn_of_gaps
    from reconciler.model.plan import Mode
    from reconciler.model.world import Sweep
    from reconciler.plan import build_plan

    out = Out(options)
    runtime = open_runtime(options)
    targets = targets_of(chosen, as_json=as_json, default=runtime.settings.output.format)
    scopes = runtime.scopes(names)
    if len(scopes) > 1 and (path is not None or any(target.format == "json" for target in targets)):
        raise UsageError("a plan is for one scope", code="RC0106", hint="Choose one with --scope NAME.")
    memories = open_memories(runtime, out)
    results = sweep_scopes(runtime, scopes, memories=memories, trigger="plan", out=out, program=program)
    statuses = [result.exit_status for result in results]
    for sweep in results:
        if isinstance(sweep, Sweep):
            warn_of_gaps(sweep, out)
            plan = build_plan(sweep.world, sweep.findings, mode=Mode(mode), ids=runtime.ids)
            statuses.append(_register(plan, memories, out=out))
            statuses.append(EXIT_REFUSED if plan.blocked else EXIT_OK)
            write_plan(plan, targets, path=path, now_ms=runtime.clock.now_ms(), out=out)
    return worst_exit(*statuses)


def _refuse_options(context: click.Context) -> None:
    """An option of `plan` before the name of a subcommand would do nothing, and look as if it did."""
    given = [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name is not None
        and parameter.expose_value
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{given[0]} means nothing to `plan {context.invoked_subcommand}`", ctx=context)


def _register(plan: Plan, memories: Memories, *, out: Out) -> int:
    """Make the plan appliable; 7 when it is not."""
    from reconciler.plan import canonical, digest

    if not plan.actions:
        return EXIT_OK
    if memories.store is None:
        out.warn("this plan cannot be applied: without the database it is not registered")
        return EXIT_INCOMPLETE
    try:
        memories.store.register_plan(plan, digest=digest(plan), canonical=canonical(plan))
    except StoreError as error:
        out.warn(f"this plan cannot be applied: {error.code}: {error.message}")
        return EXIT_INCOMPLETE
    return EXIT_OK


def write_plan(plan: Plan, targets: Sequence[Target], *, path: Path | None, now_ms: int, out: Out) -> None:
    """The plan in every format that was asked for, and as the file that `apply` takes."""
    from reconciler.plan import canonical, digest
    from reconciler.report.plan_text import render

    for target in targets:
        if target.format == "json":
            out.text(canonical(plan), path=target.path)
        else:
            out.blocks(render(plan, now_ms=now_ms, full=out.full, digest=digest(plan)), path=target.path)
    if path is not None:
        out.text(canonical(plan), path=path)
        out.progress(f"plan written to {path}; `reconciler apply {path}` carries it out")


for _command in (plan_show.command, plan_diff.command, plan_approve.command):
    command.add_command(_command)

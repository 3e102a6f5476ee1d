"""`policy check`: what breaks the rules, in the cloud or in the ledger that is named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.output import FORMATS, Out, Target, TargetType, targets_of
from reconciler.cli.policy_options import source_options
from reconciler.kernel.errors import EXIT_OK, EXIT_POLICY, worst_exit
from reconciler.report.review_formats import REVIEW_FORMATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cli.composition import Runtime
    from reconciler.cli.options import Globals
    from reconciler.cli.policy_sources import Checked


@click.command("check")
@source_options
@click.option("--baseline", type=click.Path(path_type=Path), metavar="FILE", help="Let through what this file lists.")
@click.option(
    "--fail-on",
    type=click.Choice(["advisory", "mandatory", "never"]),
    default="mandatory",
    show_default=True,
    help="End with 5 on violations of this severity or above.",
)
@click.option(
    "-o",
    "--output",
    "chosen",
    multiple=True,
    type=TargetType((*FORMATS, *REVIEW_FORMATS)),
    help="console, json, sarif, junit, github or gitlab; repeatable.",
)
@click.option("-j", "--json", "as_json", is_flag=True, help="The same as -o json.")
@click.pass_obj
def command(
    options: Globals,
    file: Path | None,
    scopes: tuple[str, ...],
    states: tuple[str, ...],
    rows: bool,
    plan: Path | None,
    preview: Path | None,
    everything: bool,
    baseline: Path | None,
    fail_on: str,
    chosen: tuple[Target, ...],
    as_json: bool,
) -> int:
    """Hold the cloud, or another ledger, against the policy.

    Ends with 5 on a violation, with 7 when something was not read, with 0 otherwise. Nothing is written.
    """
    from reconciler.cli.composition import open_runtime
    from reconciler.cli.policy_sources import Wanted, check, configured

    out = Out(options)
    live = not (states or rows or plan or preview)
    runtime = open_runtime(options, need_scopes=live)
    targets = targets_of(chosen, as_json=as_json, default=runtime.settings.output.format)
    wanted = Wanted(scopes=scopes, states=states, rows=rows, plan=plan, preview=preview, everything=everything)
    checked = check(wanted, runtime, configured(runtime, file=file, baseline=baseline), out=out)
    status = worst_exit(checked.status, EXIT_POLICY if _fails(checked, fail_on) else EXIT_OK)
    _write(checked, targets, status=status, runtime=runtime, out=out)
    return status


def _fails(checked: Checked, fail_on: str) -> bool:
    found = checked.evaluation.violations
    return fail_on != "never" and any(one.severity.blocks or fail_on == "advisory" for one in found)


def _write(checked: Checked, targets: Sequence[Target], *, status: int, runtime: Runtime, out: Out) -> None:
    from reconciler.cli.locations import Locator
    from reconciler.report.jsontext import dumps
    from reconciler.report.policy_document import build
    from reconciler.report.policy_text import render
    from reconciler.report.review import of_evaluation
    from reconciler.report.review_formats import render_review

    evaluation = checked.evaluation
    for target in targets:
        if target.format == "json":
            document = build(evaluation, checked.policies, exit_code=status, notes=checked.notes)
            out.text(dumps(document), path=target.path)
        elif target.format == "console":
            out.blocks(render(evaluation, notes=checked.notes, full=out.full), path=target.path)
        else:
            remarks = of_evaluation(evaluation, Locator(runtime.settings.state, start=Path.cwd()))
            out.text(render_review(target.format, remarks), path=target.path)

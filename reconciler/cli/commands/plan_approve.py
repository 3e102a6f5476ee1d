"""`plan approve`: the second command, with a reason, that a plan over a limit needs. Touches nothing but the record."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_OK

if TYPE_CHECKING:
    from reconciler.cli.options import Globals


@click.command("approve")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--reason", required=True, metavar="TEXT", help="Why this much is right; kept for ever.")
@click.option("-j", "--json", "as_json", is_flag=True, help="The approval as JSON.")
@click.pass_obj
def command(options: Globals, path: Path, reason: str, as_json: bool) -> int:
    """Approve that this very plan goes over limits of number, percent, price or price not known.

    Refused (6) for a plan that `apply` would not take anyway, and for one that is stopped by a limit that no approval
    covers. The name comes from the CI or the account.
    """
    from reconciler.apply.approving import approve
    from reconciler.cli.applying import scope_of, writable_store
    from reconciler.cli.composition import open_runtime
    from reconciler.cli.identity import approver
    from reconciler.cli.plan_files import read_plan_file
    from reconciler.plan import load
    from reconciler.report import plan_status_text
    from reconciler.report.jsontext import dumps

    out, runtime = Out(options), open_runtime(options)
    plan = load(read_plan_file(path))
    now_ms = runtime.clock.now_ms()
    approval = approve(
        plan,
        reason=reason,
        approver=approver(os.environ),
        scope=scope_of(plan, runtime),
        store=writable_store(runtime),
        ids=runtime.ids,
        now_ms=now_ms,
    )
    if as_json:
        out.text(dumps({"schema_version": 1, **plan_status_text.approval_entry(approval)}))
    else:
        out.blocks(plan_status_text.approval_lines(approval, now_ms=now_ms))
        out.progress(f"`reconciler apply {path}` carries it out")
    return EXIT_OK

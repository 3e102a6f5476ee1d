"""`doctor`: is everything there that the other commands need, and does it fit together?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import worst_exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cli.checks import Check
    from reconciler.cli.options import Globals
    from reconciler.report.layout import Block

_STYLE = {"ok": "green", "warn": "yellow", "fail": "bold red", "skip": "dim"}


@click.command("doctor")
@click.option("-j", "--json", "as_json", is_flag=True, help="The checks as JSON.")
@click.pass_obj
def command(options: Globals, as_json: bool) -> int:
    """Check credentials, zones, clock, tools, state, locks and database.

    Ends with 0 unless a check fails; a warning changes nothing.
    """
    from reconciler.cli.checks import all_checks
    from reconciler.cli.composition import open_runtime

    out = Out(options)
    checks = list(all_checks(open_runtime(options, need_scopes=False)))
    status = worst_exit(*(check.exit_status for check in checks))
    if as_json:
        _write_json(checks, status=status, out=out)
    else:
        out.blocks(_blocks(checks))
    return status


def _write_json(checks: Sequence[Check], *, status: int, out: Out) -> None:
    from reconciler.report.jsontext import dumps

    entries = [
        {"name": check.name, "status": check.status, "text": check.text, "hint": check.hint or None} for check in checks
    ]
    out.text(dumps({"schema_version": 1, "exit_code": status, "checks": entries}))


def _blocks(checks: Sequence[Check]) -> list[Block]:
    from reconciler.report.layout import Span, Table, line

    rows = tuple(
        (Span(check.status, _STYLE[check.status]), Span(check.name, "bold"), Span(check.text)) for check in checks
    )
    blocks: list[Block] = [Table(("STATUS", "CHECK", "WHAT"), rows)]
    blocks += [line(Span(f"hint ({check.name}): {check.hint}", "dim")) for check in checks if check.hint]
    return blocks

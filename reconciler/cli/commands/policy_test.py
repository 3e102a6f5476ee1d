"""`policy test`: a user's own examples against their policy, before it blocks somebody."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_OK, EXIT_POLICY

if TYPE_CHECKING:
    from reconciler.cli.options import Globals


@click.command("test")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("-j", "--json", "as_json", is_flag=True, help="The results as JSON.")
@click.pass_obj
def command(options: Globals, files: tuple[Path, ...], as_json: bool) -> int:
    """Run examples (YAML or TOML) against the policy that they name. Ends with 5 when one does not hold."""
    from reconciler.policy.examples import run_examples
    from reconciler.report.jsontext import dumps
    from reconciler.report.layout import Block, Span, line
    from reconciler.report.phrases import count

    out = Out(options)
    results = [(path, one) for path in files for one in run_examples(path)]
    failed = sum(not one.ok for _, one in results)
    if as_json:
        cases = [
            {"file": str(path), "name": one.name, "ok": one.ok, "faults": list(one.faults)} for path, one in results
        ]
        out.text(dumps({"schema_version": 1, "cases": cases}))
    else:
        blocks: list[Block] = []
        for path, one in results:
            mark = Span("ok  ", "green") if one.ok else Span("FAIL", "bold red")
            if not one.ok or out.full:
                blocks.append(line(mark, f" {path.name}: {one.name}"))
                blocks += [line(fault, indent=7) for fault in one.faults]
        blocks.append(line(Span("total: ", "dim"), f"{count(len(results), 'example')}, {failed} failed"))
        out.blocks(blocks)
    return EXIT_POLICY if failed else EXIT_OK

"""`simulate list`: which cases there are, and what each is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_OK, EXIT_USAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cases.model import Case
    from reconciler.cli.options import Globals
    from reconciler.report.layout import Block


@click.command("list")
@click.argument("places", nargs=-1, type=click.Path(path_type=Path), metavar="[CASE|DIR]...")
@click.option("-j", "--json", "as_json", is_flag=True, help="The list as JSON.")
@click.pass_obj
def list_cases(options: Globals, places: tuple[Path, ...], as_json: bool) -> int:
    """List cases with their sources, rules and reasons; without a place those of the working directory.

    Ends with 64 when a file is no valid case; what is wrong with it is on stderr.
    """
    from reconciler.cases.problems import InvalidCase
    from reconciler.cases.suite import describe, find
    from reconciler.cli.case_world import COMMANDS_OF_CASES
    from reconciler.cli.errors import say, show_error
    from reconciler.kernel.errors import ConfigError
    from reconciler.report.jsontext import dumps

    out = Out(options)
    cases: list[Case] = []
    status = EXIT_OK
    for _, found in describe(find(places or (Path.cwd(),)), commands=COMMANDS_OF_CASES):
        if isinstance(found, InvalidCase):
            status = EXIT_USAGE
            for line in found.lines():
                say(line)
        elif isinstance(found, ConfigError):
            status = EXIT_USAGE
            show_error(code=found.code, message=found.message, hint=found.hint)
        else:
            cases.append(found)
    if as_json:
        out.text(dumps({"schema_version": 1, "cases": [_entry(case) for case in cases]}))
    else:
        out.blocks(_blocks(cases))
    return status


def _entry(case: Case) -> dict[str, Any]:
    return {
        "name": case.name,
        "path": str(case.path),
        "source": list(case.source),
        "rules": list(case.rules),
        "why": case.why,
        "engine": case.no_engine is None,
    }


def _blocks(cases: Sequence[Case]) -> list[Block]:
    from reconciler.report.layout import BLANK, Span, Table, line

    rows = tuple(
        (
            Span(case.name, "bold"),
            Span(", ".join(case.source) or "-"),
            Span(", ".join(map(str, case.rules)) or "-"),
            Span(case.why),
        )
        for case in cases
    )
    total = line(Span("total: ", "dim"), Span(str(len(cases)), "bold"), " case(s)")
    return [Table(("CASE", "SOURCE", "RULES", "WHY"), rows), BLANK, total] if rows else [total]

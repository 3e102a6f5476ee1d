"""`policy baseline`: note what breaks the rules today, so that they can be mandatory for what is new."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.output import Out
from reconciler.cli.policy_options import source_options
from reconciler.kernel.errors import EXIT_OK, RefusedError, UsageError

if TYPE_CHECKING:
    from datetime import date

    from reconciler.cli.options import Globals


@click.command("baseline")
@click.argument("target", type=click.Path(path_type=Path), metavar="FILE")
@source_options
@click.option("--reason", required=True, metavar="TEXT", help="Why they are let through; it is in the file.")
@click.option("--expires", required=True, metavar="DATE", help="The day on which all of them count again: 2027-01-31.")
@click.pass_obj
def command(
    options: Globals,
    target: Path,
    file: Path | None,
    scopes: tuple[str, ...],
    states: tuple[str, ...],
    rows: bool,
    plan: Path | None,
    preview: Path | None,
    everything: bool,
    reason: str,
    expires: str,
) -> int:
    """Write the violations of today to FILE, for `policy check --baseline` and `[policy] baseline`.

    An existing baseline is replaced, and does not count while it is made. Refuses (6) when something was not read: a
    baseline with gaps would block what nobody changed.
    """
    from reconciler.cli.composition import open_runtime
    from reconciler.cli.policy_sources import Wanted, check, configured
    from reconciler.model.policy import Policies
    from reconciler.policy.baseline import is_reason, render_baseline

    out = Out(options)
    runtime = open_runtime(options, need_scopes=not (states or plan or preview))
    if not is_reason(reason):
        raise UsageError(
            "--reason is one line of 1 to 500 characters without spaces at its ends",
            code="RC0851",
            hint="Say why today's violations are let through.",
        )
    day = _day(expires, now_ms=runtime.clock.now_ms())
    wanted = Wanted(scopes=scopes, states=states, rows=rows, plan=plan, preview=preview, everything=everything)
    policies = Policies(configured=configured(runtime, file=file, baseline=None).configured)
    checked = check(wanted, runtime, policies, out=out)
    if checked.status != EXIT_OK:
        raise RefusedError(
            "something was not read, so this would be no whole baseline", code="RC0847", hint="Run it again."
        )
    found = checked.evaluation.violations
    out.text(render_baseline(found, reason=reason, expires=day), path=target)
    out.progress(f"{len({one.fingerprint for one in found})} violation(s) in {target}, until {day}")
    return EXIT_OK


def _day(text: str, *, now_ms: int) -> date:
    """Raises UsageError RC0848 for what is no day, or one that has begun."""
    from datetime import UTC, date, datetime

    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day <= datetime.fromtimestamp(now_ms / 1000, tz=UTC).date():
        raise UsageError("--expires is a day to come, as in 2027-01-31", code="RC0848", hint="A baseline has an end.")
    return day

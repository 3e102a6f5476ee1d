"""`plan show`: a plan again, and what is known of it. Reads the database and the clock; looks at no world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_INCOMPLETE, EXIT_OK, StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cli.composition import Runtime
    from reconciler.cli.options import Globals
    from reconciler.cli.plan_files import FoundPlan
    from reconciler.model.approval import Approval
    from reconciler.plan.known import Known
    from reconciler.ports.store import RunRow, Store


@click.command("show")
@click.argument("name", metavar="FILE|DIGEST")
@click.option("-j", "--json", "as_json", is_flag=True, help="As JSON, with the plan in it.")
@click.pass_obj
def command(options: Globals, name: str, as_json: bool) -> int:
    """Show a plan, and whether it is registered, expired, applied, approved or known to be stale.

    Nothing of the world is looked at: `apply` does that. Ends with 7 when the database does not answer.
    """
    import json

    from reconciler.cli.composition import open_runtime
    from reconciler.cli.plan_files import find_plan
    from reconciler.plan import canonical
    from reconciler.report import plan_status_text, plan_text
    from reconciler.report.jsontext import dumps
    from reconciler.report.layout import BLANK

    out, runtime = Out(options), open_runtime(options)
    found = find_plan(name, runtime)
    known, runs, approvals = _ask(found, runtime, out)
    now_ms = runtime.clock.now_ms()
    if as_json:
        document = plan_status_text.document(known, digest=found.digest, runs=runs, approvals=approvals)
        out.text(dumps({"schema_version": 1, **document, "plan": json.loads(canonical(found.plan))["plan"]}))
    else:
        shown = plan_text.render(found.plan, now_ms=now_ms, full=out.full, digest=found.digest)
        status = plan_status_text.render(found.plan, known, runs=runs, approvals=approvals, now_ms=now_ms)
        out.blocks([*shown, BLANK, *status])
    return EXIT_OK if known is not None else EXIT_INCOMPLETE


def _ask(found: FoundPlan, runtime: Runtime, out: Out) -> tuple[Known | None, Sequence[RunRow], Sequence[Approval]]:
    """Everything that the database knows of it; None where it does not answer."""
    try:
        return _known(found, runtime.store(), now_ms=runtime.clock.now_ms())
    except StoreError as error:
        out.warn(f"{error.code}: {error.message}")
        return None, (), ()


def _known(found: FoundPlan, store: Store, *, now_ms: int) -> tuple[Known, Sequence[RunRow], Sequence[Approval]]:
    from reconciler.apply.effects import effects_of
    from reconciler.plan.known import known_of

    approvals, effects = store.approvals(found.digest), effects_of(store, found.digest)
    known = known_of(
        found.plan,
        digest=found.digest,
        status=store.plan_status(found.digest),
        approvals=approvals,
        memory=store.memory(found.plan.scope),
        begun=effects.begun,
        own_serials=effects.serials,
        now_ms=now_ms,
    )
    return known, store.runs_of(found.digest), approvals

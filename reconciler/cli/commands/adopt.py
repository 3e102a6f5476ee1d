"""`adopt`: take what runs already into Pulumi's state, as if the program had just created it.

Never by `pulumi import`: the `up` after it takes a machine's address away (tried). The program's own create is run
against a gate that answers only what the cloud already is, so that preview, refresh and `up` want nothing afterwards.
With `--write-code` it writes the declaration that the program lacks, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from reconciler.cli.output import FORMATS, Out, Target, TargetType, targets_of
from reconciler.kernel.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from reconciler.cli.composition import Runtime
    from reconciler.cli.options import Globals
    from reconciler.model.scope import Scope


@click.command("adopt")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--as", "urn", metavar="URN", help="The declared resource that the one ID stands for.")
@click.option(
    "--all", "everything", is_flag=True, help="Every machine of ours that fits exactly one declared resource."
)
@click.option("--write-code", "path", metavar="FILE", help="Only write the declarations there; - is stdout.")
@click.option("--scope", "name", metavar="NAME", help="The scope that it is in, where there are several.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Rehearse it on a copy of the state, and stop.")
@click.option("-m", "--message", metavar="MSG", help="Why; kept in the journal of the run.")
@click.option("-o", "--output", "chosen", multiple=True, type=TargetType(FORMATS), help="console or json.")
@click.option("-j", "--json", "as_json", is_flag=True, help="The same as -o json.")
@click.pass_obj
def command(
    options: Globals,
    ids: tuple[str, ...],
    urn: str | None,
    everything: bool,
    path: str | None,
    name: str | None,
    yes: bool,
    dry_run: bool,
    message: str | None,
    chosen: tuple[Target, ...],
    as_json: bool,
) -> int:
    """Take machines that run already into Pulumi's state.

    ID may be shortened. The program of each stack is run in preview to find the resource that an ID stands for: by type
    and the tags of its slot, else by name. Its address and volumes go along. Nothing in the cloud is changed. Ends with
    6 when program and cloud differ (each difference is shown), 4 when a part was not done.

    With --write-code only their declarations are written, as Python for pulumiverse-scaleway: of servers, flexible IPs,
    block volumes, private NICs and private networks (REGION/ID). An existing file is not overwritten. Secrets such as
    user data are never written.
    """
    if path is not None:
        _check_alone()
        from reconciler.cli.write_code import write_code

        return write_code(options, ids, path=path, scope_name=name)
    _check(ids, urn=urn, everything=everything)
    out = Out(options)
    if not (yes or dry_run or out.may_ask):
        raise RefusedError("nobody is there to say yes", code="RC0142", hint="Give -y, or look first: --dry-run.")
    from reconciler.cli.adopting import Wish, adopt
    from reconciler.cli.apply_session import Request, Results, Session
    from reconciler.cli.applying import writable_store
    from reconciler.cli.composition import open_runtime
    from reconciler.model.plan import Mode

    runtime = open_runtime(options)
    request = Request(
        plan_text=None,
        mode=Mode.REPAIR,
        ask=not yes,
        dry_run=dry_run,
        message=message,
        targets=targets_of(chosen, as_json=as_json, default=runtime.settings.output.format),
    )
    results = Results()
    session = Session(
        runtime=runtime,
        request=request,
        scope=_scope(runtime, name),
        store=writable_store(runtime),
        out=out,
        results=results,
    )
    status = adopt(session, Wish(ids=ids, urn=urn, everything=everything))
    results.write(request, exit_code=status, out=out)
    return status


def _check_alone() -> None:
    """What belongs to an adoption would do nothing beside `--write-code`, and look as if it did."""
    context = click.get_current_context()
    given = [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name not in ("ids", "path", "name", None)
        and context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]
    if given:
        raise UsageError(f"{given[0]} means nothing beside --write-code", code="RC0676", hint="Leave one of them out.")
    if not context.params["ids"]:
        raise UsageError("name what code is to be written for", code="RC0676", hint="`reconciler drift -v` shows ids.")


def _check(ids: tuple[str, ...], *, urn: str | None, everything: bool) -> None:
    if bool(ids) == everything:
        raise UsageError(
            "name what is to be adopted, or --all", code="RC0676", hint="`reconciler drift -v` shows ids in full."
        )
    if urn is not None and len(ids) != 1:
        raise UsageError("--as is for one ID", code="RC0676", hint="Run it once for each.")


def _scope(runtime: Runtime, name: str | None) -> Scope:
    scopes = runtime.scopes((name,) if name is not None else ())
    if len(scopes) != 1:
        raise UsageError("an adoption is in one scope", code="RC0106", hint="Choose one with --scope NAME.")
    return scopes[0]

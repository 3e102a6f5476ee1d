"""`config`: what counts, where it comes from, and whether it is right."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_OK, EXIT_USAGE, ReconcilerError

if TYPE_CHECKING:
    from reconciler.cli.options import Globals
    from reconciler.config.load import Loaded


@click.group("config")
def command() -> None:
    """Show, check or write the configuration (reconciler.toml)."""


def _load(options: Globals, *, need_scopes: bool) -> Loaded:
    from reconciler.config.load import load

    flags = {"output.color": options.color}
    return load(Path.cwd(), environ=os.environ, config=options.config, flags=flags, need_scopes=need_scopes)


@command.command("show")
@click.option("--origin", is_flag=True, help="Also where each value comes from.")
@click.option("-j", "--json", "as_json", is_flag=True, help="As JSON, always with the origin.")
@click.pass_obj
def show(options: Globals, origin: bool, as_json: bool) -> int:
    """Show every key with the value that counts; secrets are masked."""
    from reconciler.config.show import rows
    from reconciler.report.jsontext import dumps
    from reconciler.report.layout import Span, Table

    found = rows(_load(options, need_scopes=False))
    out = Out(options)
    if as_json:
        out.text(dumps([{"key": row.key, "value": row.value, "origin": str(row.origin)} for row in found]))
        return EXIT_OK
    header = ("KEY", "VALUE", "ORIGIN") if origin else ("KEY", "VALUE")
    lines = [(Span(row.key, "bold"), Span(row.text), Span(str(row.origin), "dim"))[: len(header)] for row in found]
    out.blocks([Table(header, tuple(lines))])
    return EXIT_OK


@command.command("validate")
@click.pass_obj
def validate(options: Globals) -> int:
    """Check the configuration and name every mistake with its file and line."""
    from reconciler.cli.errors import show_error
    from reconciler.config.errors import InvalidConfig

    try:
        settings = _load(options, need_scopes=True).settings
    except InvalidConfig as error:
        for problem in error.problems:
            show_error(code=problem.code, message=str(problem), hint=problem.hint)
        return EXIT_USAGE
    source = settings.source or "defaults and environment"
    names = ", ".join(scope.name for scope in settings.scopes)
    Out(options).text(f"{source}: valid; scopes: {names}\n")
    return EXIT_OK


@command.command("init")
@click.option("--project", metavar="UUID", help="The Scaleway project; default: SCW_DEFAULT_PROJECT_ID or the profile.")
@click.pass_obj
def init(options: Globals, project: str | None) -> int:
    """Write a commented reconciler.toml with a fresh scope here. Nothing is overwritten."""
    from reconciler.config.init import init_config
    from reconciler.kernel.clock import clock_from_environment
    from reconciler.kernel.ids import Ids
    from reconciler.kernel.randomness import SystemRandomness

    ids = Ids(clock=clock_from_environment(), randomness=SystemRandomness())
    uuid = ids.new()
    path = init_config(Path.cwd(), scope_uuid=uuid, project=project or _default_project())
    out = Out(options)
    out.text(f"{path}\n")
    out.progress("next: name every stack that may own something there under [state] stacks, then `reconciler drift`")
    out.progress(f"a program with WorkerFleet needs the same scope: pulumi config set reconciler:scope {uuid}")
    out.progress("the machines of any other program need a [[fleet]] in that file")
    return EXIT_OK


def _default_project() -> str | None:
    """The project of the environment or of the scw profile; a profile that cannot be read is no obstacle here."""
    from reconciler.cloud.profile import read_profile

    named = os.environ.get("SCW_DEFAULT_PROJECT_ID", "").strip()
    if named:
        return named
    try:
        return read_profile(os.environ).values.get("default_project_id")
    except ReconcilerError:
        return None


@command.command("schema")
@click.argument("name", type=click.Choice(["config", "drift"]), default="config")
@click.pass_obj
def schema(options: Globals, name: str) -> int:
    """Print a JSON Schema: of the configuration, or of what `drift -o json` writes."""
    from reconciler.report.jsontext import dumps

    if name == "drift":
        from reconciler.report.schema import drift_schema

        Out(options).text(drift_schema())
    else:
        from reconciler.config.show import schema as config_schema

        Out(options).text(dumps(config_schema()))
    return EXIT_OK

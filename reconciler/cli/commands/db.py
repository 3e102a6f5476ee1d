"""`db`: the schema of the database. SQLite is made and migrated on first use; PostgreSQL only by `db upgrade`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_ERROR, EXIT_OK

if TYPE_CHECKING:
    from reconciler.cli.options import Globals


@click.group("db")
def command() -> None:
    """Create, migrate and check the database (RECONCILER_DATABASE_URL)."""


def _url(options: Globals) -> str:
    from reconciler.cli.composition import open_runtime

    return open_runtime(options, need_scopes=False).settings.database


@command.command("upgrade")
@click.pass_obj
def upgrade(options: Globals) -> int:
    """Bring the schema to the version that this program knows."""
    from reconciler.store import upgrade as bring_up

    before = bring_up(_url(options))
    if before.is_head:
        Out(options).text(f"{before.where}: schema {before.head}, nothing to do\n")
    else:
        Out(options).text(f"{before.where}: schema {before.found or 'none'} -> {before.head}\n")
    return EXIT_OK


@command.command("current")
@click.option("-j", "--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def current(options: Globals, as_json: bool) -> int:
    """Show the schema's version, and the one that this program knows. Nothing is written."""
    from reconciler.report.jsontext import dumps
    from reconciler.store import current as ask

    version = ask(_url(options))
    out = Out(options)
    if as_json:
        out.text(dumps({"where": version.where, "found": version.found, "known": version.head}))
    else:
        out.text(f"{version.where}: schema {version.found or 'none'}, known {version.head}\n")
    return EXIT_OK


@command.command("check")
@click.option("-j", "--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def check(options: Globals, as_json: bool) -> int:
    """Is the database whole, and are the promises of the deletion protocol kept in it? Nothing is written."""
    from reconciler.report.jsontext import dumps
    from reconciler.report.layout import Span, line
    from reconciler.store import check as examine

    lines = examine(_url(options))
    out = Out(options)
    if as_json:
        out.text(dumps([{"name": one.name, "ok": one.ok, "text": one.text} for one in lines]))
    else:
        out.blocks([line(Span(str(one), "" if one.ok else "bold red")) for one in lines])
    return EXIT_OK if all(one.ok for one in lines) else EXIT_ERROR

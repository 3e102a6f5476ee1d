"""The options that every command takes, before or after the command's name.

They change one shared value, `Globals`, in the order in which they are met. `-C` changes the working directory at
once, as `git -C` and `make -C` do, so that relative paths after it mean what they say.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.kernel.errors import UsageError

if TYPE_CHECKING:
    from reconciler.cli.composition import Adapters


@dataclass(slots=True)
class Globals:
    """What the global options said. `adapters` makes the world; tests and cases put in their own."""

    config: Path | None = None
    color: str | None = None  # None: as the configuration says, else auto
    quiet: bool = False
    verbose: int = 0
    no_input: bool = False
    adapters: Adapters | None = None


def _cwd(_: click.Context, __: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    try:
        os.chdir(value)
    except OSError as error:
        raise UsageError(
            f"cannot change to the directory {value!r}: {error.strerror}",
            code="RC0103",
            hint="Check the path after -C.",
        ) from None


def _config(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(Globals).config = Path(value)


def _color(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(Globals).color = value


def _quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Globals).quiet = True


def _verbose(ctx: click.Context, _: click.Parameter, value: int) -> None:
    if value:
        ctx.ensure_object(Globals).verbose += value


def _no_input(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Globals).no_input = True


def global_options() -> list[click.Option]:
    """Fresh option objects; none of them reaches a command's own parameters."""
    shared: dict[str, Any] = {"expose_value": False}
    return [
        click.Option(
            ["-C", "--cwd"], metavar="DIR", is_eager=True, callback=_cwd, help="Run in this directory.", **shared
        ),
        click.Option(["-c", "--config"], metavar="FILE", callback=_config, help="The configuration file.", **shared),
        click.Option(
            ["--color"],
            type=click.Choice(["auto", "always", "never"]),
            callback=_color,
            help="Colour on stdout (auto: on a terminal; NO_COLOR and FORCE_COLOR count).",
            **shared,
        ),
        click.Option(["-q", "--quiet"], is_flag=True, callback=_quiet, help="No progress and no notes.", **shared),
        click.Option(
            ["-v", "--verbose"],
            count=True,
            callback=_verbose,
            help="Full ids and more logs; repeat for more.",
            **shared,
        ),
        click.Option(["--no-input"], is_flag=True, callback=_no_input, help="Never ask a question.", **shared),
    ]

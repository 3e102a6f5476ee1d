"""The options that `policy check` and `policy baseline` share: where to look, and by which policy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from reconciler.cli.policy_sources import ALL_STACKS

F = TypeVar("F", bound=Callable[..., Any])
_PATH: Any = click.Path(path_type=Path)


def source_options(function: F) -> F:
    """`--policy`, `--scope`, `--state`, `--rows`, `--plan`, `--preview`, `--all`."""
    for option in reversed(
        (
            click.option("--policy", "file", type=_PATH, metavar="FILE", help="This policy, not the configured one."),
            click.option("--scope", "scopes", multiple=True, metavar="NAME", help="This scope only; repeatable."),
            click.option(
                "--state",
                "states",
                multiple=True,
                is_flag=False,
                flag_value=ALL_STACKS,
                metavar="[STACK|FILE]",
                help="Check states, not the cloud: this stack or exported file, without a value all; repeatable.",
            ),
            click.option("--rows", is_flag=True, help="Check the records."),
            click.option("--plan", type=_PATH, metavar="FILE", help="Check what a plan of ours would write."),
            click.option(
                "--preview", type=_PATH, metavar="FILE", help="Check `pulumi preview --json`, or a plan of Pulumi's."
            ),
            click.option("--all", "everything", is_flag=True, help="In the cloud, also what is not ours."),
        )
    ):
        function = option(function)
    return function

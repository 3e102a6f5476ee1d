"""The entry point: a lazy group of commands, and the one place where errors become an exit status.

A command module is imported when its command runs, so that `--help` and `--version` cost little more than click.
Commands return their exit status and raise `ReconcilerError` for what they refuse or cannot do; here both become
stderr text and a status (docs/exit-codes.md). stdout carries results only.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Final

import click

from reconciler import __version__
from reconciler.cli.errors import say, show_error, show_trace
from reconciler.cli.options import Globals, global_options
from reconciler.cli.streams import flush, prepare
from reconciler.cli.table import COMMANDS
from reconciler.kernel.errors import (
    EXIT_ERROR,
    EXIT_OK,
    EXIT_SIGINT,
    EXIT_SIGTERM,
    EXIT_USAGE,
    InternalError,
    ReconcilerError,
)

if TYPE_CHECKING:
    from reconciler.cli.composition import Adapters

_PROGRAM: Final = "reconciler"


class Terminated(BaseException):
    """SIGTERM, raised where the program stands, so that `finally` blocks run (leases and child processes)."""


class LazyGroup(click.Group):
    """A group whose commands are named in a table and imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        found = import_module(f"reconciler.cli.commands.{entry.module}").command
        assert isinstance(found, click.Command)
        return _with_globals(found)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


def _with_globals(command: click.Command) -> click.Command:
    """The command and its subcommands with the global options, added once."""
    names = {name for parameter in command.params for name in parameter.opts}
    command.params += [option for option in global_options() if not names & set(option.opts)]
    command.context_settings.setdefault("help_option_names", ["-h", "--help"])
    if isinstance(command, click.Group):
        for sub in command.commands.values():
            _with_globals(sub)
            sub.short_help = sub.short_help or _first_sentence(sub.help or "")
    return command


def _first_sentence(text: str) -> str:
    """Of a command's help, for the list of its group: click would cut it off with dots in the middle."""
    sentence, dot, _ = " ".join(text.split("\n\n")[0].split()).partition(". ")
    return sentence + dot.rstrip()


@click.command(
    cls=LazyGroup,
    name=_PROGRAM,
    params=list(global_options()),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit: 0 in sync, 1 error, 2 drift, 3 authentication, 4 partly applied, 5 policy, 6 refused, 7 incomplete, "
    "64 usage, 75 lease held elsewhere, 130/143 stopped by a signal.",
)
@click.version_option(__version__, "--version", prog_name=_PROGRAM)
def cli() -> None:
    """Find and repair drift between Pulumi stacks, Scaleway and your records, without losing what somebody uses."""


def main(argv: Sequence[str] | None = None, *, adapters: Adapters | None = None) -> int:
    """Run one command line and return its exit status. `adapters` replaces the real world (tests, cases)."""
    prepare()
    shared = Globals(adapters=adapters)
    try:
        with _sigterm():
            status = cli.main(
                args=list(argv) if argv is not None else None, prog_name=_PROGRAM, standalone_mode=False, obj=shared
            )
            flush()
            return status if isinstance(status, int) else EXIT_OK
    except Terminated:
        return EXIT_SIGTERM
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        return EXIT_SIGINT
    except click.ClickException as error:
        return _usage(error)
    except ReconcilerError as error:
        return _known(error, verbose=shared.verbose)
    except BrokenPipeError:
        sys.stdout = None  # whoever read the result has gone: nothing is left to flush
        return EXIT_ERROR
    except Exception as error:
        return _unexpected(error, verbose=shared.verbose)


def _usage(error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):  # a group without a command: its help is the answer
        say(error.format_message())
        return EXIT_USAGE
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else _PROGRAM
    message = " ".join(error.format_message().split())  # click lists choices on lines of their own
    show_error(code="RC0101", message=message, hint=f"`{path} --help` shows what it takes.")
    return EXIT_USAGE


def _known(error: ReconcilerError, *, verbose: int) -> int:
    show_error(code=error.code, message=error.message, hint=error.hint)
    if verbose > 1:
        show_trace(error)
    return error.exit_status


def _unexpected(error: Exception, *, verbose: int) -> int:
    # The text of a foreign exception may hold anything, so only its type is shown unless somebody asks.
    show_error(
        code=InternalError.default_code,
        message=f"unexpected {type(error).__name__}",
        hint="This is a bug in reconciler; run again with -v for the traceback and report it.",
    )
    if verbose:
        show_trace(error)
    return EXIT_ERROR


@contextlib.contextmanager
def _sigterm() -> Iterator[None]:
    """SIGTERM as an exception while a command runs; the handler before it comes back afterwards."""

    def stop(_: int, __: FrameType | None) -> None:
        raise Terminated

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread: whoever runs us there has signals of its own
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())

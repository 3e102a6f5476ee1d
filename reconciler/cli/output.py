"""Where a command writes: results to stdout or a file, everything else to stderr.

`Out` knows the global options, so that a command says what it has and not how it is shown. Colour follows, in this
order: `--color`, NO_COLOR, FORCE_COLOR and CLICOLOR_FORCE, TERM=dumb and CLICOLOR=0, then whether stdout is a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import click

from reconciler.cli.errors import show_trace
from reconciler.cli.options import Globals
from reconciler.cli.streams import to_stdout
from reconciler.kernel.errors import ReconcilerError, RefusedError
from reconciler.kernel.text import visible
from reconciler.report.layout import Block

_LIMIT: Final = 4000
FORMATS: Final = ("console", "json")


@dataclass(frozen=True, slots=True)
class Target:
    """One `-o FORMAT[=FILE]`. No file, or `-`, is stdout."""

    format: str
    path: Path | None = None


class TargetType(click.ParamType[Target]):
    """Parses `FORMAT[=FILE]` for a fixed set of formats."""

    name = "FORMAT[=FILE]"

    def __init__(self, formats: Sequence[str]) -> None:
        self._formats = tuple(formats)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Target:
        if isinstance(value, Target):
            return value
        name, separator, file = str(value).partition("=")
        if name not in self._formats:
            self.fail(f"{name!r} is not one of {', '.join(self._formats)}", param, ctx)
        if separator and not file:
            self.fail(f"{value!r} names no file", param, ctx)
        return Target(name, Path(file) if file and file != "-" else None)


def targets_of(chosen: Sequence[Target], *, as_json: bool, default: str = "console") -> tuple[Target, ...]:
    """What to write and where; `default` on stdout when nothing was chosen. Two results on stdout are refused."""
    targets = [*chosen, *([Target("json")] if as_json and Target("json") not in chosen else [])]
    if not targets:
        targets = [TargetType(FORMATS).convert(default, None, None)]
    if sum(1 for target in targets if target.path is None) > 1:
        raise click.UsageError("two outputs cannot share stdout; give one of them a file: -o json=FILE")
    files = [
        target.path.resolve() for target in targets if target.path is not None and not target.path.is_char_device()
    ]
    if len(set(files)) < len(files):
        raise click.UsageError("two outputs cannot share a file: the second would overwrite the first")
    return tuple(targets)


def wants_color(stream: IO[str], *, mode: str, environ: Mapping[str, str]) -> bool:
    if mode != "auto":
        return mode == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in ("", "0") or environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    if environ.get("TERM") == "dumb" or environ.get("CLICOLOR") == "0":
        return False
    return stream.isatty()


class Out:
    """stdout and stderr of one command."""

    def __init__(self, options: Globals) -> None:
        self._options = options

    @property
    def full(self) -> bool:
        """`-v`: ids in full length."""
        return self._options.verbose > 0

    def blocks(self, blocks: Sequence[Block], *, path: Path | None = None) -> None:
        """Rendered blocks, to stdout (coloured where that is wanted) or as plain text to a file."""
        from reconciler.report.plain import to_text
        from reconciler.report.terminal import emit

        if path is not None:
            self.text(to_text(blocks), path=path)
            return
        color = wants_color(sys.stdout, mode=self._options.color or "auto", environ=os.environ)
        with to_stdout():
            emit(blocks, stream=sys.stdout, color=color)

    def aside(self, blocks: Sequence[Block]) -> None:
        """Blocks as plain text on stderr, where stdout is for a machine."""
        from reconciler.report.plain import to_text

        sys.stderr.write(to_text(blocks))

    def text(self, text: str, *, path: Path | None = None) -> None:
        """A finished text to stdout or a file. Raises ReconcilerError RC0104 or RC0105 when it cannot be written."""
        if path is None:
            with to_stdout():
                sys.stdout.write(text)
            return
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ReconcilerError(
                f"cannot write {str(path)!r}: {error.strerror}", code="RC0105", hint="Check the path after `=`."
            ) from None

    def progress(self, text: str) -> None:
        """What is going on, on stderr; nothing with `-q`."""
        if not self._options.quiet:
            print(visible(text, limit=_LIMIT), file=sys.stderr)

    def warn(self, text: str, *, hint: str = "") -> None:
        """Something that changes how far the result can be believed; `-q` does not hide it."""
        print(f"warning: {visible(text, limit=_LIMIT)}", file=sys.stderr)
        if hint:
            print(f"hint: {visible(hint, limit=_LIMIT)}", file=sys.stderr)

    def trace(self, error: BaseException) -> None:
        """The traceback of a bug, on stderr, with `-v`."""
        if self._options.verbose:
            show_trace(error)

    @property
    def may_ask(self) -> bool:
        """A person is there to answer: a terminal, no `--no-input`, no CI."""
        ci = os.environ.get("CI", "").lower() in ("1", "true", "yes")
        return not self._options.no_input and not ci and sys.stdin.isatty()

    def confirm(self, question: str) -> None:
        """Ask on stderr; anything but yes raises RefusedError RC0141."""
        if not click.confirm(question, default=False, err=True):
            raise RefusedError("not confirmed", code="RC0141", hint="Nothing was touched.")

"""What a user would type, typed: each command is shown, run, and held to the exit status that the story expects."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reconciler.cli.output import Out
from reconciler.kernel.errors import ReconcilerError
from reconciler.kernel.text import visible
from reconciler.report.layout import BLANK, Span, line

_DEADLINE_SECONDS: Final = 300.0
_PULUMI_FLAGS: Final = ("--non-interactive", "--color", "never")
_NOISE: Final = "from $PATH at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """Runs commands in the demo's folder. `color`: our own commands may colour their output."""

    folder: Path
    environ: Mapping[str, str]
    out: Out
    color: bool

    def title(self, text: str) -> None:
        self.out.blocks([BLANK, line(Span(f"== {text}", "bold cyan"))])

    def say(self, text: str) -> None:
        self.out.blocks([line(text)])

    def reconciler(self, *args: str, expect: int) -> None:
        """One of our commands, its output as a user sees it."""
        self._show("reconciler", args)
        color = ["--color", "always" if self.color else "never"]
        argv = [sys.executable, "-m", "reconciler.cli.main", *args, *color]
        status, text = self._run(argv)
        self._print(text)
        self._require(f"reconciler {args[0]}", status, expect, text="")

    def pulumi(self, *args: str, expect: int = 0) -> None:
        """The real engine; only its summary is shown, and everything when it fails."""
        self._show("pulumi", args)
        status, text = self._run(["pulumi", *args, *_PULUMI_FLAGS])
        lines = [row for row in text.splitlines() if _NOISE not in row]
        summary = lines[lines.index("Resources:") :] if "Resources:" in lines else lines[-1:]
        self._print("".join(f"  {row}\n" for row in summary if row.strip()))
        self._require(f"pulumi {args[0]}", status, expect, text="\n".join(lines))

    def json(self, name: str) -> Any:
        """A result that a command wrote into the folder."""
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def require(self, holds: bool, what: str) -> None:
        """Raise ReconcilerError RC0151 unless the story goes as it is told."""
        if not holds:
            raise ReconcilerError(
                f"the demo expected {what}", code="RC0151", hint="Run it with --keep and look into the folder."
            )

    def _show(self, program: str, args: Sequence[str]) -> None:
        self.out.blocks([line(Span("$ ", "dim"), Span(" ".join((program, *args)), "bold"))])
        sys.stdout.flush()

    def _run(self, argv: Sequence[str]) -> tuple[int, str]:
        with subprocess.Popen(
            argv,
            cwd=self.folder,
            env=dict(self.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as child:
            try:
                text, _ = child.communicate(timeout=_DEADLINE_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                raise ReconcilerError(
                    f"{argv[0]} did not end within {_DEADLINE_SECONDS:.0f} s", code="RC0153", hint="Run it again."
                ) from None
            except BaseException:
                child.terminate()  # Ctrl-C: the child is ours to end, and __exit__ waits for it
                raise
        return child.returncode, text

    def _print(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def _require(self, what: str, status: int, expect: int, *, text: str) -> None:
        if status == expect:
            self.out.blocks([line(Span(f"(exit {status})", "dim"))])
            return
        for row in text.splitlines():
            self.out.progress(visible(row))
        self.require(False, f"`{what}` to end with {expect}, and it ended with {status}")

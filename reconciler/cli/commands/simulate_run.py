"""`simulate run`: cases, a verdict a line."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.output import Out, Target, TargetType
from reconciler.kernel.errors import EXIT_ERROR, EXIT_OK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cases.runner import Verdict
    from reconciler.cases.suite import Options
    from reconciler.cli.options import Globals

FORMATS = ("console", "json", "junit")
_TOOLS = ("PATH", "PULUMI_HOME", "RECONCILER_TOOLCHAIN_PYTHON")


@click.command("run")
@click.argument("places", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="CASE|DIR...")
@click.option("-j", "--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Cases at a time.")
@click.option("-o", "--output", "chosen", multiple=True, type=TargetType(FORMATS), help="console, json or junit.")
@click.option("--http", is_flag=True, help="The cloud over HTTP on loopback instead of in this process.")
@click.option("--engine", is_flag=True, help="The real Pulumi engine and provider, where a case can.")
@click.option("--seed", type=click.IntRange(0), help="This seed instead of each case's own.")
@click.option("--keep", type=click.Path(path_type=Path), metavar="DIR", help="Keep the folders of the cases there.")
@click.pass_obj
def run(
    options: Globals,
    places: tuple[Path, ...],
    jobs: int,
    chosen: tuple[Target, ...],
    http: bool,
    engine: bool,
    seed: int | None,
    keep: Path | None,
) -> int:
    """Run cases and say of each whether everything is as it says. Ends with 1 when one is not."""
    from reconciler.cases.suite import find, run_suite
    from reconciler.kernel.clock import SystemClock

    out = Out(options)
    targets = chosen or (Target("console"),)
    suite = _suite(http=http, engine=engine, seed=seed, keep=keep)
    clock = SystemClock()
    began = clock.monotonic()
    console = Target("console") in targets
    verdicts: list[Verdict] = []
    for verdict in run_suite(find(places), suite, jobs=jobs):
        verdicts.append(verdict)
        _say(verdict, suite, out=out if console else None)
    _finish(verdicts, targets, seconds=clock.monotonic() - began, out=out)
    return EXIT_ERROR if any(verdict.failures for verdict in verdicts) else EXIT_OK


def _suite(*, http: bool, engine: bool, seed: int | None, keep: Path | None) -> Options:
    from reconciler.cases.setting import Mode, Setting
    from reconciler.cases.suite import Options
    from reconciler.cli.case_world import COMMANDS_OF_CASES, invoke

    mode = Mode.ENGINE if engine else Mode.HTTP if http else Mode.MODEL
    tools = {name: os.environ[name] for name in _TOOLS if name in os.environ}
    setting = Setting(mode=mode, tools=tools if engine else {})
    setting.require_tools()
    return Options(invoke=invoke, commands=COMMANDS_OF_CASES, setting=setting, seed=seed, keep=keep)


def _say(verdict: Verdict, suite: Options, *, out: Out | None) -> None:
    from reconciler.cases.results import lines

    if out is None:
        return
    flags = {"http": " --http", "engine": " --engine"}.get(suite.setting.mode.value, "")
    seed = "" if suite.seed is None else f" --seed {suite.seed}"
    rerun = f"reconciler simulate run{flags}{seed} --keep kept {shlex.quote(verdict.path)}"
    out.text("".join(f"{line}\n" for line in lines(verdict, rerun=rerun)))


def _finish(verdicts: Sequence[Verdict], targets: Sequence[Target], *, seconds: float, out: Out) -> None:
    from reconciler.cases.results import document, junit, lines, total

    for target in targets:
        match target.format:
            case "json":
                out.text(document(verdicts), path=target.path)
            case "junit":
                out.text(junit(verdicts), path=target.path)
            case _ if target.path is not None:
                told = [line for verdict in verdicts for line in lines(verdict, rerun="")]
                out.text("\n".join([*told, total(verdicts, seconds=seconds), ""]), path=target.path)
            case _:
                out.text(total(verdicts, seconds=seconds) + "\n")

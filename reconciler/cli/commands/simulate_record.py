"""`simulate record`: a live scope as a case that can be attached to a bug report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from reconciler.cli.composition import Runtime
    from reconciler.cli.options import Globals
    from reconciler.model.world import Sweep

_KEY_BITS = 512


@click.command("record")
@click.option("--scope", "names", multiple=True, metavar="NAME", help="The scope to record, where there are several.")
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    default=Path("recorded.yaml"),
    show_default=True,
    metavar="FILE",
    help="The case; FILE.json lies beside it.",
)
@click.pass_obj
def record(options: Globals, names: tuple[str, ...], path: Path) -> int:
    """Record a scope as a case: what a sweep reads, with every name, id, tag and address replaced.

    Reads only. Nothing that anybody chose is in the files: no name, no tag, no id, no address, no user data, no secret.
    Look into them before you give them away, all the same.
    """
    from reconciler.cases.recording.skeleton import record as recording_of
    from reconciler.cli.composition import open_runtime

    out = Out(options)
    runtime = open_runtime(options)
    data = path.with_name(f"{path.name}.json")
    for file in (path, data):
        if file.exists():
            raise UsageError(f"{file.name} is there already", code="RC0818", hint="Name another file with -o.")
    sweep = _sweep(runtime, names, out)
    key = runtime.randomness.bits(_KEY_BITS).to_bytes(_KEY_BITS // 8, "big")
    made = recording_of(sweep, key=key, data_name=data.name)
    out.text(made.data, path=data)
    out.text(made.case, path=path)
    out.text(f"{path}\n{data}\n")
    out.progress(f"run it: reconciler simulate run {path}")
    return EXIT_OK


def _sweep(runtime: Runtime, names: tuple[str, ...], out: Out) -> Sweep:
    from reconciler.cli.composition import make_records
    from reconciler.cli.sweeping import look, open_memories

    scopes = runtime.scopes(names)
    if len(scopes) != 1:
        raise UsageError("a recording is of one scope", code="RC0819", hint="Choose one with --scope NAME.")
    scope = scopes[0]
    memory = open_memories(runtime, out).of(scope)
    if runtime.settings.records_adapter != "none":
        out.warn(
            "rows of workers are not recorded; the case keeps none, and a worker in it is a machine like any other"
        )
    cloud, engine, none = runtime.cloud(scope), runtime.engine(), make_records("none", None, None)
    return look(runtime, scope, cloud=cloud, engine=engine, memory=memory, records=none, out=out)

"""Runs the program of a stack in `pulumi preview`, and tells what it declares.

A preview takes no lock, writes no state and sends no mutating call (counted in the tests), but it runs the user's
program, so that it happens on request only. One that fails in the middle has declared a part; a part looks as if the
rest were to be deleted, so nothing of it is believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from reconciler.engine.adoption import digest
from reconciler.engine.adoption.bench import Bench
from reconciler.engine.cli import PulumiCli
from reconciler.engine.project import project_directory
from reconciler.engine.shapes import RawSecretsProvider
from reconciler.engine.stacks import StackName
from reconciler.kernel.errors import EngineError
from reconciler.model.program import IMPORT, REPLACE, ProgramChange, ProgramResource, ProgramView
from reconciler.ports.engine import UNKNOWN, ChildProcess

# What the engine calls the parts of one replace, and of one import.
_SAME_AS: Final = {
    "create-replacement": REPLACE,
    "delete-replaced": REPLACE,
    "import-replacement": REPLACE,
    "import": IMPORT,
}
_INTERNAL: Final = "__"  # properties of the bridge itself, which nobody declares
_NO_SECRETS: Final = RawSecretsProvider()


def declared(
    cli: PulumiCli, name: StackName, *, stack: str, work_dirs: Mapping[str, Path], directory: Path, now_ms: int
) -> ProgramView:
    """`stack`: the name that the caller knows it by.

    Raises EngineError RC0570 (no directory of the program is known), RC0515 (it is another project's), RC0541 (the
    program failed), RC0504, and what a failed command means (RC0502, RC0508 to RC0511).
    """
    bench = Bench(
        cli=cli,
        name=name,
        directory=program_directory(name, work_dirs=work_dirs, directory=directory),
        on_child=_nobody,
    )
    return view(bench.plan(), stack=stack, at_ms=now_ms)


def program_directory(name: StackName, *, work_dirs: Mapping[str, Path], directory: Path) -> Path:
    """Where the program of this stack lies."""
    known = work_dirs.get(name.project, directory)
    with project_directory(name, _NO_SECRETS, configured=work_dirs, default=directory) as found:
        if found == known:
            return found.absolute()
    raise EngineError(
        f"the program of {name.short} cannot be run: no directory is known for the project {name.project}",
        code="RC0570",
        hint="Name it under [state] projects in reconciler.toml, or run in the directory of its Pulumi.yaml.",
    )


def view(plan: digest.Plan, *, stack: str, at_ms: int) -> ProgramView:
    """A decoded preview in the words of the model."""
    resources = {urn: _resource(urn, operation, plan) for urn, operation in plan.operations.items()}
    return ProgramView(stack=stack, at_ms=at_ms, resources=resources)


def _resource(urn: str, operation: str, plan: digest.Plan) -> ProgramResource:
    planned = plan.creates.get(urn)
    inputs: Mapping[str, Any] = planned.create.inputs if planned is not None else {}
    tags = inputs.get("tags")
    return ProgramResource(
        urn=urn,
        type=planned.create.type if planned is not None else _type(urn),
        operation=_SAME_AS.get(operation, operation),
        zone=_text(inputs.get("zone")),
        project=_text(inputs.get("projectId")),
        tags=tuple(tag for tag in tags if isinstance(tag, str) and tag != UNKNOWN) if isinstance(tags, list) else (),
        parent=planned.create.parent if planned is not None else None,
        changes=tuple(
            ProgramChange(path=change.path, state=change.old, program=change.new)
            for change in plan.changes.get(urn, ())
            if not change.path.startswith(_INTERNAL)
        ),
    )


def _type(urn: str) -> str:
    """The last type of `urn:pulumi:STACK::PROJECT::PARENT$TYPE::NAME`."""
    parts = urn.split("::")
    return parts[2].rpartition("$")[2] if len(parts) > 3 else ""


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value not in ("", UNKNOWN) else None


def _nobody(_child: ChildProcess) -> None:
    """Nobody keeps a journal of children that change nothing."""

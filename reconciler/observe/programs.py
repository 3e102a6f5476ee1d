"""Run the programs of the stacks, one preview each.

A program is the user's code and may fail for any reason. That is one unheard ledger of one stack and stops nothing: the
outputs of its last `pulumi up` stay what is known of its wishes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.kernel.errors import ReconcilerError
from reconciler.kernel.executor import Executor
from reconciler.model.program import FailedProgram, ProgramView
from reconciler.ports.engine import Engine


@dataclass(frozen=True, slots=True)
class Programs:
    views: Mapping[str, ProgramView] = field(default_factory=dict)
    failed: tuple[FailedProgram, ...] = ()


def read_programs(engine: Engine, stacks: Sequence[str], *, executor: Executor) -> Programs:
    """A credential that the program's own provider was refused is the program's failure, and no 401 of ours."""
    views: dict[str, ProgramView] = {}
    failed: list[FailedProgram] = []
    for stack, outcome in zip(stacks, executor.map(engine.declared, stacks), strict=True):
        error = outcome.error
        if error is None:
            views[stack] = outcome.unwrap()
        elif isinstance(error, ReconcilerError):
            failed.append(FailedProgram(stack=stack, code=error.code, reason=error.message, hint=error.hint))
        else:
            raise error
    return Programs(views, tuple(failed))

"""Read every stack that may own something, and name those that could not be read.

Only a 401 stops a sweep; a stack that fails for any other reason is unread, and one unread stack is enough for
nothing to be an orphan (rule 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reconciler.kernel.errors import AuthenticationError, ReconcilerError
from reconciler.kernel.executor import Executor
from reconciler.model.state import StackState, UnreadStack
from reconciler.ports.engine import Engine


@dataclass(frozen=True, slots=True)
class Authorities:
    states: Mapping[str, StackState]
    unread: tuple[UnreadStack, ...]


def name_stacks(engine: Engine, patterns: Sequence[str]) -> tuple[tuple[str, ...], tuple[UnreadStack, ...]]:
    """The stacks to read, and the patterns that could not be resolved because the backend did not answer."""
    if not patterns:
        return (), ()
    try:
        return engine.stacks(patterns), ()
    except AuthenticationError:
        raise
    except ReconcilerError as error:
        return (), tuple(_unread(pattern, error) for pattern in patterns)


def read_stacks(engine: Engine, names: Sequence[str], *, executor: Executor) -> Authorities:
    states: dict[str, StackState] = {}
    unread: list[UnreadStack] = []
    for name, outcome in zip(names, executor.map(engine.read, names), strict=True):
        error = outcome.error
        if error is None:
            states[name] = outcome.unwrap()
        elif isinstance(error, ReconcilerError) and not isinstance(error, AuthenticationError):
            unread.append(_unread(name, error))
        else:
            raise error
    return Authorities(states, tuple(unread))


def _unread(stack: str, error: ReconcilerError) -> UnreadStack:
    return UnreadStack(stack=stack, code=error.code, reason=error.message, hint=error.hint)

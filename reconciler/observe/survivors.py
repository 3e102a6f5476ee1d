"""Who may still be at work for an interrupted run? Asked only of stacks that have a pending operation.

Asked before the inventory is read: a plugin that is dead by then makes nothing that a later list could lack.
"""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.kernel.errors import AuthenticationError, ReconcilerError
from reconciler.model.state import LiveProcess, StackState
from reconciler.ports.engine import Engine


def survivors(engine: Engine, states: Iterable[StackState]) -> dict[str, tuple[LiveProcess, ...]]:
    """Stack -> processes that may be its run's. Where they cannot be listed, one stands for all that may be there."""
    found: dict[str, tuple[LiveProcess, ...]] = {}
    for state in states:
        if not state.pending:
            continue
        try:
            found[state.stack] = engine.live_processes(state.stack)
        except AuthenticationError:
            raise
        except ReconcilerError as error:
            unknown = f"the processes of this host could not be listed: {error.message}"
            found[state.stack] = (LiveProcess(pid=0, name="a process", why=unknown),)
    return found

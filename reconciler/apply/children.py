"""Children of the engine in the journal: told of when they start, waited for by whoever resumes the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from reconciler.apply.setting import Setting
from reconciler.model.plan import Action
from reconciler.ports.engine import ChildProcess

STILL_WRITING: Final = "the process of an earlier run may still be writing this stack"
_STEP: Final = "child"


def recorder(action: Action, setting: Setting) -> Callable[[ChildProcess], None]:
    """Writes each child down before it is waited for."""

    def on_child(child: ChildProcess) -> None:
        setting.journal.write(
            action,
            _STEP,
            pid=child.pid,
            started_ms=child.started_ms,
            stack=child.stack,
            argv=list(child.argv),
            host=child.host,
        )

    return on_child


def earlier_ended(action: Action, setting: Setting, *, done: str) -> bool:
    """Wait for a child that an earlier process of this run left, unless the step `done` says that it ended.

    False when it runs on another host or cannot be ended: it may still be writing the stack.
    """
    details: Any = setting.journal.details(action, _STEP)
    if details is None or setting.journal.details(action, done) is not None:
        return True
    return setting.engine.await_child(
        ChildProcess(
            pid=details["pid"],
            started_ms=details["started_ms"],
            stack=details["stack"],
            argv=tuple(details["argv"]),
            host=details.get("host", ""),
        )
    )

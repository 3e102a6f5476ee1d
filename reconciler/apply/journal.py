"""The journal of a run: one entry before and after everything that cannot be taken back.

`checkpoint` is called with the name of each step after it was written. It does nothing in production; tests stop the
process there, so that every crash point of this file's users has a name and a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reconciler.model.plan import Action, ActionOutcome, ActionStatus
from reconciler.ports.store import JournalEntry, Store


def no_checkpoint(name: str) -> None:
    """What production does at a checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    store: Store
    run_id: str
    checkpoint: Callable[[str], None] = no_checkpoint

    def write(self, action: Action, step: str, **details: Any) -> None:
        self.store.journal(self.run_id, action_id=action.id, step=step, details=details)
        self.checkpoint(f"{action.kind.value}.{step}")

    def finish(self, outcome: ActionOutcome) -> None:
        self.write(outcome.action, "finished", status=outcome.status.value, text=outcome.text, code=outcome.code)

    def entries(self, action: Action) -> tuple[JournalEntry, ...]:
        return tuple(entry for entry in self.store.journal_of(self.run_id) if entry.action_id == action.id)

    def details(self, action: Action, step: str) -> Mapping[str, Any] | None:
        """The last entry of a step, or None when the run never came to it."""
        found = [entry.details for entry in self.entries(action) if entry.step == step]
        return found[-1] if found else None

    def finished(self, action: Action) -> ActionOutcome | None:
        """What an earlier process made of this action. WAITING is no end: a later run goes on with it."""
        details = self.details(action, "finished")
        if details is None or details["status"] == ActionStatus.WAITING.value:
            return None
        return ActionOutcome(
            action=action, status=ActionStatus(details["status"]), text=str(details["text"]), code=details["code"]
        )

"""The journal of a run: one entry before and after everything that cannot be taken back.

`checkpoint` is called with the name of each step after it was written. It does nothing in production; tests stop the
process there, so that every crash point of this file's users has a name and a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reconciler.apply.effects import from_entries
from reconciler.model.plan import Action, ActionOutcome, ActionStatus
from reconciler.ports.store import JournalEntry, Store


def no_checkpoint(name: str) -> None:
    """What production does at a checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    store: Store
    run_id: str
    checkpoint: Callable[[str], None] = no_checkpoint
    earlier: tuple[str, ...] = ()  # other runs of the same plan, oldest first

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
        """What an earlier process made of this action. WAITING is no end: a later run goes on with it.

        Of an earlier run of the same plan only DONE counts: what it skipped or failed at is tried again.
        """
        details = self.details(action, "finished")
        if details is None:
            details = self._done_earlier(action)
        if details is None or details["status"] == ActionStatus.WAITING.value:
            return None
        return ActionOutcome(
            action=action, status=ActionStatus(details["status"]), text=str(details["text"]), code=details["code"]
        )

    def _done_earlier(self, action: Action) -> Mapping[str, Any] | None:
        for run_id in reversed(self.earlier):
            for entry in self.store.journal_of(run_id):
                of_it = entry.action_id == action.id and entry.step == "finished"
                if of_it and entry.details["status"] == ActionStatus.DONE.value:
                    return entry.details
        return None

    def details_earlier(self, action: Action, step: str) -> Mapping[str, Any] | None:
        """The last entry of a step in the earlier runs of the plan."""
        for run_id in reversed(self.earlier):
            for entry in reversed(self.store.journal_of(run_id)):
                if (entry.action_id, entry.step) == (action.id, step):
                    return entry.details
        return None

    def wrote(self, stack: str, serial: str) -> bool:
        """Is this what the state of a stack was after a write of this plan, in this run or an earlier one?"""
        entries = (entry for run_id in (*self.earlier, self.run_id) for entry in self.store.journal_of(run_id))
        return from_entries(entries).wrote(stack, serial)

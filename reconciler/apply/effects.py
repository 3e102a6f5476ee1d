"""What a plan has done already, read from the journals of its runs: a plan is not stale by its own hand.

An action that only began, looked and ended changed nothing; any other step counts as an effect, whether it is known
to have come through or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from reconciler.model.plan import Action
from reconciler.ports.store import JournalEntry, Store

_HARMLESS: Final = frozenset({"started", "deciding", "finished", "message"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """`begun`: ids of actions that did something. `serials`: stack -> what its state was after each of our writes."""

    begun: frozenset[str] = frozenset()
    serials: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def exempt(self, actions: Iterable[Action]) -> frozenset[str]:
        """The subjects that these actions name and have worked on: refs as text, and URNs."""
        mine = [action for action in actions if action.id in self.begun]
        return frozenset(text for action in mine for text in (*map(str, action.refs), *action.urns))

    def wrote(self, stack: str, serial: str) -> bool:
        return serial in self.serials.get(stack, ())


NONE: Final = Effects()


def effects_of(store: Store, digest: str) -> Effects:
    """Over all runs of a plan, finished or not."""
    return from_entries(entry for run in store.runs_of(digest) for entry in store.journal_of(run.run_id))


def from_entries(entries: Iterable[JournalEntry]) -> Effects:
    begun: set[str] = set()
    serials: dict[str, set[str]] = {}
    for entry in entries:
        if entry.step not in _HARMLESS:
            begun.add(entry.action_id)
        if entry.details.get("serial"):  # a refresh, an adoption, a clearing
            serials.setdefault(str(entry.details["stack"]), set()).add(str(entry.details["serial"]))
    return Effects(begun=frozenset(begun), serials={stack: frozenset(found) for stack, found in serials.items()})

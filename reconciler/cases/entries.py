"""What states hold of the items of a case, or would hold: who enters, and what somebody does to it later.

An entry is made once, when its item comes into being and the cloud is quiet, so that `take` asks nothing of the
simulator in the middle of a command. What enters at one time is written at once: a state of hundreds of entries that is
written again for each of them takes minutes.
"""

from __future__ import annotations

from reconciler.cases.model import Item
from reconciler.cases.statefile import Document, States, urn_of
from reconciler.kernel.clock import Clock


class Entries:
    def __init__(self, states: States, *, clock: Clock) -> None:
        self._states, self._clock = states, clock
        self._made: dict[str, Document] = {}  # by item
        self._waiting: dict[str, list[Document]] = {}  # by stack

    def came(self, item: Item, entry: Document) -> None:
        """The entry of an item, which is in a state from now on when the item says so."""
        self._made[item.name] = entry
        if item.stack is not None:
            self._waiting.setdefault(item.stack, []).append(entry)

    def settle(self) -> None:
        """Write what has come."""
        waiting, self._waiting = self._waiting, {}
        for stack, entries in waiting.items():
            document = self._states.read(stack)
            document["resources"] += entries
            self._states.write(stack, document, now_ms=self._clock.now_ms())

    def forget(self, item: Item) -> None:
        """It leaves the state of its stack, as by `pulumi state delete` or a bad refresh."""
        self._replace(item, [])

    def take(self, item: Item) -> None:
        """It is in the state of its stack, as by an import; once, if it was there already."""
        self._replace(item, [self._made[item.name]])

    def _replace(self, item: Item, entries: list[Document]) -> None:
        assert item.home is not None  # checked when the case was read
        urn, now_ms = urn_of(item), self._clock.now_ms()
        document = self._states.read(item.home)
        kept = [one for one in document["resources"] if one["urn"] != urn]
        self._states.write(item.home, {**document, "resources": kept + entries}, now_ms=now_ms)

"""What one run of the program was answered, and what it was refused.

A target is claimed once, by the one create that equals it. Two creates that equal the same target, or one that equals
two, are refused: which of two equal IPs belongs to which URN cannot be told from a body, and a mix-up would look right.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from reconciler.engine.adoption.expectation import Expectation
from reconciler.model.resources import Kind
from reconciler.ports.engine import Difference


class Book:
    """Thread-safe. `known_nics`: ids of private NICs that the state holds or that are targets themselves."""

    def __init__(self, expectations: Iterable[Expectation], *, known_nics: Collection[str] = ()) -> None:
        self._lock = threading.Lock()
        # Held while one create looks for its target.
        self.matching = threading.Lock()
        self._expectations = {item.urn: item for item in expectations}
        self._claimed: set[str] = set()
        self._seen: dict[str, dict[str, Any]] = {}
        self._differences: list[Difference] = []
        self._unread: list[str] = []
        self._user_data: defaultdict[str, set[str]] = defaultdict(set)
        self.nics: set[str] = set(known_nics)
        # URN -> the name that it has in the cloud, where that is the only difference and Pulumi can be told to use it.
        self.names: dict[str, str] = {}

    def waiting(self, kind: Kind, locality: str) -> list[Expectation]:
        """Targets of a kind in a place that no create has met yet."""
        with self._lock:
            return [
                item
                for urn, item in self._expectations.items()
                if urn not in self._claimed and (item.ref.kind, item.ref.zone) == (kind, locality)
            ]

    def claim(self, item: Expectation) -> None:
        with self._lock:
            self._claimed.add(item.urn)

    def claimed(self, kind: Kind, locality: str, identity: str) -> Expectation | None:
        """The target with this id, if its create has been answered in this run."""
        with self._lock:
            for urn in self._claimed:
                ref = self._expectations[urn].ref
                if (ref.kind, ref.zone, ref.id) == (kind, locality, identity):
                    return self._expectations[urn]
        return None

    def answered(self, kind: Kind) -> list[Expectation]:
        with self._lock:
            return [item for urn, item in self._expectations.items() if urn in self._claimed and item.ref.kind is kind]

    def unanswered(self) -> list[Expectation]:
        with self._lock:
            return [item for urn, item in self._expectations.items() if urn not in self._claimed]

    def remember(self, item: Expectation, found: dict[str, Any]) -> None:
        """Keep what a target looked like, to find the right one among many without asking for all of them again."""
        with self._lock:
            self._seen[item.urn] = found

    def remembered(self, item: Expectation) -> dict[str, Any] | None:
        with self._lock:
            return self._seen.get(item.urn)

    def note_user_data(self, server: str, key: str) -> None:
        with self._lock:
            self._user_data[server].add(key)

    def user_data(self, server: str) -> frozenset[str]:
        """The keys that the program has set on a server in this run."""
        with self._lock:
            return frozenset(self._user_data[server])

    def note_nic(self, identity: str) -> None:
        with self._lock:
            self.nics.add(identity)

    def refuse(self, differences: Iterable[Difference]) -> None:
        with self._lock:
            self._differences.extend(item for item in differences if item not in self._differences)

    def note_unread(self, why: str) -> None:
        with self._lock:
            self._unread.append(why)

    @property
    def differences(self) -> Sequence[Difference]:
        with self._lock:
            return tuple(self._differences)

    @property
    def unread(self) -> Sequence[str]:
        with self._lock:
            return tuple(self._unread)

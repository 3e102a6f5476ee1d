"""The licence to destroy.

A `Warrant` is made by `reconciler.store.deletions` alone, after the transaction that decided the deletion has been
committed (an architecture test holds this), and `Cloud.destroy` takes nothing else. It names exact ids; an id that is
found later needs a second committed transaction, which gives a new warrant.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reconciler.model.resources import Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Warrant:
    """`refs` are all ids that this deletion may destroy; `target` is the one it was decided for."""

    deletion_id: str
    fence_token: int
    scope: str
    project: str
    target: Ref
    refs: frozenset[Ref]

    def covers(self, ref: Ref) -> bool:
        return ref in self.refs


class DeletionStage(StrEnum):
    CLAIMED = "claimed"
    DELETE_SENT = "delete_sent"
    ABSENT = "absent"
    FINALIZED = "finalized"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """An open decision, as the store holds it."""

    id: str
    scope: str
    target: Ref
    reason: str
    finding_id: str
    refs: tuple[Ref, ...]
    struck: tuple[Ref, ...]
    stage: DeletionStage
    attempts: int
    fence_token: int
    decided_ms: int
    next_attempt_ms: int
    last_error: str | None = None
    hour_nanos: int = 0


class DestroyAnswer(StrEnum):
    """What one destructive call came to. None of these means gone: absence is proved apart (rule 6)."""

    ACCEPTED = "accepted"
    ALREADY_GONE = "already_gone"  # a typed 404: the proof still follows
    IN_TRANSITION = "in_transition"  # stopping, detaching: ask again later
    REFUSED = "refused"  # protected, attached elsewhere: struck from the deletion


@dataclass(frozen=True, slots=True, kw_only=True)
class Destroyed:
    ref: Ref
    answer: DestroyAnswer
    text: str
    status: int | None = None
    request_id: str | None = None

"""One difference between ledgers, with everything a person needs to believe it.

A finding's `id` is a fingerprint of kind and subjects: it stays the same from the sweep that opens the episode to the
one that closes it, whatever happens to verdict, age or cost in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from reconciler.kernel.ids import fingerprint
from reconciler.model.money import Cost
from reconciler.model.resources import Kind, Ref

ROW: Final = "worker"  # a subject that is a worker's row
_RESOURCE_KINDS = frozenset(kind.value for kind in Kind)


class Ledger(StrEnum):
    DESIRED = "desired"
    STATE = "state"
    INVENTORY = "inventory"
    RECORDS = "records"


class FindingKind(StrEnum):
    MISSING = "missing"
    VACANT = "vacant"
    CHANGED = "changed"
    UNDECLARED = "undeclared"
    ORPHAN = "orphan"
    DETACHED = "detached"
    UNTAGGED_CHILD = "untagged-child"
    UNRECORDED = "unrecorded"
    UNRESOLVED_CREATE = "unresolved-create"
    STALE_ROW = "stale-row"
    DUPLICATE = "duplicate"
    INTERRUPTED = "interrupted"
    POLICY = "policy"
    UNMANAGED = "unmanaged"
    INCOMPLETE = "incomplete"


class Verdict(StrEnum):
    """`act`: repair it now; `wait`: not yet; `ask`: a person decides; `unknown`: not proved; `none`: just shown."""

    ACT = "act"
    WAIT = "wait"
    ASK = "ask"
    UNKNOWN = "unknown"
    NONE = "none"


class ActionKind(StrEnum):
    NONE = "none"
    REFRESH = "refresh"  # gated targeted refresh of Pulumi's state
    TAG = "tag"  # write tags: owner tags on a child, or declared tags back
    DESTROY = "destroy"
    UP = "up"  # the user's own `pulumi up`; we never run it
    ADOPT = "adopt"  # take into Pulumi's state what runs already
    CLEAR = "clear"  # take pending operations that came to nothing out of the state
    RECORD = "record"  # write the row of a worker that runs
    ATTACH = "attach"  # give a worker's row the machine that its create made
    PURGE = "purge"  # end a worker's row; it leaves a tombstone


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a finding is about. `kind` is a resource kind, or `slot`, `stack`, `scan`, `worker` (a row) or `fleet` for
    what is not a resource."""

    kind: str
    zone: str | None = None
    id: str | None = None
    urn: str | None = None
    worker: str | None = None  # fleet/slot, or a worker id
    name: str | None = None

    @property
    def ref(self) -> Ref | None:
        if self.zone is None or self.id is None or self.kind not in _RESOURCE_KINDS:
            return None
        return Ref(Kind(self.kind), self.zone, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One fact behind a finding: when it was seen, where, and what it says."""

    at_ms: int
    source: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One property that differs. Values are plain JSON; secrets never get here."""

    path: str
    state: Any
    cloud: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    kind: FindingKind
    subjects: tuple[Subject, ...]
    verdict: Verdict
    action: ActionKind
    reason: str
    rule: str
    fleet: str | None = None
    stack: str | None = None
    ledgers: Mapping[str, str] = field(default_factory=dict)  # ledger -> what it says
    wait_until_ms: int | None = None
    age_seconds: int | None = None
    cost: Cost = Cost()
    evidence: tuple[Evidence, ...] = ()
    witness: str | None = None
    differences: tuple[Difference, ...] = ()
    tags_after: tuple[str, ...] | None = None  # for TAG: the whole list to write to the first subject

    @property
    def id(self) -> str:
        parts = [self.kind.value]
        for subject in self.subjects[:1]:
            parts += [subject.kind, subject.zone or "", subject.id or "", subject.urn or "", subject.worker or ""]
        return fingerprint(*parts)

    @property
    def refs(self) -> tuple[Ref, ...]:
        return tuple(ref for subject in self.subjects if (ref := subject.ref) is not None)

    @property
    def row(self) -> str | None:
        """The worker whose row it is about."""
        return next((subject.worker for subject in self.subjects if subject.kind == ROW), None)

    @property
    def counts_as_drift(self) -> bool:
        """Exit 2 counts `act` and `ask` only."""
        return self.verdict in (Verdict.ACT, Verdict.ASK)

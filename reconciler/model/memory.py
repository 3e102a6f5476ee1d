"""What the store remembers between sweeps, and what a sweep adds to it.

*Sightings* say since when something has been seen without an owner; *lineage* says that a child was once seen
attached to one of our workers, or that a resource was once in a stack's state. Both are written only when they
change, so that a quiet world is written to by nothing (rule 14).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reconciler.model.finding import Finding
from reconciler.model.resources import Kind, Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """`source` is `attached` (seen on a worker of ours) or `state` (seen in a stack's state)."""

    ref: Ref
    source: str
    fleet: str | None
    stack: str | None
    urn: str | None
    worker: str | None  # fleet/slot or worker id
    server_id: str | None
    first_seen_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """An open finding as the store holds it."""

    finding_id: str
    verdict: str
    opened_ms: int
    from_program: bool = False  # only a sweep that runs the program can say that it is over


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A resource that a person took out of our hands. `with_id` is the id of the one that was named: its own, or that
    of the server it is a part of. `done_ms` is None while its owner tags may still be there."""

    ref: Ref
    with_id: str
    stack: str
    urn: str
    begun_ms: int = 0
    done_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The row of a worker names this machine. A live one holds it; a doomed one only says that it was ours."""

    worker: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteSweep:
    """The last sweep that read everything: the measure for "the inventory shrank"."""

    sweep_id: str
    finished_ms: int
    counts: Mapping[Kind, int]
    serials: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Everything a sweep reads from the store. `present` is False when there is no store, or it could not be read."""

    present: bool = True
    reason: str | None = None
    first_complete_ms: int | None = None  # the oldest complete sweep of this scope: how long the memory is
    last_complete: CompleteSweep | None = None
    unowned_since: Mapping[Ref, int] = field(default_factory=dict)
    lineage: Mapping[Ref, Lineage] = field(default_factory=dict)
    episodes: Mapping[str, Episode] = field(default_factory=dict)
    finalised: Mapping[Kind, int] = field(default_factory=dict)  # by our own deletions since the last complete sweep
    held: frozenset[Ref] = frozenset()  # adoptions: a hold that forbids a deletion
    doomed: frozenset[Ref] = frozenset()  # in an open deletion
    destroyed_last_hour: int = 0
    released: Mapping[Ref, Release] = field(default_factory=dict)  # taken out of our hands, and never ours again
    recorded: Mapping[Ref, Recorded] = field(default_factory=dict)  # machines that rows name, of any scope


NO_MEMORY = Memory(present=False, reason="no database")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRecord:
    """One sweep as it is written: one row, and what changed in the memory."""

    sweep_id: str
    scope: str  # scope uuid
    trigger: str  # drift | plan | apply
    started_ms: int
    finished_ms: int
    complete: bool
    scans: tuple[Mapping[str, Any], ...]
    counts: Mapping[Kind, int]
    serials: Mapping[str, str]
    summary: Mapping[str, int]
    findings: tuple[Finding, ...] = ()
    closable: frozenset[str] | None = None  # episode ids that may be closed; None: all that are not found again
    new_lineage: tuple[Lineage, ...] = ()
    newly_unowned: Mapping[Ref, int] = field(default_factory=dict)
    owned_again: tuple[Ref, ...] = ()
    managed_again: tuple[Ref, ...] = ()  # released once, and in a state again


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How many rows a unit of work inserted, updated and deleted."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

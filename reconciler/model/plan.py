"""A plan: what will be done, under which conditions, within which limits.

A plan is a value with one canonical JSON form; its digest is over that form without the digest itself. Conditions are
checked again, live, before each action: a plan is a wish about a world that may have moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from reconciler.model.finding import ActionKind, FindingKind
from reconciler.model.money import Cost
from reconciler.model.resources import Ref

PLAN_SCHEMA_VERSION: Final = 1


class Mode(StrEnum):
    """`observe` < `repair` (tags, rows of workers, gated refresh, adoption, pending operations) < `prune` (also
    destroys what is left over)."""

    OBSERVE = "observe"
    REPAIR = "repair"
    PRUNE = "prune"

    def allows(self, action: ActionKind) -> bool:
        match action:
            case ActionKind.REFRESH | ActionKind.TAG | ActionKind.ADOPT | ActionKind.CLEAR:
                return self is not Mode.OBSERVE
            case ActionKind.RECORD | ActionKind.ATTACH | ActionKind.PURGE:
                return self is not Mode.OBSERVE
            case ActionKind.DESTROY:
                return self is Mode.PRUNE
            case _:
                return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One thing that must still be so when the action starts: `absent`, `unattached`, `tags`, `serial`, `present`,
    `pending` (subject: a stack, value: operation and URN), `row` (subject: a worker, value: its row as it was judged),
    `unrecorded` (subject: a worker), `fleet` (value: the uid of its declaration)."""

    kind: str
    subject: str  # str(Ref) or a stack name
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One step. For DESTROY `refs[0]` is the target and the rest are its children; for TAG there is one ref; for ADOPT
    each of `urns` is to hold the ref at its place in `refs`; for CLEAR `urns` are the pending entries. `worker`: whose
    row is written, or for DESTROY is doomed with its machine."""

    id: str
    kind: ActionKind
    finding_id: str
    finding_kind: FindingKind
    refs: tuple[Ref, ...]
    fleet: str | None
    stack: str | None
    urns: tuple[str, ...]
    tags_before: tuple[str, ...] = ()
    tags_after: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    cost: Cost = Cost()
    reason: str = ""
    rule: str = ""
    worker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RailCheck:
    """One limit, the value found, and whether it holds."""

    name: str
    limit: float
    value: float
    ok: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    id: str
    scope: str
    scope_name: str
    mode: Mode
    created_ms: int
    expires_ms: int
    sweep_id: str
    serials: Mapping[str, str]  # stack -> serial of the state that was read
    actions: tuple[Action, ...]
    rails: tuple[RailCheck, ...]
    held_back: Mapping[str, int] = field(default_factory=dict)  # verdict -> findings that are not acted on
    saves: Cost = Cost()
    schema_version: int = PLAN_SCHEMA_VERSION

    @property
    def blocked(self) -> tuple[RailCheck, ...]:
        return tuple(rail for rail in self.rails if not rail.ok)


class ActionStatus(StrEnum):
    DONE = "done"
    SKIPPED = "skipped"  # a condition no longer holds: nothing was done
    WAITING = "waiting"  # decided and sent, not yet proved gone; a later run goes on
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    action: Action
    status: ActionStatus
    text: str
    code: str | None = None
    refs_gone: tuple[Ref, ...] = ()
    struck: tuple[Ref, ...] = ()
    saves: Cost = Cost()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    run_id: str
    plan: Plan
    outcomes: tuple[ActionOutcome, ...]
    saves: Cost
    interrupted: bool = False
    lock_seconds: float = 0.0

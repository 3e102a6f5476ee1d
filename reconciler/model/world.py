"""One sweep's view of all ledgers, as `observe` hands it to `diff`.

Authorities are read twice, records + state → inventory → records + state. `states` and `records` are the second read;
stacks that moved in between are named in `live_stacks`, and what moved turns into `wait`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from reconciler.model.desired import Desired
from reconciler.model.finding import Finding
from reconciler.model.inventory import Inventory
from reconciler.model.memory import Memory
from reconciler.model.policy import Policies
from reconciler.model.program import FailedProgram, ProgramView
from reconciler.model.records import NO_RECORDS, RecordsView, UnreadRecords
from reconciler.model.resources import Ref
from reconciler.model.scope import Scope
from reconciler.model.state import LiveProcess, StackState, StateResource, UnreadStack


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the provider's API behaved during the sweep."""

    calls: int = 0
    failed: int = 0
    throttled: int = 0
    skew_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageLine:
    """How one Pulumi type is observed: `list`, `targeted read`, `not covered`; and how many state entries it has."""

    type: str
    how: str
    entries: int


@dataclass(frozen=True)
class World:
    """Not slotted, for the cached indexes."""

    scope: Scope
    sweep_id: str
    started_ms: int
    finished_ms: int
    inventory: Inventory
    memory: Memory
    desired: Desired = Desired()
    states_before: Mapping[str, StackState] = field(default_factory=dict)
    states: Mapping[str, StackState] = field(default_factory=dict)
    unread: tuple[UnreadStack, ...] = ()
    coverage: tuple[CoverageLine, ...] = ()
    health: Health = Health()
    processes: Mapping[str, tuple[LiveProcess, ...]] = field(default_factory=dict)  # of stacks with pending operations
    # Only of a sweep that was asked to run them: the previews of the stacks' programs, and those that failed.
    programs: Mapping[str, ProgramView] = field(default_factory=dict)
    failed_programs: tuple[FailedProgram, ...] = ()
    # The rows of workers, read twice like the states.
    records_before: RecordsView = NO_RECORDS
    records: RecordsView = NO_RECORDS

    @property
    def unread_records(self) -> UnreadRecords | None:
        """Why the rows were not read, in either of the two reads."""
        return self.records_before.unread or self.records.unread

    policies: Policies = Policies()

    @cached_property
    def live_stacks(self) -> Mapping[str, str]:
        """Stacks that somebody is writing to now -> the evidence: a lock, or a serial that moved between the reads."""
        live: dict[str, str] = {}
        for name, state in self.states.items():
            before = self.states_before.get(name)
            if state.locks:
                lock = state.locks[0]
                live[name] = f"locked by {lock.created_by}" + (f" (pid {lock.pid})" if lock.pid is not None else "")
            elif before is not None and before.locks:
                live[name] = "a lock was held while the inventory was read"
            elif before is None or before.serial != state.serial:
                live[name] = "its state moved while the inventory was read"
        return live

    @cached_property
    def state_entry_of(self) -> Mapping[Ref, tuple[str, StateResource]]:
        """Provider resource -> (stack, entry), over both reads: in either of them is in state."""
        found: dict[Ref, tuple[str, StateResource]] = {}
        for read in (self.states_before, self.states):
            for name, state in read.items():
                for ref, entry in state.by_ref.items():
                    found[ref] = (name, entry)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A finished sweep: what was read and what differs. The one model that every report renders."""

    world: World
    findings: tuple[Finding, ...]
    exit_status: int

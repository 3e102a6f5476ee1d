"""A Pulumi engine that holds stacks as values and refreshes them by dropping what the caller proved absent."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.kernel.errors import EngineError, RefusedError
from reconciler.model.program import ProgramView
from reconciler.model.resources import Ref
from reconciler.model.state import KIND_OF_TYPE, LiveProcess, Lock, StackState, StateResource
from reconciler.ports.engine import (
    AdoptionRefused,
    AdoptionResult,
    ChildProcess,
    Difference,
    EngineInfo,
    Forgotten,
    LockEvidence,
    PlannedCreate,
    RefreshPreview,
    RefreshResult,
    Rehearsal,
)

INFO = EngineInfo(
    cli_path="/bin/pulumi",
    cli_version="3.274.1",
    plugin_path="/bin/pulumi-resource-scaleway",
    plugin_version="1.60.0",
    source="path",
    sdk_version="1.60.0",
)


_TOKENS = {kind: token for token, kind in KIND_OF_TYPE.items()}


def _entry(urn: str, ref: Ref, asked: StateResource | None) -> StateResource:
    """What the program's own create would have written, as far as a fake goes."""
    made = asked or StateResource(urn=urn, type=_TOKENS[ref.kind], id=None, custom=True)
    return dataclasses.replace(made, id=f"{ref.zone}/{ref.id}", outputs={"tags": list(made.inputs.get("tags", ()))})


@dataclass
class FakeEngine:
    """Knobs: `unreadable` (stack -> why), `gone` (URNs that a refresh would delete),
    `refuse` (URN -> why refreshing it is refused), `programs` (stack -> what its program declares; none: it fails),
    `tools` (what `info` says), `processes` (stack -> what lives),
    `holders` (source of a lock -> what is known of its process), `planned` (stack -> what its program would create),
    `differences` (URN -> what stands against its adoption), `afterwards` (called when a state has been written),
    `entry_for` (URN, ref, what was pending -> the entry that an adoption writes)."""

    states: dict[str, StackState] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    refuse: dict[str, str] = field(default_factory=dict)
    programs: dict[str, ProgramView] = field(default_factory=dict)
    tools: EngineInfo = INFO
    processes: dict[str, tuple[LiveProcess, ...]] = field(default_factory=dict)
    holders: dict[str, LockEvidence] = field(default_factory=dict)
    forgotten: list[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=list)
    planned: dict[str, tuple[PlannedCreate, ...]] = field(default_factory=dict)
    differences: dict[str, Difference] = field(default_factory=dict)
    afterwards: Callable[[], None] = lambda: None
    entry_for: Callable[[str, Ref, StateResource | None], StateResource] = _entry
    adopted: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    released: list[tuple[str, tuple[str, ...], bool]] = field(default_factory=list)
    release_fails: Exception | None = None
    refreshed: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def add(self, *states: StackState) -> None:
        for state in states:
            self.states[state.stack] = state

    def stacks(self, patterns: Sequence[str]) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for pattern in patterns:
            matching = fnmatch.filter([*self.states, *self.unreadable], pattern)
            names |= dict.fromkeys(matching or ([] if "*" in pattern else [pattern]))
        return tuple(names)

    def read(self, stack: str) -> StackState:
        if stack in self.unreadable or stack not in self.states:
            raise EngineError(self.unreadable.get(stack, f"no stack named {stack!r}"), code="RC0510")
        return self.states[stack]

    def declared(self, stack: str) -> ProgramView:
        if stack not in self.programs:
            raise EngineError(f"the program of {stack} failed: no such file", code="RC0541")
        return self.programs[stack]

    def preview_refresh(self, stack: str, urns: Collection[str]) -> RefreshPreview:
        return RefreshPreview(operations={urn: "delete" if urn in self.gone else "update" for urn in urns}, failed={})

    def refresh(
        self,
        stack: str,
        urns: Collection[str],
        *,
        proved_absent: Collection[str],
        on_child: Callable[[ChildProcess], None],
    ) -> RefreshResult:
        refused = [why for urn, why in self.refuse.items() if urn in urns]
        if refused:
            raise RefusedError(refused[0], code="RC0610")
        unproved = self.gone & set(urns) - set(proved_absent)
        if unproved:
            raise RefusedError(f"refresh would delete {sorted(unproved)}", code="RC0610")
        state = self.states[stack]
        kept = tuple(entry for entry in state.resources if entry.urn not in self.gone & set(urns))
        self.states[stack] = dataclasses.replace(state, resources=kept, serial=f"{state.serial}+")
        self.refreshed.append((stack, tuple(sorted(urns))))
        return RefreshResult(operations=self.preview_refresh(stack, urns).operations, lock_seconds=0.1)

    def await_child(self, child: ChildProcess) -> bool:
        return True

    def live_processes(self, stack: str) -> tuple[LiveProcess, ...]:
        return self.processes.get(stack, ())

    def lock_evidence(self, stack: str) -> tuple[LockEvidence, ...]:
        held = self.read(stack).locks
        return tuple(self.holders.get(lock.source, LockEvidence(lock=lock, here=None, alive=None)) for lock in held)

    def release_lock(self, stack: str, lock: Lock) -> None:
        state = self.states[stack]
        if not state.locks_known:
            raise RefusedError("the locks are out of reach", code="RC0660", hint=f"pulumi cancel --stack {stack}")
        if lock not in state.locks:
            raise RefusedError("it is another lock by now", code="RC0663")
        self.states[stack] = dataclasses.replace(state, locks=tuple(one for one in state.locks if one != lock))

    def forget_pending(
        self,
        stack: str,
        operations: Collection[tuple[str, str]],
        *,
        on_child: Callable[[ChildProcess], None],
    ) -> Forgotten:
        state, wanted = self.states[stack], set(operations)
        creates = any(operation == "creating" for operation, _ in wanted)
        goes = {(one.operation, one.resource.urn) for one in state.pending if creates or one.operation != "creating"}
        if goes - wanted:
            raise RefusedError("there are others", code="RC0670")
        on_child(ChildProcess(pid=2, started_ms=0, stack=stack, argv=("pulumi", "refresh")))
        kept = tuple(one for one in state.pending if (one.operation, one.resource.urn) not in goes)
        self.states[stack] = dataclasses.replace(state, pending=kept, serial=f"{state.serial}~")
        self.forgotten.append((stack, tuple(sorted(goes))))
        self.afterwards()
        return Forgotten(operations=tuple(sorted(goes)), lock_seconds=0.2)

    def planned_creates(self, stack: str) -> tuple[PlannedCreate, ...]:
        self.read(stack)
        return self.planned.get(stack, ())

    def rehearse_adoption(self, stack: str, targets: Mapping[str, Ref]) -> Rehearsal:
        self.read(stack)
        found = tuple(self.differences[urn] for urn in targets if urn in self.differences)
        return Rehearsal(ok=not found, differences=found)

    def adopt(
        self, stack: str, targets: Mapping[str, Ref], *, on_child: Callable[[ChildProcess], None]
    ) -> AdoptionResult:
        found = self.rehearse_adoption(stack, targets).differences
        if found:
            raise AdoptionRefused("no", code="RC0640", hint="settle them", differences=found)
        on_child(ChildProcess(pid=3, started_ms=0, stack=stack, argv=("pulumi", "up")))
        state = self.states[stack]
        fresh = {urn: ref for urn, ref in targets.items() if urn not in state.by_urn}
        known = {one.resource.urn: one.resource for one in state.pending}
        entries = tuple(self.entry_for(urn, ref, known.get(urn)) for urn, ref in fresh.items())
        kept = tuple(one for one in state.pending if one.resource.urn not in targets)
        self.states[stack] = dataclasses.replace(
            state, resources=(*state.resources, *entries), pending=kept, serial=f"{state.serial}^"
        )
        self.adopted.append((stack, tuple(sorted(fresh))))
        self.afterwards()
        return AdoptionResult(adopted=tuple(sorted(fresh)), lock_seconds=0.3)

    def release(
        self,
        stack: str,
        urns: Collection[str],
        *,
        serial: str,
        force: bool,
        on_child: Callable[[ChildProcess], None],
    ) -> float:
        state = self.states[stack]
        if serial != state.serial:
            raise RefusedError("it moved", code="RC0688")
        if self.release_fails is not None:
            raise self.release_fails
        kept = tuple(entry for entry in state.resources if entry.urn not in urns)
        self.states[stack] = dataclasses.replace(state, resources=kept, serial=f"{state.serial}-")
        self.released.append((stack, tuple(sorted(urns)), force))
        return 0.1

    def info(self) -> EngineInfo:
        return self.tools

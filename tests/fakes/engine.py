"""A Pulumi engine that holds stacks as values and refreshes them by dropping what the caller proved absent."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from reconciler.kernel.errors import EngineError, RefusedError
from reconciler.model.program import ProgramView
from reconciler.model.state import LiveProcess, Lock, StackState
from reconciler.ports.engine import (
    ChildProcess,
    EngineInfo,
    Forgotten,
    LockEvidence,
    RefreshPreview,
    RefreshResult,
)

INFO = EngineInfo(
    cli_path="/bin/pulumi",
    cli_version="3.274.1",
    plugin_path="/bin/pulumi-resource-scaleway",
    plugin_version="1.60.0",
    source="path",
    sdk_version="1.60.0",
)


@dataclass
class FakeEngine:
    """Knobs: `unreadable` (stack -> why), `gone` (URNs that a refresh would delete),
    `refuse` (URN -> why refreshing it is refused), `programs` (stack -> what its program declares; none: it fails),
    `tools` (what `info` says), `processes` (stack -> what lives),
    `holders` (source of a lock -> what is known of its process)."""

    states: dict[str, StackState] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    refuse: dict[str, str] = field(default_factory=dict)
    programs: dict[str, ProgramView] = field(default_factory=dict)
    tools: EngineInfo = INFO
    processes: dict[str, tuple[LiveProcess, ...]] = field(default_factory=dict)
    holders: dict[str, LockEvidence] = field(default_factory=dict)
    forgotten: list[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=list)
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
        return Forgotten(operations=tuple(sorted(goes)), lock_seconds=0.2)

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

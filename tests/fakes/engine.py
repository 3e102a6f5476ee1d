"""A Pulumi engine that holds stacks as values and refreshes them by dropping what the caller proved absent."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from reconciler.kernel.errors import EngineError, RefusedError
from reconciler.model.state import StackState
from reconciler.ports.engine import ChildProcess, EngineInfo, RefreshPreview, RefreshResult

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
    `refuse` (URN -> why refreshing it is refused), `tools` (what `info` says)."""

    states: dict[str, StackState] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    refuse: dict[str, str] = field(default_factory=dict)
    tools: EngineInfo = INFO
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

    def info(self) -> EngineInfo:
        return self.tools

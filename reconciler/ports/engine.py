"""The Pulumi engine, as the product sees it: the real CLI in a child process with a deadline (rule 17)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reconciler.model.state import StackState


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildProcess:
    """A child that may hold a stack lock; kept in the journal, so that a resumed run waits for it."""

    pid: int
    started_ms: int
    stack: str
    argv: tuple[str, ...]
    host: str = ""  # where it runs; a pid means nothing elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshPreview:
    """What `refresh --preview-only` says: URN -> `same`, `update`, `delete`. `failed`: URN -> why it was not read."""

    operations: Mapping[str, str]
    failed: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshResult:
    """What became of each URN. `failed`: URN -> why it could not be read; its entry in state is as it was.
    `lock_seconds`: how long the child ran, which is as long as it can have held the stack's lock."""

    operations: Mapping[str, str]
    lock_seconds: float
    failed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """Where the tools are and which versions; None where a tool was not found."""

    cli_path: str | None
    cli_version: str | None
    plugin_path: str | None
    plugin_version: str | None
    source: str | None  # path | release | modules | plugins
    sdk_version: str | None


class Engine(Protocol):
    def stacks(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """Names `project/stack` that match; a pattern without a wildcard that matches nothing is returned as it is,
        so that reading it fails by name instead of being skipped in silence."""
        ...

    def read(self, stack: str) -> StackState:
        """One export with locks. Raises EngineError (backend missing, stack missing, checkpoint broken or newer than
        known)."""
        ...

    def preview_refresh(self, stack: str, urns: Collection[str]) -> RefreshPreview: ...

    def refresh(
        self,
        stack: str,
        urns: Collection[str],
        *,
        proved_absent: Collection[str],
        on_child: Callable[[ChildProcess], None],
    ) -> RefreshResult:
        """Gated targeted refresh. Previews first: a `delete` for a URN that is not in `proved_absent`, or an operation
        on a URN that is not in `urns`, raises RefusedError and nothing is written. The refresh itself reads through a
        loopback gate that turns a 403 into an error and refuses every mutating call."""
        ...

    def await_child(self, child: ChildProcess) -> bool:
        """Wait, within the deadline, for a child of an earlier run of ours; kill its group at the deadline, and clear
        only the lock that this child took. True when it is gone."""
        ...

    def info(self) -> EngineInfo: ...

"""The Pulumi engine, as the product sees it: the real CLI in a child process with a deadline (rule 17)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from reconciler.kernel.errors import RefusedError
from reconciler.model.program import ProgramView
from reconciler.model.resources import Ref
from reconciler.model.state import LiveProcess, Lock, StackState


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
class Forgotten:
    """Pending operations that were taken out of a state. `lock_seconds`: as in `RefreshResult`."""

    operations: tuple[tuple[str, str], ...]  # (operation, URN)
    lock_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LockEvidence:
    """A lock, and what can be found out about the process that took it.

    `here`: it was taken on this host; None when the lock does not say. `alive`: that process still runs; None when it
    cannot be known, since it ran elsewhere or where this process does not see all others. `command` is the CLI's verb,
    without its arguments; `job` the CI job that started it, as its environment names it.
    """

    lock: Lock
    here: bool | None
    alive: bool | None
    command: str = ""
    job: str = ""


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

    def declared(self, stack: str) -> ProgramView:
        """What the program of a stack declares, against its state: one `pulumi preview`. Writes nothing, takes no
        lock. Raises EngineError: no directory of the program is known, or the program failed, in which case nothing
        of what it declared before is told."""
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
        loopback gate that turns a 403 into an error and refuses every mutating call. A mapping URN -> id (as in state)
        for `proved_absent` also makes sure that the URN still stands for the id that was proved; do pass one."""
        ...

    def await_child(self, child: ChildProcess) -> bool:
        """Wait, within the deadline, for a child of an earlier run of ours; kill its group at the deadline, and clear
        only the lock that this child took. True when it is gone."""
        ...

    def live_processes(self, stack: str) -> tuple[LiveProcess, ...]:
        """Processes on this host that may still be at work for a run of this stack: provider plugins, CLIs and
        language hosts. One of a plugin or CLI that nothing rules out is among them. Takes no lock and asks nobody."""
        ...

    def lock_evidence(self, stack: str) -> tuple[LockEvidence, ...]:
        """Every lock on a stack with what is known of its process; none where the backend does not tell."""
        ...

    def release_lock(self, stack: str, lock: Lock) -> None:
        """Remove exactly this lock. Raises RefusedError RC0660 where only the CLI reaches it, RC0663 when it is
        another lock by now."""
        ...

    def forget_pending(
        self,
        stack: str,
        operations: Collection[tuple[str, str]],
        *,
        on_child: Callable[[ChildProcess], None],
    ) -> Forgotten:
        """Take pending operations out of the state, and change nothing else in it. `operations`: (operation, URN).

        Either every pending `creating` entry at once, with all others (the engine drops them with any write), or the
        others alone. Raises RefusedError RC0670 when other operations are pending than those that were named, RC0611
        (locked); EngineError RC0671 when one is still there afterwards.
        """
        ...

    def release(
        self,
        stack: str,
        urns: Collection[str],
        *,
        serial: str,
        force: bool,
        on_child: Callable[[ChildProcess], None],
    ) -> float:
        """Take exactly these entries out of the state, and nothing out of the cloud; the seconds that it took.

        `serial`: of the state that the caller decided on. `force`: also what Pulumi protects. Raises RefusedError when
        the stack is locked, has moved, has pending operations, or when something else needs one of them."""
        ...

    def info(self) -> EngineInfo: ...


# What stands in planned inputs for a value that only a resource which is not there yet can give.
UNKNOWN: Final = "[unknown]"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCreate:
    """A resource that the program declares and the state does not have, as `pulumi preview` shows it.

    `inputs`: by Pulumi's names; a secret is `SECRET`, and a value that is not known yet is `UNKNOWN`. `dependencies`:
    URNs of what must be there first, its parent and provider included. `custom`: False for a component, which is
    nothing in the cloud.
    """

    urn: str
    type: str
    name: str
    parent: str | None
    inputs: Mapping[str, Any]
    dependencies: tuple[str, ...]
    custom: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing in which program and cloud do not agree. `path`: a property in Pulumi's words, such as `tags` or
    `rootVolume.sizeInGb`; empty when it is about the resource as a whole. Secrets are masked on both sides."""

    urn: str
    path: str
    program: str
    cloud: str

    def __str__(self) -> str:
        name = self.urn.rpartition("::")[2]
        place = ": ".join(part for part in (name, self.path) if part)
        return f"{place}: program says {self.program}, cloud has {self.cloud}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """Whether an adoption would change nothing but the state; if not, what stands against it."""

    ok: bool
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionResult:
    """`adopted`: the URNs that entered the state now. `already`: those that it had, with the same id.
    `lock_seconds`: how long our children may have held the stack's lock."""

    adopted: tuple[str, ...]
    already: tuple[str, ...] = ()
    lock_seconds: float = 0.0


class AdoptionRefused(RefusedError):
    """An adoption that would not be a no-op, with the differences to settle first. The stack was not touched."""

    def __init__(self, message: str, *, code: str, hint: str, differences: tuple[Difference, ...]) -> None:
        super().__init__(message, code=code, hint=hint)
        self.differences = differences


@runtime_checkable
class AdoptingEngine(Protocol):
    """What an engine can do besides `Engine` where it can run the program of a stack."""

    def planned_creates(self, stack: str) -> tuple[PlannedCreate, ...]:
        """What the program declares and the state lacks. Runs the program, writes nothing. Raises EngineError: no
        project directory is configured, or the program fails."""
        ...

    def rehearse_adoption(self, stack: str, targets: Mapping[str, Ref]) -> Rehearsal:
        """Whether `adopt` with the same targets would succeed, tried on a copy of the stack.

        `targets`: URN -> what it is in the cloud. Raises RefusedError where it cannot even be tried, EngineError where
        something could not be read.
        """
        ...

    def adopt(
        self, stack: str, targets: Mapping[str, Ref], *, on_child: Callable[[ChildProcess], None]
    ) -> AdoptionResult:
        """Take what runs in the cloud into the state, as if the program had just created it.

        Rehearses first. Raises AdoptionRefused with the differences; RefusedError when the stack is locked, has moved
        or would lose evidence; EngineError when it failed in spite of the rehearsal: then nothing of it is in the
        state. No call that changes anything reaches the cloud, whatever happens.
        """
        ...

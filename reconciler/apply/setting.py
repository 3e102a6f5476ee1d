"""Everything that the steps of a run share: the world's doors, the scope, the lease."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from reconciler.apply.journal import Journal
from reconciler.diff.recorded import Rows, with_rows
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import EngineError
from reconciler.kernel.executor import Executor
from reconciler.model.memory import Memory
from reconciler.model.resources import Kind, Ref
from reconciler.model.scope import Scope
from reconciler.model.state import StackState, UnreadStack
from reconciler.observe.authorities import name_stacks, read_stacks
from reconciler.observe.rows import NO_ROWS
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import Engine
from reconciler.ports.records import Records
from reconciler.ports.store import Lease, Store

# How long one run waits for one deletion to be proved gone before a later run goes on with it. Recorded: a server's
# termination takes up to 118 s, the detachment of its volume up to 66 s more.
DELETION_PATIENCE_SECONDS: Final = 300.0
POLL_SECONDS: Final = (1.0, 2.0, 3.0, 5.0, 5.0, 10.0, 15.0, 30.0)


# How old a state may be that a write of tags relies on: an export takes seconds, and hundreds of children need tags.
LATELY_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    scope: Scope
    cloud: Cloud
    engine: Engine
    store: Store
    clock: Clock
    executor: Executor
    lease: Lease
    journal: Journal
    stopped: Callable[[], bool]
    patience_seconds: float = DELETION_PATIENCE_SECONDS
    planned_stacks: frozenset[str] = frozenset()  # what the plan's verdicts rest on
    records: Records = NO_ROWS
    lately: dict[str, tuple[float, StackState]] = field(default_factory=dict)  # stack -> when it was read, and what

    def state_lately(self, stack: str) -> StackState:
        """The state of one stack, read within the last `LATELY_SECONDS`. Raises what reading it raises."""
        now = self.clock.monotonic()
        at, state = self.lately.get(stack, (now, None))
        if state is None or now - at > LATELY_SECONDS:
            state = self.engine.read(stack)
            self.lately[stack] = now, state
        return state

    def rows(self) -> Rows:
        """The rows of workers, read now. Raises ReconcilerError when they cannot be read: nothing is done then."""
        view = self.records.read(self.scope.uuid)
        return Rows(view, view)

    def memory(self) -> Memory:
        """What the store remembers, with the machines that rows name. Raises what reading either raises."""
        return with_rows(self.store.memory(self.scope.uuid), self.rows())

    def authorities(self, *, besides: Iterable[str] = ()) -> tuple[Mapping[str, StackState], tuple[UnreadStack, ...]]:
        """Every stack that may own something in the project, read now.

        A stack that the plan was made from and that nothing names any more (another backend, a pattern that matches
        nothing) is unread, not absent: otherwise everything in it would look like nobody's. `besides`: stacks that
        must be found as well, for what no plan names.
        """
        names, unnamed = name_stacks(self.engine, self.scope.stacks)
        read = read_stacks(self.engine, names, executor=self.executor)
        lost = sorted(self.planned_stacks.union(besides) - set(names))
        gone = (
            UnreadStack(
                stack=name,
                code="RC0608",
                reason="it was read before and is not found now",
                hint="Name the backend and the stacks as they were then.",
            )
            for name in lost
        )
        return read.states, (*unnamed, *read.unread, *gone)


def no_word(states: Mapping[str, StackState], unread: Sequence[UnreadStack]) -> str | None:
    """Why these stacks cannot say that nobody owns a thing; None when they can (rules 3 and 15)."""
    if unread:
        return f"{unread[0].stack} may own it and cannot be read: {unread[0].reason}"
    if not states:
        return "no stack was read that could own it"
    for name, state in states.items():
        if state.locks:
            return f"{name} is being written to: locked by {state.locks[0].created_by}"
        if state.pending:
            return f"{name} has pending operations, which are settled first"
    return None


def known_ids(states: Mapping[str, StackState]) -> dict[Kind, set[str]]:
    """Ids that the states hold, per kind: the witnesses that a list is not empty for lack of the right."""
    known: dict[Kind, set[str]] = {}
    for state in states.values():
        for ref in state.by_ref:
            known.setdefault(ref.kind, set()).add(ref.id)
    return known


def serial_now(stack: str, setting: Setting) -> str | None:
    """What a state is after our own write, for the journal: the plan's next action on it is not stale by this one."""
    try:
        return setting.engine.read(stack).serial
    except EngineError:
        return None  # then the next one is; nothing is lost but time


def holder_of(states: Mapping[str, StackState], refs: tuple[Ref, ...]) -> str | None:
    """The stack that holds one of these now, with the reason in words; None when nobody does."""
    ids = {ref.id.lower(): ref for ref in refs}
    for name, state in states.items():
        for entry in state.resources:
            # By the bare id, whatever type the entry has: older type tokens hold the same machines.
            ref = ids.get((entry.id or "").rpartition("/")[2].lower()) if entry.custom else None
            if ref is not None:
                protect = ", protected" if entry.protect else ""
                return f"{ref} is in the state of {name} as {entry.urn}{protect}"
    return None

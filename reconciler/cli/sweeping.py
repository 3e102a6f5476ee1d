"""One sweep after the other, over all scopes that a command looks at.

A scope that fails becomes a value beside the others. The store is asked first, because its memory decides how old
things are; a store that does not answer makes a sweep without memory, which says so and ends with 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reconciler.cli.composition import Runtime
from reconciler.cli.errors import show_error
from reconciler.cli.output import Out
from reconciler.diff import diff
from reconciler.diff.exit import sweep_exit
from reconciler.diff.remember import sweep_record
from reconciler.kernel.errors import EXIT_INCOMPLETE, InternalError, ReconcilerError, StoreError, worst_exit
from reconciler.model.memory import NO_MEMORY, Memory
from reconciler.model.policy import Policies
from reconciler.model.scope import Scope
from reconciler.model.world import Sweep
from reconciler.observe import observe
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import Engine
from reconciler.ports.records import Records
from reconciler.ports.store import Store
from reconciler.report.document import ScopeFailure, ScopeResult
from reconciler.report.gaps import by_code, gaps_of


@dataclass(frozen=True, slots=True)
class Memories:
    """The store, or why there is none. `writes` is False for a command that only looks."""

    store: Store | None
    reason: str | None = None
    writes: bool = True

    def reading(self) -> Memories:
        return replace(self, writes=False)

    def of(self, scope: Scope) -> Memory:
        if self.store is None:
            return replace(NO_MEMORY, reason=self.reason)
        try:
            return self.store.memory(scope.uuid)
        except StoreError as error:
            return replace(NO_MEMORY, reason=f"{error.code}: {error.message}")


def open_memories(runtime: Runtime, out: Out, *, wanted: bool = True) -> Memories:
    """The store for a command that can do without it."""
    if not wanted:
        return Memories(None, "not asked for (--no-store)")
    if runtime.settings.database_url is None:
        out.warn("there is no place for a database: neither HOME nor XDG_STATE_HOME is set; going on without memory")
        return Memories(None, "there is no place for a database")
    try:
        return Memories(runtime.store())
    except StoreError as error:
        out.warn(f"{error.code}: {error.message}; going on without memory")
        return Memories(None, f"{error.code}: {error.message}")


def look(
    runtime: Runtime,
    scope: Scope,
    *,
    cloud: Cloud,
    engine: Engine,
    memory: Memory,
    records: Records,
    out: Out,
    program: bool = False,
    policies: Policies | None = None,
) -> Sweep:
    """One sweep of one scope; nothing is written. `program`: run the stacks' programs too, in a preview. `policies`:
    other ones than the configured."""
    out.progress(f"scope {scope.name}: reading {len(scope.zones)} zone(s), {len(scope.stacks)} stack pattern(s)")
    world = observe(
        scope=scope,
        cloud=cloud,
        engine=engine,
        memory=memory,
        clock=runtime.clock,
        executor=runtime.executor,
        ids=runtime.ids,
        program=program,
        records=records,
        policies=runtime.policies() if policies is None else policies,
    )
    for failed in world.failed_programs:
        out.warn(f"{failed.stack}: its program failed ({failed.code}); its outputs say what is declared")
    findings = diff(world)
    return Sweep(world=world, findings=findings, exit_status=sweep_exit(world, findings))


def warn_of_gaps(sweep: Sweep, out: Out) -> None:
    """What was not read, on stderr, one line a code: for a command whose own output shows a plan and not the sweep.
    The memory has a warning of its own."""
    for code, gaps in by_code([gap for gap in gaps_of(sweep) if gap.ledger != "memory"]).items():
        more = f" and {len(gaps) - 1} more" if len(gaps) > 1 else ""
        out.warn(f"{code}: not read: {gaps[0].place}{more}: {gaps[0].reason}", hint=gaps[0].hint)


def remember(sweep: Sweep, store: Store, *, trigger: str, out: Out) -> Sweep:
    """Write the sweep's row. One that cannot be written is a sweep without memory, and ends with 7."""
    if not sweep.world.memory.present:
        return sweep
    try:
        store.record_sweep(sweep_record(sweep.world, sweep.findings, trigger=trigger))
    except StoreError as error:
        out.warn(f"{error.code}: {error.message}; this sweep is not remembered")
        forgetful = replace(sweep.world.memory, present=False, reason=f"{error.code}: {error.message}")
        world = replace(sweep.world, memory=forgetful)
        return replace(sweep, world=world, exit_status=worst_exit(sweep.exit_status, EXIT_INCOMPLETE))
    return sweep


def sweep_scopes(
    runtime: Runtime,
    scopes: Sequence[Scope],
    *,
    memories: Memories,
    trigger: str,
    out: Out,
    program: bool = False,
) -> list[ScopeResult]:
    """Every scope, whatever the others come to."""
    return [_guarded(runtime, scope, memories=memories, trigger=trigger, out=out, program=program) for scope in scopes]


def _guarded(
    runtime: Runtime, scope: Scope, *, memories: Memories, trigger: str, out: Out, program: bool
) -> ScopeResult:
    try:
        sweep = look(
            runtime,
            scope,
            cloud=runtime.cloud(scope),
            engine=runtime.engine(),
            memory=memories.of(scope),
            records=runtime.records(memories.store, memories.reason),
            out=out,
            program=program,
        )
        if memories.store is None or not memories.writes:
            return sweep
        return remember(sweep, memories.store, trigger=trigger, out=out)
    except ReconcilerError as error:
        return failure(scope.name, error)
    except Exception as error:
        # Our own bug in one scope; its text may hold anything, so only its type is shown without -v.
        out.trace(error)
        return failure(scope.name, InternalError(f"unexpected {type(error).__name__}"))


def failure(name: str, error: ReconcilerError) -> ScopeFailure:
    """The error of one scope as a value, and on stderr at once."""
    show_error(code=error.code, message=f"scope {name}: {error.message}", hint=error.hint)
    return ScopeFailure(
        name=name, code=error.code, message=error.message, hint=error.hint, exit_status=error.exit_status
    )

"""The look before `pulumi up`: would it make a second machine, or run into somebody else's lock?

`pulumi up` after an interrupted one only warns, and creates again what the first run may have created (tried): both
machines run, and only the second is in the state. So three things stop it: a lock, an interrupted operation, and a
machine that stands where `up` would put one. Reads as little as tells: one export a stack, its locks, and, only where
the state gives a reason, one list of servers (or of what is pending) for each zone that the stack uses.

No database is needed. What cannot be read is said, and never taken for "nothing there".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from reconciler.diff.pricing import cost_of
from reconciler.kernel.clock import iso
from reconciler.kernel.errors import EXIT_INCOMPLETE, EXIT_OK, EXIT_REFUSED, ReconcilerError, worst_exit
from reconciler.kernel.executor import Executor
from reconciler.model.inventory import Scan
from reconciler.model.money import Cost, Price
from reconciler.model.resources import Kind, Resource, Server
from reconciler.model.scope import Scope
from reconciler.model.state import StackState
from reconciler.observe.twins import Twin, expected, twins
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import Engine, LockEvidence

_WITNESSES: Final = 3  # known ids that a list must show, or answer for, before its silence means anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One reason not to run `pulumi up` now. `kind`: lock, interrupted, twin."""

    kind: str
    text: str
    hint: str
    urn: str | None = None
    resource: Resource | None = None
    cost: Cost = Cost()


@dataclass(frozen=True, slots=True, kw_only=True)
class StackCheck:
    """One stack. `unread`: what could not be read, with the exit status of each; `remarks` change no status; `error`:
    why the stack itself could not be read."""

    stack: str
    problems: tuple[Problem, ...] = ()
    unread: tuple[tuple[int, str], ...] = ()
    remarks: tuple[str, ...] = ()
    error: ReconcilerError | None = None

    @property
    def exit_status(self) -> int:
        if self.error is not None:
            return self.error.exit_status
        return worst_exit(EXIT_REFUSED if self.problems else EXIT_OK, *(status for status, _ in self.unread))


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project to look in, and how to get at it: the key is asked for only when something is to be looked up."""

    scope: Scope
    open: Callable[[], Cloud]


def preflight(
    stacks: Sequence[str], *, engine: Engine, projects: Sequence[Project], executor: Executor
) -> tuple[StackCheck, ...]:
    """Every stack, whatever becomes of the others."""
    reads = list(zip(stacks, executor.map(engine.read, stacks), strict=True))
    states = {name: read.unwrap() for name, read in reads if read.error is None}
    held = frozenset(ref.id for state in states.values() for ref in state.by_ref)
    checks: list[StackCheck] = []
    for name, read in reads:
        if name in states:
            look = _Look(states[name], held, engine=engine, projects=projects, executor=executor)
            checks.append(look.check())
        elif isinstance(read.error, ReconcilerError):
            checks.append(StackCheck(stack=name, error=read.error))
        else:
            read.unwrap()  # our own bug: raises
    return tuple(checks)


@dataclass(slots=True)
class _Look:
    """One stack on its way. Mutable, and nobody else's."""

    state: StackState
    held: frozenset[str]
    engine: Engine = field(kw_only=True)
    projects: Sequence[Project] = field(kw_only=True)
    executor: Executor = field(kw_only=True)
    unread: list[tuple[int, str]] = field(default_factory=list, init=False)

    def check(self) -> StackCheck:
        remarks = () if self.state.locks_known else ("this backend does not tell its locks; `pulumi up` itself does",)
        problems = (*self._locked(), *self._interrupted(), *self._twins())
        return StackCheck(
            stack=self.state.stack, problems=problems, unread=tuple(dict.fromkeys(self.unread)), remarks=remarks
        )

    def _locked(self) -> Iterator[Problem]:
        if self.state.locks:
            known = {evidence.lock.source: evidence for evidence in self.engine.lock_evidence(self.state.stack)}
            for lock in self.state.locks:
                evidence = known.get(lock.source, LockEvidence(lock=lock, here=None, alive=None))
                yield Problem(kind="lock", text=lock_text(evidence), hint=_lock_hint(evidence, self.state.stack))

    def _interrupted(self) -> Iterator[Problem]:
        running = bool(self.state.locks)
        for operation in self.state.pending:
            what = f"{operation.operation} {operation.resource.name}"
            yield Problem(
                kind="interrupted",
                text=f"{what} is not finished" if running else f"{what} was interrupted",
                hint=_interrupted_hint(creating=operation.operation == "creating", running=running),
                urn=operation.resource.urn,
            )

    def _twins(self) -> Iterator[Problem]:
        want = expected(self.state)
        places = want.places()
        if not places:
            return
        for project in self.projects:
            try:
                cloud = project.open()
                listed = list(self._listed(cloud, places))
                found = twins(want, listed, held=self.held)
                prices = self._prices(cloud, found)
            except ReconcilerError as error:
                self.unread.append((error.exit_status, f"{error.code}: {error.message}"))
                continue
            for twin in found:
                yield _problem(twin, scope=project.scope, prices=prices)

    def _listed(self, cloud: Cloud, places: Sequence[tuple[Kind, str | None]]) -> Iterator[Resource]:
        jobs = [(kind, zone) for kind, place in places for zone in ((place,) if place else cloud.zones())]

        def scan(job: tuple[Kind, str]) -> Scan:
            kind, zone = job
            known = sorted(ref.id for ref in self.state.by_ref if ref.kind is kind and ref.zone == zone)
            return cloud.scan(kind, zone, known_ids=known[:_WITNESSES])

        for outcome in self.executor.map(scan, jobs):
            found = outcome.unwrap()
            if not found.complete:
                why = found.reason or "no reason"
                text = f"{found.kind.value}s of {found.zone} were not read whole: {why}; a twin may be hidden there"
                self.unread.append((EXIT_INCOMPLETE, text))
            yield from found.items

    def _prices(self, cloud: Cloud, found: Sequence[Twin]) -> dict[tuple[str, str], Price]:
        zones = sorted({twin.resource.zone for twin in found if isinstance(twin.resource, Server)})
        return {(zone, name): price for zone in zones for name, price in cloud.prices(zone).items()}


def _interrupted_hint(*, creating: bool, running: bool) -> str:
    if running:
        return "If the run that holds the lock is alive, wait for it."
    if creating:
        return "Do not run `pulumi up`: it may make a second one. `reconciler drift` says what became of the first."
    return "`reconciler drift` compares it with the cloud."


def lock_text(evidence: LockEvidence) -> str:
    """`locked by ci@host-1 (pid 4711) since …: that process is gone`."""
    lock = evidence.lock
    pid = f" (pid {lock.pid})" if lock.pid is not None else ""
    since = f" since {iso(lock.created_ms)}" if lock.created_ms is not None else ""
    if evidence.alive:
        state = f": that process is alive{f' ({evidence.command})' if evidence.command else ''}"
    elif evidence.alive is False:
        state = ": that process is gone"
    else:
        state = ": on another host" if evidence.here is False else ""
    return f"locked by {lock.created_by}{pid}{since}{state}" + (f"; CI job {evidence.job}" if evidence.job else "")


def _lock_hint(evidence: LockEvidence, stack: str) -> str:
    if evidence.alive:
        return "Wait for it."
    return f"`reconciler unlock {stack}` removes it, if it is a dead one."


def _problem(twin: Twin, *, scope: Scope, prices: dict[tuple[str, str], Price]) -> Problem:
    resource = twin.resource
    name = getattr(resource, "name", "") or ""
    state = getattr(resource, "state", None) or getattr(resource, "status", "")
    label = " ".join(part for part in (str(resource.ref), name) if part)
    may = "" if twin.sure else "may be one: "
    return Problem(
        kind="twin",
        text=f"{label}{f' ({state})' if state else ''} is in no state: {may}{twin.why}",
        hint="`reconciler adopt ID` takes it into the state; `pulumi up` would leave it running and make another.",
        urn=twin.urn,
        resource=resource,
        cost=cost_of(resource, scope=scope, prices=prices),
    )

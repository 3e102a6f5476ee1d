"""The port `Engine`, kept by the real Pulumi CLI."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from reconciler.engine import checkpoint, children, doctor, locks, pending, program, releasing, stacks, survivors
from reconciler.engine.adoption.adopter import Adopter
from reconciler.engine.cli import EngineLimits, PulumiCli
from reconciler.engine.failures import locked, out_of_reach
from reconciler.engine.refresh import Refresher, Target, judge, rules_for
from reconciler.engine.stacks import Listed, StackName
from reconciler.engine.upstream import DEFAULT_URL, require_gated
from reconciler.kernel.clock import Clock, SystemClock
from reconciler.kernel.errors import EngineError, RefusedError
from reconciler.kernel.randomness import Randomness, SystemRandomness
from reconciler.model.program import ProgramView
from reconciler.model.resources import Ref
from reconciler.model.state import LiveProcess, Lock, StackState
from reconciler.ports.engine import (
    AdoptionResult,
    ChildProcess,
    EngineInfo,
    Forgotten,
    LockEvidence,
    PlannedCreate,
    RefreshPreview,
    RefreshResult,
    Rehearsal,
)


class PulumiEngine:
    """One backend, one environment; safe to use from several threads.

    `backend`: a URL as for `pulumi login`; None means PULUMI_BACKEND_URL of `env`, or where the CLI is logged in.
    `directory`: where reading commands run; the current one by default. A refresh of the project that it holds runs
    there too. `work_dirs`: project name -> directory, for refreshes of others; one without gets a made-up directory.
    `api_url`: the Scaleway API where neither `env` nor the stack's provider names one.
    """

    def __init__(
        self,
        *,
        backend: str | None = None,
        work_dirs: Mapping[str, Path] | None = None,
        directory: Path | None = None,
        env: Mapping[str, str] | None = None,
        api_url: str = DEFAULT_URL,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
        limits: EngineLimits | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._environ = os.environ if env is None else env
        self._directory = directory or Path.cwd()
        self._randomness, self._limits = randomness or SystemRandomness(), limits or EngineLimits()
        self._cli = self._cli_at(backend)
        self._refresher = Refresher(self._cli, work_dirs=dict(work_dirs or {}), api_url=api_url)
        self._work_dirs = dict(work_dirs or {})
        self._adopter = Adopter(
            self._cli,
            cli_at=self._cli_at,
            work_dirs=dict(work_dirs or {}),
            directory=self._directory,
            api_url=api_url,
        )

    def _cli_at(self, backend: str | None) -> PulumiCli:
        return PulumiCli(
            env=self._environ,
            backend=backend,
            directory=self._directory,
            clock=self._clock,
            randomness=self._randomness,
            limits=self._limits,
        )

    # Reading: takes no lock.

    def stacks(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """See the port. Asks the CLI only when a pattern has a wildcard."""
        names = [pattern for pattern in patterns if stacks.split(pattern)]
        listing = () if all(map(stacks.exact, names)) else self._listing()
        return stacks.matching(names, listing)

    def read(self, stack: str) -> StackState:
        """See the port. Locks are read before and after the export, and both are reported: a lock seen at either time
        means that the export may be half of something."""
        name = self._resolve(stack)
        before, known = self._locks(name)
        read_ms = self._clock.now_ms()
        decoded = self._export(name)
        after, _ = self._locks(name)
        return StackState(
            stack=stack,
            serial=decoded.serial,
            read_ms=read_ms,
            resources=decoded.resources,
            pending=decoded.pending,
            outputs=decoded.outputs,
            locks=tuple({lock.source: lock for lock in (*before, *after)}.values()),
            locks_known=known,
            written_ms=decoded.written_ms,
        )

    def _resolve(self, stack: str) -> StackName:
        organized = len(stacks.split(stack)) == 3
        listing = self._listing() if self._cli.backend().cloud and not organized else None
        return stacks.resolve(stack, listing)

    def _listing(self) -> tuple[Listed, ...]:
        return stacks.parse_listing(self._cli.output("stack", "ls", "--all", "--json", "--fully-qualify-stack-names"))

    def _export(self, name: StackName) -> checkpoint.Checkpoint:
        # Never `--show-secrets`: what is not decrypted cannot leak.
        return checkpoint.decode(self._cli.output("stack", "export", "--stack", str(name)))

    def _locks(self, name: StackName) -> tuple[tuple[Lock, ...], bool]:
        """The locks, and whether this backend tells them at all."""
        backend = self._cli.backend()
        if backend.directory is not None:
            return locks.read(backend.directory, name), True
        if backend.cloud:
            updating = any(entry.name == name and entry.updating for entry in self._listing())
            return ((Lock(created_by="an update in progress", source="Pulumi Cloud"),) if updating else ()), True
        return (), False

    def declared(self, stack: str) -> ProgramView:
        """See the port. Raises EngineError RC0570 (no directory of the program is known), RC0541 (it failed)."""
        return program.declared(
            self._cli,
            self._resolve(stack),
            stack=stack,
            work_dirs=self._work_dirs,
            directory=self._directory,
            now_ms=self._clock.now_ms(),
        )

    # Refresh.

    def preview_refresh(self, stack: str, urns: Collection[str]) -> RefreshPreview:
        """See the port. Read through the gate, so that a 403 is a failed read and not a `delete`."""
        if not urns:
            return RefreshPreview(operations={}, failed={})
        target = self._target(stack)
        self._require_known(target, urns)
        rules = rules_for(target, urns, proved=(), observe=True)
        reading = self._refresher.preview(target, urns, rules=rules)
        return RefreshPreview(operations=reading.operations, failed=reading.failed)

    def refresh(
        self,
        stack: str,
        urns: Collection[str],
        *,
        proved_absent: Collection[str],
        on_child: Callable[[ChildProcess], None],
    ) -> RefreshResult:
        """See the port.

        Raises RefusedError RC0610 (the preview wants more than was proved), RC0611 (locked), RC0613 (no such URN),
        RC0614 (cannot be gated), RC0615 (evidence would be lost); EngineError RC0502 (deadline), RC0512 (nothing
        could be read), RC0514; AuthenticationError RC0513.
        """
        if not urns:
            return RefreshResult(operations={}, lock_seconds=0.0)
        target = self._target(stack)
        self._require_free(target)
        self._require_known(target, urns)
        self._require_proved_ids(target, proved_absent)
        require_gated(target.checkpoint, urns)
        preview = self._refresher.preview(
            target, urns, rules=rules_for(target, urns, proved=proved_absent, observe=True)
        )
        judge(preview.operations, urns=urns, proved=proved_absent)
        readable = sorted(frozenset(urns) - preview.failed.keys())
        if not readable:
            raise _unreadable(preview.failed)
        with self._giving_back(target.name, on_child) as started:
            reading = self._refresher.refresh(target, readable, proved=proved_absent, on_child=started)
        failed = {**preview.failed, **reading.failed}
        if not reading.operations:
            raise _unreadable(failed)
        return RefreshResult(operations=reading.operations, lock_seconds=reading.seconds, failed=failed)

    def _target(self, stack: str) -> Target:
        name = self._resolve(stack)
        return Target(name=name, checkpoint=self._export(name))

    def _require_free(self, target: Target) -> None:
        self._require_unlocked(target.name)
        lost = [item for item in target.checkpoint.pending if item.operation != "creating"]
        if lost:
            named = ", ".join(f"{item.operation} {item.resource.name}" for item in lost[:3])
            raise RefusedError(
                f"{target.name.short} has {len(lost)} interrupted operations that a refresh would forget ({named})",
                code="RC0615",
                hint="Resolve them first: a refresh keeps `creating` entries only, and with the others goes the "
                "evidence of what the interrupted run was doing.",
            )

    def _require_unlocked(self, name: StackName) -> None:
        held, _ = self._locks(name)
        if held:
            raise locked(name.short, ", ".join(map(locks.describe, held)))

    def _require_known(self, target: Target, urns: Collection[str]) -> None:
        unknown = sorted(frozenset(urns) - target.refreshable())
        wild = sorted(urn for urn in urns if "*" in urn)
        if unknown or wild:
            raise RefusedError(
                f"{target.name.short} has no resource to refresh under {(unknown or wild)[0]!r}",
                code="RC0613",
                hint="Read the stack again: it was changed since. A name with `*` cannot be a target, for the CLI "
                "takes it for a pattern.",
            )

    def _require_proved_ids(self, target: Target, proved: Collection[str]) -> None:
        """A proof is of an id. A replace since then gave the URN another one, of which nothing is proved."""
        if not isinstance(proved, Mapping):
            return
        moved = sorted(urn for urn, identity in proved.items() if target.ids([urn]) not in ([identity], []))
        if moved:
            raise RefusedError(
                f"{target.name.short}: {moved[0]!r} stands for another resource now than the one proved absent",
                code="RC0613",
                hint="Read the stack again: it was changed since.",
            )

    # Adoption.

    def planned_creates(self, stack: str) -> tuple[PlannedCreate, ...]:
        """See the port. Raises EngineError RC0540 (no directory of the program is known), RC0541 (it failed)."""
        return self._adopter.planned_creates(self._resolve(stack))

    def rehearse_adoption(self, stack: str, targets: Mapping[str, Ref]) -> Rehearsal:
        """See the port. Raises RefusedError RC0641 to RC0647, EngineError RC0540 to RC0544, and what reading a stack
        raises."""
        if not targets:
            return Rehearsal(ok=True)
        return self._adopter.rehearse(self._resolve(stack), targets)

    def adopt(
        self, stack: str, targets: Mapping[str, Ref], *, on_child: Callable[[ChildProcess], None]
    ) -> AdoptionResult:
        """See the port. Raises AdoptionRefused RC0640, RefusedError RC0611 (locked) and RC0641 to RC0647, EngineError
        RC0540 to RC0547, AuthenticationError RC0513."""
        if not targets:
            return AdoptionResult(adopted=())
        name = self._resolve(stack)
        self._require_unlocked(name)
        seen: list[ChildProcess] = []

        def on_start(child: ChildProcess) -> None:
            seen.append(child)
            on_child(child)

        try:
            return self._adopter.adopt(name, targets, on_child=on_start)
        finally:
            for child in seen:
                children.clear(self._cli.backend(), name, pid=child.pid, since_ms=child.started_ms, killed=False)

    # Releasing.

    def release(
        self,
        stack: str,
        urns: Collection[str],
        *,
        serial: str,
        force: bool,
        on_child: Callable[[ChildProcess], None],
    ) -> float:
        """See the port. Raises RefusedError RC0611, RC0680 to RC0685, RC0688; EngineError RC0502, RC0571."""
        target = self._target(stack)
        self._require_unlocked(target.name)
        if target.checkpoint.serial != serial:
            raise RefusedError(
                f"{target.name.short} has changed since it was looked at", code="RC0688", hint="Run it again."
            )
        releasing.require_releasable(target.name, target.checkpoint, urns, force=force)
        with self._giving_back(target.name, on_child) as started:

            def on_start(pid: int, started_ms: int, argv: tuple[str, ...]) -> None:
                started(self._cli.child(pid=pid, started_ms=started_ms, name=target.name, argv=argv))

            seconds = releasing.state_delete(
                self._cli, target.name, urns, state=target.checkpoint, force=force, on_start=on_start
            )
        releasing.require_exact(target.name, target.checkpoint, self._export(target.name), urns)
        return seconds

    # Interrupted runs.

    def live_processes(self, stack: str) -> tuple[LiveProcess, ...]:
        """See the port."""
        return survivors.live(self._resolve(stack), self._cli.backend(), own_pid=os.getpid())

    def lock_evidence(self, stack: str) -> tuple[LockEvidence, ...]:
        """See the port."""
        held, _ = self._locks(self._resolve(stack))
        sees_all = survivors.sees_all_processes()
        return tuple(survivors.evidence(lock, sees_all=sees_all) for lock in held)

    def release_lock(self, stack: str, lock: Lock) -> None:
        """See the port. Raises RefusedError RC0660, RC0663."""
        name, root = self._resolve(stack), self._cli.backend().directory
        if root is None:
            raise out_of_reach(str(name))
        if not locks.release(root, name, lock):
            raise RefusedError(
                f"the lock of {name.short} is not the one that was looked at any more",
                code="RC0663",
                hint="Somebody is at work on this stack: look again.",
            )

    def forget_pending(
        self,
        stack: str,
        operations: Collection[tuple[str, str]],
        *,
        on_child: Callable[[ChildProcess], None],
    ) -> Forgotten:
        """See the port. Raises RefusedError RC0611, RC0670, RC0672; EngineError RC0502, RC0671."""
        target = self._target(stack)
        self._require_unlocked(target.name)
        there = pending.named(target.checkpoint.pending)
        if not there & set(operations):
            return Forgotten(operations=(), lock_seconds=0.0)
        pending.require_named(there, operations, stack=target.name.short)
        with self._giving_back(target.name, on_child) as started:
            seconds = self._refresher.forget(target, creates=pending.clears_creates(operations), on_child=started)
        after = pending.named(self._export(target.name).pending)
        pending.require_gone(there, after, operations, stack=target.name.short)
        return Forgotten(operations=tuple(sorted(there - after)), lock_seconds=seconds)

    @contextmanager
    def _giving_back(
        self, name: StackName, on_child: Callable[[ChildProcess], None]
    ) -> Iterator[Callable[[ChildProcess], None]]:
        """Tell of children, and remove the lock of one that ended without doing so itself."""
        seen: list[ChildProcess] = []

        def started(child: ChildProcess) -> None:
            seen.append(child)
            on_child(child)

        try:
            yield started
        finally:
            for child in seen:
                children.clear(self._cli.backend(), name, pid=child.pid, since_ms=child.started_ms, killed=False)

    # Children.

    def await_child(self, child: ChildProcess) -> bool:
        """See the port. False when it runs on another host or cannot be killed; RefusedError RC0612 when it was killed
        and holds a lock that only the CLI reaches."""
        limits = self._cli.limits
        return children.settle(
            child,
            name=self._resolve(child.stack),
            backend=self._cli.backend(),
            clock=self._clock,
            seconds=limits.await_seconds,
            grace=limits.grace_seconds,
        )

    def info(self) -> EngineInfo:
        """Which tools are used; never raises for one that is missing."""
        return doctor.info(self._cli)


def _unreadable(failed: Mapping[str, str]) -> EngineError:
    urn, why = next(iter(sorted(failed.items())), ("", "no result"))
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return EngineError(
        f"nothing could be read, the state is as it was: {urn}: {why}{more}",
        code="RC0512",
        hint="A read that is refused is unknown, not absent. Check the rights of the key.",
    )

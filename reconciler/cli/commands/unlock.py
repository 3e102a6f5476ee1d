"""`unlock`: take away the lock that a dead `pulumi up` left, and no other.

The CLI's own `pulumi cancel` removes every lock without a look at who holds it. Here the holder is looked at first: a
process that is alive on this host is never unlocked, and one that cannot be seen from here must have been silent for
longer than any create takes. The state is read twice: one that moves has somebody at work on it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_OK, RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cli.composition import Runtime
    from reconciler.cli.options import Globals
    from reconciler.model.state import LiveProcess
    from reconciler.ports.engine import LockEvidence


class DurationType(click.ParamType[int]):
    """Seconds from `90`, `90s`, `15m`, `1h`."""

    name = "DUR"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from reconciler.config.durations import seconds

        try:
            return seconds(int(value) if str(value).isdecimal() else value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command("unlock")
@click.argument("stack", metavar="STACK")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--wait",
    "wait_seconds",
    type=DurationType(),
    default="5s",
    show_default=True,
    metavar="DUR",
    help="How long the state must not move.",
)
@click.option(
    "--min-age",
    "age_seconds",
    type=DurationType(),
    default="1h",
    show_default=True,
    metavar="DUR",
    help="How old a lock must be whose process cannot be seen from here.",
)
@click.option("-j", "--json", "as_json", is_flag=True, help="The evidence and what was done as JSON.")
@click.pass_obj
def command(options: Globals, stack: str, yes: bool, wait_seconds: int, age_seconds: int, as_json: bool) -> int:
    """Remove a stale lock of a stack, after a look at who holds it.

    Refuses (6) while the process that took it is alive, while the state moves, and while a lock of another host is
    young. Removes exactly the lock that was looked at; where only the CLI reaches it, says which command does.
    """
    from reconciler.cli.composition import open_runtime
    from reconciler.cli.stack_names import full_name

    out = Out(options)
    runtime = open_runtime(options, need_scopes=False)
    name = full_name(stack, start=Path.cwd())
    locks = _look(runtime, name, wait_seconds=wait_seconds, out=out)
    if not locks:
        _write([], [], stack=name, as_json=as_json, out=out)
        return EXIT_OK
    now_ms = runtime.clock.now_ms()
    for evidence in locks:
        out.progress(_said(evidence, now_ms=now_ms))
    survivors = runtime.engine().live_processes(name)
    for process in survivors:
        out.warn(f"{process.name} (pid {process.pid}) is alive and may still be making something: {process.why}")
    for evidence in locks:
        _refuse_live(evidence, name)
        _refuse_young(evidence, name, now_ms=now_ms, age_seconds=age_seconds)
    _agree(locks, name, yes=yes, out=out)
    for evidence in locks:
        runtime.engine().release_lock(name, evidence.lock)
        _note(evidence, name)
    _write(locks, survivors, stack=name, as_json=as_json, out=out)
    return EXIT_OK


def _look(runtime: Runtime, stack: str, *, wait_seconds: int, out: Out) -> tuple[LockEvidence, ...]:
    """The locks, the state read twice. Raises RefusedError RC0660 where they are out of reach, RC0661 when it moves."""
    engine = runtime.engine()
    before = engine.read(stack)
    if not before.locks_known:
        raise RefusedError(
            f"the backend of {stack} does not tell its locks",
            code="RC0660",
            hint=f"When nothing else works on this stack, run `pulumi cancel --stack {stack}`: it removes every lock.",
        )
    if not before.locks:
        return ()
    out.progress(f"{stack} is locked; watching its state for {wait_seconds} s")
    runtime.clock.sleep(wait_seconds)
    after = engine.read(stack)
    moved = (before.serial, before.written_ms) != (after.serial, after.written_ms)
    if moved or set(after.locks) - set(before.locks):
        what = "its state moved" if moved else "another lock was taken"
        raise RefusedError(
            f"somebody is at work on {stack}: {what} while it was watched",
            code="RC0661",
            hint="Nothing was touched. Wait for the run to end.",
        )
    left = {lock.source for lock in after.locks}
    return tuple(evidence for evidence in engine.lock_evidence(stack) if evidence.lock.source in left)


def _said(evidence: LockEvidence, *, now_ms: int) -> str:
    from reconciler.observe.preflight import lock_text
    from reconciler.report.phrases import span

    created = evidence.lock.created_ms
    age = f", {span((now_ms - created) / 1000)} ago" if created is not None else ""
    return f"{lock_text(evidence)}{age}"


def _refuse_live(evidence: LockEvidence, stack: str) -> None:
    if evidence.alive:
        raise RefusedError(
            f"{stack} is not unlocked: the process that locked it (pid {evidence.lock.pid}) is alive",
            code="RC0661",
            hint="Wait for it, or end it with SIGINT, which lets it give the lock back itself.",
        )


def _refuse_young(evidence: LockEvidence, stack: str, *, now_ms: int, age_seconds: int) -> None:
    from reconciler.config.durations import text

    if evidence.alive is not None:
        return
    created = evidence.lock.created_ms
    if created is None or now_ms - created < age_seconds * 1000:
        raise RefusedError(
            f"{stack} is not unlocked: what locked it ({evidence.lock.created_by}) cannot be seen from here, and the "
            f"lock is younger than {text(age_seconds)}",
            code="RC0662",
            hint="Look at that host or CI job. When it is dead for certain: --min-age 0s.",
        )


def _agree(locks: Sequence[LockEvidence], stack: str, *, yes: bool, out: Out) -> None:
    if yes:
        return
    if not out.may_ask:
        raise RefusedError(
            f"nobody is there to say that {stack} may be unlocked", code="RC0664", hint="Look at it, then give -y."
        )
    out.confirm(f"Remove {'this lock' if len(locks) == 1 else f'these {len(locks)} locks'} of {stack}?")


def _note(evidence: LockEvidence, stack: str) -> None:
    """What was done, for whoever reads the logs later."""
    import structlog

    lock = evidence.lock
    structlog.get_logger().warning(
        "unlocked", stack=stack, lock=lock.source, created_by=lock.created_by, pid=lock.pid, created_ms=lock.created_ms
    )


def _write(
    removed: Sequence[LockEvidence], survivors: Sequence[LiveProcess], *, stack: str, as_json: bool, out: Out
) -> None:
    from reconciler.report.jsontext import dumps
    from reconciler.report.layout import line

    if not as_json:
        text = f"{stack}: removed {len(removed)} lock(s)" if removed else f"{stack} is not locked"
        out.blocks([line(text)])
        return
    entries = [
        {
            "lock": evidence.lock.source,
            "created_by": evidence.lock.created_by,
            "pid": evidence.lock.pid,
            "created_ms": evidence.lock.created_ms,
            "here": evidence.here,
            "alive": evidence.alive,
        }
        for evidence in removed
    ]
    alive = [{"pid": process.pid, "name": process.name, "why": process.why} for process in survivors]
    out.text(dumps({"schema_version": 1, "stack": stack, "removed": entries, "alive": alive}))

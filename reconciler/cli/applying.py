"""The steps of `apply` for one scope after the other: lease, unfinished run, sweep, plan, yes, run, result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from reconciler.apply import apply_plan, resume
from reconciler.cli.apply_session import Request, Results, Session
from reconciler.cli.composition import Runtime, holder, lease_name
from reconciler.cli.interrupts import Stop, patient_stop
from reconciler.cli.output import Out
from reconciler.cli.sweeping import Memories, failure, look, remember, warn_of_gaps
from reconciler.diff.exit import sweep_exit
from reconciler.kernel.errors import (
    EXIT_OK,
    EXIT_PARTIAL,
    EXIT_REFUSED,
    InternalError,
    ReconcilerError,
    RefusedError,
    StoreError,
    worst_exit,
)
from reconciler.model.finding import ActionKind, Finding, FindingKind, Verdict
from reconciler.model.plan import ActionStatus, Plan, RunOutcome
from reconciler.model.scope import Scope
from reconciler.model.world import Sweep
from reconciler.plan import build_plan, canonical, digest, load
from reconciler.plan.approval import over_limit, uncovered
from reconciler.ports.store import Store

_PROBE_SECONDS: Final = 30.0  # how long the lease is held that only asks whether somebody else is at it


def apply_scopes(runtime: Runtime, request: Request, *, names: Sequence[str], out: Out) -> int:
    """Every scope, and the exit status of the whole. One that fails does not stop the others."""
    results = Results()
    status = worst_exit(*_each(runtime, request, names=names, out=out, results=results))
    results.write(request, exit_code=status, out=out)
    return status


def _each(runtime: Runtime, request: Request, *, names: Sequence[str], out: Out, results: Results) -> Iterator[int]:
    store = writable_store(runtime)
    plan = load(request.plan_text) if request.plan_text is not None else None
    chosen = runtime.scopes(names)
    scopes = chosen if plan is None else (_within(plan, request, chosen, runtime=runtime),)
    for scope in scopes:
        session = Session(runtime=runtime, request=request, scope=scope, store=store, out=out, results=results)
        try:
            yield _apply(session, plan)
        except ReconcilerError as error:
            yield results.failed(failure(scope.name, error))
        except Exception as error:
            out.trace(error)
            yield results.failed(failure(scope.name, InternalError(f"unexpected {type(error).__name__}")))


def _within(plan: Plan, request: Request, chosen: Sequence[Scope], *, runtime: Runtime) -> Scope:
    """The scope of a plan from a file. `--scope` and `--mode` bound it as they bound a plan that is made on the spot:
    RefusedError RC0149 and RC0140 for one that goes beyond them, since whoever gave them meant less than it does."""
    scope = scope_of(plan, runtime)
    if scope.uuid not in {one.uuid for one in chosen}:
        raise RefusedError(
            f"the plan is for scope {scope.name}, which --scope leaves out",
            code="RC0149",
            hint="Leave --scope away, or plan for the scope that is meant.",
        )
    beyond = next((action for action in plan.actions if not request.mode.allows(action.kind)), None)
    if beyond is not None:
        raise RefusedError(
            f"the plan would {beyond.kind.value}, which mode {request.mode.value} does not do",
            code="RC0140",
            hint="Leave --mode away, or plan with that mode.",
        )
    return scope


def writable_store(runtime: Runtime) -> Store:
    """The database, or RefusedError RC0144: what is not written down is not done."""
    try:
        return runtime.store()
    except StoreError as error:
        raise _no_store(error) from error


def _no_store(error: StoreError) -> RefusedError:
    return RefusedError(
        f"without its database nothing is changed: {error.code}: {error.message}", code="RC0144", hint=error.hint
    )


def scope_of(plan: Plan, runtime: Runtime) -> Scope:
    """The scope of a plan, as this configuration declares it. Raises RefusedError RC0145."""
    for scope in runtime.scopes(()):
        if scope.uuid == plan.scope:
            return scope
    raise RefusedError(
        f"the plan is for scope {plan.scope_name}, which this configuration does not declare",
        code="RC0145",
        hint="Run it where the plan was made.",
    )


def _apply(session: Session, plan: Plan | None) -> int:
    if session.request.dry_run:
        return _dry_run(session, plan)
    _probe(session)
    resumed = _resume(session)
    status = EXIT_OK
    if resumed is not None:
        before, status = resumed
        if before.interrupted or (plan is not None and digest(before.plan) == digest(plan)):
            return status
    return worst_exit(status, _one_plan(session, plan) if plan is not None else _fresh(session))


def _dry_run(session: Session, plan: Plan | None) -> int:
    if session.store.unfinished_run(session.scope.uuid) is not None:
        session.out.warn("an earlier run is not finished; without --dry-run it would be finished first")
    if plan is not None:
        session.show(plan)
        mark = digest(plan)
        return EXIT_REFUSED if uncovered(plan, session.store.approvals(mark), digest=mark) else EXIT_OK
    sweep, fresh = _plan(session)
    session.show(fresh)
    return worst_exit(sweep.exit_status, EXIT_REFUSED if fresh.blocked else EXIT_OK)


def _probe(session: Session) -> None:
    """Ask for the lease before the work begins: 75 when somebody is at it, 6 when the database cannot be written."""
    name = lease_name(session.scope)
    try:
        session.store.release_lease(session.store.acquire_lease(name, holder=holder(), ttl_seconds=_PROBE_SECONDS))
    except StoreError as error:
        raise _no_store(error) from error


def _resume(session: Session) -> tuple[RunOutcome, int] | None:
    """Go on with what an earlier run left open, and its exit status; None when it left nothing."""
    store, scope = session.store, session.scope
    run, deletions = store.unfinished_run(scope.uuid), store.open_deletions(scope.uuid)
    if run is None and not deletions:
        return None
    what = f"run {run.run_id}" if run is not None else f"{len(deletions)} decided deletion(s)"
    session.out.progress(f"scope {scope.name}: an earlier {what} is not finished; going on with it first")
    with patient_stop(session.out.warn) as stop:
        outcome = resume(**session.doors(), stopped=stop)
    if outcome is None:
        return None
    status = run_exit(outcome, stop)
    session.report(outcome, status=status)
    return outcome, status


def finish_earlier(session: Session) -> tuple[int, bool]:
    """Ask for the lease, and go on with what an earlier run left. (exit status, whether it was stopped again)."""
    _probe(session)
    resumed = _resume(session)
    return (EXIT_OK, False) if resumed is None else (resumed[1], resumed[0].interrupted)


def _one_plan(session: Session, plan: Plan) -> int:
    """A plan from a file: the file was the review."""
    session.show(plan)
    if not plan.actions:
        return EXIT_OK
    return _run(session, plan, from_file=True)


def _fresh(session: Session) -> int:
    """Look, plan, ask, do; what is left afterwards decides the status."""
    sweep, plan = _plan(session)
    session.show(plan)
    if not plan.actions:
        return sweep.exit_status
    left = sweep_exit(sweep.world, left_by(plan, sweep.findings))
    return worst_exit(carry_out(session, plan), left)


def carry_out(session: Session, plan: Plan) -> int:
    """Ask, register and run a plan that was made and shown just now."""
    if plan.blocked:
        raise over_limit(plan.blocked)
    if session.request.ask:
        session.out.confirm(f"Apply {len(plan.actions)} action(s) to scope {plan.scope_name}?")
    session.store.register_plan(plan, digest=digest(plan), canonical=canonical(plan))
    return _run(session, plan)


def left_by(plan: Plan, findings: Sequence[Finding]) -> list[Finding]:
    """What a plan leaves to a person when all of it is done. A machine that is adopted fills the slot that it fits."""
    planned = [finding for finding in findings if _planned(finding, plan)]
    adopted = [finding for finding in planned if finding.action is ActionKind.ADOPT]
    filled = {subject.worker for finding in adopted for subject in finding.subjects if subject.worker}
    return [
        finding
        for finding in findings
        if not _planned(finding, plan)
        and not (finding.kind is FindingKind.VACANT and finding.subjects[0].worker in filled)
    ]


def _planned(finding: Finding, plan: Plan) -> bool:
    return finding.verdict is Verdict.ACT and plan.mode.allows(finding.action)


def _plan(session: Session) -> tuple[Sweep, Plan]:
    sweep = sweep_of(session)
    return sweep, build_plan(sweep.world, sweep.findings, mode=session.request.mode, ids=session.runtime.ids)


def sweep_of(session: Session) -> Sweep:
    """A fresh, remembered sweep of the session's scope. Raises RefusedError RC0144 without a memory."""
    doors = session.doors()
    sweep = look(
        session.runtime,
        session.scope,
        cloud=doors["cloud"],
        engine=doors["engine"],
        memory=Memories(session.store).of(session.scope),
        records=doors["records"],
        out=session.out,
    )
    warn_of_gaps(sweep, session.out)
    sweep = remember(sweep, session.store, trigger="apply", out=session.out)
    if not sweep.world.memory.present and not session.request.dry_run:
        reason = sweep.world.memory.reason or "no database"
        raise RefusedError(f"without its database nothing is changed: {reason}", code="RC0144")
    return sweep


def _run(session: Session, plan: Plan, *, from_file: bool = False) -> int:
    with patient_stop(session.out.warn) as stop:
        outcome = apply_plan(plan=plan, **session.doors(), stopped=stop, from_file=from_file)
    status = run_exit(outcome, stop)
    if session.request.message:
        details = {"message": session.request.message, "holder": holder()}
        session.store.journal(outcome.run_id, action_id="", step="message", details=details)
    session.report(outcome, status=status)
    return status


def run_exit(outcome: RunOutcome, stop: Stop) -> int:
    """130 or 143 for a run that was stopped, 4 for one with an action that is not done, else 0."""
    if outcome.interrupted:
        return stop.exit_status
    done = all(one.status is ActionStatus.DONE for one in outcome.outcomes)
    return EXIT_OK if done else EXIT_PARTIAL

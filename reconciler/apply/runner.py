"""The loop of a run: admit, lease, journal, act, finish; and the way back in after a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from reconciler.apply.admit import admit
from reconciler.apply.adopting import adopt
from reconciler.apply.clearing import clear
from reconciler.apply.deciding import Skip, decide
from reconciler.apply.driving import drive
from reconciler.apply.effects import effects_of
from reconciler.apply.journal import Journal, no_checkpoint
from reconciler.apply.lease import held_lease
from reconciler.apply.recording import attach, end_doomed_row, purge, record
from reconciler.apply.refreshing import refresh
from reconciler.apply.setting import DELETION_PATIENCE_SECONDS, Setting
from reconciler.apply.staleness import Doors, refuse_changed_subjects
from reconciler.apply.tagging import write_tags
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import AuthenticationError, InternalError, NotLeaderError, ReconcilerError
from reconciler.kernel.executor import Executor
from reconciler.kernel.ids import Ids
from reconciler.model.finding import ActionKind, FindingKind
from reconciler.model.money import Cost, total
from reconciler.model.plan import Action, ActionOutcome, ActionStatus, Mode, Plan, RunOutcome
from reconciler.model.scope import Scope
from reconciler.model.warrant import Deletion, DeletionStage
from reconciler.observe.rows import NO_ROWS
from reconciler.plan import canonical, digest, load
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import Engine
from reconciler.ports.records import Records
from reconciler.ports.store import Lease, Store

# Calls needed before a share of failures means anything.
_FREEZE_FROM_CALLS: Final = 20


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Applier:
    """Carries out plans of one scope. `stopped` is asked between items: True after the first Ctrl-C."""

    scope: Scope
    cloud: Cloud
    engine: Engine
    store: Store
    clock: Clock
    ids: Ids
    executor: Executor
    holder: str
    stopped: Callable[[], bool] = _never
    checkpoint: Callable[[str], None] = no_checkpoint
    patience_seconds: float = DELETION_PATIENCE_SECONDS
    heartbeat: bool = True
    records: Records = NO_ROWS

    def apply(self, plan: Plan, *, from_file: bool = False) -> RunOutcome:
        """Raises RefusedError (6), NotLeaderError (75), AuthenticationError (3); everything else is an outcome.

        A plan `from_file` is as old as its review: a subject that changed since refuses it as a whole.
        """
        text, mark = canonical(plan), digest(plan)
        with held_lease(self.store, name=self._lease_name(), holder=self.holder, heartbeat=self.heartbeat) as lease:
            now = self.clock.now_ms()
            effects, earlier = effects_of(self.store, mark), self._runs_of(mark)
            admit(
                plan,
                digest=mark,
                scope=self.scope,
                store=self.store,
                engine=self.engine,
                now_ms=now,
                effects=effects,
            )
            if from_file:
                refuse_changed_subjects(plan, doors=self._doors(), effects=effects)
            run_id = self.ids.new()
            self.store.begin_run(run_id=run_id, plan=plan, digest=mark, canonical=text, lease=lease)
            self.checkpoint("run.begun")
            return self._run(plan, run_id=run_id, lease=lease, earlier=earlier)

    def resume(self) -> RunOutcome | None:
        """Go on with the run that was killed, or with deletions that are decided and not finished; None: neither."""
        row = self.store.unfinished_run(self.scope.uuid)
        if row is None and not self.store.open_deletions(self.scope.uuid):
            return None
        with held_lease(self.store, name=self._lease_name(), holder=self.holder, heartbeat=self.heartbeat) as lease:
            if row is not None:
                earlier = tuple(run_id for run_id in self._runs_of(row.plan_digest) if run_id != row.run_id)
                return self._run(load(row.plan_json), run_id=row.run_id, lease=lease, resumed=True, earlier=earlier)
            plan, run_id = self._empty_plan(), self.ids.new()
            mark, text = digest(plan), canonical(plan)
            self.store.register_plan(plan, digest=mark, canonical=text)
            self.store.begin_run(run_id=run_id, plan=plan, digest=mark, canonical=text, lease=lease)
            return self._run(plan, run_id=run_id, lease=lease)

    def _runs_of(self, digest: str) -> tuple[str, ...]:
        return tuple(run.run_id for run in self.store.runs_of(digest))

    def _doors(self) -> Doors:
        return Doors(
            cloud=self.cloud,
            engine=self.engine,
            executor=self.executor,
            patterns=self.scope.stacks,
            records=lambda: self.records.read(self.scope.uuid),
        )

    def _empty_plan(self) -> Plan:
        """What a run needs that has nothing to do but to finish what earlier runs decided."""
        now = self.clock.now_ms()
        return Plan(
            id=self.ids.new(),
            scope=self.scope.uuid,
            scope_name=self.scope.name,
            mode=Mode.PRUNE,
            created_ms=now,
            expires_ms=now + self.scope.limits.plan_ttl_seconds * 1000,
            sweep_id="",
            serials={},
            actions=(),
            rails=(),
        )

    def drive_open(self, plan: Plan, setting: Setting) -> list[ActionOutcome]:
        """Deletions decided by earlier runs that this plan does not name: they are never taken back (rule 5)."""
        named = {action.refs[0] for action in plan.actions if action.kind is ActionKind.DESTROY}
        outcomes = []
        for deletion in self.store.open_deletions(self.scope.uuid):
            if deletion.target not in named:
                action = _action_of(deletion)
                outcomes.append(self._guarded(action, lambda a, d=deletion: self._go_on(a, d, setting)))  # type: ignore[misc]
        return outcomes

    def _lease_name(self) -> str:
        return f"apply:{self.scope.uuid}"

    def _run(
        self, plan: Plan, *, run_id: str, lease: Lease, resumed: bool = False, earlier: tuple[str, ...] = ()
    ) -> RunOutcome:
        journal = Journal(store=self.store, run_id=run_id, checkpoint=self.checkpoint, earlier=earlier)
        setting = Setting(
            scope=self.scope,
            cloud=self.cloud,
            engine=self.engine,
            store=self.store,
            clock=self.clock,
            executor=self.executor,
            lease=lease,
            journal=journal,
            stopped=self.stopped,
            patience_seconds=self.patience_seconds,
            planned_stacks=frozenset(plan.serials),
            records=self.records,
        )
        outcomes = self.drive_open(plan, setting)
        for action in plan.actions:
            outcomes.append(self._one(action, plan, setting, resumed=resumed))
        status = _status(outcomes, interrupted=self.stopped())
        self.store.finish_run(run_id, status=status)
        self.checkpoint("run.finished")
        saves = total(tuple(outcome.saves for outcome in outcomes))
        return RunOutcome(
            run_id=run_id,
            plan=plan,
            outcomes=tuple(outcomes),
            saves=saves,
            interrupted=self.stopped(),
            lock_seconds=_lock_seconds(self.store, run_id),
        )

    def _one(self, action: Action, plan: Plan, setting: Setting, *, resumed: bool) -> ActionOutcome:
        earlier = setting.journal.finished(action)
        if earlier is not None:
            return earlier
        begun = bool(setting.journal.entries(action))
        hold = self._hold(plan, begun=begun, resumed=resumed)
        if hold is not None:
            return ActionOutcome(action=action, status=ActionStatus.SKIPPED, text=hold)
        if not begun:
            setting.journal.write(action, "started")
        outcome = self._guarded(action, lambda a: self._act(a, setting))
        setting.journal.finish(outcome)
        return outcome

    def _hold(self, plan: Plan, *, begun: bool, resumed: bool) -> str | None:
        """Why an action is not started now."""
        if self.stopped():
            return "the run was stopped before it"
        if resumed and not begun and self.clock.now_ms() > plan.expires_ms:
            return "the plan expired before the run came to it"
        health = self.cloud.health()
        if health.calls >= _FREEZE_FROM_CALLS:
            share = 100 * health.failed / health.calls
            if share > self.scope.limits.error_percent:
                return f"frozen: {share:.0f} % of the API's answers are errors"
        return None

    def _act(self, action: Action, setting: Setting) -> ActionOutcome:
        match action.kind:
            case ActionKind.TAG:
                return write_tags(action, setting)
            case ActionKind.REFRESH:
                return refresh(action, setting)
            case ActionKind.ADOPT:
                return adopt(action, setting)
            case ActionKind.CLEAR:
                return clear(action, setting)
            case ActionKind.RECORD:
                return record(action, setting)
            case ActionKind.ATTACH:
                return attach(action, setting)
            case ActionKind.PURGE:
                return purge(action, setting)
            case ActionKind.DESTROY:
                return self._with_its_row(action, setting)
            case _:
                raise InternalError(f"no way to carry out {action.kind.value}", code="RC0902")

    def _with_its_row(self, action: Action, setting: Setting) -> ActionOutcome:
        """The machine of a row goes first, then the row: each of the two can be tried again alone."""
        outcome = self._destroy(action, setting)
        if action.worker is not None and outcome.status in (ActionStatus.DONE, ActionStatus.SKIPPED):
            end_doomed_row(action, setting)
        return outcome

    def _destroy(self, action: Action, setting: Setting) -> ActionOutcome:
        for deletion in self.store.open_deletions(self.scope.uuid):
            if deletion.target == action.refs[0]:
                return self._go_on(action, deletion, setting)
        earlier = _finalised_earlier(action, setting)
        if earlier is not None:
            return earlier
        decision = decide(action, setting)
        if isinstance(decision, Skip):
            return ActionOutcome(action=action, status=ActionStatus.SKIPPED, text=decision.why)
        return drive(action, decision, setting)

    def _go_on(self, action: Action, deletion: Deletion, setting: Setting) -> ActionOutcome:
        return drive(action, self.store.warrant_of(deletion, lease=setting.lease), setting)

    def _guarded(self, action: Action, act: Callable[[Action], ActionOutcome]) -> ActionOutcome:
        try:
            return act(action)
        except (AuthenticationError, NotLeaderError):
            raise  # neither gets better with the next action
        except ReconcilerError as error:
            return ActionOutcome(action=action, status=ActionStatus.FAILED, text=error.message, code=error.code)


def apply_plan(
    *,
    plan: Plan,
    scope: Scope,
    cloud: Cloud,
    engine: Engine,
    store: Store,
    clock: Clock,
    ids: Ids,
    executor: Executor,
    holder: str,
    stopped: Callable[[], bool] = _never,
    checkpoint: Callable[[str], None] = no_checkpoint,
    from_file: bool = False,
    records: Records = NO_ROWS,
) -> RunOutcome:
    """Carry out a registered plan. See `Applier.apply` for what it raises."""
    return Applier(
        scope=scope,
        cloud=cloud,
        engine=engine,
        store=store,
        clock=clock,
        ids=ids,
        executor=executor,
        holder=holder,
        stopped=stopped,
        checkpoint=checkpoint,
        records=records,
    ).apply(plan, from_file=from_file)


def resume(
    *,
    scope: Scope,
    cloud: Cloud,
    engine: Engine,
    store: Store,
    clock: Clock,
    ids: Ids,
    executor: Executor,
    holder: str,
    stopped: Callable[[], bool] = _never,
    checkpoint: Callable[[str], None] = no_checkpoint,
    records: Records = NO_ROWS,
) -> RunOutcome | None:
    """Go on with a run of this scope that was killed; None when there is none."""
    return Applier(
        scope=scope,
        cloud=cloud,
        engine=engine,
        store=store,
        clock=clock,
        ids=ids,
        executor=executor,
        holder=holder,
        stopped=stopped,
        checkpoint=checkpoint,
        records=records,
    ).resume()


def _finalised_earlier(action: Action, setting: Setting) -> ActionOutcome | None:
    """This run decided it and a transaction closed it, and the process died before it said so."""
    details = setting.journal.details(action, "absent")
    if details is None:
        return _finalised_in_another_run(action, setting)
    gone = tuple(ref for ref in action.refs if str(ref) in details["refs"])
    if not gone:
        return ActionOutcome(action=action, status=ActionStatus.SKIPPED, text="everything was spared")
    text = f"{len(gone)} proved gone"
    return ActionOutcome(action=action, status=ActionStatus.DONE, text=text, refs_gone=gone, saves=action.cost)


def _finalised_in_another_run(action: Action, setting: Setting) -> ActionOutcome | None:
    """An earlier run of this plan decided it, and whoever went on with open deletions closed it."""
    decided = setting.journal.details_earlier(action, "decided")
    deletion = setting.store.deletion_of(decided["deletion_id"]) if decided is not None else None
    if deletion is None or deletion.stage is not DeletionStage.FINALIZED:
        return None
    gone = tuple(ref for ref in deletion.refs if ref not in deletion.struck)
    status = ActionStatus.DONE if gone else ActionStatus.SKIPPED
    text = f"{len(gone)} proved gone in an earlier run" if gone else "everything was spared"
    return ActionOutcome(action=action, status=status, text=text, refs_gone=gone, struck=deletion.struck)


def _action_of(deletion: Deletion) -> Action:
    return Action(
        id=deletion.id,
        kind=ActionKind.DESTROY,
        finding_id=deletion.finding_id,
        finding_kind=FindingKind.ORPHAN,
        refs=(deletion.target, *(ref for ref in deletion.refs if ref != deletion.target)),
        fleet=None,
        stack=None,
        urns=(),
        cost=Cost(hour_nanos=deletion.hour_nanos),
        reason=deletion.reason,
        rule="rule 5",
    )


def _status(outcomes: Iterable[ActionOutcome], *, interrupted: bool) -> str:
    statuses = {outcome.status for outcome in outcomes}
    if interrupted:
        return "interrupted"
    if ActionStatus.FAILED in statuses or ActionStatus.WAITING in statuses or ActionStatus.SKIPPED in statuses:
        return "partial"
    return "done"


def _lock_seconds(store: Store, run_id: str) -> float:
    entries = store.journal_of(run_id)
    return sum(float(entry.details["lock_seconds"]) for entry in entries if "lock_seconds" in entry.details)

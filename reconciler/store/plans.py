"""Plans and the runs that carry them out.

A plan is kept as the very text that its digest is over. Whether it was applied follows from its runs and is stored
nowhere else: `applied` when a run of it is done, `partly-applied` when one was begun, else `registered`. A run that was
killed stays `running`, one that a person stopped is `interrupted`; both are unfinished and have no end time.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import RefusedError, StoreError
from reconciler.model.plan import Plan
from reconciler.ports.store import Lease, PlanRow, RunRow
from reconciler.store.leases import fence
from reconciler.store.locks import lock_scope, locked
from reconciler.store.tables import plans, runs
from reconciler.store.unit import Database

UNFINISHED = ("running", "interrupted")


class Plans:
    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def register(self, plan: Plan, *, digest: str, canonical: str) -> None:
        """Nothing happens when this digest is registered. RefusedError RC0221: the id belongs to another digest."""
        self._database.write("register_plan", lambda c: self._register(c, plan, digest, canonical))

    def status(self, digest: str) -> str | None:
        statement = select(plans.c.id).where(plans.c.digest == digest)

        def work(connection: Connection) -> str | None:
            plan_id = connection.execute(statement).scalar_one_or_none()
            return None if plan_id is None else status_of(connection, plan_id)

        return self._database.read("plan_status", work)

    def begin_run(self, run_id: str, plan: Plan, *, digest: str, canonical: str, lease: Lease) -> None:
        """Raises RefusedError RC0220 (applied already), RC0221; NotLeaderError. The same run may be begun again."""

        def work(connection: Connection) -> None:
            lock_scope(connection, plan.scope, now_ms=self._clock.now_ms())
            fence(connection, lease)
            self._register(connection, plan, digest, canonical)
            if status_of(connection, plan.id) == "applied":
                raise RefusedError(
                    f"the plan {plan.id} was applied already", code="RC0220", hint="Make a new one: `reconciler plan`."
                )
            known = connection.execute(select(runs).where(runs.c.id == run_id)).one_or_none()
            if known is not None and known.plan_id == plan.id and known.status in UNFINISHED:
                connection.execute(
                    update(runs).where(runs.c.id == run_id).values(status="running", lease_token=lease.token)
                )
                return
            now = self._clock.now_ms()
            row = {"id": run_id, "scope_id": plan.scope, "plan_id": plan.id, "lease_token": lease.token}
            connection.execute(insert(runs).values(**row, status="running", started_ms=now))

        self._database.write("begin_run", work)

    def named(self, prefix: str) -> tuple[PlanRow, ...]:
        """By the first digits of the digest; three at most, since more than one is no name."""
        named = plans.c.digest.startswith(prefix, autoescape=True)
        statement = select(plans).where(named).order_by(plans.c.registered_ms, plans.c.id).limit(3)
        rows = self._database.read("plans_named", lambda c: c.execute(statement).all())
        return tuple(
            PlanRow(
                plan_id=row.id,
                scope=row.scope_id,
                digest=row.digest,
                canonical=row.canonical,
                registered_ms=row.registered_ms,
            )
            for row in rows
        )

    def runs_of(self, digest: str) -> tuple[RunRow, ...]:
        statement = (
            select(runs, plans.c.digest, plans.c.canonical)
            .join(plans, plans.c.id == runs.c.plan_id)
            .where(plans.c.digest == digest)
            .order_by(runs.c.started_ms, runs.c.id)
        )
        return tuple(map(_run, self._database.read("runs_of", lambda c: c.execute(statement).all())))

    def unfinished(self, scope: str) -> RunRow | None:
        """The newest run of the scope that is running or interrupted."""
        statement = (
            select(runs, plans.c.digest, plans.c.canonical)
            .join(plans, plans.c.id == runs.c.plan_id)
            .where(runs.c.scope_id == scope, runs.c.finished_ms.is_(None))
            .order_by(runs.c.started_ms.desc(), runs.c.id.desc())
            .limit(1)
        )
        row = self._database.read("unfinished_run", lambda c: c.execute(statement).one_or_none())
        return None if row is None else _run(row)

    def finish_run(self, run_id: str, *, status: str) -> None:
        """`interrupted` keeps it unfinished, so that the next apply resumes it. StoreError RC0219: no such run."""
        finished = None if status in UNFINISHED else self._clock.now_ms()

        def work(connection: Connection) -> None:
            if not locked(connection, select(runs.c.id).where(runs.c.id == run_id), step="runs.lock"):
                raise unknown_run(run_id)
            connection.execute(update(runs).where(runs.c.id == run_id).values(status=status, finished_ms=finished))

        self._database.write("finish_run", work)

    def _register(self, connection: Connection, plan: Plan, digest: str, canonical: str) -> None:
        lock_scope(connection, plan.scope, now_ms=self._clock.now_ms())
        known = connection.execute(select(plans.c.digest).where(plans.c.id == plan.id)).scalar_one_or_none()
        if known is not None:
            if known != digest:
                raise RefusedError(
                    f"the plan {plan.id} is registered with another digest",
                    code="RC0221",
                    hint="The file was edited; make a new plan.",
                )
            return
        row = {
            "id": plan.id,
            "scope_id": plan.scope,
            "digest": digest,
            "mode": plan.mode.value,
            "canonical": canonical,
            "created_ms": plan.created_ms,
            "expires_ms": plan.expires_ms,
            "registered_ms": self._clock.now_ms(),
        }
        connection.execute(insert(plans).values(row))


def unknown_run(run_id: str) -> StoreError:
    return StoreError(f"there is no run {run_id}", code="RC0219")


def status_of(connection: Connection, plan_id: str) -> str:
    """`registered`, `applied` or `partly-applied`, of a plan that is registered."""
    found = set(connection.execute(select(runs.c.status).where(runs.c.plan_id == plan_id)).scalars())
    return "applied" if "done" in found else "partly-applied" if found else "registered"


def _run(row: Row[Any]) -> RunRow:
    return RunRow(
        run_id=row.id,
        scope=row.scope_id,
        plan_id=row.plan_id,
        plan_digest=row.digest,
        plan_json=row.canonical,
        status=row.status,
        started_ms=row.started_ms,
        finished_ms=row.finished_ms,
    )

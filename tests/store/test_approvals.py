"""Approvals: bound to a digest by the database, append-only, and never beside the end of their plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Connection, inspect
from sqlalchemy.exc import IntegrityError

from reconciler.kernel.errors import RefusedError
from reconciler.model.approval import Approval, ApprovedRail, Approver
from reconciler.model.plan import Mode, Plan
from reconciler.store import SqlStore, check, upgrade
from reconciler.store.schema import run_alembic
from tests.store.place import OTHER_SCOPE, SCOPE, Place, lead

DIGEST = "ab" * 32


def plan(name: str = "plan-1") -> Plan:
    return Plan(
        id=name,
        scope=SCOPE,
        scope_name="ci",
        mode=Mode.PRUNE,
        created_ms=1,
        expires_ms=2,
        sweep_id="sweep-1",
        serials={},
        actions=(),
        rails=(),
    )


def approval(**changes: object) -> Approval:
    given = Approval(
        id="approval-1",
        scope=SCOPE,
        digest=DIGEST,
        approver=Approver(name="ann", host="ci-7", ci_job="https://ci/job/7"),
        reason="the old render farm goes",
        rails=(
            ApprovedRail(name="count", limit=20, value=21),
            ApprovedRail(name="percent-ip", limit=10.0, value=33.3333),
        ),
        approved_ms=1_700_000_000_000,
    )
    return replace(given, **changes)  # type: ignore[arg-type]


@pytest.fixture
def registered(store: SqlStore) -> SqlStore:
    store.register_plan(plan(), digest=DIGEST, canonical="{}")
    return store


def test_an_approval_comes_back_as_it_was_given(registered: SqlStore) -> None:
    """Values and limits too, to the last digit: they are compared with the plan's."""
    given = approval()
    registered.approve(given)
    assert registered.approvals(DIGEST) == (given,)


def test_an_approval_outside_ci_names_no_job(registered: SqlStore) -> None:
    given = approval(approver=Approver(name="ann", host="laptop"))
    registered.approve(given)
    assert registered.approvals(DIGEST) == (given,)


def test_several_people_may_approve_one_plan(registered: SqlStore) -> None:
    registered.approve(approval(id="b", approved_ms=2))
    registered.approve(approval(id="a", approved_ms=1))
    assert [one.id for one in registered.approvals(DIGEST)] == ["a", "b"]


def test_a_plan_that_nobody_approved_has_no_approval(registered: SqlStore) -> None:
    assert registered.approvals(DIGEST) == ()


@pytest.mark.parametrize("changes", [{"digest": "cd" * 32}, {"scope": OTHER_SCOPE}], ids=["digest", "scope"])
def test_a_plan_that_is_not_registered_cannot_be_approved(
    place: Place, registered: SqlStore, changes: dict[str, object]
) -> None:
    with pytest.raises(RefusedError) as refused:
        registered.approve(approval(**changes))
    assert refused.value.code == "RC0605"
    assert place.count("approvals") == 0


def test_a_plan_that_was_applied_cannot_be_approved(place: Place, registered: SqlStore) -> None:
    lease = lead(registered)
    registered.begin_run(run_id="r", plan=plan(), digest=DIGEST, canonical="{}", lease=lease)
    registered.finish_run("r", status="done")
    with pytest.raises(RefusedError) as refused:
        registered.approve(approval())
    assert refused.value.code == "RC0606"
    assert place.count("approvals") == 0


def test_text_that_the_database_cannot_hold_is_no_obstacle(registered: SqlStore) -> None:
    registered.approve(approval(reason="ticket \0 7", approver=Approver(name="a\ud800", host="h")))
    (found,) = registered.approvals(DIGEST)
    assert found.reason == "ticket \N{REPLACEMENT CHARACTER} 7"


@pytest.mark.parametrize(
    "values",
    [
        {"reason": ""},
        {"approver": ""},
        {"digest": "ef" * 32},
    ],
    ids=["no reason", "nobody", "no such plan"],
)
def test_the_database_itself_refuses_an_approval_that_says_too_little(
    place: Place, registered: SqlStore, values: dict[str, str]
) -> None:
    row = {"id": "x", "scope": SCOPE, "digest": DIGEST, "approver": "ann", "reason": "why"} | values
    statement = (
        "INSERT INTO approvals (id, scope_id, digest, approver, host, reason, rails, approved_ms) "
        "VALUES (:id, :scope, :digest, :approver, 'h', :reason, '[]', 1)"
    )
    if not place.is_postgres:
        with registered.database.engine.begin() as connection, pytest.raises(IntegrityError):
            connection.exec_driver_sql(statement, row)
        return
    with pytest.raises(IntegrityError):
        place.sql(statement, **row)


def test_a_plan_with_an_approval_is_not_removed(place: Place, registered: SqlStore) -> None:
    registered.approve(approval())
    with registered.database.engine.begin() as connection, pytest.raises(IntegrityError):
        connection.exec_driver_sql("DELETE FROM plans")


def test_the_digest_is_looked_up_by_its_first_digits(store: SqlStore) -> None:
    for name, digest in (("one", "ab" + "0" * 62), ("two", "ab" + "1" * 62), ("three", "cd" * 32)):
        store.register_plan(plan(name), digest=digest, canonical=f'"{name}"')
    assert [row.plan_id for row in store.plans_named("cd")] == ["three"]
    assert {row.plan_id for row in store.plans_named("ab")} == {"one", "two"}
    assert [row.canonical for row in store.plans_named("ab1")] == ['"two"']
    assert store.plans_named("ef") == store.plans_named("%") == store.plans_named("_b") == ()


def test_the_runs_of_a_plan_are_its_own(registered: SqlStore) -> None:
    lease = lead(registered)
    registered.begin_run(run_id="r1", plan=plan(), digest=DIGEST, canonical="{}", lease=lease)
    registered.finish_run("r1", status="partial")
    registered.begin_run(run_id="r2", plan=plan("other"), digest="cd" * 32, canonical="{}", lease=lease)
    assert [(run.run_id, run.status) for run in registered.runs_of(DIGEST)] == [("r1", "partial")]


def test_a_database_of_the_first_schema_keeps_its_rows(place: Place) -> None:
    """0001 -> 0002 on a database in use: a new table, and nothing else moves."""
    store = place.store()
    store.register_plan(plan(), digest=DIGEST, canonical="{}")

    def down(connection: Connection) -> None:
        run_alembic(connection, "downgrade", "0001")

    store.database.write("downgrade", down)
    assert "approvals" not in inspect(place.engine).get_table_names()
    assert upgrade(place.url).found == "0001"
    assert all(line.ok for line in check(place.url))
    assert place.rows("SELECT id, digest, canonical FROM plans") == [("plan-1", DIGEST, "{}")]

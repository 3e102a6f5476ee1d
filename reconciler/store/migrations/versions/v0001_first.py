"""The first schema: scopes, leases, the deletion protocol, memory of sweeps, plans and runs.

Written out in full and never changed again: a migration says what a database got on the day it ran.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _scopes_and_leases()
    _deletions()
    _resources_and_holds()
    _sweeps()
    _memory()
    _plans_and_runs()
    op.execute(
        "CREATE VIEW orphan_resources AS "
        "SELECT r.id, r.scope_id, r.kind, r.zone, r.provider_id, r.noted_ms FROM provider_resources r "
        "WHERE r.live = 1 AND NOT EXISTS (SELECT 1 FROM adoptions a WHERE a.resource_id = r.id AND a.resource_live = 1)"
    )


def downgrade() -> None:
    op.execute("DROP VIEW orphan_resources")
    for table in ("journal", "runs", "plans", "lineage", "sightings", "drift_findings", "sweeps"):
        op.drop_table(table)
    for table in ("adoptions", "provider_resources", "deletion_refs", "deletion_claims", "leases", "scopes"):
        op.drop_table(table)


def _texts(*names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.Text(), nullable=nullable) for name in names]


def _numbers(*names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.BigInteger(), nullable=nullable, autoincrement=False) for name in names]


def _jsons(*names: str) -> list[sa.Column[Any]]:
    kind = sa.JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
    return [sa.Column(name, kind, nullable=False) for name in names]


def _refers(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [to], name=f"fk_{table}_{column}", ondelete="RESTRICT")


def _check(name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(name))  # `f`: the name as it is, not put into the convention again


def _index(name: str, table: str, *columns: str, where: str | None = None, unique: bool = False) -> None:
    condition: dict[str, Any] = (
        {} if where is None else {"postgresql_where": sa.text(where), "sqlite_where": sa.text(where)}
    )
    op.create_index(name, table, list(columns), unique=unique, **condition)


def _scopes_and_leases() -> None:
    op.create_table("scopes", *_texts("id"), *_numbers("noted_ms"), sa.PrimaryKeyConstraint("id", name="pk_scopes"))
    op.create_table(
        "leases",
        *_texts("name"),
        *_texts("holder", nullable=True),
        *_numbers("token", "renewed_ms", "expires_ms", "ttl_ms"),
        _check("ck_leases_token", "token >= 0"),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )


def _deletions() -> None:
    op.create_table(
        "deletion_claims",
        *_texts("id", "scope_id", "project", "target_kind", "target_zone", "target_id", "reason", "finding_id"),
        *_numbers("hour_nanos"),
        *_texts("stage"),
        *_numbers("fence_token", "attempts", "next_attempt_ms", "decided_ms"),
        *_numbers("sent_ms", nullable=True),
        *_texts("last_error", nullable=True),
        *_numbers("last_error_ms", "finished_ms", nullable=True),
        *_texts("outcome", nullable=True),
        _check("ck_deletion_claims_stage", "stage IN ('claimed', 'delete_sent', 'absent', 'finalized')"),
        _check("ck_deletion_claims_finished", "(stage = 'finalized') = (finished_ms IS NOT NULL)"),
        _check("ck_deletion_claims_outcome_known", "(finished_ms IS NULL) = (outcome IS NULL)"),
        _check("ck_deletion_claims_outcome", "outcome IN ('gone', 'partly_struck', 'struck')"),
        _refers("deletion_claims", "scope_id", "scopes.id"),
        sa.PrimaryKeyConstraint("id", name="pk_deletion_claims"),
    )
    target = ("target_kind", "target_zone", "target_id")
    open_one = "finished_ms IS NULL"
    _index("uq_deletion_claims_open_target", "deletion_claims", *target, where=open_one, unique=True)
    _index("ix_deletion_claims_scope_id_decided_ms", "deletion_claims", "scope_id", "decided_ms")
    op.create_table(
        "deletion_refs",
        *_texts("deletion_id", "kind", "zone", "provider_id"),
        *_numbers("captured_ms"),
        *_numbers("struck_ms", nullable=True),
        *_texts("why", nullable=True),
        *_numbers("absent_ms", nullable=True),
        _check("ck_deletion_refs_struck", "(struck_ms IS NULL) = (why IS NULL)"),
        _check("ck_deletion_refs_one_end", "struck_ms IS NULL OR absent_ms IS NULL"),
        _refers("deletion_refs", "deletion_id", "deletion_claims.id"),
        sa.PrimaryKeyConstraint("deletion_id", "kind", "zone", "provider_id", name="pk_deletion_refs"),
    )
    _index("ix_deletion_refs_absent_ms", "deletion_refs", "absent_ms", where="absent_ms IS NOT NULL")


def _resources_and_holds() -> None:
    op.create_table(
        "provider_resources",
        *_texts("id", "scope_id", "kind", "zone", "provider_id"),
        sa.Column("live", sa.SmallInteger(), server_default=sa.text("1"), nullable=True),
        *_texts("deletion_id", nullable=True),
        *_numbers("noted_ms"),
        _check("ck_provider_resources_live", "live = 1"),
        _check("ck_provider_resources_doomed", "(live IS NULL) = (deletion_id IS NOT NULL)"),
        _check("ck_provider_resources_ref", "kind <> '' AND zone <> '' AND provider_id <> ''"),
        _refers("provider_resources", "scope_id", "scopes.id"),
        _refers("provider_resources", "deletion_id", "deletion_claims.id"),
        sa.PrimaryKeyConstraint("id", name="pk_provider_resources"),
        sa.UniqueConstraint("id", "live", name="uq_provider_resources_id_live"),
        sa.UniqueConstraint("kind", "zone", "provider_id", name="uq_provider_resources_kind_zone_provider_id"),
    )
    doomed = "deletion_id IS NOT NULL"
    _index("ix_provider_resources_deletion_id", "provider_resources", "deletion_id", where=doomed)
    op.create_table(
        "adoptions",
        *_texts("id", "resource_id"),
        sa.Column("resource_live", sa.SmallInteger(), server_default=sa.text("1"), nullable=True),
        *_texts("stack", "urn"),
        *_numbers("held_ms"),
        *_numbers("released_ms", nullable=True),
        _check("ck_adoptions_resource_live", "resource_live = 1"),
        _check("ck_adoptions_released", "(released_ms IS NULL) = (resource_live IS NOT NULL)"),
        sa.ForeignKeyConstraint(
            ["resource_id", "resource_live"],
            ["provider_resources.id", "provider_resources.live"],
            name="fk_adoptions_resource_id_resource_live",
            onupdate="RESTRICT",
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_adoptions"),
    )
    held = "resource_live IS NOT NULL"
    _index("uq_adoptions_held_resource", "adoptions", "resource_id", where=held, unique=True)
    _index("uq_adoptions_held_urn", "adoptions", "stack", "urn", where=held, unique=True)


def _sweeps() -> None:
    op.create_table(
        "sweeps",
        *_texts("id", "scope_id", "started_by"),
        *_numbers("started_ms", "finished_ms"),
        sa.Column("complete", sa.Boolean(), nullable=False),
        *_jsons("scans", "counts", "serials", "summary"),
        _refers("sweeps", "scope_id", "scopes.id"),
        sa.PrimaryKeyConstraint("id", name="pk_sweeps"),
    )
    _index("ix_sweeps_scope_id_complete_finished_ms", "sweeps", "scope_id", "complete", "finished_ms")
    op.create_table(
        "drift_findings",
        *_texts("id", "scope_id", "finding_id", "kind", "verdict"),
        *_numbers("verdict_ms", "opened_ms"),
        *_texts("opened_sweep"),
        *_numbers("closed_ms", nullable=True),
        *_texts("closed_sweep", nullable=True),
        *_jsons("details"),
        _check("ck_drift_findings_closed", "(closed_ms IS NULL) = (closed_sweep IS NULL)"),
        _refers("drift_findings", "scope_id", "scopes.id"),
        sa.PrimaryKeyConstraint("id", name="pk_drift_findings"),
    )
    open_one = "closed_ms IS NULL"
    _index("uq_drift_findings_open", "drift_findings", "scope_id", "finding_id", where=open_one, unique=True)


def _memory() -> None:
    key = ("scope_id", "kind", "zone", "provider_id")
    op.create_table(
        "sightings",
        *_texts(*key),
        *_numbers("unowned_since_ms"),
        _refers("sightings", "scope_id", "scopes.id"),
        sa.PrimaryKeyConstraint(*key, name="pk_sightings"),
    )
    op.create_table(
        "lineage",
        *_texts(*key, "source"),
        *_texts("fleet", "stack", "urn", "worker", "server_id", nullable=True),
        *_numbers("first_seen_ms"),
        _check("ck_lineage_source", "source IN ('attached', 'state')"),
        _refers("lineage", "scope_id", "scopes.id"),
        sa.PrimaryKeyConstraint(*key, name="pk_lineage"),
    )


def _plans_and_runs() -> None:
    op.create_table(
        "plans",
        *_texts("id", "scope_id", "digest", "mode", "canonical"),
        *_numbers("created_ms", "expires_ms", "registered_ms"),
        _refers("plans", "scope_id", "scopes.id"),
        sa.PrimaryKeyConstraint("id", name="pk_plans"),
        sa.UniqueConstraint("digest", name="uq_plans_digest"),
    )
    op.create_table(
        "runs",
        *_texts("id", "scope_id", "plan_id"),
        *_numbers("lease_token"),
        *_texts("status"),
        *_numbers("started_ms"),
        *_numbers("finished_ms", nullable=True),
        _check("ck_runs_status", "status IN ('running', 'done', 'partial', 'failed', 'interrupted')"),
        _check("ck_runs_finished", "(finished_ms IS NULL) = (status IN ('running', 'interrupted'))"),
        _refers("runs", "scope_id", "scopes.id"),
        _refers("runs", "plan_id", "plans.id"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    _index("uq_runs_done_plan", "runs", "plan_id", where="status = 'done'", unique=True)
    _index("ix_runs_scope_id_started_ms", "runs", "scope_id", "started_ms")
    op.create_table(
        "journal",
        *_texts("run_id"),
        *_numbers("seq"),
        *_texts("action_id", "step"),
        *_numbers("at_ms"),
        *_jsons("details"),
        _refers("journal", "run_id", "runs.id"),
        sa.PrimaryKeyConstraint("run_id", "seq", name="pk_journal"),
    )

"""Records: fleets, the rows of elastic workers, and what is left of a row after its end.

A live row holds its machine by the same composite key as an adoption: the database itself refuses to doom what is
recorded, and to record what is doomed. No row of the earlier schemas is touched.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_HELD = (
    "SELECT r.id, r.scope_id, r.kind, r.zone, r.provider_id, r.noted_ms FROM provider_resources r "
    "WHERE r.live = 1 AND NOT EXISTS (SELECT 1 FROM adoptions a WHERE a.resource_id = r.id AND a.resource_live = 1) "
    "AND NOT EXISTS (SELECT 1 FROM releases l WHERE l.resource_id = r.id AND l.resource_live = 1)"
)
_RECORDED = " AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.resource_id = r.id AND w.resource_live = 1)"


def upgrade() -> None:
    _fleets()
    _workers()
    _tombstones()
    _view(_HELD + _RECORDED)


def downgrade() -> None:
    _view(_HELD)
    for table in ("worker_tombstones", "workers", "fleets"):
        op.drop_table(table)


def _fleets() -> None:
    op.create_table(
        "fleets",
        *_texts("id", "scope_id", "name", "stack", "controller", "revision"),
        *_numbers("declared_ms"),
        *_numbers("retired_ms", nullable=True),
        _check("ck_fleets_named", "id <> '' AND name <> ''"),
        _refers("fleets", "scope_id", "scopes.id"),
        sa.PrimaryKeyConstraint("id", name="pk_fleets"),
    )
    _index("uq_fleets_active_name", "fleets", "scope_id", "name", where="retired_ms IS NULL", unique=True)


def _workers() -> None:
    op.create_table(
        "workers",
        *_texts("id", "scope_id", "fleet_id"),
        sa.Column("live", sa.SmallInteger(), server_default=sa.text("1"), nullable=True),
        *_texts("deletion_id", nullable=True),
        *_texts("zone", "revision", "state"),
        *_texts("resource_id", nullable=True),
        sa.Column("resource_live", sa.SmallInteger(), nullable=True),
        *_numbers("create_sent_ms", "create_confirmed_ms", "ready_ms", nullable=True),
        *_texts("failure", nullable=True),
        *_numbers("changed_ms"),
        _check("ck_workers_live", "live = 1"),
        _check("ck_workers_doomed", "(live IS NULL) = (deletion_id IS NOT NULL)"),
        _check("ck_workers_state", "state IN ('provisioning', 'bootstrapping', 'ready', 'busy', 'failed')"),
        _check("ck_workers_resource_live", "resource_live = 1"),
        _check(
            "ck_workers_holds_its_machine",
            "(resource_live IS NOT NULL) = (live IS NOT NULL AND resource_id IS NOT NULL)",
        ),
        _check("ck_workers_machine", "resource_id IS NOT NULL OR state IN ('provisioning', 'failed')"),
        _check("ck_workers_named", "id <> '' AND zone <> ''"),
        _refers("workers", "scope_id", "scopes.id"),
        _refers("workers", "fleet_id", "fleets.id"),
        _refers("workers", "deletion_id", "deletion_claims.id"),
        sa.ForeignKeyConstraint(
            ["resource_id", "resource_live"],
            ["provider_resources.id", "provider_resources.live"],
            name="fk_workers_resource_id_resource_live",
            onupdate="RESTRICT",
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_workers"),
        sa.UniqueConstraint("id", "live", name="uq_workers_id_live"),
    )
    _index("uq_workers_held_resource", "workers", "resource_id", where="resource_live IS NOT NULL", unique=True)
    _index("ix_workers_scope_id", "workers", "scope_id")
    _index("ix_workers_fleet_id", "workers", "fleet_id")
    _index("ix_workers_deletion_id", "workers", "deletion_id", where="deletion_id IS NOT NULL")


def _tombstones() -> None:
    op.create_table(
        "worker_tombstones",
        *_texts("id", "scope_id", "fleet_id", "zone", "revision"),
        *_texts("machine_id", "deletion_id", nullable=True),
        *_numbers("create_sent_ms", nullable=True),
        *_texts("why"),
        *_numbers("buried_ms"),
        _refers("worker_tombstones", "scope_id", "scopes.id"),
        sa.PrimaryKeyConstraint("id", name="pk_worker_tombstones"),
    )


def _texts(*names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.Text(), nullable=nullable) for name in names]


def _numbers(*names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.BigInteger(), nullable=nullable, autoincrement=False) for name in names]


def _refers(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [to], name=f"fk_{table}_{column}", ondelete="RESTRICT")


def _check(name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(name))  # `f`: the name as it is, not put into the convention again


def _index(name: str, table: str, *columns: str, where: str | None = None, unique: bool = False) -> None:
    only: dict[str, Any] = (
        {"postgresql_where": sa.text(where), "sqlite_where": sa.text(where)} if where is not None else {}
    )
    op.create_index(name, table, list(columns), unique=unique, **only)


def _view(query: str) -> None:
    op.execute("DROP VIEW orphan_resources")
    op.execute(f"CREATE VIEW orphan_resources AS {query}")

"""Releases: what a person took out of our hands, so that no later sweep takes it for a leftover.

A release is a hold like an adoption, by the same composite key: the database itself refuses to doom what is released,
and to release what is doomed.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_HELD = (
    "SELECT r.id, r.scope_id, r.kind, r.zone, r.provider_id, r.noted_ms FROM provider_resources r "
    "WHERE r.live = 1 AND NOT EXISTS (SELECT 1 FROM adoptions a WHERE a.resource_id = r.id AND a.resource_live = 1)"
)
_RELEASED = " AND NOT EXISTS (SELECT 1 FROM releases l WHERE l.resource_id = r.id AND l.resource_live = 1)"


def upgrade() -> None:
    op.create_table(
        "releases",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("scope_id", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.Text(), nullable=False),
        sa.Column("resource_live", sa.SmallInteger(), nullable=True, server_default=sa.text("1")),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("kind", "zone", "provider_id", "with_id", "stack")),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("urn", "released_by", "reason")),
        sa.Column("begun_ms", sa.BigInteger(), nullable=False),
        sa.Column("done_ms", sa.BigInteger(), nullable=True),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_releases"),
        sa.ForeignKeyConstraint(["scope_id"], ["scopes.id"], name="fk_releases_scope_id", ondelete="RESTRICT"),
        sa.ForeignKeyConstraint(
            ["resource_id", "resource_live"],
            ["provider_resources.id", "provider_resources.live"],
            name="fk_releases_resource_id_resource_live",
            onupdate="RESTRICT",
            ondelete="RESTRICT",
        ),
        sa.CheckConstraint("resource_live = 1", name=op.f("ck_releases_resource_live")),
        sa.CheckConstraint("(ended_ms IS NULL) = (resource_live IS NOT NULL)", name=op.f("ck_releases_ended")),
    )
    op.create_index(
        "uq_releases_open_resource",
        "releases",
        ["resource_id"],
        unique=True,
        postgresql_where=sa.text("resource_live IS NOT NULL"),
        sqlite_where=sa.text("resource_live IS NOT NULL"),
    )
    _view(_HELD + _RELEASED)


def downgrade() -> None:
    _view(_HELD)
    op.drop_table("releases")


def _view(query: str) -> None:
    op.execute("DROP VIEW orphan_resources")
    op.execute(f"CREATE VIEW orphan_resources AS {query}")

"""Approvals: who answered for a plan that goes over a limit.

A new table and nothing else: no row of the first schema is touched.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("scope_id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("approver", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("ci_job", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column(
            "rails", sa.JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql"), nullable=False
        ),
        sa.Column("approved_ms", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.CheckConstraint("approver <> ''", name=op.f("ck_approvals_approver")),
        sa.CheckConstraint("reason <> ''", name=op.f("ck_approvals_reason")),
        sa.ForeignKeyConstraint(["scope_id"], ["scopes.id"], name="fk_approvals_scope_id", ondelete="RESTRICT"),
        sa.ForeignKeyConstraint(["digest"], ["plans.digest"], name="fk_approvals_digest", ondelete="RESTRICT"),
        sa.PrimaryKeyConstraint("id", name="pk_approvals"),
    )
    op.create_index("ix_approvals_digest", "approvals", ["digest"])


def downgrade() -> None:
    op.drop_table("approvals")

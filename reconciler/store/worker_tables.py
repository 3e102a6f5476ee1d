"""The tables of the records ledger: fleets, the rows of elastic workers, and what is left of a row after its end."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from reconciler.store.columns import metadata, ms_column, only_where, scope_column, text_column

# A declared fleet, by the uid of its declaration: after it is deleted and declared again it is another one.
fleets: Final = Table(
    "fleets",
    metadata,
    Column("id", Text, primary_key=True),
    scope_column(),
    text_column("name"),
    text_column("stack"),
    text_column("controller"),
    text_column("revision"),
    ms_column("declared_ms"),
    ms_column("retired_ms", nullable=True),
    CheckConstraint("id <> '' AND name <> ''", name="named"),
    Index("uq_fleets_active_name", "scope_id", "name", unique=True, **only_where("retired_ms IS NULL")),
)

# One elastic worker. Its machine is a hold, in every state of the row: what a live row records cannot be doomed, and
# the other way round. A decision lets go of the machine and dooms both in one transaction. Like a resource the row has
# a nullable `live`, so that what comes to refer to workers can hold them in the same way.
workers: Final = Table(
    "workers",
    metadata,
    Column("id", Text, primary_key=True),
    scope_column(),
    Column("fleet_id", Text, ForeignKey("fleets.id", ondelete="RESTRICT"), nullable=False),
    Column("live", SmallInteger, nullable=True, server_default=text("1")),
    Column("deletion_id", Text, ForeignKey("deletion_claims.id", ondelete="RESTRICT"), nullable=True),
    text_column("zone"),
    text_column("revision"),
    text_column("state"),
    text_column("resource_id", nullable=True),  # history: after the hold is released, the row may outlive the resource
    Column("resource_live", SmallInteger, nullable=True),
    ms_column("create_sent_ms", nullable=True),
    ms_column("create_confirmed_ms", nullable=True),
    ms_column("ready_ms", nullable=True),
    text_column("failure", nullable=True),
    ms_column("changed_ms"),
    ForeignKeyConstraint(
        ["resource_id", "resource_live"],
        ["provider_resources.id", "provider_resources.live"],
        onupdate="RESTRICT",
        ondelete="RESTRICT",
    ),
    UniqueConstraint("id", "live"),
    CheckConstraint("live = 1", name="live"),
    CheckConstraint("(live IS NULL) = (deletion_id IS NOT NULL)", name="doomed"),
    CheckConstraint("state IN ('provisioning', 'bootstrapping', 'ready', 'busy', 'failed')", name="state"),
    CheckConstraint("resource_live = 1", name="resource_live"),
    CheckConstraint(
        "(resource_live IS NOT NULL) = (live IS NOT NULL AND resource_id IS NOT NULL)", name="holds_its_machine"
    ),
    CheckConstraint("resource_id IS NOT NULL OR state IN ('provisioning', 'failed')", name="machine"),
    CheckConstraint("id <> '' AND zone <> ''", name="named"),
    Index("uq_workers_held_resource", "resource_id", unique=True, **only_where("resource_live IS NOT NULL")),
    Index(None, "scope_id"),
    Index(None, "fleet_id"),
    Index(None, "deletion_id", **only_where("deletion_id IS NOT NULL")),
)

# A worker's row after its end: no machine that comes up late is taken for one whose row was lost. No foreign key but
# the scope's: the history survives what it is about.
worker_tombstones: Final = Table(
    "worker_tombstones",
    metadata,
    Column("id", Text, primary_key=True),
    scope_column(),
    text_column("fleet_id"),
    text_column("zone"),
    text_column("revision"),
    text_column("machine_id", nullable=True),
    text_column("deletion_id", nullable=True),
    ms_column("create_sent_ms", nullable=True),
    text_column("why"),
    ms_column("buried_ms"),
)

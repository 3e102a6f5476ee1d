"""The tables, as SQLAlchemy Core values, and the one eligibility view.

The theory is one pattern. A thing that may be destroyed (`provider_resources`) has `id` and a nullable `live` that is
1 or NULL, with UNIQUE(id, live). A *hold* is a row elsewhere with a composite foreign key `(x_id, x_live)` to
`(id, live)` and RESTRICT. Deciding a deletion sets `live` to NULL, so the database itself refuses to doom what is held
and to hold what is doomed; a hold table that somebody adds later is protected even if the view below is not told of
it. A plain foreign key would fire only when the row is removed, after the resource is already gone.

A provider id is a UUID that Scaleway does not use again, so a resource has one row in the whole database, whatever
scope noted it first: two scopes that overlap by mistake still see each other's holds and deletions.

Ids are text (UUIDv7), times are epoch milliseconds UTC, enumerations are text with a CHECK. Changing anything here
needs a new file in `migrations/versions`; a test holds the two equal on both databases.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from reconciler.store import worker_tables
from reconciler.store.columns import json_column as _json
from reconciler.store.columns import metadata as metadata
from reconciler.store.columns import ms_column as _ms
from reconciler.store.columns import only_where as _only_where
from reconciler.store.columns import ref_columns as _ref
from reconciler.store.columns import ref_key as _key
from reconciler.store.columns import scope_column as _scope
from reconciler.store.columns import text_column as _id

VERSION_TABLE: Final = "reconciler_version"  # not Alembic's default name: another program may share the database
ORPHAN_VIEW: Final = "orphan_resources"

# One row per scope ever seen; also the mutex of the deletion protocol (locks.py).
scopes: Final = Table("scopes", metadata, Column("id", Text, primary_key=True), _ms("noted_ms"))

leases: Final = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    _id("holder", nullable=True),
    Column("token", BigInteger, nullable=False),
    _ms("renewed_ms"),
    _ms("expires_ms"),
    _ms("ttl_ms"),
    CheckConstraint("token >= 0", name="token"),
)

provider_resources: Final = Table(
    "provider_resources",
    metadata,
    Column("id", Text, primary_key=True),
    _scope(),
    *_ref(),
    Column("live", SmallInteger, nullable=True, server_default=text("1")),
    Column("deletion_id", Text, ForeignKey("deletion_claims.id", ondelete="RESTRICT"), nullable=True),
    _ms("noted_ms"),
    UniqueConstraint("id", "live"),
    UniqueConstraint("kind", "zone", "provider_id"),
    CheckConstraint("live = 1", name="live"),
    CheckConstraint("(live IS NULL) = (deletion_id IS NOT NULL)", name="doomed"),
    CheckConstraint("kind <> '' AND zone <> '' AND provider_id <> ''", name="ref"),
    Index(None, "deletion_id", **_only_where("deletion_id IS NOT NULL")),
)

adoptions: Final = Table(
    "adoptions",
    metadata,
    Column("id", Text, primary_key=True),
    _id("resource_id"),  # history: after the hold is released, the row may outlive the resource
    Column("resource_live", SmallInteger, nullable=True, server_default=text("1")),
    _id("stack"),
    _id("urn"),
    _ms("held_ms"),
    _ms("released_ms", nullable=True),
    ForeignKeyConstraint(
        ["resource_id", "resource_live"],
        ["provider_resources.id", "provider_resources.live"],
        onupdate="RESTRICT",
        ondelete="RESTRICT",
    ),
    CheckConstraint("resource_live = 1", name="resource_live"),
    CheckConstraint("(released_ms IS NULL) = (resource_live IS NOT NULL)", name="released"),
    Index("uq_adoptions_held_resource", "resource_id", unique=True, **_only_where("resource_live IS NOT NULL")),
    Index("uq_adoptions_held_urn", "stack", "urn", unique=True, **_only_where("resource_live IS NOT NULL")),
)

# A hold like an adoption: what a person released is nobody's to destroy. `with_id`: the id of the resource that it was
# released with, its own for the one that was named.
releases: Final = Table(
    "releases",
    metadata,
    Column("id", Text, primary_key=True),
    _scope(),
    _id("resource_id"),
    Column("resource_live", SmallInteger, nullable=True, server_default=text("1")),
    *_ref(),
    _id("with_id"),
    _id("stack"),
    _id("urn"),
    _id("released_by"),
    _id("reason"),
    _ms("begun_ms"),
    _ms("done_ms", nullable=True),
    _ms("ended_ms", nullable=True),
    ForeignKeyConstraint(
        ["resource_id", "resource_live"],
        ["provider_resources.id", "provider_resources.live"],
        onupdate="RESTRICT",
        ondelete="RESTRICT",
    ),
    CheckConstraint("resource_live = 1", name="resource_live"),
    CheckConstraint("(ended_ms IS NULL) = (resource_live IS NOT NULL)", name="ended"),
    Index("uq_releases_open_resource", "resource_id", unique=True, **_only_where("resource_live IS NOT NULL")),
)

fleets: Final = worker_tables.fleets
workers: Final = worker_tables.workers
worker_tombstones: Final = worker_tables.worker_tombstones

# No foreign key to what is deleted: the history survives its target.
deletion_claims: Final = Table(
    "deletion_claims",
    metadata,
    Column("id", Text, primary_key=True),
    _scope(),
    _id("project"),
    _id("target_kind"),
    _id("target_zone"),
    _id("target_id"),
    _id("reason"),
    _id("finding_id"),
    Column("hour_nanos", BigInteger, nullable=False),
    _id("stage"),
    Column("fence_token", BigInteger, nullable=False),
    Column("attempts", BigInteger, nullable=False),
    _ms("next_attempt_ms"),
    _ms("decided_ms"),
    _ms("sent_ms", nullable=True),
    Column("last_error", Text, nullable=True),
    _ms("last_error_ms", nullable=True),
    _ms("finished_ms", nullable=True),
    Column("outcome", Text, nullable=True),
    CheckConstraint("stage IN ('claimed', 'delete_sent', 'absent', 'finalized')", name="stage"),
    CheckConstraint("(stage = 'finalized') = (finished_ms IS NOT NULL)", name="finished"),
    CheckConstraint("(finished_ms IS NULL) = (outcome IS NULL)", name="outcome_known"),
    CheckConstraint("outcome IN ('gone', 'partly_struck', 'struck')", name="outcome"),
    Index(
        "uq_deletion_claims_open_target",
        "target_kind",
        "target_zone",
        "target_id",
        unique=True,
        **_only_where("finished_ms IS NULL"),
    ),
    Index(None, "scope_id", "decided_ms"),
)

deletion_refs: Final = Table(
    "deletion_refs",
    metadata,
    Column("deletion_id", Text, ForeignKey("deletion_claims.id", ondelete="RESTRICT"), primary_key=True),
    *(Column(name, Text, primary_key=True) for name in ("kind", "zone", "provider_id")),
    _ms("captured_ms"),
    _ms("struck_ms", nullable=True),
    Column("why", Text, nullable=True),
    _ms("absent_ms", nullable=True),
    CheckConstraint("(struck_ms IS NULL) = (why IS NULL)", name="struck"),
    CheckConstraint("struck_ms IS NULL OR absent_ms IS NULL", name="one_end"),
    Index(None, "absent_ms", **_only_where("absent_ms IS NOT NULL")),
)

sweeps: Final = Table(
    "sweeps",
    metadata,
    Column("id", Text, primary_key=True),
    _scope(),
    _id("started_by"),
    _ms("started_ms"),
    _ms("finished_ms"),
    Column("complete", Boolean(create_constraint=False), nullable=False),
    Column("scans", _json(), nullable=False),
    Column("counts", _json(), nullable=False),
    Column("serials", _json(), nullable=False),
    Column("summary", _json(), nullable=False),
    Index(None, "scope_id", "complete", "finished_ms"),
)

drift_findings: Final = Table(
    "drift_findings",
    metadata,
    Column("id", Text, primary_key=True),
    _scope(),
    _id("finding_id"),
    _id("kind"),
    _id("verdict"),
    _ms("verdict_ms"),
    _ms("opened_ms"),
    _id("opened_sweep"),
    _ms("closed_ms", nullable=True),
    _id("closed_sweep", nullable=True),
    Column("details", _json(), nullable=False),
    CheckConstraint("(closed_ms IS NULL) = (closed_sweep IS NULL)", name="closed"),
    Index("uq_drift_findings_open", "scope_id", "finding_id", unique=True, **_only_where("closed_ms IS NULL")),
)

sightings: Final = Table("sightings", metadata, *_key(), _ms("unowned_since_ms"))

lineage: Final = Table(
    "lineage",
    metadata,
    *_key(),
    _id("source"),
    *(Column(name, Text, nullable=True) for name in ("fleet", "stack", "urn", "worker", "server_id")),
    _ms("first_seen_ms"),
    CheckConstraint("source IN ('attached', 'state')", name="source"),
)

plans: Final = Table(
    "plans",
    metadata,
    Column("id", Text, primary_key=True),
    _scope(),
    _id("digest"),
    _id("mode"),
    _id("canonical"),  # text, not JSON: the digest is over these very bytes
    _ms("created_ms"),
    _ms("expires_ms"),
    _ms("registered_ms"),
    UniqueConstraint("digest"),
)

runs: Final = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    _scope(),
    Column("plan_id", Text, ForeignKey("plans.id", ondelete="RESTRICT"), nullable=False),
    Column("lease_token", BigInteger, nullable=False),
    _id("status"),
    _ms("started_ms"),
    _ms("finished_ms", nullable=True),
    CheckConstraint("status IN ('running', 'done', 'partial', 'failed', 'interrupted')", name="status"),
    CheckConstraint("(finished_ms IS NULL) = (status IN ('running', 'interrupted'))", name="finished"),
    Index("uq_runs_done_plan", "plan_id", unique=True, **_only_where("status = 'done'")),
    Index(None, "scope_id", "started_ms"),
)

journal: Final = Table(
    "journal",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="RESTRICT"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    _id("action_id"),
    _id("step"),
    _ms("at_ms"),
    Column("details", _json(), nullable=False),
)

# The key is the digest, so that the database itself binds an approval to one text and to no other.
approvals: Final = Table(
    "approvals",
    metadata,
    Column("id", Text, primary_key=True),
    _scope(),
    Column("digest", Text, ForeignKey("plans.digest", ondelete="RESTRICT"), nullable=False),
    _id("approver"),
    _id("host"),
    _id("ci_job", nullable=True),
    _id("reason"),
    Column("rails", _json(), nullable=False),
    _ms("approved_ms"),
    CheckConstraint("approver <> ''", name="approver"),
    CheckConstraint("reason <> ''", name="reason"),
    Index(None, "digest"),
)

# The one eligibility rule, for discovery (memory.py) and for the decision (resources.py): live, and nobody holds it.
# A view is no part of `metadata`, so that comparing schemas never takes it for a table.
ORPHAN_VIEW_SQL: Final = (
    "CREATE VIEW orphan_resources AS "
    "SELECT r.id, r.scope_id, r.kind, r.zone, r.provider_id, r.noted_ms FROM provider_resources r "
    "WHERE r.live = 1 AND NOT EXISTS (SELECT 1 FROM adoptions a WHERE a.resource_id = r.id AND a.resource_live = 1) "
    "AND NOT EXISTS (SELECT 1 FROM releases l WHERE l.resource_id = r.id AND l.resource_live = 1) "
    "AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.resource_id = r.id AND w.resource_live = 1)"
)
orphan_resources: Final = Table(
    ORPHAN_VIEW,
    MetaData(),
    Column("id", Text),
    Column("scope_id", Text),
    Column("kind", Text),
    Column("zone", Text),
    Column("provider_id", Text),
    Column("noted_ms", BigInteger),
)

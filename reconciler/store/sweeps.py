"""Writing a sweep: one row, and only what changed.

An episode has one row from the sweep that opens it to the one that closes it. It is written when it opens, when its
verdict changes and when it closes; age, cost and evidence move all the time and are in the report. So a second sweep of
a world that stands still inserts its own row and nothing else (rule 14).

What is stored of a finding names things and says why; no property value, no evidence text, no tag.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import Connection, Table, and_, bindparam, delete, insert, select, update

from reconciler.kernel.ids import Ids
from reconciler.model.finding import Finding
from reconciler.model.memory import Lineage, SweepRecord, Written
from reconciler.model.resources import Ref
from reconciler.store.locks import lock_scope
from reconciler.store.memory import read_episodes, read_lineage
from reconciler.store.releases import end_releases
from reconciler.store.resources import ref_of, ref_values
from reconciler.store.tables import drift_findings, lineage, sightings, sweeps
from reconciler.store.text import storable, storable_json
from reconciler.store.unit import Database

_KEY = ("scope_id", "kind", "zone", "provider_id")


def record_sweep(database: Database, record: SweepRecord, *, ids: Ids) -> Written:
    """One transaction; the counts are of rows that were really written."""

    def work(connection: Connection) -> Written:
        writes = _Writes(connection)
        # two sweeps of one scope may end at once: the second one sees what the first one opened
        writes.inserted += lock_scope(connection, record.scope, now_ms=record.finished_ms)
        _write_sweep(writes, record)
        _write_episodes(writes, record, ids)
        _write_sightings(writes, record)
        _write_lineage(writes, record)
        if record.managed_again:
            writes.updated += end_releases(connection, record.managed_again, at_ms=record.finished_ms)
        return Written(inserted=writes.inserted, updated=writes.updated, deleted=writes.deleted)

    return database.write("record_sweep", work)


class _Writes:
    """Executes rows in bulk and counts them. The rows are locked or new, so that each one sent is one written."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.inserted = self.updated = self.deleted = 0

    def insert(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            self.connection.execute(insert(table), [dict(row) for row in rows])
            self.inserted += len(rows)

    def update(self, table: Table, rows: Sequence[Mapping[str, Any]], *, key: Sequence[str]) -> None:
        """Each row holds the key's columns and the new values."""
        if rows:
            values = [name for name in rows[0] if name not in key]
            statement = update(table).where(_is_key(table, key)).values({name: bindparam(name) for name in values})
            self.connection.execute(statement, [_with_key(row, key) for row in rows])
            self.updated += len(rows)

    def delete(self, table: Table, rows: Sequence[Mapping[str, Any]], *, key: Sequence[str]) -> None:
        if rows:
            self.connection.execute(delete(table).where(_is_key(table, key)), [_with_key(row, key) for row in rows])
            self.deleted += len(rows)


def _is_key(table: Table, key: Sequence[str]) -> Any:
    return and_(*(table.c[name] == bindparam(f"key_{name}") for name in key))


def _with_key(row: Mapping[str, Any], key: Sequence[str]) -> dict[str, Any]:
    """A column that is set may not share its parameter with the one that is looked for."""
    return {(f"key_{name}" if name in key else name): value for name, value in row.items()}


def _write_sweep(writes: _Writes, record: SweepRecord) -> None:
    row = {
        "id": record.sweep_id,
        "scope_id": record.scope,
        "started_by": record.trigger,
        "started_ms": record.started_ms,
        "finished_ms": record.finished_ms,
        "complete": record.complete,
        "scans": storable_json(record.scans),
        "counts": {kind.value: count for kind, count in record.counts.items()},
        "serials": storable_json(record.serials),
        "summary": storable_json(record.summary),
    }
    writes.insert(sweeps, [row])


def _write_episodes(writes: _Writes, record: SweepRecord, ids: Ids) -> None:
    open_now = read_episodes(writes.connection, record.scope)
    found = {finding.id: finding for finding in reversed(record.findings)}
    opened = [_episode(record, finding, ids) for key, finding in found.items() if key not in open_now]
    changed = [
        _verdict(record, finding)
        for key, finding in found.items()
        if key in open_now and open_now[key].verdict != finding.verdict.value
    ]
    closable = open_now.keys() if record.closable is None else record.closable
    closed = [key for key in open_now if key not in found and key in closable]
    writes.insert(drift_findings, opened)
    _update_open(writes, record, changed)
    ends = {"closed_ms": record.finished_ms, "closed_sweep": record.sweep_id}
    _update_open(writes, record, [{"finding_id": key, **ends} for key in closed])


def _update_open(writes: _Writes, record: SweepRecord, rows: Sequence[Mapping[str, Any]]) -> None:
    """Update episodes by the id of their row: `finding_id` alone may name closed ones too."""
    if not rows:
        return
    table = drift_findings.c
    found = writes.connection.execute(
        select(table.id, table.finding_id).where(table.scope_id == record.scope, table.closed_ms.is_(None))
    )
    row_ids = {row.finding_id: row.id for row in found}
    updates = [
        {"id": row_ids[row["finding_id"]], **{k: v for k, v in row.items() if k != "finding_id"}} for row in rows
    ]
    writes.update(drift_findings, updates, key=("id",))


def _episode(record: SweepRecord, finding: Finding, ids: Ids) -> dict[str, Any]:
    return {
        "id": ids.new(),
        "scope_id": record.scope,
        "finding_id": finding.id,
        "kind": finding.kind.value,
        "opened_ms": record.finished_ms,
        "opened_sweep": record.sweep_id,
        **{name: value for name, value in _verdict(record, finding).items() if name != "finding_id"},
    }


def _verdict(record: SweepRecord, finding: Finding) -> dict[str, Any]:
    details = {
        "action": finding.action,
        "reason": finding.reason,
        "rule": finding.rule,
        "fleet": finding.fleet,
        "stack": finding.stack,
        "subjects": [asdict(subject) for subject in finding.subjects],
        "hour_nanos": finding.cost.hour_nanos,
        "unpriced": finding.cost.unpriced,
    }
    return {
        "finding_id": finding.id,
        "verdict": finding.verdict.value,
        "verdict_ms": record.finished_ms,
        "details": storable_json(details),
    }


def _ref_key(record: SweepRecord, ref: Ref) -> dict[str, Any]:
    return {"scope_id": record.scope, **ref_values(ref)}


def _write_sightings(writes: _Writes, record: SweepRecord) -> None:
    """Of two sweeps that differ the later instant stays: grace counts from the latest (it only makes us wait)."""
    if not record.newly_unowned and not record.owned_again:
        return
    rows = writes.connection.execute(select(sightings).where(sightings.c.scope_id == record.scope))
    known: dict[Ref, int] = {ref_of(row): row.unowned_since_ms for row in rows}
    gone = {ref for ref in record.owned_again if ref in known} - record.newly_unowned.keys()
    new, later = [], []
    for ref, since in sorted(record.newly_unowned.items()):
        row = {**_ref_key(record, ref), "unowned_since_ms": since}
        if ref not in known:
            new.append(row)
        elif since > known[ref]:
            later.append(row)
    writes.insert(sightings, new)
    writes.update(sightings, later, key=_KEY)
    writes.delete(sightings, [_ref_key(record, ref) for ref in sorted(gone)], key=_KEY)


def _write_lineage(writes: _Writes, record: SweepRecord) -> None:
    if not record.new_lineage:
        return
    known = read_lineage(writes.connection, record.scope)
    wanted = {item.ref: _clean(item) for item in record.new_lineage}
    new = [_lineage_row(record, item) for ref, item in sorted(wanted.items()) if ref not in known]
    changed = [
        _lineage_row(record, replace(item, first_seen_ms=known[ref].first_seen_ms))
        for ref, item in sorted(wanted.items())
        if ref in known and replace(item, first_seen_ms=known[ref].first_seen_ms) != known[ref]
    ]
    writes.insert(lineage, new)
    writes.update(lineage, changed, key=_KEY)


def _clean(item: Lineage) -> Lineage:
    """As it comes back from the database, so that an equal one is seen as equal."""
    return replace(
        item, fleet=_text(item.fleet), stack=_text(item.stack), urn=_text(item.urn), worker=_text(item.worker)
    )


def _text(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _lineage_row(record: SweepRecord, item: Lineage) -> dict[str, Any]:
    values = {name: getattr(item, name) for name in ("source", "fleet", "stack", "urn", "worker", "server_id")}
    return {**_ref_key(record, item.ref), **values, "first_seen_ms": item.first_seen_ms}

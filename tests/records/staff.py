"""The whole product on a simulated cloud with an elastic fleet, and what may happen to its workers.

A provisioner that writes intents is not built yet, so a row without a machine is put into the table by hand, as one
would have committed it before it sent its create.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import text

from reconciler.model.finding import Finding, FindingKind
from reconciler.model.records import WorkerRow
from reconciler.model.resources import Kind, Ref
from reconciler.simulator import ZONE
from tests.apply.rig import ELASTIC_UID, OWNER, SCOPE_UUID, STACK, Rig, worker_tags

W1 = "0198f0a0-0000-7000-8000-00000000000a"
W2 = "0198f0a0-0000-7000-8000-00000000000b"
HELD_BY_A_HAND = (*OWNER, "reconciler:fleet=burst")


def staffed(folder: Path, url: str | None = None, **changes: Any) -> Rig:
    return Rig(folder=folder, url=url or f"sqlite:///{folder / 'memory.db'}", elastic=True, **changes)


def machine(rig: Rig, worker: str = W1, *, name: str = "burst-1") -> dict[str, Any]:
    """A machine as its create made it: tags on server and address, none on the root."""
    tags = list(worker_tags(worker))
    made = rig.stranger("add_server", name=name, tags=tags)
    rig.stranger("set_tags", id=made["ip"], tags=tags)
    return made


def recorded(rig: Rig, worker: str = W1) -> dict[str, Any]:
    """A machine with its row, by the product's own way."""
    made = machine(rig, worker)
    rig.sweep()
    rig.clock.advance(1000)
    rig.apply()
    assert row(rig, worker).machine == ref(made)
    return made


def intend(rig: Rig, worker: str = W1, *, state: str = "provisioning") -> None:
    """The intent of a worker, committed right before its create is sent."""
    now = rig.clock.now_ms()
    sql(rig, "INSERT INTO scopes (id, noted_ms) SELECT :s, 1 WHERE NOT EXISTS (SELECT 1 FROM scopes)", s=SCOPE_UUID)
    sql(
        rig,
        "INSERT INTO fleets (id, scope_id, name, stack, controller, revision, declared_ms) "
        "SELECT :id, :scope, 'burst', :stack, 'elastic', 'r', 1 WHERE NOT EXISTS (SELECT 1 FROM fleets)",
        id=ELASTIC_UID,
        scope=SCOPE_UUID,
        stack=STACK,
    )
    sql(
        rig,
        "INSERT INTO workers (id, scope_id, fleet_id, zone, revision, state, create_sent_ms, changed_ms) "
        "VALUES (:id, :scope, :fleet, :zone, 'r', :state, :now, :now)",
        id=worker,
        scope=SCOPE_UUID,
        fleet=ELASTIC_UID,
        zone=ZONE,
        state=state,
        now=now,
    )


def fail(rig: Rig, worker: str = W1) -> None:
    """What a provisioner or an agent would write."""
    sql(rig, "UPDATE workers SET state = 'failed', changed_ms = changed_ms + 1 WHERE id = :id", id=worker)


def sql(rig: Rig, statement: str, **values: Any) -> None:
    rig.store.database.write("by hand", lambda connection: connection.execute(text(statement), values))


def row(rig: Rig, worker: str = W1) -> WorkerRow:
    found = rig.records.read(SCOPE_UUID).row(worker)
    assert found is not None
    return found


def rows(rig: Rig) -> list[str]:
    return [one.id for one in rig.records.read(SCOPE_UUID).workers]


def ended(rig: Rig, worker: str = W1) -> bool:
    return worker in rig.records.ended(SCOPE_UUID, [worker])


def ref(made: dict[str, Any]) -> Ref:
    return Ref(Kind.SERVER, ZONE, made["server"])


def of(rig: Rig, kind: FindingKind) -> list[Finding]:
    """The findings of one kind, of a sweep made now."""
    return [one for one in rig.sweep()[1] if one.kind is kind]

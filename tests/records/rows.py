"""Rows of workers and the machines that belong to them, for tests. Everything has a default that is in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from reconciler.model.desired import FleetSpec
from reconciler.model.memory import Memory
from reconciler.model.records import FleetRow, RecordsView, Tombstone, UnreadRecords, WorkerRow, WorkerState
from reconciler.model.resources import Ip, Ref, Resource, Server, Volume
from reconciler.model.world import World
from tests.builders import DAY, NOW, REVISION, SCOPE, STACK, ZONE, ip, server, uid, volume, with_parts, world
from tests.builders import fleet as static_fleet

ELASTIC: Final = "burst"
FLEET_UID: Final = uid("burst")
WORKER: Final = uid("worker-1")
WINDOW_MS: Final = 900_000  # the grace, which is longer than the longest create


def worker_tags(worker: str = WORKER, *, fleet: str = ELASTIC, scope: str = SCOPE) -> tuple[str, ...]:
    owner = ("reconciler", f"reconciler:scope={scope}", f"reconciler:fleet={fleet}")
    return (*owner, f"reconciler:worker={worker}", f"reconciler:revision={REVISION}")


@dataclass(frozen=True, slots=True)
class WorkerMachine:
    server: Server
    root: Volume
    ip: Ip

    @property
    def cloud(self) -> tuple[Resource, ...]:
        return self.server, self.root, self.ip

    @property
    def ref(self) -> Ref:
        return self.server.ref


def worker_machine(worker: str = WORKER, *, label: str = "burst-1", **changes: Any) -> WorkerMachine:
    """A machine with an untagged root, as the provider makes it, and a tagged address. `changes` are the server's."""
    tags = changes.pop("tags", worker_tags(worker))
    owner = server(label, tags=tags, **changes)
    root = volume(f"{label}-root", server_id=owner.id)
    address = ip(f"{label}-ip", server_id=owner.id, tags=tags)
    return WorkerMachine(with_parts(owner, root, address), root, address)


def elastic(**changes: Any) -> FleetSpec:
    given: dict[str, Any] = {"uid": FLEET_UID, "name": ELASTIC, "controller": "elastic", "minimum": 0, "maximum": 5}
    return static_fleet(None, **(given | changes))


def fleet_row(**changes: Any) -> FleetRow:
    given: dict[str, Any] = {
        "id": FLEET_UID,
        "name": ELASTIC,
        "stack": STACK,
        "controller": "elastic",
        "revision": REVISION,
        "declared_ms": NOW - DAY,
    }
    return FleetRow(**(given | changes))


def row(machine: WorkerMachine | Ref | None = None, **changes: Any) -> WorkerRow:
    """A ready worker, or with no machine one whose create was sent a day ago."""
    ref = machine.ref if isinstance(machine, WorkerMachine) else machine
    given: dict[str, Any] = {
        "id": WORKER,
        "fleet_id": FLEET_UID,
        "fleet": ELASTIC,
        "zone": ZONE,
        "revision": REVISION,
        "state": WorkerState.READY if ref is not None else WorkerState.PROVISIONING,
        "changed_ms": NOW - DAY,
        "machine": ref,
        "create_sent_ms": NOW - DAY,
        "create_confirmed_ms": NOW - DAY + 1 if ref is not None else None,
    }
    return WorkerRow(**(given | changes))


def doomed(of: WorkerRow, *, finished: bool = False) -> WorkerRow:
    return replace(of, deletion_id=uid("deletion"), deletion_finished=finished)


def view(*rows: WorkerRow, **changes: Any) -> RecordsView:
    given: dict[str, Any] = {"adapter": "native", "read_ms": NOW, "workers": rows, "fleets": (fleet_row(),)}
    return RecordsView(**(given | changes))


def unread() -> RecordsView:
    return RecordsView(adapter="native", unread=UnreadRecords(code="RC0201", reason="the database does not answer"))


def tombstone(worker: str = WORKER, **changes: Any) -> dict[str, Tombstone]:
    given: dict[str, Any] = {"worker": worker, "zone": ZONE, "machine_id": None, "buried_ms": NOW - DAY, "why": "gone"}
    return {worker: Tombstone(**(given | changes))}


def with_records(
    *resources: Resource,
    rows: Iterable[WorkerRow] = (),
    before: RecordsView | None = None,
    records: RecordsView | None = None,
    **changes: Any,
) -> World:
    """A world in which rows are kept and the elastic fleet is declared."""
    now = records if records is not None else view(*rows)
    given: dict[str, Any] = {"fleets": [elastic()], "records": now, "records_before": before or replace(now, ended={})}
    return world(*resources, **(given | changes))


def old_memory(*resources: Resource, **changes: Any) -> Memory:
    """Seen without an owner for a day, and nothing else is known of them."""
    given: dict[str, Any] = {
        "first_complete_ms": NOW - 7 * DAY,
        "unowned_since": {one.ref: NOW - DAY for one in resources},
    }
    return Memory(**(given | changes))

"""Workers of elastic fleets, which the rows of our own tables record: the fourth ledger."""

from __future__ import annotations

from typing import Any

from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.simulator import effects
from reconciler.simulator.generate import Worker
from tests.worlds.draft import BORN, LONG, NOW, REVISION, SCOPE, Draft, Row
from tests.worlds.scenes import scene
from tests.worlds.truth import Whose

# From the machine's attachment to its row until it must have said that it is ready.
_BOOTSTRAP_MS = 1_200_000


def _tags(draft: Draft, worker: str) -> tuple[str, ...]:
    return (
        "reconciler",
        f"reconciler:scope={SCOPE}",
        f"reconciler:fleet={draft.label}",
        f"reconciler:worker={worker}",
        f"reconciler:revision={REVISION}",
    )


def _machine(draft: Draft, worker: str, zone: str) -> tuple[Worker, tuple[str, ...]]:
    """As its create made it, long ago; the texts of it and its parts."""
    tags = _tags(draft, worker)
    with_ip = draft.one_of(True, False)
    made = draft.server(f"burst-{draft.label}", zone=zone, tags=tags, child_tags=tags, with_ip=with_ip)
    ids = [one for one in (made.server, made.root, made.ip) if one]
    for id_ in ids:
        draft.memory.unowned[draft.ref(id_)] = LONG
    draft.is_(Whose.IN_USE, *ids)
    draft.workers[worker] = made.server
    return made, tuple(draft.text(id_) for id_ in ids)


def _row(draft: Draft, zone: str, *, state: str, machine: str | None = None, sent_ms: int | None = LONG) -> Row:
    fleet = draft.elastic(zone)
    worker = draft.uuid()
    row = Row(id=worker, fleet=fleet, zone=zone, state=state, machine=machine, sent_ms=sent_ms)
    draft.memory.rows.append(row)
    return row


@scene("worker at work", weight=2)
def at_work(draft: Draft) -> None:
    """Held by its row, though every other sign says that it is a leftover; also when its tags were taken off."""
    zone = draft.zone()
    row = _row(draft, zone, state=draft.one_of("ready", "busy"))
    made, _ = _machine(draft, row.id, zone)
    row.machine = made.server
    draft.remember(made.server, source="state", fleet=draft.label)
    draft.remember(made.root, source="attached", server=made.server)
    if draft.chance.random() < 0.3:
        draft.change(made.server, tags=tuple(draft.extra_tags()))
    if draft.chance.random() < 0.3:  # an address that hung on it when it was last seen, and is free for a moment
        address = draft.ip(zone, _tags(draft, row.id))
        draft.remember(address.id, source="attached", server=made.server)
        draft.memory.unowned[draft.ref(address.id)] = LONG
        draft.is_(Whose.IN_USE, address.id)


@scene("worker gone", FindingKind.MISSING)
def gone(draft: Draft) -> None:
    zone = draft.zone()
    row = _row(draft, zone, state="ready")
    made = draft.server(f"burst-{draft.label}", zone=zone, tags=_tags(draft, row.id))
    row.machine, text = made.server, draft.text(made.server)
    effects.server_gone(draft.world, draft.get_server(made.server), now_ms=LONG, keep_local=False)
    draft.world.block_volumes.remove(made.root)
    draft.expect(FindingKind.MISSING, f"row {row.id}", text, verdict=Verdict.ACT, action=ActionKind.PURGE)


@scene("create that made nothing", FindingKind.UNRESOLVED_CREATE)
def made_nothing(draft: Draft) -> None:
    row = _row(draft, draft.zone(), state="provisioning", sent_ms=draft.one_of(LONG, NOW - 60_000))
    late = row.sent_ms == LONG
    draft.expect(
        FindingKind.UNRESOLVED_CREATE,
        f"row {row.id}",
        verdict=Verdict.ACT if late else Verdict.WAIT,
        action=ActionKind.PURGE if late else ActionKind.NONE,
    )


@scene("create whose answer was lost", FindingKind.UNRESOLVED_CREATE)
def answer_lost(draft: Draft) -> None:
    """Attached to its row; as it never says that it is ready, it goes when its bootstrap is overdue. One that was there
    before the create was sent has a copied tag, and a person says whose it is."""
    zone, copied = draft.zone(), draft.chance.random() < 0.3
    row = _row(draft, zone, state="provisioning", sent_ms=LONG if copied else BORN - 1000)
    made, texts = _machine(draft, row.id, zone)
    if copied:
        said: dict[str, Any] = {"verdict": Verdict.ASK, "action": ActionKind.ATTACH, "when": "both"}
        draft.expect(FindingKind.UNRESOLVED_CREATE, f"row {row.id}", texts[0], **said)
        return
    ids = [one for one in (made.server, made.root, made.ip) if one]
    draft.is_(Whose.LEFTOVER, *ids, destroy=True, from_ms=NOW + _BOOTSTRAP_MS)
    draft.remember(made.server, source="state", fleet=draft.label)
    draft.expect(
        FindingKind.UNRESOLVED_CREATE, f"row {row.id}", texts[0], verdict=Verdict.ACT, action=ActionKind.ATTACH
    )
    _proved_address(draft, made)


def _proved_address(draft: Draft, made: Worker) -> None:
    if made.ip is not None:
        draft.remember(made.ip, source="attached", server=made.server)


@scene("worker that failed", FindingKind.STALE_ROW)
def failed(draft: Draft) -> None:
    zone = draft.zone()
    row = _row(draft, zone, state="failed")
    made, texts = _machine(draft, row.id, zone)
    row.machine = made.server
    _proved_address(draft, made)
    ids = [one for one in (made.server, made.root, made.ip) if one]
    draft.is_(Whose.LEFTOVER, *ids, destroy=True)
    draft.expect(FindingKind.STALE_ROW, f"row {row.id}", *texts, verdict=Verdict.ACT, action=ActionKind.DESTROY)


@scene("worker without a row", FindingKind.UNRECORDED)
def unrecorded(draft: Draft) -> None:
    zone, worker = draft.zone(), draft.uuid()
    draft.elastic(zone)
    made, texts = _machine(draft, worker, zone)
    new = draft.one_of(True, False)
    if new:
        del draft.memory.unowned[draft.ref(made.server)]
    draft.expect(
        FindingKind.UNRECORDED,
        texts[0],
        f"row {worker}",
        *texts[1:],
        verdict=Verdict.WAIT if new else Verdict.ACT,
        action=ActionKind.RECORD,
    )

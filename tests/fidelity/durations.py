"""How long each transition took in the recording, so that the replay's takes as long.

Durations are luck (docs/simulator.md has their spread) and not what is tested; a poll that comes earlier or later than
the recorded end would only show that. So before a call that starts a transition is replayed, its duration is set to end
right before the first recorded answer that shows the end. Where no answer does, the simulator's median stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from reconciler.simulator import Timings
from tests.fidelity.cassettes import Exchange, parsed
from tests.fidelity.existing import objects

Ended = Callable[[Exchange], bool]
# (fields of Timings, what shows that it is over).
Started = tuple[tuple[str, ...], Ended]

# Action -> (fields of Timings, the state that ends it).
_ACTIONS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "poweron": (("poweron", "poweron_local"), "running"),
    "poweroff": (("poweroff",), "stopped"),
    "stop_in_place": (("standby",), "stopped in place"),
    "reboot": (("reboot",), "running"),
}
_SNAPSHOT: Final = ("snapshot", "snapshot_local")
_SETTLED: Final = frozenset({"available", "in_use"})


def timings(exchanges: Sequence[Exchange], index: int) -> Timings:
    """The timings for the exchange at `index`, with what the rest of the cassette says about its end."""
    changes: dict[str, float] = {}
    for names, ended in _started(exchanges[index]):
        end = next((later for later in exchanges[index + 1 :] if ended(later)), None)
        if end is not None and not changes.keys() & set(names):
            changes |= dict.fromkeys(names, (end.at_ms - exchanges[index].at_ms - 1) / 1000)
    return Timings(**changes)


def _started(exchange: Exchange) -> Iterator[Started]:
    parts = exchange.path.split("/")
    if exchange.status >= 400 or exchange.method == "GET":
        return
    if exchange.method == "DELETE":
        if parts[-2] == "servers":
            yield ("volume_release",), _freed
    elif parts[-1] == "action":
        yield from _acted(exchange.path.removesuffix("/action"), str((parsed(exchange.sent) or {}).get("action")))
    elif parts[-1] in {"export", "export-to-object-storage"}:
        yield _SNAPSHOT, _shows(parts[-2], "available")
    else:
        for item in objects(exchange):
            yield from _changed(exchange, frozenset(parts), str(item["id"]))


def _acted(server_path: str, action: str) -> Iterator[Started]:
    if action == "backup":
        yield _SNAPSHOT, _root_free
    elif action == "terminate":
        yield ("terminate",), lambda later: later.status == 404 and later.path == server_path
        # Where nobody looked for the server again: not later than its volumes were free.
        yield ("terminate",), _freed
    elif action in _ACTIONS:
        names, state = _ACTIONS[action]
        yield names, _shows(server_path.rsplit("/", 1)[-1], state)


def _changed(exchange: Exchange, parts: frozenset[str], object_id: str) -> Iterator[Started]:
    if "/block/" in exchange.path and "volumes" in parts:
        name = "volume_create" if exchange.method == "POST" else "volume_update"
        yield (name,), _shows(object_id, *_SETTLED)
    elif "snapshots" in parts:
        yield _SNAPSHOT, _shows(object_id, "available")
    elif parts & {"private_nics", "private-network-interfaces"}:
        yield ("nic_attach",), _shows(object_id, "available")
    elif "ips" in parts:
        yield ("ip_attach",), _shows(object_id, "attached")
    elif "servers" in parts:
        yield from _volumes(object_id)


def _volumes(server_id: str) -> Iterator[Started]:
    """Volumes that a PATCH or an attach or detach call moves: until Block Storage or their server says so."""
    yield ("volume_detach",), _freed
    yield ("volume_attach",), lambda later: _all_there(later, server_id)


def _all_there(later: Exchange, server_id: str) -> bool:
    shown = [item for item in objects(later) if item["id"] == server_id and later.method == "GET"]
    return any(all(slot.get("state") == "available" for slot in item["volumes"].values()) for item in shown)


def _freed(later: Exchange) -> bool:
    """Some block volume is nobody's: as it says itself, or because it could be deleted."""
    if "/block/" not in later.path:
        return False
    if later.method == "DELETE":
        return later.status == 204
    return any(item.get("status") == "available" for item in objects(later))


def _root_free(later: Exchange) -> bool:
    """The end of a backup: a local volume that is not snapshotting any more."""
    return "/volumes/" in later.path and any(item.get("state") == "available" for item in objects(later))


def _shows(object_id: str, *states: str) -> Ended:
    """A GET that shows it in one of `states`; or another change of it that was accepted."""

    def ended(later: Exchange) -> bool:
        if later.method != "GET":
            return not later.path.endswith("/action") and later.status < 300 and object_id in later.path
        return any(
            item["id"] == object_id and (item.get("state") in states or item.get("status") in states)
            for item in objects(later)
        )

    return ended

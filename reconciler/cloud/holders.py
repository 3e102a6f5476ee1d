"""What holds an object now, by the words of its own API.

Whatever is not known to be free counts as held: a state that this version does not know means "ask again", not
"free".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from reconciler.model.resources import Ip, IpamAddress, Kind, Nic, Other, Resource, Volume

_FREE: Final = {
    Kind.VOLUME: frozenset({"available", "error"}),
    Kind.INSTANCE_VOLUME: frozenset({"available", "error"}),
    Kind.IP: frozenset({"detached", "error"}),
    Kind.NIC: frozenset({"available", "syncing_error", "detach_error", "delete_error"}),
    Kind.SNAPSHOT: frozenset({"available", "error"}),
    Kind.IMAGE: frozenset({"available", "error"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """`ids`: what uses the object. `moving`: why it is to be asked again later, once those are gone. `refused`: why it
    is not to be destroyed at all."""

    ids: tuple[str, ...] = ()
    moving: str | None = None
    refused: str | None = None


def hold_of(live: Resource) -> Hold:
    """What holds anything but a server."""
    match live:
        case Ip():
            return _hold(Kind.IP, live.state, (live.server_id,), gone="attached")
        case Volume():
            return _hold(live.kind, live.status, (live.server_id, *live.reference_ids))
        case Nic():
            # A NIC that still names a server is `available`, too; whether that server exists is asked.
            return _hold(Kind.NIC, live.status, (live.server_id,))
        case IpamAddress():
            return _of_address(live)
        case Other():
            return _of_other(live)
        case _:
            return Hold(refused="this kind of object is not destroyed here")


def _hold(kind: Kind, state: str, holders: tuple[str | None, ...], *, gone: str | None = None) -> Hold:
    """`gone`: the state that an object keeps when its holder has gone, and in which its API deletes it."""
    ids = tuple(dict.fromkeys(holder for holder in holders if holder))
    if state == "locked":
        return Hold(ids=ids, refused="it is locked by Scaleway; their support must unlock it")
    if state in _FREE[kind] or (ids and state == gone):
        return Hold(ids=ids)
    return Hold(ids=ids, moving=f"it is {state}")


def _of_address(live: IpamAddress) -> Hold:
    if live.resource_type is None and live.resource_id is None:
        return Hold()
    if live.resource_id is None:
        return Hold(refused="it is attached to a resource without an id")
    return Hold(ids=(live.resource_id,))


def _of_other(live: Other) -> Hold:
    details = dict(live.details)
    if live.kind is Kind.SNAPSHOT:
        return _hold(Kind.SNAPSHOT, details.get("status", ""), _references(live))
    if live.kind is Kind.IMAGE:
        if details.get("public") == "true":
            return Hold(refused="it is a public image")
        return _hold(Kind.IMAGE, details.get("status", ""), ())
    return Hold(refused="this kind of object is not destroyed here")


def _references(live: Other) -> tuple[str, ...]:
    return tuple(value for key, value in live.details if key == "reference")

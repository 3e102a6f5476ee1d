"""A machine that fits a vacant slot: under which URNs would the program's own create have put it and its parts?

Known without running the program for fleets of `WorkerFleet`, whose names are fixed: machine `<fleet>-<slot>`, address
`<fleet>-<slot>-ip`, further volumes by their own names, all below the component. Anything else is for
`reconciler adopt`, which runs the program and asks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reconciler.diff.context import Context
from reconciler.diff.matching import slot_of
from reconciler.model.desired import FleetSpec
from reconciler.model.resources import Ip, Kind, Ref, Resource, Server, Volume

_COMPONENT: Final = "reconciler:fleet:WorkerFleet"
_TOKENS: Final = {
    Kind.SERVER: "scaleway:instance/server:Server",
    Kind.IP: "scaleway:instance/ip:Ip",
    Kind.VOLUME: "scaleway:block/volume:Volume",
}


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why the URNs are not known."""

    why: str


def places(server: Server, fleet: FleetSpec, slot: str, context: Context) -> Mapping[Ref, str] | Unknown:
    """Ref -> URN of the machine and of each of its parts that a program declares as a resource of its own."""
    of_slot = slot_of(server.tags)
    others = [one for one in context.unheld_of_slot.get(of_slot, ()) if one.id != server.id] if of_slot else []
    if others:
        return Unknown(f"{others[0].ref} fits it as well")
    gone = context.authority.servers.get((fleet.name, slot))
    if gone:
        return Unknown(f"the state still holds {gone[0].id} for it, which is gone")
    prefix = _below(fleet)
    if prefix is None:
        return Unknown("only its program knows its URN")
    name = f"{fleet.name}-{slot}"
    found = {server.ref: f"{prefix}${_TOKENS[Kind.SERVER]}::{name}"}
    for part in context.usage.children(server):
        if part.id in context.held or _inline(part, server):
            continue
        own = _name(part, name)
        if own is None:
            return Unknown(f"no fleet declares {part.ref}, which it uses")
        found[part.ref] = f"{prefix}${_TOKENS[part.ref.kind]}::{own}"
    return _free(found, fleet, context)


def _below(fleet: FleetSpec) -> str | None:
    """The part of a child's URN before its own type; None for a component that names its children in another way."""
    head, _, name = (fleet.component_urn or "").rpartition("::")
    parents = head.rpartition("::")[2].split("$")
    return head if name == fleet.name and parents[-1] == _COMPONENT else None


def _inline(part: Resource, server: Server) -> bool:
    """Made by the create of the server itself, so that no program declares it."""
    root = server.root
    return part.ref.kind is Kind.NIC or (root is not None and part.id == root.id)


def _name(part: Resource, machine: str) -> str | None:
    match part:
        case Ip():
            return f"{machine}-ip"
        case Volume(kind=Kind.VOLUME) if part.name.startswith(f"{machine}-"):
            return part.name
        case _:
            return None


def _free(found: Mapping[Ref, str], fleet: FleetSpec, context: Context) -> Mapping[Ref, str] | Unknown:
    """The places, when each is somebody's once and nobody's yet."""
    if len(set(found.values())) < len(found):
        return Unknown("it has two parts that would be one")
    state = context.world.states.get(fleet.stack)
    taken = next((urn for urn in found.values() if state is not None and urn in state.by_urn), None)
    return Unknown(f"the state holds another one for {taken}") if taken is not None else found

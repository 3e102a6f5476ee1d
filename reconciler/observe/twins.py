"""Which machines stand where the next `pulumi up` would put one? Pure: a state and what was listed.

Three cases: what an interrupted create has made and no state holds; a machine without an entry that carries the tags of
a slot which the state has vacant; and two machines with the tags of one slot.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from reconciler.diff.declared import parse_desired
from reconciler.diff.matching import Wanted, likeliest, matches, slot_of, wanted
from reconciler.model.desired import OUTPUT_NAME, FleetSpec
from reconciler.model.resources import Kind, Resource, Server, region_of
from reconciler.model.scope import Scope
from reconciler.model.state import PendingOperation, StackState

Slot: TypeAlias = tuple[str, str, str]  # scope uuid, fleet, slot


@dataclass(frozen=True, slots=True)
class Create:
    """A pending create, and what it asked for; None for a type that is never looked for."""

    operation: PendingOperation
    want: Wanted | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A resource in no state that is read. `sure`: it can hardly be anybody else's."""

    resource: Resource
    why: str
    sure: bool = True
    urn: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a stack has in the making, which slots it holds and which it declares."""

    creates: tuple[Create, ...]
    held_slots: frozenset[Slot]
    vacant_slots: frozenset[Slot]
    zones: frozenset[str]

    def places(self) -> tuple[tuple[Kind, str | None], ...]:
        """(kind, zone) to be listed; zone None means every zone, because the stack says nothing of any."""
        found: set[tuple[Kind, str | None]] = set()
        for create in self.creates:
            if create.want is not None:
                found |= {(create.want.kind, zone) for zone in self._zones(create.want)}
        if self.held_slots or self.vacant_slots:
            found |= {(Kind.SERVER, zone) for zone in self.zones}
        return tuple(sorted(found, key=lambda place: (place[0], place[1] or "")))

    def _zones(self, want: Wanted) -> set[str | None]:
        if want.zone is not None:
            return {want.zone}
        return {region_of(zone) if want.kind.regional else zone for zone in self.zones} or {None}


def expected(state: StackState) -> Expected:
    """What to look for, from one state alone."""
    servers = [entry for entry in state.resources if (ref := entry.ref) is not None and ref.kind is Kind.SERVER]
    fleets = _fleets(state)
    held = {slot for entry in servers if (slot := slot_of(_tags(entry.inputs.get("tags")))) is not None}
    creates = tuple(
        Create(
            operation, wanted(operation.resource.type, operation.resource.inputs, provider=_provider(operation, state))
        )
        for operation in state.pending
        if operation.operation == "creating" and operation.resource.custom
    )
    declared = {slot for scope, fleet in fleets for slot in _slots(scope, fleet)}
    zones = {ref.zone for entry in servers if (ref := entry.ref) is not None} | {fleet.zone for _, fleet in fleets}
    return Expected(
        creates=creates,
        held_slots=frozenset(held),
        vacant_slots=frozenset(declared - held),
        zones=frozenset(zones),
    )


def twins(want: Expected, listed: Iterable[Resource], *, held: Collection[str]) -> tuple[Twin, ...]:
    """Every resource that stands in the way, each once, by id."""
    everything = list(listed)
    loose = [one for one in everything if one.id not in held]
    found: dict[str, Twin] = {}
    for twin in (*_of_creates(want, loose), *_of_slots(want, everything, held)):
        found.setdefault(twin.resource.id, twin)
    return tuple(found[id_] for id_ in sorted(found))


def _of_creates(want: Expected, loose: list[Resource]) -> Iterator[Twin]:
    for create in want.creates:
        found = matches(create.want, loose) if create.want is not None else ()
        for match in likeliest(found):
            yield Twin(
                resource=match.resource,
                why=f"the interrupted create of {create.operation.resource.name} made it: {match.why}",
                sure=match.strong,
                urn=create.operation.resource.urn,
            )


def _of_slots(want: Expected, everything: list[Resource], held: Collection[str]) -> Iterator[Twin]:
    by_slot: dict[Slot, list[Server]] = {}
    for one in everything:
        slot = slot_of(one.tags) if isinstance(one, Server) else None
        if slot is not None and isinstance(one, Server):
            by_slot.setdefault(slot, []).append(one)
    for slot, servers in sorted(by_slot.items()):
        loose = [server for server in servers if server.id not in held]
        name = f"{slot[1]}/{slot[2]}"
        if slot in want.held_slots and len(servers) > 1:
            for server in loose:
                yield Twin(resource=server, why=f"the state holds another machine for slot {name}")
        elif slot in want.vacant_slots:
            for server in loose:
                yield Twin(resource=server, why=f"slot {name} is vacant in the state, and `pulumi up` would fill it")


def _fleets(state: StackState) -> list[tuple[str, FleetSpec]]:
    """(scope uuid, fleet) of the stack's own output."""
    output = state.outputs.get(OUTPUT_NAME)
    uuid = output.get("scope") if isinstance(output, dict) else None
    if not isinstance(uuid, str):
        return []
    scope = Scope(name="", uuid=uuid, project="", zones=())
    return [(uuid, fleet) for fleet in parse_desired([state], scope=scope).fleets]


def _slots(scope: str, fleet: FleetSpec) -> set[Slot]:
    count = (fleet.replicas or 0) if fleet.controller == "static" else 0
    return {(scope, fleet.name, str(number)) for number in range(count)}


def _provider(operation: PendingOperation, state: StackState) -> dict[str, Any]:
    """The inputs of the provider resource that the create goes through."""
    reference = operation.resource.provider
    for entry in state.resources:
        if reference is not None and f"{entry.urn}::{entry.id}" == reference:
            return dict(entry.inputs)
    return {}


def _tags(value: object) -> tuple[str, ...]:
    return tuple(tag for tag in value if isinstance(tag, str)) if isinstance(value, (list, tuple)) else ()

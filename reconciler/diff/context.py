"""Everything that the classifiers share, computed once per sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from reconciler.diff.authority import Authority, Entry, Part
from reconciler.diff.index import Index
from reconciler.diff.matching import slot_of
from reconciler.diff.ownership import Claim, claim, never_reason
from reconciler.diff.pricing import cost_of_all
from reconciler.diff.properties import same
from reconciler.diff.recorded import Rows, living, with_rows, workers_of
from reconciler.diff.usage import Usage
from reconciler.model.desired import FLEET_TAG, SLOT_TAG, FleetSpec, tag_value
from reconciler.model.finding import Evidence, Subject
from reconciler.model.inventory import Presence, Probe
from reconciler.model.memory import Memory
from reconciler.model.money import Cost
from reconciler.model.resources import Kind, Resource, Server
from reconciler.model.scope import Scope
from reconciler.model.state import PendingOperation, StateResource
from reconciler.model.world import World


@dataclass(frozen=True, slots=True)
class Join:
    """State entries beside what they stand for."""

    servers: tuple[tuple[Entry, Server], ...]
    differing: tuple[tuple[Entry, Resource], ...]  # not the same at first sight; the comparison says what differs
    unseen: tuple[tuple[Entry, Probe], ...]  # in no list, and asked for by id


@dataclass(frozen=True)
class Context:
    """Not slotted, for the cached indexes."""

    world: World

    @property
    def scope(self) -> Scope:
        return self.world.scope

    @cached_property
    def memory(self) -> Memory:
        return with_rows(self.world.memory, self.rows)

    @cached_property
    def rows(self) -> Rows:
        """What the rows of workers hold."""
        return Rows(self.world.records_before, self.world.records)

    @cached_property
    def living(self) -> frozenset[str]:
        """Workers whose rows hold machines, whether these rows are read or only remembered."""
        return living(self.memory)

    @property
    def now_ms(self) -> int:
        return self.world.finished_ms

    @cached_property
    def index(self) -> Index:
        return Index(self.world.inventory)

    @cached_property
    def authority(self) -> Authority:
        return Authority(self.world)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.authority.entries

    @cached_property
    def held(self) -> Mapping[str, tuple[str, StateResource]]:
        """Provider id -> (stack, entry). What is in here is in state, in either of its two reads, and no leftover."""
        return self.authority.held

    @cached_property
    def usage(self) -> Usage:
        return Usage(self.index, self.held)

    @cached_property
    def join(self) -> Join:
        """One pass over all entries; what a program only reads (`external`) is nobody's difference."""
        index, by_kind, probed = self.index, self.index.by_kind, self.index.probed
        servers: list[tuple[Entry, Server]] = []
        differing: list[tuple[Entry, Resource]] = []
        unseen: list[tuple[Entry, Probe]] = []
        foreign = self.authority.is_foreign
        for entry in self.authority.candidates:
            if entry.resource.external:
                continue
            found = by_kind[entry.kind].get(entry.id)
            if found is None or found.zone != entry.zone:
                probe = probed[entry.kind].get(entry.id)
                if probe is not None and not foreign(entry):
                    unseen.append((entry, probe))
                continue
            if isinstance(found, Server):
                servers.append((entry, found))
            if not same(entry.resource, found, index=index) and not foreign(entry):
                differing.append((entry, found))
        return Join(tuple(servers), tuple(differing), tuple(unseen))

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """Id -> the server entry that names it as a part, for servers that have not what their entry names."""
        differing = {entry.id for entry, _ in self.join.differing}
        return self.authority.parts({entry.id for entry, _ in self.join.servers if entry.id not in differing})

    @cached_property
    def unheld_of_slot(self) -> Mapping[tuple[str, str, str], tuple[Server, ...]]:
        """(scope tag, fleet, slot) -> the machines with these tags that no state holds, in a fixed order."""
        found: dict[tuple[str, str, str], list[Server]] = {}
        for one in self.index.by_kind[Kind.SERVER].values():
            place = slot_of(one.tags) if one.id not in self.held else None
            if place is not None and isinstance(one, Server):
                found.setdefault(place, []).append(one)
        return {place: tuple(sorted(servers, key=lambda one: one.id)) for place, servers in found.items()}

    @cached_property
    def bearers(self) -> Mapping[str, tuple[Server, ...]]:
        """Worker -> the servers of the project that carry its id, in a fixed order, whatever else holds them."""
        found: dict[str, list[Server]] = {}
        for one in self.index.by_kind[Kind.SERVER].values():
            if isinstance(one, Server) and one.project == self.scope.project:
                for worker in set(workers_of(one.tags)):
                    found.setdefault(worker, []).append(one)
        return {worker: tuple(sorted(servers, key=lambda one: one.id)) for worker, servers in found.items()}

    @cached_property
    def fleets(self) -> Mapping[str, FleetSpec]:
        """The declared fleets by name; of two with one name (a problem of its own) the first in a fixed order."""
        ordered = sorted(self.world.desired.fleets, key=lambda fleet: (fleet.stack, fleet.uid), reverse=True)
        return {fleet.name: fleet for fleet in ordered}

    @cached_property
    def pending(self) -> tuple[tuple[str, PendingOperation], ...]:
        """(stack, operation), over all stacks, in a fixed order and each once: two kills leave the same one twice."""
        found: dict[tuple[str, str, str], PendingOperation] = {}
        for name, state in self.world.states.items():
            for operation in sorted(state.pending, key=lambda pending: pending.operation):
                found.setdefault((name, operation.resource.urn, operation.resource.id or ""), operation)
        return tuple((key[0], found[key]) for key in sorted(found))

    @cached_property
    def live_anywhere(self) -> str | None:
        """Evidence that a stack that may own something in the project is being written to now."""
        return next((f"stack {name}: {why}" for name, why in sorted(self.world.live_stacks.items())), None)

    @cached_property
    def unread(self) -> str | None:
        """The stacks and rows that may own something and could not be read, in words."""
        rows = ("the rows of workers",) if self.world.unread_records is not None else ()
        return ", ".join((*sorted({unread.stack for unread in self.world.unread}), *rows)) or None

    def hold_for(self, stack: str) -> str | None:
        """Why nothing may be done to a resource of this stack now."""
        live = self.world.live_stacks.get(stack)
        if live is not None:
            return f"stack {stack} is being written to: {live}"
        state = self.world.states.get(stack)
        if state is not None and state.pending:
            return f"stack {stack} has {len(state.pending)} pending operation(s), which are settled first"
        return None

    def worker_of(self, tags: tuple[str, ...]) -> str | None:
        """`fleet/slot` from tags, where both are unambiguous."""
        fleet, slot = tag_value(tags, FLEET_TAG), tag_value(tags, SLOT_TAG)
        return f"{fleet}/{slot}" if fleet is not None and slot is not None else fleet

    def claim(self, resource: Resource) -> Claim:
        return claim(resource, scope=self.scope, memory=self.memory)

    def never(self, resource: Resource) -> str | None:
        return never_reason(resource, scope=self.scope)

    def cost(self, *resources: Resource) -> Cost:
        return cost_of_all(resources, scope=self.scope, prices=self.world.inventory.prices)

    def presence(self, entry: Entry) -> Presence:
        """Of what an entry stands for. Rule 2 as far as the sweep went: absent only where the probe proved it, and a
        list is believed over a GET that gave no answer."""
        probe = self.index.probed[entry.kind].get(entry.id)
        if probe is not None and probe.presence is Presence.ABSENT:
            return Presence.ABSENT
        return Presence.PRESENT if self.index.get(entry.ref) is not None else Presence.UNKNOWN

    def why_incomplete(self, kind: Kind, zone: str) -> str | None:
        """Why the list of this kind proves nothing; None where it was read to its end."""
        scan = self.world.inventory.scans.get((kind, zone))
        if scan is None:
            return f"{kind.value}s of {zone} were not listed"
        return None if scan.complete else f"{kind.value}s of {zone} were not read whole: {scan.reason or 'no reason'}"

    def seen(self, text: str, *, source: str = "inventory") -> Evidence:
        return Evidence(at_ms=self.now_ms, source=source, text=text)


def subject(resource: Resource, *, urn: str | None = None, worker: str | None = None) -> Subject:
    ref = resource.ref
    return Subject(
        kind=ref.kind.value,
        zone=ref.zone,
        id=ref.id,
        urn=urn,
        worker=worker,
        name=getattr(resource, "name", None) or None,
    )


def entry_subject(entry: Entry, *, worker: str | None = None) -> Subject:
    return Subject(
        kind=entry.kind.value,
        zone=entry.zone,
        id=entry.id,
        urn=entry.resource.urn,
        worker=worker,
        name=entry.resource.name,
    )

"""What the states hold, by id: the authority that a leftover is judged against.

A resource that is in either read of any state is not a leftover (rule 3). The id decides and not the type: an entry of
a type that is not listed here (an older token, a volume that was migrated to Block Storage and kept its id) holds its
resource all the same. A server's entry also names its parts (root volume, further volumes, addresses); a part that
somebody took off for a while is still named, and therefore still somebody's.

Everything here is made once for each of up to some 100,000 entries, so it is plain loops, and named tuples.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from reconciler.diff.ownership import foreign_scope, has_owner_tags
from reconciler.model.desired import FLEET_TAG, OWNER_TAG, SCOPE_TAG, SLOT_TAG
from reconciler.model.resources import Kind, Ref
from reconciler.model.scope import Scope
from reconciler.model.state import KIND_OF_TYPE, StackState, StateResource
from reconciler.model.world import World


class Entry(NamedTuple):
    """One state entry, with the stack that holds it."""

    stack: str
    resource: StateResource
    kind: Kind
    zone: str
    id: str

    @property
    def tags(self) -> tuple[str, ...]:
        """As declared: the inputs'."""
        return declared_tags(self.resource)

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.zone, self.id)

    @property
    def key(self) -> tuple[str, str, str]:
        return self.stack, self.resource.urn, self.id


class Holder(NamedTuple):
    """Who holds an id."""

    stack: str
    resource: StateResource

    def __str__(self) -> str:
        return f"{self.resource.urn} in the state of {self.stack}"

    @property
    def key(self) -> tuple[str, str]:
        return self.stack, self.resource.urn


class Part(NamedTuple):
    """The server entry that names a part."""

    holder: Holder
    server_id: str


@dataclass(slots=True)
class _Read:
    """One pass over the second read."""

    held: dict[str, tuple[str, StateResource]] = field(default_factory=dict)
    servers: list[tuple[Entry, tuple[str, ...]]] = field(default_factory=list)  # with their declared tags
    others: list[Entry] = field(default_factory=list)
    aside: list[Part] = field(default_factory=list)  # servers that are not this scope's to judge


@dataclass(frozen=True)
class Authority:
    """Not slotted, for the cached indexes."""

    world: World

    @cached_property
    def held(self) -> Mapping[str, tuple[str, StateResource]]:
        """Provider id -> (stack, entry) that holds it, over both reads, every project, zone and type."""
        found = self._read.held
        for name, state in _first_reads(self.world):
            for resource in state.resources:
                if resource.id and resource.custom:
                    _hold(found, resource.id.rpartition("/")[2], (name, resource))
        found.pop("", None)
        return found

    def holder(self, id_: str) -> Holder | None:
        found = self.held.get(id_)
        return Holder(*found) if found is not None else None

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Entries of this scope: of its project, in zones that were looked at, without another scope's owner tag.

        Old copies of a replace are left out; Pulumi removes them itself.
        """
        return tuple(entry for entry in self.candidates if not self.is_foreign(entry))

    @cached_property
    def candidates(self) -> tuple[Entry, ...]:
        """The same, but for entries that are no servers and may carry another scope's owner tag.

        To look at every tag of every entry would double the time that all of this takes, so that is left to those few
        of which something is to be said.
        """
        return (*(entry for entry, _ in self._read.servers), *self._read.others)

    def is_foreign(self, entry: Entry) -> bool:
        if entry.kind is Kind.SERVER:
            return False  # those were left out
        return foreign_scope(entry.tags, scope=self.world.scope) is not None

    @cached_property
    def owned(self) -> tuple[tuple[Entry, tuple[str, ...]], ...]:
        """Server entries with the exact owner tags of this scope, and all their declared tags."""
        own = SCOPE_TAG + self.world.scope.uuid
        return tuple(pair for pair in self._read.servers if own in pair[1] and OWNER_TAG in pair[1])

    @cached_property
    def servers(self) -> Mapping[tuple[str, str], tuple[Entry, ...]]:
        """(fleet, slot) -> the server entries that are declared for it with this scope's owner tags."""
        found: dict[tuple[str, str], tuple[Entry, ...]] = {}
        for entry, tags in self.owned:
            place = _slot_in(tags)
            if place is not None:
                found[place] = (*found[place], entry) if place in found else (entry,)
        return {
            place: entries if len(entries) == 1 else tuple(sorted(entries, key=lambda entry: entry.key))
            for place, entries in found.items()
        }

    def parts(self, as_declared: Container[str]) -> Mapping[str, Part]:
        """Id of a part -> the server entry that names it, over both reads.

        `as_declared` are ids of servers that have what their entry names: their parts are in use, so they are not
        looked through again.
        """
        found: dict[str, Part] = {}
        for part in self._read.aside:
            _name_parts(found, part)
        for entry, _ in self._read.servers:
            if entry.id not in as_declared:
                _name_parts(found, Part(Holder(entry.stack, entry.resource), entry.id))
        for name, state in _first_reads(self.world):
            for resource in state.resources:
                if resource.id and KIND_OF_TYPE.get(resource.type) is Kind.SERVER:
                    _name_parts(found, Part(Holder(name, resource), resource.id.rpartition("/")[2]))
        return found

    @cached_property
    def _read(self) -> _Read:
        read, scope = _Read(), self.world.scope
        for name, state in sorted(self.world.states.items()):
            for resource in state.resources:
                if not resource.id or not resource.custom:
                    continue
                zone, _, id_ = resource.id.rpartition("/")
                pair = (name, resource)
                if read.held.setdefault(id_, pair) is not pair:
                    _hold(read.held, id_, pair)
                kind = KIND_OF_TYPE.get(resource.type)
                if kind is None or not id_:
                    continue
                if "/" in zone:
                    zone = zone.partition("/")[0]  # a NIC's id is zone, server, NIC
                judged = zone and not resource.pending_delete and in_scope(resource, kind, zone, scope=scope)
                if kind is not Kind.SERVER:
                    if judged:
                        read.others.append(Entry(name, resource, kind, zone, id_))
                    continue
                tags = declared_tags(resource)
                if judged and foreign_scope(tags, scope=scope) is None:
                    read.servers.append((Entry(name, resource, kind, zone, id_), tags))
                else:
                    read.aside.append(Part(Holder(name, resource), id_))
        return read


def _hold(held: dict[str, tuple[str, StateResource]], id_: str, pair: tuple[str, StateResource]) -> None:
    """Of several that hold one id the first in a fixed order, so that the order of reading is nowhere to be seen."""
    other = held.get(id_)
    if other is None or (pair[0], pair[1].urn) < (other[0], other[1].urn):
        held[id_] = pair


def _name_parts(found: dict[str, Part], part: Part) -> None:
    resource = part.holder.resource
    for id_ in (*_parts(resource.outputs), *_parts(resource.inputs)):
        if found.setdefault(id_, part) is not part and part.holder.key < found[id_].holder.key:
            found[id_] = part


def _first_reads(world: World) -> Iterator[tuple[str, StackState]]:
    """First reads of stacks that moved, or went away; of the others the second one says it all: its serial does."""
    for name, before in sorted(world.states_before.items()):
        state = world.states.get(name)
        if state is None or before.serial != state.serial:
            yield name, before


def in_scope(resource: StateResource, kind: Kind, zone: str, *, scope: Scope) -> bool:
    """Whether an entry is this scope's to judge: its project, and a zone that was looked at."""
    if zone not in scope.zones and not kind.regional:
        return False
    project = resource.outputs.get("projectId") or resource.inputs.get("projectId")
    return not project or project == scope.project


def declared_tags(resource: StateResource) -> tuple[str, ...]:
    """The tags of the inputs; what is no text (a secret) is left out."""
    tags = resource.inputs.get("tags")
    if not isinstance(tags, (list, tuple)):
        return ()
    try:
        "".join(tags)  # the quickest way to ask whether all of them are text
    except TypeError:
        return tuple(tag for tag in tags if isinstance(tag, str))
    return tuple(tags)


def slot_of(tags: tuple[str, ...], *, scope: Scope) -> tuple[str, str] | None:
    """(fleet, slot) of exact owner tags of this scope; None where one is missing, ambiguous or another scope's."""
    return _slot_in(tags) if has_owner_tags(tags, scope=scope) else None


def _slot_in(tags: tuple[str, ...]) -> tuple[str, str] | None:
    fleet = slot = None
    for tag in tags:
        if tag.startswith(FLEET_TAG):
            if fleet is not None and fleet != tag:
                return None
            fleet = tag
        elif tag.startswith(SLOT_TAG):
            if slot is not None and slot != tag:
                return None
            slot = tag
    if fleet is None or slot is None:
        return None
    return fleet[len(FLEET_TAG) :], slot[len(SLOT_TAG) :]


def _parts(values: Mapping[str, Any]) -> list[str]:
    """The ids of volumes and addresses that a server's values name, without their zones."""
    root, addresses = values.get("rootVolume"), values.get("publicIps")
    named: list[Any] = [values.get("ipId")]
    if isinstance(root, Mapping):
        named.append(root.get("volumeId"))
    if isinstance(addresses, (list, tuple)):
        named += [item.get("id") for item in addresses if isinstance(item, Mapping)]
    for key in ("additionalVolumeIds", "ipIds"):
        listed = values.get(key)
        if isinstance(listed, (list, tuple)):
            named += listed
    return [id_ for value in named if isinstance(value, str) and (id_ := value.rpartition("/")[2])]

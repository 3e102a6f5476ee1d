"""Which resource of the inventory is the one that a program declares, or that an interrupted create may have made?

A create that was cut off left no id. What it sent is known (the inputs), so what it made is looked for by what every
create carries: the owner tags of a slot, a name, its other tags, the two ends of a private NIC. A match is *strong*
when it can hardly be anybody else's: the tags of the slot, or the name with all declared tags, or both ends of a NIC.
A *weak* one (the name without the tags, tags that many share) is a reason to ask and never one to act; but it is
enough for nothing to be proved absent.

Who owns what was found is another question, and the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from reconciler.model.desired import FLEET_TAG, SCOPE_TAG, SLOT_TAG, tag_value
from reconciler.model.resources import Kind, Nic, Resource, region_of
from reconciler.model.state import KIND_OF_TYPE

# What is listed, so that a list can hold it, or prove that it is not there.
LOOKED_FOR: Final = frozenset({Kind.SERVER, Kind.IP, Kind.VOLUME, Kind.INSTANCE_VOLUME, Kind.NIC, Kind.IPAM})
_NAMED: Final = frozenset({Kind.SERVER, Kind.VOLUME, Kind.INSTANCE_VOLUME})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a create asked for. `zone` and `project` are None where the inputs leave them to the provider."""

    kind: Kind
    zone: str | None
    project: str | None
    name: str | None
    tags: tuple[str, ...]
    ends: tuple[str, str] | None = None  # of a NIC: server id, private network id

    @property
    def identifiable(self) -> bool:
        """Whether it has anything to be known by."""
        if self.kind is Kind.NIC:
            return self.ends is not None
        return bool(self.tags) or (self.name is not None and self.kind in _NAMED)

    @property
    def slot(self) -> tuple[str, str, str] | None:
        """(scope tag, fleet, slot) of exact owner tags."""
        return slot_of(self.tags)


@dataclass(frozen=True, slots=True)
class Match:
    resource: Resource
    strong: bool
    why: str


def wanted(type_token: str, inputs: Mapping[str, Any], *, provider: Mapping[str, Any] | None = None) -> Wanted | None:
    """What a create of this type with these inputs asks for; None for a type that is not looked for.

    `provider`: the inputs of its provider resource, which name zone and project where the resource does not.
    """
    kind = KIND_OF_TYPE.get(type_token)
    if kind is None or kind not in LOOKED_FOR:
        return None
    defaults = provider or {}
    zone = _text(inputs.get("zone")) or _text(defaults.get("zone"))
    if kind.regional:
        region = _text(inputs.get("region")) or _text(defaults.get("region"))
        zone = region or (region_of(zone) if zone is not None else None)
    server, network = _bare(inputs.get("serverId")), _bare(inputs.get("privateNetworkId"))
    tags = inputs.get("tags")
    return Wanted(
        kind=kind,
        zone=zone,
        project=_text(inputs.get("projectId")) or _text(defaults.get("projectId")),
        name=_text(inputs.get("name")),
        tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, (list, tuple)) else (),
        ends=(server, network) if kind is Kind.NIC and server and network else None,
    )


def matches(want: Wanted, resources: Iterable[Resource]) -> tuple[Match, ...]:
    """Every resource that may be it, strong ones first, each group by id."""
    found = [match for one in resources if (match := _match(want, one)) is not None]
    return tuple(sorted(found, key=lambda match: (not match.strong, match.resource.id)))


def likeliest(found: Iterable[Match]) -> tuple[Match, ...]:
    """The strong ones, or all when none is: a weak one beside a strong one is something else."""
    everything = tuple(found)
    strong = tuple(match for match in everything if match.strong)
    return strong or everything


def slot_of(tags: Iterable[str]) -> tuple[str, str, str] | None:
    """(scope tag, fleet, slot), where each is there once."""
    listed = tuple(tags)
    scope, fleet, slot = (tag_value(listed, prefix) for prefix in (SCOPE_TAG, FLEET_TAG, SLOT_TAG))
    return (scope, fleet, slot) if scope and fleet and slot else None


def _match(want: Wanted, one: Resource) -> Match | None:
    if one.ref.kind is not want.kind or (want.zone is not None and one.ref.zone != want.zone):
        return None
    if isinstance(one, Nic):
        if want.ends is not None and want.ends == (one.server_id, one.private_network_id):
            return Match(one, True, "it joins the same server to the same private network")
        return None
    name = getattr(one, "name", "") or ""
    named = want.name is not None and want.kind in _NAMED and name == want.name
    tagged = bool(want.tags) and set(want.tags) <= set(one.tags)
    if named:
        return Match(one, tagged or not want.tags, f"it has the name {name}" + (" and the tags" if tagged else ""))
    slot = want.slot
    if slot is not None and slot_of(one.tags) == slot:
        # Several volumes of one slot carry the same tags; their names tell them apart.
        other = want.name is not None and want.kind in _NAMED and want.kind is not Kind.SERVER
        return Match(one, not other, f"it has the tags of slot {slot[1]}/{slot[2]}")
    return Match(one, False, "it has the same tags") if tagged else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _bare(value: object) -> str | None:
    """An id without its zone."""
    text = _text(value)
    return text.rpartition("/")[2] if text is not None else None

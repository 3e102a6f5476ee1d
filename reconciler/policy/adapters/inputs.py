"""The inputs of a Pulumi resource as items: of a state entry, of a preview, and of what the engine hands to a pack.

One function for all three, because the engine hands a pack exactly the inputs. A value may be `UNKNOWN` (a preview) or
the mark of a secret, which is not told. A server's root volume is declared inside the server, and the provider cannot
tag it: it is an item of its own, with a size, and with tags that are not told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from reconciler.model.resources import Kind
from reconciler.model.state import KIND_OF_TYPE, SECRET, StateResource
from reconciler.policy.adapters.lookups import Lookups
from reconciler.policy.item import UNKNOWN, Fact, Item, Unknown

_GB: Final = 1_000_000_000
_LOCAL: Final = ("l_ssd", "scratch")

# What a policy can be about and a sweep does not list, and the tokens of older programs.
TYPES: Final[Mapping[str, Kind]] = {
    **KIND_OF_TYPE,
    "scaleway:instance/snapshot:Snapshot": Kind.SNAPSHOT,
    "scaleway:block/snapshot:Snapshot": Kind.SNAPSHOT,
    "scaleway:instance/image:Image": Kind.IMAGE,
    "scaleway:index/instanceServer:InstanceServer": Kind.SERVER,
    "scaleway:index/instanceIp:InstanceIp": Kind.IP,
    "scaleway:index/blockVolume:BlockVolume": Kind.VOLUME,
    "scaleway:index/instanceVolume:InstanceVolume": Kind.INSTANCE_VOLUME,
    "scaleway:index/instancePrivateNic:InstancePrivateNic": Kind.NIC,
    "scaleway:index/blockSnapshot:BlockSnapshot": Kind.SNAPSHOT,
    "scaleway:index/instanceSnapshot:InstanceSnapshot": Kind.SNAPSHOT,
    "scaleway:index/instanceImage:InstanceImage": Kind.IMAGE,
    "scaleway:index/instanceSecurityGroup:InstanceSecurityGroup": Kind.SECURITY_GROUP,
    "scaleway:index/instancePlacementGroup:InstancePlacementGroup": Kind.PLACEMENT_GROUP,
}


def items_of_entry(entry: StateResource, lookups: Lookups, *, stack: str | None = None) -> Iterator[Item]:
    """A state entry, by its inputs: what the program declares. What a program only reads, and what waits for its
    deletion, is nobody's to judge."""
    if not entry.custom or entry.external or entry.pending_delete:
        return
    yield from items_of_inputs(
        entry.type, entry.inputs, lookups, urn=entry.urn, id=entry.id, stack=stack, default_zone=_zone_in(entry.id)
    )


def items_of_inputs(
    type: str,  # noqa: A002  # Pulumi's word for it
    inputs: Mapping[str, Any],
    lookups: Lookups,
    *,
    urn: str | None,
    id: str | None = None,  # noqa: A002
    stack: str | None = None,
    default_zone: Fact[str] = None,
    partial: bool = False,
) -> Iterator[Item]:
    """Nothing for types that no rule can be about. `partial`: what is not in `inputs` is not told, rather than left out
    by the program."""
    kind = TYPES.get(type)
    if kind is None:
        return
    zone = _text(inputs.get("zone")) or default_zone
    tags, tags_open = _tags(inputs, partial=partial)
    size = _bytes(inputs.get("sizeInGb"))
    commercial_type = _text(inputs.get("type")) if kind is Kind.SERVER else None
    yield Item(
        kind=kind,
        name=_known(_text(inputs.get("name"))),
        id=id.rpartition("/")[2] if id else None,
        urn=urn,
        stack=stack,
        zone=zone,
        tags=tags,
        tags_open=tags_open,
        commercial_type=commercial_type,
        size=size,
        public_ip=_public(kind, inputs, partial=partial),
        protected=_protected(kind, inputs, partial=partial),
        hour_nanos=lookups.hour_nanos(
            kind,
            zone=zone,
            commercial_type=commercial_type,
            size=size,
            ipv6=_known(_text(inputs.get("type"))) == "routed_ipv6",
        ),
        image_created_ms=_image(kind, inputs, lookups),
    )
    if kind is Kind.SERVER:
        yield from _root(inputs, lookups, urn=urn, stack=stack, zone=zone)


def _root(
    inputs: Mapping[str, Any], lookups: Lookups, *, urn: str | None, stack: str | None, zone: Fact[str]
) -> Iterator[Item]:
    root = inputs.get("rootVolume")
    if not isinstance(root, Mapping):
        return
    kind = Kind.INSTANCE_VOLUME if _text(root.get("volumeType")) in _LOCAL else Kind.VOLUME
    size = _bytes(root.get("sizeInGb"))
    yield Item(
        kind=kind,
        name=_known(_text(root.get("name"))),
        urn=urn,
        stack=stack,
        zone=zone,
        size=size,
        public_ip=False,
        hour_nanos=lookups.hour_nanos(kind, zone=zone, size=size),
    )


def _tags(inputs: Mapping[str, Any], *, partial: bool) -> tuple[tuple[str, ...] | None, bool]:
    """The tags that are told, and whether there may be more."""
    value = inputs.get("tags")
    if isinstance(value, Unknown):
        return (), True
    if value is SECRET or (value is None and partial and "tags" not in inputs):
        return None, False
    if not isinstance(value, (list, tuple)):
        return (), False
    known = tuple(tag for tag in value if isinstance(tag, str))
    return known, len(known) < len(value)


def _public(kind: Kind, inputs: Mapping[str, Any], *, partial: bool) -> Fact[bool]:
    if kind is not Kind.SERVER:
        return kind is Kind.IP
    dynamic, one, several = (inputs.get(key) for key in ("enableDynamicIp", "ipId", "ipIds"))
    if dynamic is True or (one is not None and one != "") or (several is not None and several not in ([], ())):
        return True
    if isinstance(dynamic, Unknown):
        return UNKNOWN
    return None if partial or dynamic is SECRET else False


def _protected(kind: Kind, inputs: Mapping[str, Any], *, partial: bool) -> Fact[bool]:
    if kind is not Kind.SERVER:
        return None
    value = inputs.get("protected")
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, bool):
        return value
    return None if partial or value is SECRET else False


def _image(kind: Kind, inputs: Mapping[str, Any], lookups: Lookups) -> Fact[int]:
    image = _text(inputs.get("image")) if kind is Kind.SERVER else None
    if isinstance(image, Unknown):
        return UNKNOWN
    return lookups.images.get(image.rpartition("/")[2]) if image is not None else None


def _text(value: Any) -> Fact[str]:
    if isinstance(value, Unknown):
        return UNKNOWN
    return value if isinstance(value, str) and value else None


def _known(value: Fact[str]) -> str | None:
    return value if isinstance(value, str) else None


def _bytes(value: Any) -> Fact[int]:
    """Numbers come out of a checkpoint as floats; `true` is a number to Python alone, and infinity no size."""
    if isinstance(value, Unknown):
        return UNKNOWN
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return int(value * _GB) if known else None


def _zone_in(id_: str | None) -> str | None:
    head, found, _ = (id_ or "").partition("/")
    return head if found and head else None

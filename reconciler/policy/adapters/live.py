"""What the provider runs, as items."""

from __future__ import annotations

from reconciler.model.resources import Ip, Kind, Nic, Resource, Server, Volume
from reconciler.policy.adapters.lookups import Lookups
from reconciler.policy.item import Item


def item_of(
    resource: Resource,
    lookups: Lookups,
    *,
    urn: str | None = None,
    stack: str | None = None,
    fleet: str | None = None,
) -> Item:
    """`urn`, `stack`: of the state entry that holds it (for a root volume its server's). `fleet`: where its machine
    says it, and not its own tags."""
    kind = resource.ref.kind
    size = resource.size if isinstance(resource, Volume) else None
    commercial_type = resource.commercial_type if isinstance(resource, Server) else None
    ipv6 = isinstance(resource, Ip) and (resource.type.endswith("ipv6") or resource.address is None)
    image = resource.image_id if isinstance(resource, Server) else None
    return Item(
        kind=kind,
        name=getattr(resource, "name", None) or None,
        id=resource.id,
        urn=urn,
        stack=stack,
        fleet=fleet,
        zone=resource.zone,
        tags=resource.tags,
        commercial_type=commercial_type,
        size=size,
        public_ip=_public(resource),
        protected=resource.protected if isinstance(resource, Server) else None,
        created_ms=resource.created_ms,
        hour_nanos=lookups.hour_nanos(kind, zone=resource.zone, commercial_type=commercial_type, size=size, ipv6=ipv6),
        image_created_ms=lookups.images.get(image) if image is not None else None,
    )


def _public(resource: Resource) -> bool | None:
    match resource:
        case Server():
            return bool(resource.ip_ids or resource.dynamic_ip_ids or resource.dynamic_ip_required)
        case Ip():
            return True
        case Volume() | Nic():
            return False
        case _:
            return None if resource.ref.kind is Kind.SERVER else False

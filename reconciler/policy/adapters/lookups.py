"""What no resource says of itself: list prices, and how old an image is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.model.inventory import Inventory
from reconciler.model.money import NANO
from reconciler.model.resources import Kind
from reconciler.model.scope import Scope
from reconciler.policy.item import Fact

_GB = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookups:
    """`types`: (zone, commercial type) -> nano-EUR an hour. `gb_nanos`, `ip_nanos`: of a GB of Block Storage and of a
    flexible IPv4; None where no price is told. `images`: id -> creation, epoch ms."""

    types: Mapping[tuple[str, str], int] = field(default_factory=dict)
    gb_nanos: int | None = None
    ip_nanos: int | None = None
    images: Mapping[str, int] = field(default_factory=dict)

    def hour_nanos(
        self,
        kind: Kind,
        *,
        zone: Fact[str] = None,
        commercial_type: Fact[str] = None,
        size: Fact[int] = None,
        ipv6: bool = False,
    ) -> int | None:
        """The list price, whether it runs or not; None where it is not known. Local storage is the server's."""
        match kind:
            case Kind.SERVER:
                known = isinstance(zone, str) and isinstance(commercial_type, str)
                return self.types.get((str(zone), str(commercial_type))) if known else None
            case Kind.IP:
                return 0 if ipv6 else self.ip_nanos
            case Kind.VOLUME:
                if self.gb_nanos is None or not isinstance(size, int):
                    return None
                return self.gb_nanos * -(-size // _GB)
            case Kind.INSTANCE_VOLUME:
                return 0
            case _:
                return None


def of_inventory(inventory: Inventory, scope: Scope) -> Lookups:
    """What a sweep read: the catalogue's prices in EUR, and the configured ones; images where they were listed."""
    images = {
        resource.id: resource.created_ms
        for ref, resource in inventory.by_ref.items()
        if ref.kind is Kind.IMAGE and resource.created_ms is not None
    }
    return Lookups(
        types={key: price.hour_nanos for key, price in inventory.prices.items() if price.currency == "EUR"},
        gb_nanos=round(scope.sbs_gb_hour_eur * NANO),
        ip_nanos=round(scope.ip_hour_eur * NANO),
        images=images,
    )

"""What a resource costs while it exists.

Servers are billed while running or stopped in place, not while stopped; volumes and public IPv4s for their whole
life. Prices come from the provider's own price answers where it gives them, else from the configuration; what has
neither is counted as unpriced, never as free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from reconciler.model.money import NANO, Cost, Price, of_price, total
from reconciler.model.resources import Ip, Resource, Server, Volume
from reconciler.model.scope import Scope

_GB: Final = 1_000_000_000
_BILLED_STATES: Final = frozenset({"running", "stopped in place", "starting", "stopping"})


def cost_of(resource: Resource, *, scope: Scope, prices: Mapping[tuple[str, str], Price]) -> Cost:
    match resource:
        case Server():
            if resource.state not in _BILLED_STATES:
                return Cost()
            return of_price(_in_eur(prices.get((resource.zone, resource.commercial_type))))
        case Ip():
            if resource.type.endswith("ipv6") or (resource.address is None and resource.prefix is not None):
                return Cost()
            return of_price(Price(hour_nanos=round(scope.ip_hour_eur * NANO), source="config:prices.ip_hour"))
        case Volume():
            return of_price(_gb_price(resource, scope=scope, prices=prices).times(-(-resource.size // _GB)))
        case _:
            return Cost()


def _gb_price(volume: Volume, *, scope: Scope, prices: Mapping[tuple[str, str], Price]) -> Price:
    listed = _in_eur(prices.get((volume.zone, volume.volume_type)))
    if listed is not None:
        return listed
    if not volume.volume_type.startswith("sbs"):
        return Price(hour_nanos=0, source="local storage is part of the server's price")
    return Price(hour_nanos=round(scope.sbs_gb_hour_eur * NANO), source="config:prices.sbs_gb_hour")


def _in_eur(price: Price | None) -> Price | None:
    """Sums are in one currency: a price in another one is no price that could be added."""
    return price if price is not None and price.currency == "EUR" else None


def cost_of_all(resources: Iterable[Resource], *, scope: Scope, prices: Mapping[tuple[str, str], Price]) -> Cost:
    return total(tuple(cost_of(resource, scope=scope, prices=prices) for resource in resources))

"""List prices by API: servers by commercial type, block storage by GB and volume type.

Prices decide nothing alone and prove nothing, so a failure here costs only the figure: what cannot be read is left
out, and what is left out is shown as unpriced, never as free. IPv4 addresses are in no price API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Annotated, Final

from pydantic import Field

from reconciler.cloud.answers import Answer
from reconciler.cloud.paging import PAGE_SIZE
from reconciler.cloud.probing import place_of
from reconciler.cloud.transport import Api
from reconciler.cloud.wire import block, parse, shape, v1
from reconciler.model.money import NANO, Price
from reconciler.model.resources import Kind

_MAX_PAGES: Final = 20  # 135 types in fr-par-1


@shape
class _Type:
    hourly_price: Annotated[Decimal, Field(ge=0)] | None = None


@shape
class _Types:
    servers: dict[str, _Type]


@shape
class _Money:
    currency_code: str = "EUR"
    units: Annotated[int, Field(ge=0)] = 0
    nanos: Annotated[int, Field(ge=0)] = 0


@shape
class _VolumeType:
    type: str
    pricing: _Money | None = None


@shape
class _VolumeTypes:
    volume_types: list[_VolumeType]


def prices(api: Api, zone: str) -> Mapping[str, Price]:
    """The price of one hour by commercial type, and of one GB for one hour by volume type (`sbs_5k`)."""
    try:
        place = place_of(Kind.SERVER, zone)
    except ValueError:
        return {}
    return {
        **_pages(api, v1(place, "products/servers"), "per_page", _servers),
        **_pages(api, block(place, "volume-types"), "page_size", _volumes),
    }


def _pages(
    api: Api, path: str, size_name: str, read: Callable[[Answer], Mapping[str, Price] | None]
) -> Mapping[str, Price]:
    found: dict[str, Price] = {}
    for number in range(1, _MAX_PAGES + 1):
        answer = api.get(path, [(size_name, str(PAGE_SIZE)), ("page", str(number))])
        page = read(answer) if answer.ok else None
        # A page without news is the end, also of an API that repeats itself.
        if not page or page.keys() <= found.keys():
            break
        found.update(page)
    return found


def _servers(answer: Answer) -> Mapping[str, Price] | None:
    try:
        wire = parse(_Types, answer.body)
    except ValueError:
        return None
    return {
        name: Price(hour_nanos=_nanos(entry.hourly_price), source="Scaleway products/servers")
        for name, entry in wire.servers.items()
        if entry.hourly_price is not None
    }


def _volumes(answer: Answer) -> Mapping[str, Price] | None:
    try:
        wire = parse(_VolumeTypes, answer.body)
    except ValueError:
        return None
    return {
        entry.type: Price(
            hour_nanos=entry.pricing.units * NANO + entry.pricing.nanos,
            source="Scaleway volume-types",
            currency=entry.pricing.currency_code,
        )
        for entry in wire.volume_types
        if entry.pricing is not None
    }


def _nanos(euros: Decimal) -> int:
    return int((euros * NANO).to_integral_value(ROUND_HALF_EVEN))

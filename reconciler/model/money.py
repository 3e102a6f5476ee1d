"""Money as integers: nano-EUR (10⁻⁹) an hour, so that a thousand volumes add up to what the bill says.

A month is 730 hours, as on Scaleway's price list. A price carries where it was read from; what has no price is `None`,
never zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HOURS_PER_MONTH: Final = 730
NANO: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Nano-units of `currency` for one hour of one thing, and the source of the figure."""

    hour_nanos: int
    source: str
    currency: str = "EUR"

    def times(self, quantity: int) -> Price:
        return Price(hour_nanos=self.hour_nanos * quantity, source=self.source, currency=self.currency)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What subjects cost while they exist. `unpriced` counts the subjects whose price is not known."""

    hour_nanos: int = 0
    currency: str = "EUR"
    sources: tuple[str, ...] = ()
    unpriced: int = 0

    @property
    def hour(self) -> float:
        return self.hour_nanos / NANO

    @property
    def month(self) -> float:
        return self.hour_nanos * HOURS_PER_MONTH / NANO

    def __add__(self, other: Cost) -> Cost:
        if other.currency != self.currency and other.hour_nanos and self.hour_nanos:
            raise ValueError(f"cannot add {other.currency} to {self.currency}")
        return Cost(
            hour_nanos=self.hour_nanos + other.hour_nanos,
            currency=self.currency if self.hour_nanos else other.currency,
            sources=tuple(dict.fromkeys((*self.sources, *other.sources))),
            unpriced=self.unpriced + other.unpriced,
        )


def total(costs: tuple[Cost, ...]) -> Cost:
    result = Cost()
    for cost in costs:
        result = result + cost
    return result


def of_price(price: Price | None) -> Cost:
    if price is None:
        return Cost(unpriced=1)
    return Cost(hour_nanos=price.hour_nanos, currency=price.currency, sources=(price.source,))

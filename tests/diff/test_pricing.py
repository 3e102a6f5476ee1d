"""What a resource costs while it exists."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.diff.pricing import cost_of, cost_of_all
from reconciler.model.money import NANO, Price
from reconciler.model.resources import Resource
from tests.builders import GB, ZONE, ip, local_volume, nic, scope, server, volume

PRICES = {(ZONE, "DEV1-S"): Price(hour_nanos=8_976_000, source="catalogue")}


def hour(resource: Resource, prices: Any = PRICES) -> tuple[int, int]:
    cost = cost_of(resource, scope=scope(), prices=prices)
    return cost.hour_nanos, cost.unpriced


@pytest.mark.parametrize("billed", ["running", "stopped in place", "starting", "stopping"])
def test_a_machine_is_billed_while_it_runs_or_stands_by(billed: str) -> None:
    assert hour(server(state=billed)) == (8_976_000, 0)


def test_a_stopped_machine_is_not_billed() -> None:
    assert hour(server(state="stopped")) == (0, 0)


def test_what_has_no_price_is_counted_and_never_free() -> None:
    assert hour(server(commercial_type="NEW-1")) == (0, 1)


def test_a_price_in_another_currency_is_no_price_that_could_be_added() -> None:
    dollars = {(ZONE, "DEV1-S"): Price(hour_nanos=5, source="catalogue", currency="USD")}
    assert hour(server(), dollars) == (0, 1)
    total = cost_of_all([server(), ip("x")], scope=scope(), prices=dollars)
    assert (total.hour_nanos, total.unpriced, total.currency) == (4_000_000, 1, "EUR")


def test_an_ipv4_is_billed_for_its_whole_life_and_an_ipv6_is_free() -> None:
    assert hour(ip("x")) == (4_000_000, 0)
    assert hour(ip("x", type="routed_ipv6", address=None, prefix="2001:bc8::/64")) == (0, 0)


def test_a_volume_is_billed_by_begun_gigabytes() -> None:
    assert hour(volume("v", size=20 * GB)) == (20 * 118_000, 0)
    assert hour(volume("v", size=20 * GB + 1)) == (21 * 118_000, 0)


def test_the_providers_price_of_a_volume_type_goes_before_the_configured_one() -> None:
    assert hour(volume("v", size=GB), {(ZONE, "sbs_5k"): Price(hour_nanos=7, source="api")}) == (7, 0)


def test_local_storage_and_nics_are_part_of_their_server() -> None:
    assert hour(local_volume("d")) == (0, 0)
    assert hour(nic("n", server_id="s")) == (0, 0)


def test_the_estimate_comes_to_the_figures_of_a_bill() -> None:
    """M12: 7,766 units of an IPv4 were 38.83 EUR, 190,323 GB-hours of SBS 24.74 EUR (the bill says 24.75)."""
    billed = scope(ip_hour_eur=0.005, sbs_gb_hour_eur=0.00013)
    address = cost_of(ip("x"), scope=billed, prices={}).hour_nanos * 7_766
    gigabyte = cost_of(volume("v", size=GB), scope=billed, prices={}).hour_nanos * 190_323
    assert (f"{address / NANO:.2f}", f"{gigabyte / NANO:.2f}") == ("38.83", "24.74")

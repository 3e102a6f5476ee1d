"""List prices, as far as they can be read."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from reconciler.cloud.prices import prices
from reconciler.kernel.errors import AuthenticationError
from tests.cloud.wire import ZONE, Recorder, denied, html, make_api, no_route, reply, throttled

TYPES = f"/instance/v1/zones/{ZONE}/products/servers"
VOLUMES = f"/block/v1/zones/{ZONE}/volume-types"


def test_servers_and_volumes_are_priced_in_whole_nano_euros() -> None:
    seen = Recorder(
        {
            TYPES: reply({"servers": {"DEV1-S": {"hourly_price": 0.008976}, "STARDUST1-S": {"hourly_price": 0.0006}}}),
            VOLUMES: reply(
                {
                    "volume_types": [
                        {"type": "sbs_5k", "pricing": {"currency_code": "EUR", "units": 0, "nanos": 118_000}}
                    ]
                }
            ),
        }
    )
    found = prices(make_api(seen), ZONE)
    assert {name: price.hour_nanos for name, price in found.items()} == {
        "DEV1-S": 8_976_000, "STARDUST1-S": 600_000, "sbs_5k": 118_000,
    }  # fmt: skip
    assert found["DEV1-S"].source == "Scaleway products/servers"


def test_all_pages_are_read() -> None:
    def paged(request: httpx2.Request) -> httpx2.Response:
        page = int(request.url.params["page"])
        names = [f"T{number}" for number in range(135)][(page - 1) * 100 : page * 100]
        return reply({"servers": {name: {"hourly_price": 0.1} for name in names}}, x_total_count="135")

    assert len(prices(make_api(Recorder({TYPES: paged})), ZONE)) == 135


def test_an_api_that_repeats_its_page_ends() -> None:
    seen = Recorder({TYPES: reply({"servers": {"A": {"hourly_price": 0.1}}})})
    assert set(prices(make_api(seen), ZONE)) == {"A"}
    assert seen.sent("GET").count(TYPES) == 2


@pytest.mark.parametrize(
    "answer", [denied(), no_route(), html(200), throttled(), reply({"servers": []}), reply({}), httpx2.ReadTimeout("x")]
)
def test_what_cannot_be_read_is_left_out_and_never_zero(answer: Any) -> None:
    assert prices(make_api(Recorder(default=answer)), ZONE) == {}


def test_a_type_without_a_price_is_left_out() -> None:
    seen = Recorder({TYPES: reply({"servers": {"A": {"hourly_price": None}, "B": {}}})})
    assert prices(make_api(seen), ZONE) == {}


def test_401_is_raised() -> None:
    with pytest.raises(AuthenticationError):
        prices(make_api(Recorder(default=reply({}, 401))), ZONE)

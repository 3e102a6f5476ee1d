"""The parts of the replay by themselves: comparing, translating, shapes of an earlier day. No recordings are needed."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from reconciler.simulator import Request, Response
from reconciler.simulator.ages import ABSENT, as_of
from tests.fidelity.cassettes import Exchange
from tests.fidelity.compare import SOMETIMES, differences, words
from tests.fidelity.translate import Translation

KEYS = st.text(alphabet="abcdefgh", min_size=1, max_size=3)
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))
BODIES = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)
IDS = st.uuids().map(str)


def exchange(body: Any, *, status: int = 200, path: str = "/block/v1/zones/fr-par-1/volumes") -> Exchange:
    return Exchange(
        seq=0, at_ms=0, method="GET", path=path, query="", sent="", status=status, answer=json.dumps(body),
        headers=frozenset(), rate_limited=False,
    )  # fmt: skip


def response(body: Any, *, status: int = 200) -> Response:
    return Response(status=status, body=json.dumps(body).encode())


@given(body=BODIES)
def test_an_answer_agrees_with_itself(body: dict[str, Any]) -> None:
    assert differences(exchange(body), response(body)) == []
    same, compared = words(exchange(body), response(body))
    assert same == compared


@given(body=BODIES, extra=KEYS, value=VALUES)
def test_a_key_too_many_and_a_key_too_few_are_both_differences(body: dict[str, Any], extra: str, value: Any) -> None:
    assume(extra not in body and extra not in SOMETIMES)
    more = {**body, extra: value}
    assert f": -{extra}" in differences(exchange(more), response(body))
    assert f": +{extra}" in differences(exchange(body), response(more))


def test_what_is_null_in_one_answer_only_is_a_difference() -> None:
    assert differences(exchange({"a": {"b": None}}), response({"a": {"b": {}}})) == ["a.b: null here an object"]
    assert differences(exchange({"a": []}), response({"a": [1]})) == ["a: empty here items"]


def test_an_error_is_held_to_its_type_and_resource() -> None:
    recorded = {"type": "not_found", "message": "m", "resource": "volume", "resource_id": "1"}
    shown = {**recorded, "type": "unknown_resource", "resource": "disk"}
    found = differences(exchange(recorded, status=404), response(shown, status=404))
    assert found == ["error type not_found here unknown_resource", "error resource volume here disk"]
    assert differences(exchange(recorded, status=404), response({}, status=200)) == ["status 404 here 200"]


def test_server_types_are_compared_by_one_entry_whatever_their_names() -> None:
    path = "/instance/v1/zones/fr-par-1/products/servers"
    recorded, shown = {"servers": {"A": {"ncpus": 1}}}, {"servers": {"B": {"ncpus": 2}, "C": {"ncpus": 1}}}
    assert differences(exchange(recorded, path=path), response(shown)) == []


def test_words_of_state_are_counted_where_both_answers_have_them() -> None:
    recorded, shown = {"state": "running", "list": [{"status": "a"}]}, {"state": "stopped", "list": [{"status": "a"}]}
    assert words(exchange(recorded), response(shown)) == (1, 2)


@given(recorded=IDS, first=IDS, second=IDS)
def test_what_has_been_learnt_is_not_learnt_again(recorded: str, first: str, second: str) -> None:
    names = Translation()
    names.learn({"id": recorded}, {"id": first})
    names.learn({"id": recorded}, {"id": second})
    assert names.text(f"/servers/{recorded}/action") == f"/servers/{first}/action"


@given(pairs=st.lists(st.tuples(IDS, IDS), min_size=1, max_size=5, unique_by=lambda pair: pair[0]), at=st.randoms())
def test_items_that_are_known_are_paired_in_whatever_order_a_list_has_them(
    pairs: list[tuple[str, str]], at: Any
) -> None:
    assume(len({simulated for _, simulated in pairs}) == len(pairs))
    names = Translation()
    for recorded, simulated in pairs:
        names.learn_one(recorded, simulated)
    left, right = [[{"id": one[side], "server": f"{one[side][:-1]}0"} for one in pairs] for side in (0, 1)]
    at.shuffle(right)
    names.learn(left, right)
    for recorded, simulated in pairs:
        assert names.text(recorded) == simulated


def test_addresses_inside_an_encoded_query_are_translated_and_the_rest_stays_as_it_was_sent() -> None:
    names = Translation()
    names.learn({"mac": "02:00:00:12:CC:A6"}, {"mac": "02:00:00:00:00:01"})
    sent = "is_ipv6=false&mac_address=02%3A00%3A00%3A12%3acc%3Aa6&tags=a%2Cb"
    assert names.query(sent) == "is_ipv6=false&mac_address=02%3A00%3A00%3A00%3A00%3A01&tags=a%2Cb"


@given(date=st.sampled_from(["2025-01-01", "2025-06-01", "2025-11-04", "2026-07-01", "2026-08-01"]))
def test_shapes_of_a_day_hold_no_key_of_later_and_asking_twice_changes_nothing(date: str) -> None:
    keys = {row.key: 1 for row in ABSENT if row.api == "/instance/v1/" and not row.beside}
    request = Request(method="GET", path="/instance/v1/zones/fr-par-1/servers/x")
    once = as_of(date, request, response({"server": keys}))
    assert as_of(date, request, once).body == once.body
    later = {row.key for row in ABSENT if row.since <= date < row.until and not row.null}
    assert not later & set(once.json()["server"])
    assert as_of("", request, response({"server": keys})).json() == {"server": keys}

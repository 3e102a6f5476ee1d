"""Rule 2: absent by id and by list."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import httpx2
import pytest

from reconciler.cloud.proofs import prove_absent
from reconciler.kernel.errors import AuthenticationError
from reconciler.kernel.executor import SerialExecutor, ThreadExecutor
from reconciler.model.inventory import Presence, Probe
from reconciler.model.resources import Kind, Ref
from tests.cloud.wire import (
    PROJECT,
    ZONE,
    Json,
    Recorder,
    denied,
    html,
    ip,
    make_api,
    no_route,
    not_found,
    reply,
    server,
    throttled,
    uid,
)

SERVERS = f"/instance/v1/zones/{ZONE}/servers"
IPS = f"/instance/v1/zones/{ZONE}/ips"


def ref(number: int, kind: Kind = Kind.SERVER) -> Ref:
    return Ref(kind, ZONE, uid(number))


def listed(key: str, *items: Json) -> httpx2.Response:
    return reply({key: list(items)}, x_total_count=str(len(items)))


def gone(number: int, word: str = "instance_server") -> httpx2.Response:
    return not_found(word, uid(number))


def prove(
    routes: dict[str, Any], *numbers: int, kind: Kind = Kind.SERVER, known: Collection[str] = ()
) -> tuple[dict[int, Probe], Recorder]:
    seen = Recorder(routes)
    found = prove_absent(
        make_api(seen),
        [ref(number, kind) for number in numbers],
        project=PROJECT,
        known_ids={kind: known},
        executor=SerialExecutor(),
    )
    return {number: found[ref(number, kind)] for number in numbers}, seen


def test_a_typed_404_and_a_complete_list_begun_after_it_prove_absence() -> None:
    found, seen = prove({f"{SERVERS}/{uid(1)}": gone(1), SERVERS: listed("servers", server(2))}, 1)
    assert found[1].presence is Presence.ABSENT
    assert [request.url.path for request in seen.requests] == [f"{SERVERS}/{uid(1)}", SERVERS]


def test_one_list_serves_all_ids_of_a_kind_in_a_zone() -> None:
    routes = {f"{SERVERS}/{uid(number)}": gone(number) for number in range(1, 31)}
    found, seen = prove({**routes, SERVERS: listed("servers")}, *range(1, 31))
    assert {probe.presence for probe in found.values()} == {Presence.ABSENT}
    assert len(seen.requests) == 31


def test_a_list_that_still_shows_it_contradicts_the_404() -> None:
    """A list that lags, or a GET that lies: neither is believed."""
    found, _ = prove({f"{SERVERS}/{uid(1)}": gone(1), SERVERS: listed("servers", server(1))}, 1)
    assert found[1].presence is Presence.UNKNOWN
    assert found[1].reason is not None
    assert "still shows it" in found[1].reason


def test_an_incomplete_list_that_shows_it_contradicts_the_404_as_well() -> None:
    routes = {f"{SERVERS}/{uid(1)}": gone(1), SERVERS: reply({"servers": [server(1)]})}
    found, _ = prove(routes, 1)
    assert found[1].reason is not None
    assert "still shows it" in found[1].reason


@pytest.mark.parametrize(
    "answer",
    [
        denied(),
        throttled(),
        reply({}, 500),
        html(200),
        html(404),
        no_route(),
        httpx2.ReadTimeout("x"),
        reply({"servers": []}),
    ],
)
def test_without_a_complete_list_the_404_proves_nothing(answer: Any) -> None:
    found, _ = prove({f"{SERVERS}/{uid(1)}": gone(1), SERVERS: answer}, 1)
    assert found[1].presence is Presence.UNKNOWN
    assert found[1].reason is not None


@pytest.mark.parametrize("answer", [denied(), throttled(), reply({}, 502), html(404), httpx2.ReadTimeout("late")])
def test_a_list_without_the_id_proves_nothing_when_the_get_is_unclear(answer: Any) -> None:
    """A stale list must not suffice (incident R044)."""
    found, seen = prove({f"{SERVERS}/{uid(1)}": answer, SERVERS: listed("servers")}, 1)
    assert found[1].presence is Presence.UNKNOWN
    assert SERVERS not in [request.url.path for request in seen.requests]


def test_what_answers_200_is_present() -> None:
    found, _ = prove({f"{SERVERS}/{uid(1)}": reply({"server": server(1)}), SERVERS: listed("servers")}, 1)
    assert found[1].presence is Presence.PRESENT


def test_one_id_in_doubt_does_not_hide_the_others() -> None:
    routes = {
        f"{SERVERS}/{uid(1)}": gone(1),
        f"{SERVERS}/{uid(2)}": denied(),
        f"{SERVERS}/{uid(3)}": reply({"server": server(3)}),
        SERVERS: listed("servers", server(3)),
    }
    found, _ = prove(routes, 1, 2, 3)
    assert [found[n].presence for n in (1, 2, 3)] == [Presence.ABSENT, Presence.UNKNOWN, Presence.PRESENT]


def test_another_known_id_that_is_denied_voids_the_proof() -> None:
    """The key lost its right: the list is an empty 200, and what lives answers 403."""
    routes = {f"{SERVERS}/{uid(1)}": gone(1), f"{SERVERS}/{uid(2)}": denied(), SERVERS: listed("servers")}
    found, _ = prove(routes, 1, known=[uid(1), uid(2)])
    assert found[1].presence is Presence.UNKNOWN


def test_other_known_ids_cost_three_calls_at_most() -> None:
    routes: dict[str, Any] = {f"{SERVERS}/{uid(number)}": gone(number) for number in range(1, 500)}
    found, seen = prove({**routes, SERVERS: listed("servers")}, 1, known=[uid(number) for number in range(1, 500)])
    assert found[1].presence is Presence.ABSENT
    assert len(seen.requests) == 1 + 1 + 3


def test_a_kind_that_is_not_offered_proves_no_absence() -> None:
    found, _ = prove({}, 1)
    assert found[1].presence is Presence.UNKNOWN


def test_401_is_raised_from_threads_as_well() -> None:
    api = make_api(Recorder(default=reply({"type": "denied_authentication"}, 401)))
    with pytest.raises(AuthenticationError):
        prove_absent(api, [ref(1), ref(2)], project=PROJECT, known_ids={}, executor=ThreadExecutor(workers=2))


def test_nothing_asked_is_nothing_called() -> None:
    found, seen = prove({})
    assert (found, seen.requests) == ({}, [])


class TestIps:
    """403 by id is what the API is reported to answer for a deleted IP (incident R009)."""

    def routes(self, *shown: Json, **changes: Any) -> dict[str, Any]:
        return {f"{IPS}/{uid(1)}": denied(), IPS: listed("ips", *shown), **changes}

    def test_two_complete_lists_with_a_witness_prove_it_absent(self) -> None:
        found, seen = prove(self.routes(ip(2)), 1, kind=Kind.IP, known=[uid(1), uid(2)])
        assert (found[1].presence, found[1].status) == (Presence.ABSENT, 403)
        # Each of the two lists is read twice, because it cannot be sorted.
        assert [request.url.path for request in seen.requests].count(IPS) == 4

    def test_an_empty_list_is_no_witness(self) -> None:
        """Ten IPs exist, the key lost its right, every GET answers 403 and the list is an empty 200."""
        found, _ = prove(self.routes(), 1, kind=Kind.IP, known=[uid(1)])
        assert found[1].presence is Presence.UNKNOWN

    def test_a_denied_list_is_none_either(self) -> None:
        found, _ = prove(self.routes(**{IPS: denied()}), 1, kind=Kind.IP, known=[uid(1), uid(2)])
        assert found[1].presence is Presence.UNKNOWN

    def test_a_list_that_shows_it_refutes_it(self) -> None:
        found, _ = prove(self.routes(ip(1), ip(2)), 1, kind=Kind.IP, known=[uid(1), uid(2)])
        assert found[1].presence is Presence.UNKNOWN

    def test_the_second_list_must_be_complete_too(self) -> None:
        answers: list[Any] = [listed("ips", ip(2)), listed("ips", ip(2)), denied()]
        found, _ = prove(self.routes(**{IPS: answers}), 1, kind=Kind.IP, known=[uid(1), uid(2)])
        assert found[1].presence is Presence.UNKNOWN

    def test_a_right_that_is_only_assumed_proves_no_403(self) -> None:
        """Most known ids are neither in the list nor asked for, and nobody knows the one that the list shows."""
        others = {f"{IPS}/{uid(number)}": gone(number, "instance_ip") for number in range(10, 20)}
        known = [uid(number) for number in (1, *range(10, 20))]
        found, _ = prove(self.routes(ip(2), **others), 1, kind=Kind.IP, known=known)
        assert found[1].presence is Presence.UNKNOWN
        assert found[1].reason == "403 by id, and the right to list is not proved"

    def test_for_a_server_403_proves_nothing_whatever_the_lists_say(self) -> None:
        found, _ = prove({f"{SERVERS}/{uid(1)}": denied(), SERVERS: listed("servers", server(2))}, 1, known=[uid(2)])
        assert found[1].presence is Presence.UNKNOWN


def test_a_list_begun_before_the_get_is_never_used() -> None:
    """The order of the calls is the proof: every list request comes after every GET of its group."""
    seen: list[str] = []

    def watch(answer: httpx2.Response) -> Callable[[httpx2.Request], httpx2.Response]:
        def call(request: httpx2.Request) -> httpx2.Response:
            seen.append(request.url.path)
            return answer

        return call

    routes: dict[str, Any] = {f"{SERVERS}/{uid(number)}": watch(gone(number)) for number in (1, 2)}
    routes[SERVERS] = watch(listed("servers"))
    prove(routes, 1, 2)
    assert seen == [f"{SERVERS}/{uid(1)}", f"{SERVERS}/{uid(2)}", SERVERS]

"""A kind in a place, listed over HTTP: what makes a scan complete, and everything that does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.cloud.scanning import scan
from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.errors import AuthenticationError
from reconciler.model.inventory import Inventory, Presence, Right, Scan
from reconciler.model.resources import Ip, Kind, Nic, Ref, Server, Volume
from tests.cloud.wire import (
    PROJECT,
    STRANGER,
    ZONE,
    Handler,
    Json,
    Recorder,
    denied,
    html,
    ip,
    local_volume,
    make_api,
    nic,
    no_route,
    not_found,
    reply,
    server,
    throttled,
    uid,
    volume,
)

SERVERS = f"/instance/v1/zones/{ZONE}/servers"
IPS = f"/instance/v1/zones/{ZONE}/ips"
VOLUMES = f"/block/v1/zones/{ZONE}/volumes"
LOCAL = f"/instance/v1/zones/{ZONE}/volumes"
NICS = f"/instance/v2alpha1/zones/{ZONE}/private-network-interfaces"
IPAM = "/ipam/v1/regions/fr-par/ips"


def read(handler: Handler, kind: Kind = Kind.SERVER, place: str = ZONE, **options: Any) -> Scan:
    return scan(make_api(handler), kind, place, project=PROJECT, **options)


def listing(key: str, items: list[Json], *, total_in: str = "header") -> Callable[[httpx2.Request], httpx2.Response]:
    """A v1, block or token list over `items`, newest first as they stand, with the dialects' own parameters."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        query = request.url.params
        size = int(query.get("per_page") or query.get("page_size") or 50)
        at = int(query.get("page_token", "0")) if total_in == "token" else (int(query["page"]) - 1) * size
        part = items[at : at + size]
        if total_in == "header":
            return reply({key: part}, x_total_count=str(len(items)))
        more = {"next_page_token": str(at + size)} if total_in == "token" and at + size < len(items) else {}
        return reply({key: part, "total_count": len(items), **more})

    return answer


def newest_first(make: Callable[..., Json], count: int) -> list[Json]:
    return [make(number) for number in range(count, 0, -1)]


class TestDialects:
    def test_servers_are_asked_for_newest_first_with_the_project_and_a_hundred_a_page(self) -> None:
        seen = Recorder({SERVERS: listing("servers", newest_first(server, 3))})
        found = read(seen)
        assert dict(seen.requests[0].url.params) == {
            "project": PROJECT, "per_page": "100", "page": "1", "order": "creation_date_desc",
        }  # fmt: skip
        assert (found.complete, found.passes, found.calls, len(found.items)) == (True, 1, 1, 3)

    def test_block_volumes_page_by_size_and_name_the_project_id(self) -> None:
        seen = Recorder({VOLUMES: listing("volumes", newest_first(volume, 3), total_in="body")})
        found = read(seen, Kind.VOLUME)
        assert dict(seen.requests[0].url.params) == {
            "project_id": PROJECT, "page_size": "100", "page": "1", "order_by": "created_at_desc",
        }  # fmt: skip
        assert (found.complete, found.passes) == (True, 1)

    def test_nics_follow_page_tokens(self) -> None:
        seen = Recorder({NICS: listing("private_network_interfaces", newest_first(nic, 250), total_in="token")})
        found = read(seen, Kind.NIC)
        assert [request.url.params.get("page_token") for request in seen.requests] == [None, "100", "200"]
        assert (found.complete, len(found.items)) == (True, 250)

    @pytest.mark.parametrize(
        ("kind", "path", "key", "make"),
        [(Kind.IP, IPS, "ips", ip), (Kind.INSTANCE_VOLUME, LOCAL, "volumes", local_volume)],
    )
    def test_lists_without_an_order_are_read_twice(self, kind: Kind, path: str, key: str, make: Any) -> None:
        seen = Recorder({path: listing(key, newest_first(make, 3))})
        found = read(seen, kind)
        assert "order" not in seen.requests[0].url.params
        assert (found.complete, found.passes, len(seen.requests)) == (True, 2, 2)

    def test_a_regional_kind_is_read_in_the_region_of_the_zone(self) -> None:
        seen = Recorder({IPAM: reply({"ips": [], "total_count": 0})})
        assert read(seen, Kind.IPAM).zone == "fr-par"

    @pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 200, 250])
    def test_calls_stay_within_a_page_more_than_the_objects_need(self, count: int) -> None:
        seen = Recorder({SERVERS: listing("servers", newest_first(server, count))})
        found = read(seen)
        assert (found.complete, len(found.items)) == (True, count)
        assert len(seen.requests) == found.calls <= -(-count // 100) + 1

    def test_ten_thousand_servers_take_a_hundred_and_one_calls_at_most(self) -> None:
        seen = Recorder({SERVERS: listing("servers", newest_first(server, 10_000))})
        found = read(seen)
        assert (found.complete, len(found.items)) == (True, 10_000)
        assert len(seen.requests) <= 101

    def test_a_server_that_ignores_the_page_size_is_still_read_whole(self) -> None:
        items = newest_first(server, 130)

        def fifty(request: httpx2.Request) -> httpx2.Response:
            at = (int(request.url.params["page"]) - 1) * 50
            return reply({"servers": items[at : at + 50]}, x_total_count="130")

        found = read(Recorder({SERVERS: fifty}))
        assert (found.complete, len(found.items)) == (True, 130)


class TestTotals:
    def test_a_total_in_the_body_will_do_for_v1(self) -> None:
        """Emulators put it there."""
        assert read(Recorder({SERVERS: reply({"servers": [server(1)], "total_count": 1})})).complete

    @pytest.mark.parametrize(
        "answer",
        [
            reply({"servers": [server(1)]}),
            reply({"servers": [server(1)]}, x_total_count="one"),
            reply({"servers": [server(1)]}, x_total_count="-1"),
            reply({"servers": [server(1)]}, x_total_count=""),
            reply({"servers": [server(1)]}, x_total_count="1.0"),
            reply({"servers": [server(1)]}, x_total_count="9" * 5000),
            reply({"servers": [server(1)], "total_count": 2}, x_total_count="1"),
            reply({"servers": [server(1)], "total_count": -1}),
            reply({"servers": [server(1)], "total_count": "many"}),
            reply({"servers": [server(1)]}, x_total_count="2"),
        ],
    )
    def test_no_total_or_a_doubtful_one_is_not_complete(self, answer: httpx2.Response) -> None:
        found = read(Recorder({SERVERS: answer}))
        assert not found.complete
        assert found.reason


FAILURES: dict[str, Any] = {
    "403": denied(),
    "404 of a proxy": html(404),
    "404 without a body": httpx2.Response(404),
    "404 typed for an object": not_found("instance_server", uid(1)),
    "409": reply({"type": "transient_state"}, 409),
    "429 without a body": throttled(),
    "500": reply({}, 500),
    "502 in HTML": html(502),
    "200 in HTML": html(200),
    "200 without a body": httpx2.Response(200, headers={"X-Total-Count": "0"}),
    "200, JSON cut short": reply(b'{"servers": [{"id": "x"', x_total_count="1"),
    "200, not an object": reply([], x_total_count="0"),
    "200, null": reply(None, x_total_count="0"),
    "200, another key": reply({"instances": []}, x_total_count="0"),
    "200, an object without its project": reply({"servers": [{"id": uid(1)}]}, x_total_count="1"),
    "200, a server without `protected`": reply({"servers": [server(1) | {"protected": None}]}, x_total_count="1"),
    "200, a time without a zone": reply(
        {"servers": [server(1) | {"creation_date": "2026-11-30T01:02:03"}]}, x_total_count="1"
    ),
    "204": httpx2.Response(204),
    "206": reply({"servers": [], "ips": [], "volumes": [], "total_count": 0}, 206),
    "301": httpx2.Response(301, headers={"Location": "/"}),
    "timeout": httpx2.ReadTimeout("late"),
    "refused": httpx2.ConnectError("refused"),
    "reset": httpx2.ReadError("reset"),
}


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES.keys())
@pytest.mark.parametrize("kind", [Kind.SERVER, Kind.IP, Kind.VOLUME, Kind.IPAM])
def test_what_could_not_be_read_proves_no_absence(kind: Kind, answer: Any) -> None:
    found = read(Recorder(default=answer), kind)
    assert not found.complete
    assert found.reason
    ref = Ref(kind, found.zone, uid(1))
    assert Inventory(scans={(kind, found.zone): found}).presence(ref) is Presence.UNKNOWN


def test_401_is_raised_because_nothing_else_can_be_read_either() -> None:
    with pytest.raises(AuthenticationError):
        read(Recorder(default=reply({"type": "denied_authentication"}, 401)))


def test_a_denied_list_says_denied() -> None:
    found = read(Recorder(default=denied()))
    assert (found.right, found.offered) == (Right.DENIED, True)


def test_a_failure_on_the_second_page_keeps_the_first_and_voids_the_scan() -> None:
    good = listing("servers", newest_first(server, 150))
    seen = Recorder({SERVERS: lambda request: good(request) if request.url.params["page"] == "1" else throttled()})
    found = read(seen)
    assert (found.complete, len(found.items)) == (False, 100)


def test_a_429_in_the_middle_is_waited_out() -> None:
    """Recorded: bursts of list calls, some of which answer an empty 429 (incident R148)."""
    good = listing("servers", newest_first(server, 250))
    count = 0

    def flaky(request: httpx2.Request) -> httpx2.Response:
        nonlocal count
        count += 1
        return throttled() if count % 2 else good(request)

    found = read(Recorder({SERVERS: flaky}))
    assert (found.complete, len(found.items), found.calls) == (True, 250, 6)


class TestFilters:
    def test_an_object_of_another_project_voids_the_scan_and_is_left_out(self) -> None:
        items = [server(2), server(1, project=STRANGER)]
        found = read(Recorder({SERVERS: listing("servers", items)}))
        assert [item.id for item in found.items] == [uid(2)]
        assert not found.complete
        assert found.reason is not None
        assert "another project" in found.reason

    def test_an_object_of_another_zone_voids_the_scan_and_is_left_out(self) -> None:
        found = read(Recorder({SERVERS: listing("servers", [server(1, zone="nl-ams-1")])}))
        assert (found.complete, found.items) == (False, ())

    def test_tags_and_names_are_never_filtered_by_the_server(self) -> None:
        seen = Recorder({SERVERS: listing("servers", [server(1)])})
        read(seen)
        assert not {"tags", "name"} & set(seen.requests[0].url.params)

    @pytest.mark.parametrize("place", ["", "fr", "fr-par-1/../x", "FR-PAR-1", "fr-par-1?x"])
    def test_a_malformed_place_is_not_sent(self, place: str) -> None:
        seen = Recorder(default=reply({"servers": []}, x_total_count="0"))
        assert not read(seen, place=place).complete
        assert seen.requests == []


class TestNotOffered:
    @pytest.mark.parametrize("answer", [no_route(), reply({"type": "not_implemented"}, 501)])
    def test_a_route_that_the_api_does_not_have_is_apart_from_denied(self, answer: httpx2.Response) -> None:
        found = read(Recorder(default=answer), Kind.VOLUME)
        assert (found.offered, found.complete, found.right, found.items) == (False, True, Right.UNKNOWN, ())

    def test_it_proves_no_absence(self) -> None:
        found = read(Recorder(default=no_route()), Kind.VOLUME)
        ref = Ref(Kind.VOLUME, ZONE, uid(1))
        assert Inventory(scans={(Kind.VOLUME, ZONE): found}).presence(ref) is Presence.UNKNOWN

    def test_it_is_not_believed_where_another_ledger_knows_an_id(self) -> None:
        found = read(Recorder(default=no_route()), Kind.VOLUME, known_ids=[uid(1)])
        assert (found.offered, found.complete) == (False, False)

    @pytest.mark.parametrize("answer", [html(404), httpx2.Response(404), httpx2.Response(501), html(501)])
    def test_an_untyped_404_is_not_the_api_speaking(self, answer: httpx2.Response) -> None:
        found = read(Recorder(default=answer), Kind.VOLUME)
        assert (found.offered, found.complete) == (True, False)


class TestNicsByServer:
    OLD = "private_network_id", "server_id"

    def world(self, answer: Any) -> Recorder:
        def old(number: int, owner: int) -> Json:
            return {
                "id": uid(number), "private_network_id": uid(902), "server_id": uid(owner), "mac_address": "02:00",
                "state": "available", "creation_date": "2026-11-01T00:00:00+00:00", "zone": ZONE, "tags": ["t"],
                "ipam_ip_ids": [uid(5)],
            }  # fmt: skip

        servers = [server(2, private_nics=[{"id": uid(20)}]), server(1)]
        return Recorder(
            {
                NICS: answer,
                SERVERS: listing("servers", servers),
                f"{SERVERS}/{uid(2)}/private_nics": listing("private_nics", [old(20, 2)]),
            }
        )

    @pytest.mark.parametrize("answer", [no_route(), httpx2.Response(404, text="404 page not found"), html(501)])
    def test_v1_stands_in_where_v2alpha1_is_not_served(self, answer: httpx2.Response) -> None:
        found = read(self.world(answer), Kind.NIC)
        assert found.complete
        assert [(item.id, item.project, item.tags) for item in found.items] == [(uid(20), PROJECT, ("t",))]
        assert isinstance(found.items[0], Nic)

    def test_one_server_that_does_not_answer_voids_it(self) -> None:
        world = self.world(no_route())
        world.routes[f"{SERVERS}/{uid(2)}/private_nics"] = denied()
        assert not read(world, Kind.NIC).complete

    def test_servers_that_cannot_be_listed_void_it(self) -> None:
        world = self.world(no_route())
        world.routes[SERVERS] = denied()
        assert not read(world, Kind.NIC).complete

    def test_a_known_nic_that_no_list_holds_voids_it(self) -> None:
        """Its id can only be probed in the API that is not there."""
        assert not read(self.world(no_route()), Kind.NIC, known_ids=[uid(20), uid(21)]).complete

    def test_a_server_error_is_no_reason_to_fall_back(self) -> None:
        world = self.world(reply({}, 500))
        assert not read(world, Kind.NIC).complete
        assert SERVERS not in {request.url.path for request in world.requests}


class TestSnapshots:
    BLOCK = f"/block/v1/zones/{ZONE}/snapshots"
    INSTANCE = f"/instance/v1/zones/{ZONE}/snapshots"

    def test_both_apis_are_read(self) -> None:
        block = {
            "id": uid(1), "name": "b", "project_id": PROJECT, "status": "available", "zone": ZONE, "size": 5,
            "created_at": "2026-11-01T00:00:00Z", "references": [], "parent_volume": {"id": uid(8)}, "tags": [],
        }  # fmt: skip
        local = {
            "id": uid(2), "name": "l", "project": PROJECT, "state": "available", "zone": ZONE, "tags": [],
            "creation_date": "2026-11-01T00:00:00+00:00", "base_volume": {"id": None}, "volume_type": "l_ssd",
        }  # fmt: skip
        seen = Recorder(
            {
                self.BLOCK: reply({"snapshots": [block], "total_count": 1}),
                self.INSTANCE: reply({"snapshots": [local]}, x_total_count="1"),
            }
        )
        found = read(seen, Kind.SNAPSHOT)
        assert (found.complete, {item.id for item in found.items}) == (True, {uid(1), uid(2)})

    def test_one_of_them_denied_voids_the_scan(self) -> None:
        seen = Recorder({self.BLOCK: denied(), self.INSTANCE: reply({"snapshots": []}, x_total_count="0")})
        found = read(seen, Kind.SNAPSHOT)
        assert (found.complete, found.right) == (False, Right.DENIED)

    def test_a_zone_without_block_storage_has_the_other_ones(self) -> None:
        seen = Recorder({self.BLOCK: no_route(), self.INSTANCE: reply({"snapshots": []}, x_total_count="0")})
        found = read(seen, Kind.SNAPSHOT)
        assert (found.complete, found.offered) == (True, True)


class TestShapes:
    """Real answers, trimmed to what matters."""

    def test_a_server_with_everything(self) -> None:
        wire = server(
            1,
            state="stopped in place",
            protected=True,
            tags=["b", "a"],
            volumes={
                "0": {"boot": False, "volume_type": "sbs_volume", "id": uid(10), "state": "available", "zone": ZONE},
                "1": {
                    "boot": True,
                    "volume_type": "l_ssd",
                    "id": uid(11),
                    "name": "x",
                    "size": 5,
                    "server": {"id": "s"},
                },
            },
            public_ips=[
                {"id": uid(12), "dynamic": False},
                {"id": uid(13), "dynamic": True},
                {"id": uid(14), "dynamic": False},
            ],
            public_ip={"id": uid(12), "dynamic": False},
            private_nics=[{"id": uid(15)}],
            placement_group={"id": uid(16), "name": "pg"},
            image=None,
        )
        item = read(Recorder({SERVERS: listing("servers", [wire])})).items[0]
        assert isinstance(item, Server)
        assert item.state == "stopped in place"
        assert (item.protected, item.tags, item.image_id) == (True, ("b", "a"), None)
        assert [(slot.key, slot.kind) for slot in item.volumes] == [("0", Kind.VOLUME), ("1", Kind.INSTANCE_VOLUME)]
        assert (item.ip_ids, item.dynamic_ip_ids) == ((uid(12), uid(14)), (uid(13),))
        assert (item.nic_ids, item.placement_group_id) == ((uid(15),), uid(16))

    def test_null_tags_are_no_tags(self) -> None:
        """Emulators in Go write an empty list so."""
        item = read(Recorder({SERVERS: listing("servers", [server(1, tags=None)])})).items[0]
        assert item.tags == ()

    def test_a_read_value_equals_and_hashes_as_a_made_one(self) -> None:
        """The decoder fills the frozen values itself; they must be the same values."""
        items = read(Recorder({SERVERS: listing("servers", [server(2), server(1)])})).items
        for item in items:
            assert isinstance(item, Server)
            made = Server(**{field.name: getattr(item, field.name) for field in fields(Server)})
            assert (made == item, hash(made) == hash(item)) == (True, True)
            with pytest.raises(FrozenInstanceError):
                item.state = "stopped"  # type: ignore[misc]

    def test_an_ipv6_has_a_prefix_and_no_address(self) -> None:
        wire = ip(
            1, address=None, prefix="2001:bc8:711:4014::/64", type="routed_ipv6", server={"id": uid(3), "name": "w"}
        )
        item = read(Recorder({IPS: listing("ips", [wire])}), Kind.IP).items[0]
        assert isinstance(item, Ip)
        assert (item.address, item.prefix, item.server_id) == (None, "2001:bc8:711:4014::/64", uid(3))
        assert (item.ipam_id, item.created_ms) == (uid(50_001), None)

    def test_a_volume_is_held_by_its_references_until_they_are_detached(self) -> None:
        def refer(holder: str, status: str, kind: str) -> Json:
            return {"product_resource_id": holder, "status": status, "product_resource_type": kind}

        wire = volume(
            1,
            references=[
                refer(uid(2), "detached", "instance_server"),
                refer(uid(3), "detaching", "instance_server"),
                refer(uid(4), "attached", "other_product"),
            ],
        )
        item = read(Recorder({VOLUMES: listing("volumes", [wire], total_in="body")}), Kind.VOLUME).items[0]
        assert isinstance(item, Volume)
        assert (item.server_id, item.reference_ids) == (uid(3), (uid(3), uid(4)))

    @pytest.mark.parametrize(
        ("kind", "path", "key", "wire", "field"),
        [
            (Kind.IP, IPS, "ips", ip(1), "server"),
            (Kind.INSTANCE_VOLUME, LOCAL, "volumes", local_volume(1), "server"),
            (Kind.VOLUME, VOLUMES, "volumes", volume(1), "references"),
            (Kind.NIC, NICS, "private_network_interfaces", nic(1), "server_id"),
            (Kind.SERVER, SERVERS, "servers", server(1), "volumes"),
            (Kind.SERVER, SERVERS, "servers", server(1), "public_ips"),
            (Kind.SERVER, SERVERS, "servers", server(1), "protected"),
            (Kind.SERVER, SERVERS, "servers", server(1), "project"),
        ],
    )
    def test_an_object_without_the_field_that_says_who_uses_it_is_not_read_as_free(
        self, kind: Kind, path: str, key: str, wire: Json, field: str
    ) -> None:
        less = {name: value for name, value in wire.items() if name != field}
        found = read(Recorder({path: reply({key: [less], "total_count": 1})}), kind)
        assert (found.complete, found.items) == (False, ())


@given(
    count=st.integers(0, 330),
    moves=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 329), st.booleans()), max_size=4),
    order=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_over_http_a_complete_scan_never_lacks_what_was_there_all_the_time(
    count: int, moves: list[tuple[int, int, bool]], order: bool
) -> None:
    """The property of tests/cloud/test_paging.py through transport, decoding and totals in headers."""
    alive = list(range(count, 0, -1))
    steady = set(alive)
    requests = 0

    def moving(request: httpx2.Request) -> httpx2.Response:
        nonlocal requests
        for at, victim, create in moves:
            if at == requests and alive:
                gone = alive.pop(victim % len(alive))
                steady.discard(gone)
                if create:
                    alive.insert(0, 1000 + requests)
        requests += 1
        shown = alive if order else alive[::-1]
        at = (int(request.url.params["page"]) - 1) * 100
        return reply({"servers": [server(n) for n in shown[at : at + 100]]}, x_total_count=str(len(alive)))

    found = read(Recorder({SERVERS: moving}))
    if found.complete:
        assert {uid(number) for number in steady} <= {item.id for item in found.items}


def test_a_scan_says_when_it_began_and_ended() -> None:
    clock = VirtualClock()
    start = clock.now_ms()

    def slow(request: httpx2.Request) -> httpx2.Response:
        clock.advance(2)
        return reply({"servers": []}, x_total_count="0")

    found = scan(make_api(slow, clock=clock), Kind.SERVER, ZONE, project=PROJECT)
    assert (found.started_ms - start, found.finished_ms - start) == (0, 2000)

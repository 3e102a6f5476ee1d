"""The one door to destruction: what it lets through, and everything that it does not."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from reconciler.cloud.destroy import destroy
from reconciler.kernel.errors import AuthenticationError, CloudError, InternalError, RefusedError
from reconciler.kernel.guards import transaction
from reconciler.model.resources import Kind, Ref
from reconciler.model.warrant import DestroyAnswer, Destroyed, Warrant
from tests.cloud.wire import (
    PROJECT,
    STRANGER,
    ZONE,
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
    reference,
    reply,
    server,
    throttled,
    uid,
    volume,
)

V1, B, V2 = f"/instance/v1/zones/{ZONE}", f"/block/v1/zones/{ZONE}", f"/instance/v2alpha1/zones/{ZONE}"
DONE = httpx2.Response(204)
TASK = reply({"task": {"id": uid(0), "status": "pending"}}, 202)


def ref(kind: Kind, number: int = 1) -> Ref:
    return Ref(kind, ZONE, uid(number))


def warrant(*refs: Ref, project: str = PROJECT) -> Warrant:
    """`refs` in the order of a fixture; the first is the target."""
    return Warrant(deletion_id="d1", fence_token=1, scope="ci", project=project, target=refs[0], refs=frozenset(refs))


class World(Recorder):
    """Objects by path; every destructive request is kept in `blows`."""

    def __init__(self, objects: dict[str, Any], answer: Any = DONE) -> None:
        super().__init__(objects)
        self.answer = answer
        self.blows: list[tuple[str, str, Json | None]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "GET":
            body = json.loads(request.content) if request.content else None
            self.blows.append((request.method, request.url.path, body))
            if isinstance(self.answer, Exception):
                raise self.answer
            return httpx2.Response(self.answer.status_code, headers=self.answer.headers, content=self.answer.content)
        return super().__call__(request)


def strike(world: World, target: Ref, *others: Ref, **changes: Any) -> Destroyed:
    return destroy(make_api(world), warrant(target, *others, **changes), target, project=PROJECT)


SERVER = ref(Kind.SERVER)
SERVER_PATH = f"{V1}/servers/{uid(1)}"


def a_server(**changes: Any) -> dict[str, Any]:
    return {SERVER_PATH: reply({"server": server(1, **changes)})}


class TestServers:
    @pytest.mark.parametrize("state", ["running", "stopped in place"])
    def test_a_server_with_power_is_terminated(self, state: str) -> None:
        world = World(a_server(state=state), TASK)
        assert strike(world, SERVER).answer is DestroyAnswer.ACCEPTED
        assert world.blows == [("POST", f"{SERVER_PATH}/action", {"action": "terminate"})]

    def test_a_stopped_server_is_deleted(self) -> None:
        world = World(a_server(state="stopped"))
        assert strike(world, SERVER).answer is DestroyAnswer.ACCEPTED
        assert world.blows == [("DELETE", SERVER_PATH, None)]

    @pytest.mark.parametrize("state", ["starting", "stopping", "stopped_in_place", "rebooting", ""])
    def test_a_server_on_its_way_or_in_an_unknown_state_is_asked_again_later(self, state: str) -> None:
        world = World(a_server(state=state))
        assert strike(world, SERVER).answer is DestroyAnswer.IN_TRANSITION
        assert world.blows == []

    @pytest.mark.parametrize("state", ["running", "stopped", "stopped in place"])
    def test_a_protected_server_is_refused_though_the_api_would_delete_a_stopped_one(self, state: str) -> None:
        world = World(a_server(state=state, protected=True))
        found = strike(world, SERVER)
        assert (found.answer, found.text) == (DestroyAnswer.REFUSED, "it is protected")
        assert world.blows == []

    def test_a_locked_server_is_refused(self) -> None:
        world = World(a_server(state="locked"))
        assert strike(world, SERVER).answer is DestroyAnswer.REFUSED
        assert world.blows == []

    @pytest.mark.parametrize("state", ["running", "stopped"])
    @pytest.mark.parametrize("volume_type", ["l_ssd", "scratch", "b_ssd"])
    def test_a_local_volume_outside_the_warrant_stops_it_and_is_named(self, state: str, volume_type: str) -> None:
        volumes = {"0": {"id": uid(8), "volume_type": "sbs_volume"}, "1": {"id": uid(9), "volume_type": volume_type}}
        world = World(a_server(state=state, volumes=volumes))
        found = strike(world, SERVER)
        assert found.answer is DestroyAnswer.REFUSED
        assert uid(9) in found.text
        assert uid(8) not in found.text
        assert world.blows == []

    def test_with_its_local_volume_in_the_warrant_it_goes(self) -> None:
        world = World(a_server(volumes={"0": {"id": uid(9), "volume_type": "l_ssd"}}), TASK)
        assert strike(world, SERVER, ref(Kind.INSTANCE_VOLUME, 9)).answer is DestroyAnswer.ACCEPTED

    def test_the_same_id_under_another_kind_does_not_cover_the_volume(self) -> None:
        world = World(a_server(volumes={"0": {"id": uid(9), "volume_type": "l_ssd"}}))
        assert strike(world, SERVER, ref(Kind.VOLUME, 9)).answer is DestroyAnswer.REFUSED

    def test_a_block_volume_and_an_ip_survive_and_need_no_warrant(self) -> None:
        attached = {"volumes": {"0": {"id": uid(8), "volume_type": "sbs_volume"}}, "public_ips": [{"id": uid(7)}]}
        assert strike(World(a_server(**attached), TASK), SERVER).answer is DestroyAnswer.ACCEPTED


class TestBeforeTheCall:
    def test_an_id_that_the_warrant_does_not_cover_is_not_touched(self) -> None:
        world = World(a_server())
        with pytest.raises(RefusedError) as caught:
            destroy(make_api(world), warrant(ref(Kind.SERVER, 2)), SERVER, project=PROJECT)
        assert caught.value.code == "RC0410"
        assert world.requests == []

    def test_the_same_id_in_another_zone_is_not_covered(self) -> None:
        world = World(a_server())
        elsewhere = Ref(Kind.SERVER, "nl-ams-1", uid(1))
        with pytest.raises(RefusedError):
            destroy(make_api(world), warrant(elsewhere), SERVER, project=PROJECT)
        assert world.requests == []

    def test_a_warrant_of_another_project_opens_nothing(self) -> None:
        world = World(a_server())
        with pytest.raises(RefusedError):
            strike(world, SERVER, project=STRANGER)
        assert world.requests == []

    def test_an_object_that_is_now_in_another_project_is_refused(self) -> None:
        world = World(a_server(project=STRANGER))
        assert strike(world, SERVER).answer is DestroyAnswer.REFUSED
        assert world.blows == []

    def test_a_typed_404_is_already_gone(self) -> None:
        world = World({SERVER_PATH: not_found("instance_server", uid(1))})
        assert strike(world, SERVER).answer is DestroyAnswer.ALREADY_GONE
        assert world.blows == []

    @pytest.mark.parametrize(
        "answer",
        [denied(), throttled(), reply({}, 500), html(404), html(200), no_route(), httpx2.ReadTimeout("late"),
         reply({"server": server(2)}), reply({"server": server(1) | {"protected": None}})],
    )  # fmt: skip
    def test_what_cannot_be_read_is_not_destroyed(self, answer: Any) -> None:
        world = World({SERVER_PATH: answer})
        with pytest.raises(CloudError) as caught:
            strike(world, SERVER)
        assert caught.value.code == "RC0411"
        assert world.blows == []

    def test_it_looks_every_time(self) -> None:
        world = World(a_server(), TASK)
        strike(world, SERVER)
        strike(world, SERVER)
        assert len(world.requests) == 2

    def test_inside_a_database_transaction_nothing_is_sent(self) -> None:
        world = World(a_server())
        with transaction("claim"), pytest.raises(InternalError):
            strike(world, SERVER)
        assert world.requests == []
        assert world.blows == []

    @pytest.mark.parametrize("kind", [Kind.SECURITY_GROUP, Kind.PLACEMENT_GROUP, Kind.PRIVATE_NETWORK])
    def test_what_workers_share_is_never_destroyed(self, kind: Kind) -> None:
        world = World({})
        assert strike(world, ref(kind)).answer is DestroyAnswer.REFUSED
        assert (world.requests, world.blows) == ([], [])


class TestAfterTheCall:
    @pytest.mark.parametrize(
        ("answer", "what"),
        [
            (not_found("instance_server", uid(1)), DestroyAnswer.ALREADY_GONE),
            (reply({"type": "transient_state", "current_state": "x"}, 409), DestroyAnswer.IN_TRANSITION),
            (reply({"type": "precondition_failed", "precondition": "protected_resource"}, 400), DestroyAnswer.REFUSED),
            (reply({"type": "precondition_failed", "precondition": "protected_resource"}, 412), DestroyAnswer.REFUSED),
            (
                reply({"type": "precondition_failed", "precondition": "resource_still_in_use"}, 412),
                DestroyAnswer.IN_TRANSITION,
            ),
            (reply({"type": "locked", "resource": "server"}, 423), DestroyAnswer.REFUSED),
        ],
    )
    def test_an_answer_with_a_meaning_is_a_value(self, answer: httpx2.Response, what: DestroyAnswer) -> None:
        world = World(a_server(), answer)
        assert strike(world, SERVER).answer is what
        assert len(world.blows) == 1

    @pytest.mark.parametrize(
        ("answer", "code"),
        [
            (httpx2.ReadTimeout("late"), "RC0412"),
            (httpx2.ReadError("reset"), "RC0412"),
            (httpx2.RemoteProtocolError("cut"), "RC0412"),
            (reply({}, 500), "RC0412"),
            (html(502), "RC0412"),
            (reply({}, 504), "RC0412"),
            (html(404), "RC0412"),
            (httpx2.Response(404), "RC0412"),
            (not_found("instance_server", uid(2)), "RC0412"),
            (httpx2.Response(302, headers={"Location": "/"}), "RC0412"),
            (httpx2.ConnectError("refused"), "RC0413"),
            (throttled(), "RC0413"),
            (denied(), "RC0413"),
            (reply({"message": "server should be running", "type": "invalid_request_error"}, 400), "RC0413"),
        ],
    )
    def test_an_answer_without_one_is_an_error_and_is_never_sent_twice(self, answer: Any, code: str) -> None:
        world = World(a_server(), answer)
        with pytest.raises(CloudError) as caught:
            strike(world, SERVER)
        assert caught.value.code == code
        assert len(world.blows) == 1

    def test_401_is_an_authentication_error(self) -> None:
        with pytest.raises(AuthenticationError):
            strike(World(a_server(), reply({}, 401)), SERVER)

    def test_the_request_id_is_kept_for_the_audit(self) -> None:
        world = World(a_server(), reply({"task": {}}, 202, x_request_id="req-1"))
        found = strike(world, SERVER)
        assert (found.request_id, found.status) == ("req-1", 202)


IP_PATH, VOLUME_PATH = f"{V1}/ips/{uid(1)}", f"{B}/volumes/{uid(1)}"
LOCAL_PATH, NIC_PATH = f"{V1}/volumes/{uid(1)}", f"{V2}/private-network-interfaces/{uid(1)}"
HELD = uid(5)
HOLDER = Ref(Kind.SERVER, ZONE, HELD)
HOLDER_PATH = f"{V1}/servers/{HELD}"
GONE_HOLDER = {HOLDER_PATH: not_found("instance_server", HELD)}
LIVE_HOLDER = {HOLDER_PATH: reply({"server": server(5)})}

# kind, path, the object free, the object held by the server HELD
CHILDREN = [
    (Kind.IP, IP_PATH, {"ip": ip(1)}, {"ip": ip(1, server={"id": HELD}, state="attached")}),
    (Kind.VOLUME, VOLUME_PATH, volume(1), volume(1, status="in_use", references=[reference(HELD)])),
    (
        Kind.INSTANCE_VOLUME,
        LOCAL_PATH,
        {"volume": local_volume(1)},
        {"volume": local_volume(1, server={"id": HELD, "name": "w"})},
    ),
    (Kind.NIC, NIC_PATH, nic(1, server_id=None), nic(1, server_id=HELD)),
]


@pytest.mark.parametrize(("kind", "path", "free", "held"), CHILDREN)
class TestChildren:
    def test_a_free_one_is_deleted_by_its_own_api(self, kind: Kind, path: str, free: Json, held: Json) -> None:
        world = World({path: reply(free)})
        assert strike(world, ref(kind)).answer is DestroyAnswer.ACCEPTED
        assert world.blows == [("DELETE", path, None)]

    def test_one_that_a_stranger_uses_is_refused_and_the_user_named(
        self, kind: Kind, path: str, free: Json, held: Json
    ) -> None:
        world = World({path: reply(held), **GONE_HOLDER})
        found = strike(world, ref(kind))
        assert found.answer is DestroyAnswer.REFUSED
        assert HELD in found.text
        assert world.blows == []

    def test_one_that_a_doomed_server_still_uses_waits(self, kind: Kind, path: str, free: Json, held: Json) -> None:
        world = World({path: reply(held), **LIVE_HOLDER})
        assert strike(world, ref(kind), HOLDER).answer is DestroyAnswer.IN_TRANSITION
        assert world.blows == []

    @pytest.mark.parametrize("answer", [denied(), throttled(), reply({}, 500), html(404), httpx2.ReadTimeout("late")])
    def test_a_holder_that_may_be_there_counts_as_there(
        self, kind: Kind, path: str, free: Json, held: Json, answer: Any
    ) -> None:
        world = World({path: reply(held), HOLDER_PATH: answer})
        assert strike(world, ref(kind), HOLDER).answer is DestroyAnswer.IN_TRANSITION
        assert world.blows == []


def test_an_ip_a_nic_or_a_local_volume_whose_doomed_server_is_gone_goes() -> None:
    for kind, path, _, held in CHILDREN:
        world = World({path: reply(held), **GONE_HOLDER})
        expected = DestroyAnswer.IN_TRANSITION if kind is Kind.VOLUME else DestroyAnswer.ACCEPTED
        assert strike(world, ref(kind), HOLDER).answer is expected, kind


BOOKING_PATH = f"/ipam/v1/regions/fr-par/ips/{uid(50_001)}"


def booked(used_by: Json | None) -> dict[str, Any]:
    """A free address by the word of the Instance API, and its booking in IPAM."""
    booking = {
        "id": uid(50_001), "address": "51.15.0.1/32", "project_id": PROJECT, "is_ipv6": False, "tags": [],
        "created_at": "2026-11-01T00:00:00Z", "updated_at": "2026-11-01T00:00:00Z", "source": {"zonal": ZONE},
        "resource": used_by, "reverses": [], "region": "fr-par", "zone": ZONE,
    }  # fmt: skip
    return {f"{V1}/ips/{uid(1)}": reply({"ip": ip(1)}), BOOKING_PATH: reply(booking)}


def test_an_address_that_ipam_has_in_use_is_refused_though_no_server_has_it() -> None:
    world = World(booked({"type": "vpc_gateway", "id": uid(6), "mac_address": None, "name": None}))
    found = strike(world, ref(Kind.IP))
    assert (found.answer, uid(6) in found.text, world.blows) == (DestroyAnswer.REFUSED, True, [])


@pytest.mark.parametrize("user", [None, {"type": "instance_ip", "id": uid(1)}, {"type": "instance_server", "id": HELD}])
def test_an_address_that_ipam_has_in_use_by_nobody_or_by_a_doomed_server_is_deleted(user: Json | None) -> None:
    world = World(booked(user))
    assert strike(world, ref(Kind.IP), HOLDER).answer is DestroyAnswer.ACCEPTED


@pytest.mark.parametrize("answer", [denied(), reply({}, 500), html(404), httpx2.ReadTimeout("late")])
def test_an_address_whose_booking_cannot_be_read_is_not_deleted(answer: Any) -> None:
    world = World({**booked(None), BOOKING_PATH: answer})
    with pytest.raises(CloudError) as error:
        strike(world, ref(Kind.IP))
    assert (error.value.code, world.blows) == ("RC0411", [])


def test_an_address_without_a_booking_or_where_ipam_is_not_offered_is_deleted() -> None:
    for gone in (not_found("ip", uid(50_001)), no_route()):
        world = World({**booked(None), BOOKING_PATH: gone})
        assert strike(world, ref(Kind.IP)).answer is DestroyAnswer.ACCEPTED


def test_a_block_volume_waits_until_its_own_api_calls_it_available() -> None:
    """For up to a minute the server is gone while Block Storage still says in use."""
    for status in ("in_use", "detaching", "deleting", "resizing", "snapshotting", "updating", "creating", "new_word"):
        world = World({VOLUME_PATH: reply(volume(1, status=status))})
        assert strike(world, ref(Kind.VOLUME)).answer is DestroyAnswer.IN_TRANSITION, status
        assert world.blows == []


def test_a_volume_held_by_one_in_the_warrant_and_one_outside_is_refused() -> None:
    held = volume(1, status="in_use", references=[reference(HELD), reference(uid(6), kind="other_product")])
    world = World({VOLUME_PATH: reply(held), **GONE_HOLDER})
    found = strike(world, ref(Kind.VOLUME), HOLDER)
    assert (found.answer, uid(6) in found.text) == (DestroyAnswer.REFUSED, True)


def test_a_locked_volume_is_refused() -> None:
    assert strike(World({VOLUME_PATH: reply(volume(1, status="locked"))}), ref(Kind.VOLUME)).answer is (
        DestroyAnswer.REFUSED
    )


def test_an_ip_that_is_pending_waits() -> None:
    world = World({IP_PATH: reply({"ip": ip(1, state="pending")})})
    assert strike(world, ref(Kind.IP)).answer is DestroyAnswer.IN_TRANSITION


def test_an_object_that_names_itself_as_its_holder_is_not_covered_by_itself() -> None:
    world = World({IP_PATH: reply({"ip": ip(1, server={"id": uid(1)}, state="attached")})})
    assert strike(world, ref(Kind.IP)).answer is DestroyAnswer.REFUSED


class TestIpam:
    PATH = f"/ipam/v1/regions/fr-par/ips/{uid(1)}"
    REF = Ref(Kind.IPAM, "fr-par", uid(1))

    def address(self, resource: Json | None) -> dict[str, Any]:
        body = {"id": uid(1), "address": "172.16.0.2/22", "project_id": PROJECT, "created_at": "2026-11-01T00:00:00Z"}
        return {self.PATH: reply({**body, "region": "fr-par", "resource": resource, "tags": []})}

    def test_a_free_address_is_released(self) -> None:
        world = World(self.address(None))
        assert strike(world, self.REF).answer is DestroyAnswer.ACCEPTED
        assert world.blows == [("DELETE", self.PATH, None)]

    @pytest.mark.parametrize(
        "resource",
        [
            {"type": "instance_private_nic", "id": uid(9)},
            {"type": "custom", "id": "02:00:00:00:00:01"},
            {"type": "x", "id": None},
        ],
    )
    def test_an_address_in_use_outside_the_warrant_is_refused(self, resource: Json) -> None:
        world = World(self.address(resource))
        assert strike(world, self.REF).answer is DestroyAnswer.REFUSED
        assert world.blows == []


class TestSnapshots:
    PATH = f"{B}/snapshots/{uid(1)}"
    IMAGES = f"{V1}/images"
    REF = ref(Kind.SNAPSHOT)

    def snapshot(self, **changes: Any) -> dict[str, Any]:
        body = {"id": uid(1), "name": "s", "project_id": PROJECT, "status": "available", "zone": ZONE, "tags": []}
        return {self.PATH: reply({**body, "created_at": "2026-11-01T00:00:00Z", "references": [], **changes})}

    def images(self, *roots: str) -> dict[str, Any]:
        items = [
            {
                "id": uid(100 + at),
                "name": "i",
                "project": PROJECT,
                "root_volume": {"id": root},
                "zone": ZONE,
                "tags": [],
            }
            for at, root in enumerate(roots)
        ]
        return {self.IMAGES: reply({"images": items}, x_total_count=str(len(items)))}

    def test_one_that_no_image_uses_is_deleted(self) -> None:
        world = World({**self.snapshot(), **self.images(uid(50))})
        assert strike(world, self.REF).answer is DestroyAnswer.ACCEPTED
        assert world.blows == [("DELETE", self.PATH, None)]

    def test_one_under_an_image_is_refused_though_it_looks_free(self) -> None:
        world = World({**self.snapshot(), **self.images(uid(50), uid(1))})
        found = strike(world, self.REF)
        assert (found.answer, uid(101) in found.text) == (DestroyAnswer.REFUSED, True)
        assert world.blows == []

    def test_one_under_an_image_of_the_same_warrant_waits_for_it(self) -> None:
        world = World({**self.snapshot(), **self.images(uid(1))})
        assert strike(world, self.REF, ref(Kind.IMAGE, 100)).answer is DestroyAnswer.IN_TRANSITION
        assert world.blows == []

    @pytest.mark.parametrize("answer", [denied(), reply({}, 500), no_route(), reply({"images": []})])
    def test_without_the_images_it_is_not_touched(self, answer: Any) -> None:
        world = World({**self.snapshot(), self.IMAGES: answer})
        with pytest.raises(CloudError) as caught:
            strike(world, self.REF)
        assert caught.value.code == "RC0411"
        assert world.blows == []

    def test_one_with_a_reference_is_refused(self) -> None:
        world = World({**self.snapshot(references=[{"product_resource_id": uid(9)}]), **self.images()})
        assert strike(world, self.REF).answer is DestroyAnswer.REFUSED


@pytest.mark.parametrize(("public", "what"), [(False, DestroyAnswer.ACCEPTED), (True, DestroyAnswer.REFUSED)])
def test_an_image_of_ours_is_deleted_and_a_public_one_is_not(public: bool, what: DestroyAnswer) -> None:
    body = {"id": uid(1), "name": "i", "project": PROJECT, "root_volume": None, "public": public, "zone": ZONE}
    world = World({f"{V1}/images/{uid(1)}": reply({"image": body})})
    assert strike(world, ref(Kind.IMAGE)).answer is what
    assert len(world.blows) == (0 if public else 1)

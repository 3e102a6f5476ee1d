"""One GET by id: present, absent or unknown."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from reconciler.cloud.kinds import SPECS
from reconciler.cloud.probing import look
from reconciler.kernel.errors import AuthenticationError
from reconciler.model.inventory import Presence, Probe
from reconciler.model.resources import Kind, Ref
from tests.cloud.wire import (
    ZONE,
    Recorder,
    denied,
    html,
    ip,
    local_volume,
    make_api,
    no_route,
    not_found,
    reply,
    server,
    throttled,
    uid,
    volume,
)

REF = Ref(Kind.SERVER, ZONE, uid(1))
PATH = f"/instance/v1/zones/{ZONE}/servers/{uid(1)}"


def probe(answer: Any, ref: Ref = REF) -> Probe:
    return look(make_api(Recorder(default=answer)), ref).probe


def test_a_200_with_the_object_is_presence() -> None:
    found = probe(reply({"server": server(1)}))
    assert (found.presence, found.status) == (Presence.PRESENT, 200)
    assert found.resource is not None
    assert found.resource.id == uid(1)


RECORDED_404 = [
    (Kind.SERVER, "instance_server"),
    (Kind.IP, "instance_ip"),
    (Kind.NIC, "instance_private_nic"),
    (Kind.IPAM, "ip"),
    (Kind.PRIVATE_NETWORK, "private_network"),
    (Kind.IMAGE, "instance_image"),
    (Kind.SECURITY_GROUP, "instance_security_group"),
    (Kind.PLACEMENT_GROUP, "instance_placement_group"),
]


@pytest.mark.parametrize(("kind", "word"), RECORDED_404)
def test_the_recorded_404_of_each_kind_is_absence(kind: Kind, word: str) -> None:
    ref = Ref(kind, "fr-par" if kind.regional else ZONE, uid(1))
    found = probe(not_found(word, uid(1)), ref)
    assert (found.presence, found.status) == (Presence.ABSENT, 404)


@pytest.mark.parametrize(
    "answer",
    [
        html(404),
        httpx2.Response(404),
        httpx2.Response(404, text="404 page not found"),
        no_route(),
        not_found("instance_image", uid(1)),
        not_found("instance_server", uid(2)),
        reply({"type": "unknown_resource", "message": f'"{uid(1)}" not found'}, 404),
        reply({"message": "resource is not found"}, 404),
        reply(["not_found"], 404),
        reply(b'{"type": "not_found", "resource": "instance_ser', 404),
        reply({"type": "not_found", "resource": 5, "resource_id": uid(1)}, 404),
        reply(b"[" * 50_000, 404),
        reply({"type": "not_found", "resource": "instance_server", "resource_id": uid(1), "pad": "x" * 100_000}, 404),
        denied(),
        throttled(),
        reply({}, 500),
        reply({"type": "not_found", "resource": "instance_server", "resource_id": uid(1)}, 410),
        reply({"server": server(2)}),
        reply({"server": server(1, zone="nl-ams-1")}),
        reply({"server": server(1)}, 206),
        reply({}),
        html(200),
        httpx2.Response(204),
        httpx2.ReadTimeout("late"),
        httpx2.ConnectError("refused"),
    ],
)
def test_everything_else_is_unknown_with_a_reason(answer: Any) -> None:
    found = probe(answer)
    assert (found.presence, found.resource) == (Presence.UNKNOWN, None)
    assert found.reason


def test_401_is_raised() -> None:
    with pytest.raises(AuthenticationError):
        probe(reply({"type": "denied_authentication"}, 401))


@pytest.mark.parametrize("bad", ["", "..", "x", f"{uid(1)}/action", f"{uid(1)}?x=1", "51.15.0.1"])
def test_an_id_that_is_no_uuid_is_never_put_into_a_url(bad: str) -> None:
    """An empty one would ask for the list; IPs answer to their address, too."""
    seen = Recorder(default=reply({"server": server(1)}))
    for kind in (Kind.SERVER, Kind.IP):
        assert look(make_api(seen), Ref(kind, ZONE, bad)).probe.presence is Presence.UNKNOWN
    assert seen.requests == []


def test_a_reason_holds_no_control_characters() -> None:
    found = probe(reply({"type": "x", "message": "a\x1b[2Jb\nc"}, 400))
    assert found.reason is not None
    assert "\x1b" not in found.reason
    assert "\n" not in found.reason


class TestVolumes:
    """A volume may be in either API, whatever a ledger calls it."""

    BLOCK = f"/block/v1/zones/{ZONE}/volumes/{uid(1)}"
    LOCAL = f"/instance/v1/zones/{ZONE}/volumes/{uid(1)}"

    def look(self, kind: Kind, *, block: Any, local: Any) -> Probe:
        return look(make_api(Recorder({self.BLOCK: block, self.LOCAL: local})), Ref(kind, ZONE, uid(1))).probe

    @pytest.mark.parametrize("kind", [Kind.VOLUME, Kind.INSTANCE_VOLUME])
    def test_absent_from_both_is_absent(self, kind: Kind) -> None:
        found = self.look(kind, block=not_found("volume", uid(1)), local=not_found("instance_volume", uid(1)))
        assert found.presence is Presence.ABSENT

    def test_a_migrated_volume_is_not_taken_for_gone(self) -> None:
        found = self.look(Kind.INSTANCE_VOLUME, block=reply(volume(1)), local=not_found("instance_volume", uid(1)))
        assert (found.presence, found.reason) == (Presence.UNKNOWN, "the id is in another API than its kind says")

    def test_a_local_volume_called_a_block_volume_is_not_taken_for_gone(self) -> None:
        found = self.look(Kind.VOLUME, block=not_found("volume", uid(1)), local=reply({"volume": local_volume(1)}))
        assert found.presence is Presence.UNKNOWN

    @pytest.mark.parametrize("answer", [denied(), throttled(), html(404)])
    def test_the_other_api_without_an_answer_leaves_it_unknown(self, answer: Any) -> None:
        found = self.look(Kind.VOLUME, block=not_found("volume", uid(1)), local=answer)
        assert found.presence is Presence.UNKNOWN

    def test_an_api_that_is_not_offered_cannot_hold_it(self) -> None:
        found = self.look(Kind.INSTANCE_VOLUME, block=no_route(), local=not_found("instance_volume", uid(1)))
        assert found.presence is Presence.ABSENT

    def test_the_volumes_own_api_not_offered_proves_nothing(self) -> None:
        found = self.look(Kind.VOLUME, block=no_route(), local=not_found("instance_volume", uid(1)))
        assert found.presence is Presence.UNKNOWN


def test_an_ip_that_answers_403_is_unknown_and_says_so() -> None:
    found = probe(denied(), Ref(Kind.IP, ZONE, uid(1)))
    assert (found.presence, found.status) == (Presence.UNKNOWN, 403)


def test_an_address_in_place_of_the_id_is_another_object() -> None:
    assert probe(reply({"ip": ip(2)}), Ref(Kind.IP, ZONE, uid(1))).presence is Presence.UNKNOWN


def test_every_kind_can_be_listed_and_asked_for_by_id() -> None:
    assert set(SPECS) == set(Kind)
    for spec in SPECS.values():
        assert spec.lists
        assert spec.gets[0].decode is not None

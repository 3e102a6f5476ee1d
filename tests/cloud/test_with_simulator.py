"""The client against the simulated Scaleway: scans, proofs, tags and destruction over whole lives of workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from reconciler.cloud import Credentials, ScalewayCloud
from reconciler.cloud.credentials import Secret
from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.errors import AuthenticationError, CloudError
from reconciler.kernel.randomness import SeededRandomness
from reconciler.model.inventory import Inventory, Presence, Probe, Right, Scan
from reconciler.model.resources import Ip, Kind, Nic, Ref, Server, Volume
from reconciler.model.warrant import DestroyAnswer, Warrant
from reconciler.simulator import (
    PROJECT_ID,
    SECRET_KEY,
    ZONE,
    FaultRule,
    Key,
    Simulator,
    World,
    WorldOptions,
    populate,
    rate_limited,
)
from reconciler.simulator.generate import BORN_MS, Worker
from reconciler.simulator.records import FlexibleIp, Slot
from reconciler.simulator.records import Volume as LocalVolume
from reconciler.simulator.transport import SimulatorTransport

NOW_MS = BORN_MS + 30 * 86_400_000
ZONAL = [kind for kind in Kind if not kind.regional]


class Cloud:
    """A simulator, the client over it, and one clock for both."""

    def __init__(self, world: World | None = None, *, secret: str = SECRET_KEY, rate: int = 50) -> None:
        self.clock = VirtualClock(start_ms=NOW_MS)
        self.simulator = Simulator(world, clock=self.clock, randomness=SeededRandomness(3))
        self.client = ScalewayCloud(
            Credentials(secret_key=Secret(secret), project=PROJECT_ID),
            clock=self.clock,
            randomness=SeededRandomness(5),
            transport=SimulatorTransport(self.simulator),
        )

    def scan_all(self, zone: str = ZONE) -> Mapping[tuple[Kind, str], Scan]:
        scans = [self.client.scan(kind, zone) for kind in Kind]
        return {(scan.kind, scan.zone): scan for scan in scans}

    def calls(self, method: str, tail: str) -> int:
        counted = self.simulator.traffic.calls()
        return sum(count for route, count in counted.items() if route.startswith(f"{method} ") and route.endswith(tail))

    def prove(self, *refs: Ref) -> list[Presence]:
        known: dict[Kind, list[str]] = {}
        for ref in refs:
            known.setdefault(ref.kind, []).append(ref.id)
        found: Mapping[Ref, Probe] = self.client.prove_absent(refs, known_ids=known)
        return [found[ref].presence for ref in refs]


def workers(count: int, world: World | None = None, zones: tuple[str, ...] = (ZONE,)) -> tuple[Cloud, list[Worker]]:
    made = world or World()
    return Cloud(made), populate(made, servers=count, zones=zones, tags=("ci",))


def refs_of(worker: Worker) -> dict[Kind, Ref]:
    assert worker.ip is not None
    assert worker.nic is not None
    return {
        Kind.SERVER: Ref(Kind.SERVER, ZONE, worker.server),
        Kind.VOLUME: Ref(Kind.VOLUME, ZONE, worker.root),
        Kind.IP: Ref(Kind.IP, ZONE, worker.ip),
        Kind.NIC: Ref(Kind.NIC, ZONE, worker.nic),
    }


def warrant(*refs: Ref) -> Warrant:
    return Warrant(deletion_id="d", fence_token=1, scope="ci", project=PROJECT_ID, target=refs[0], refs=frozenset(refs))


class TestScans:
    def test_every_kind_of_a_populated_zone_is_complete(self) -> None:
        cloud, _ = workers(7)
        scans = cloud.scan_all()
        assert {key: scan.reason for key, scan in scans.items() if not scan.complete} == {}
        counts = {kind: len(scan.items) for (kind, _), scan in scans.items()}
        assert [counts[kind] for kind in (Kind.SERVER, Kind.VOLUME, Kind.IP, Kind.NIC)] == [7, 7, 7, 7]
        assert counts[Kind.IPAM] == 7 * 3
        assert counts[Kind.PRIVATE_NETWORK] == 1
        assert cloud.simulator.traffic.unknown() == {}

    def test_every_kind_of_an_empty_zone_is_complete_and_empty(self) -> None:
        cloud, _ = workers(1)
        scans = [cloud.client.scan(kind, "pl-waw-2") for kind in ZONAL]
        assert all(scan.complete and not scan.items for scan in scans)

    def test_children_are_found_from_both_sides(self) -> None:
        cloud, made = workers(3)
        inventory = Inventory(scans=cloud.scan_all())
        for worker in made:
            assert set(inventory.children_of[worker.server]) == set(refs_of(worker).values()) - {
                Ref(Kind.SERVER, ZONE, worker.server)
            }

    def test_every_object_in_a_list_answers_the_same_by_id(self) -> None:
        cloud, _ = workers(2)
        for scan in cloud.scan_all().values():
            for item in scan.items:
                probe = cloud.client.probe(item.ref)
                assert probe.resource == item, scan.kind

    def test_lists_of_several_pages_are_read_within_their_budget(self) -> None:
        cloud, made = workers(250)
        known = [worker.server for worker in made]
        scan = cloud.client.scan(Kind.SERVER, ZONE, known_ids=known)
        assert (scan.complete, scan.right, len(scan.items)) == (True, Right.PROVED, 250)
        assert cloud.calls("GET", "/servers") == scan.calls == 3
        for kind, calls in ((Kind.VOLUME, 3), (Kind.NIC, 3), (Kind.IP, 6)):
            scan = cloud.client.scan(kind, ZONE)
            assert (scan.complete, scan.calls) == (True, calls), kind

    def test_a_thousand_workers_in_two_zones_take_a_call_a_page(self) -> None:
        cloud, _ = workers(1000, zones=(ZONE, "nl-ams-1"))
        for kind in (Kind.SERVER, Kind.VOLUME, Kind.NIC, Kind.IP):
            scan = cloud.client.scan(kind, ZONE)
            assert (scan.complete, len(scan.items)) == (True, 500)
            assert scan.calls <= (500 // 100 + 1) * (2 if kind is Kind.IP else 1), kind

    def test_429s_scattered_over_a_scan_are_waited_out(self) -> None:
        cloud, _ = workers(450)
        cloud.simulator.faults.set([rate_limited(every=3)])
        scan = cloud.client.scan(Kind.VOLUME, ZONE)
        assert (scan.complete, len(scan.items)) == (True, 450)
        assert cloud.client.health().throttled > 0

    @pytest.mark.parametrize("kind", [Kind.SERVER, Kind.IP, Kind.VOLUME, Kind.NIC])
    def test_a_deletion_between_two_pages_never_hides_a_survivor(self, kind: Kind) -> None:
        cloud, made = workers(250)
        survivors = {refs_of(worker)[kind].id for worker in made[:200]}
        steps = iter((200, 220, 240))

        def meddle(request: object) -> None:
            step = next(steps, None)
            if step is not None:
                world = cloud.simulator._world
                for table in (world.servers, world.ips, world.block_volumes, world.nics):
                    table.remove(refs_of(made[step])[kind].id)

        cloud.simulator.before.append(meddle)
        scan = cloud.client.scan(kind, ZONE)
        assert scan.complete
        assert survivors <= {item.id for item in scan.items}

    def test_a_product_that_a_zone_does_not_offer_is_apart_from_denied(self) -> None:
        cloud, _ = workers(1, World(options=WorldOptions(absent_products=("block/it-mil-1",))))
        absent = cloud.client.scan(Kind.VOLUME, "it-mil-1")
        assert (absent.offered, absent.complete, absent.right) == (False, True, Right.UNKNOWN)
        assert cloud.client.scan(Kind.SNAPSHOT, "it-mil-1").complete
        assert cloud.client.scan(Kind.VOLUME, ZONE).offered

    def test_a_zone_that_does_not_exist_is_not_offered(self) -> None:
        cloud, _ = workers(1)
        assert not cloud.client.scan(Kind.SERVER, "fr-par-9").offered

    def test_another_project_stays_out_of_sight(self) -> None:
        other = "5ca1ab1e-0000-4000-8000-0000000000ff"
        world = World(keys=[Key(secret=SECRET_KEY, projects=None)])
        cloud, made = workers(2, world)
        populate(world, servers=3, project=other)
        scans = cloud.scan_all()
        assert all(scan.complete for scan in scans.values())
        assert {item.id for item in scans[Kind.SERVER, ZONE].items} == {worker.server for worker in made}

    def test_a_server_keeps_the_words_of_the_wire(self) -> None:
        cloud, made = workers(1)
        server = cloud.client.scan(Kind.SERVER, ZONE).items[0]
        assert isinstance(server, Server)
        assert (server.state, server.tags, server.created_ms) == ("running", ("ci",), BORN_MS)
        assert server.root is not None
        assert server.root.id == made[0].root
        volume = cloud.client.scan(Kind.VOLUME, ZONE).items[0]
        assert isinstance(volume, Volume)
        assert (volume.server_id, volume.volume_type, volume.status) == (server.id, "sbs_5k", "in_use")


class TestRights:
    """What a key may not see is unknown, not gone."""

    def world(self, **changes: object) -> tuple[Cloud, list[Worker]]:
        key = Key(secret=SECRET_KEY, projects=frozenset({PROJECT_ID}), **changes)  # type: ignore[arg-type]
        return workers(3, World(keys=[key]))

    def test_a_list_without_the_right_is_denied(self) -> None:
        cloud, _ = self.world(kinds=frozenset({"server"}))
        scan = cloud.client.scan(Kind.IP, ZONE)
        assert (scan.complete, scan.right) == (False, Right.DENIED)

    @pytest.mark.parametrize(
        ("kind", "word"),
        [(Kind.SERVER, "server"), (Kind.IP, "ip"), (Kind.VOLUME, "block_volume"), (Kind.NIC, "private_nic")],
    )
    def test_an_empty_200_without_the_right_is_seen_through_with_one_known_id(self, kind: Kind, word: str) -> None:
        cloud, made = self.world(kinds=frozenset({"none"}), hidden=frozenset({word}))
        refs = [refs_of(worker)[kind] for worker in made]
        scan = cloud.client.scan(kind, ZONE, known_ids=[ref.id for ref in refs])
        assert (scan.items, scan.complete, scan.right) == ((), False, Right.UNKNOWN)
        assert cloud.prove(*refs) == [Presence.UNKNOWN] * 3

    def test_an_empty_ipam_is_seen_through_with_the_ipam_id_of_an_ip(self) -> None:
        cloud, _ = self.world(kinds=frozenset({"ip"}), hidden=frozenset({"ipam_ip"}))
        ips = [item for item in cloud.client.scan(Kind.IP, ZONE).items if isinstance(item, Ip)]
        witnesses = [item.ipam_id for item in ips if item.ipam_id is not None]
        assert len(witnesses) == 3
        assert not cloud.client.scan(Kind.IPAM, "fr-par", known_ids=witnesses).complete

    def test_ipam_answers_because_the_project_is_always_named(self) -> None:
        cloud, _ = self.world(ipam_needs_project=True)
        assert len(cloud.client.scan(Kind.IPAM, "fr-par").items) == 9

    def test_a_strange_key_is_an_authentication_error_everywhere(self) -> None:
        cloud = Cloud(secret="00000000-0000-4000-8000-00000000dead")
        ref = Ref(Kind.SERVER, ZONE, "00000000-0000-4000-8000-000000000001")
        for call in (
            cloud.client.check_credentials,
            lambda: cloud.client.scan(Kind.SERVER, ZONE),
            lambda: cloud.client.probe(ref),
            lambda: cloud.client.prove_absent([ref], known_ids={}),
            lambda: cloud.client.prices(ZONE),
            lambda: cloud.client.set_tags(ref, (), expected=()),
            lambda: cloud.client.destroy(warrant(ref), ref),
        ):
            with pytest.raises(AuthenticationError):
                call()


class TestProofs:
    @pytest.mark.parametrize("kind", [Kind.SERVER, Kind.IP, Kind.VOLUME, Kind.NIC, Kind.INSTANCE_VOLUME, Kind.SNAPSHOT])
    def test_an_id_that_never_was_is_proved_absent(self, kind: Kind) -> None:
        cloud, _ = workers(2)
        assert cloud.prove(Ref(kind, ZONE, "00000000-0000-4000-8000-00000000dead")) == [Presence.ABSENT]

    def test_what_is_there_is_present(self) -> None:
        cloud, made = workers(2)
        assert cloud.prove(*refs_of(made[0]).values()) == [Presence.PRESENT] * 4

    def test_an_ip_that_answers_403_once_deleted_is_proved_absent_beside_a_witness(self) -> None:
        cloud, made = workers(2, World(options=WorldOptions(deleted_ip_status=403)))
        gone = refs_of(made[0])[Kind.IP]
        with cloud.simulator.editing() as world:
            world.ips.remove(gone.id)
        assert cloud.prove(gone) == [Presence.ABSENT]

    def test_the_last_ip_of_a_zone_that_answers_403_stays_unknown(self) -> None:
        """Nothing in the zone shows that the list is not blind."""
        cloud, made = workers(1, World(options=WorldOptions(deleted_ip_status=403)))
        gone = refs_of(made[0])[Kind.IP]
        with cloud.simulator.editing() as world:
            world.ips.remove(gone.id)
        assert cloud.prove(gone) == [Presence.UNKNOWN]

    def test_an_ipam_id_that_differs_from_the_ip_is_followed(self) -> None:
        cloud, _ = workers(2, World(options=WorldOptions(ipam_id_differs=True)))
        ips = [item for item in cloud.client.scan(Kind.IP, ZONE).items if isinstance(item, Ip)]
        assert all(item.ipam_id not in (None, item.id) for item in ips)
        scan = cloud.client.scan(Kind.IPAM, "fr-par", known_ids=[item.ipam_id or "" for item in ips])
        assert (scan.complete, scan.right) == (True, Right.PROVED)


class TestTags:
    @pytest.mark.parametrize("kind", [Kind.SERVER, Kind.IP, Kind.VOLUME, Kind.NIC])
    def test_every_kind_of_a_worker_can_be_tagged(self, kind: Kind) -> None:
        cloud, made = workers(1)
        ref = refs_of(made[0])[kind]
        live = cloud.client.probe(ref).resource
        assert live is not None
        wanted = (*live.tags, "reconciler", "reconciler:fleet=ci")
        assert cloud.client.set_tags(ref, wanted, expected=live.tags).tags == wanted
        after = cloud.client.probe(ref).resource
        assert after is not None
        assert after.tags == wanted

    def test_a_lost_answer_is_not_written_twice(self) -> None:
        cloud, made = workers(1)
        ref = refs_of(made[0])[Kind.SERVER]
        cloud.simulator.faults.set([FaultRule(method="PATCH", action="drop_answer", nth=(1,))])
        assert cloud.client.set_tags(ref, ("ci", "reconciler"), expected=("ci",)).tags == ("ci", "reconciler")
        assert cloud.calls("PATCH", "{server}") == 1

    def test_a_tag_that_somebody_adds_meanwhile_is_kept(self) -> None:
        cloud, made = workers(1)
        ref = refs_of(made[0])[Kind.SERVER]
        cloud.client.set_tags(ref, ("ci", "reconciler"), expected=("ci",))
        with pytest.raises(CloudError) as caught:
            cloud.client.set_tags(ref, ("ci", "reconciler:fleet=x"), expected=("ci",))
        assert caught.value.code == "RC0420"


class TestDestruction:
    def test_a_whole_worker_goes_and_is_proved_gone(self) -> None:
        """Terminate, wait, delete what survives, prove every id; nothing else in the zone is touched."""
        cloud, made = workers(3)
        doomed, refs = made[0], refs_of(made[0])
        order = [refs[kind] for kind in (Kind.SERVER, Kind.IP, Kind.VOLUME, Kind.NIC)]
        allowed = warrant(*order)
        for _ in range(60):
            answers = {ref: cloud.client.destroy(allowed, ref).answer for ref in order}
            assert DestroyAnswer.REFUSED not in answers.values()
            if set(answers.values()) == {DestroyAnswer.ALREADY_GONE}:
                break
            cloud.clock.advance(2)
        assert cloud.prove(*order) == [Presence.ABSENT] * 4
        left = cloud.scan_all()
        assert {item.id for item in left[Kind.SERVER, ZONE].items} == {worker.server for worker in made[1:]}
        assert {item.id for item in left[Kind.VOLUME, ZONE].items} == {worker.root for worker in made[1:]}
        assert {item.id for item in left[Kind.IP, ZONE].items} == {worker.ip for worker in made[1:]}
        assert doomed.server not in {item.server_id for item in left[Kind.NIC, ZONE].items if isinstance(item, Nic)}
        assert cloud.calls("POST", "/action") == 1

    def test_children_wait_while_their_server_is_going(self) -> None:
        cloud, made = workers(1)
        refs = refs_of(made[0])
        allowed = warrant(*refs.values())
        assert cloud.client.destroy(allowed, refs[Kind.SERVER]).answer is DestroyAnswer.ACCEPTED
        for kind in (Kind.SERVER, Kind.VOLUME, Kind.NIC):
            assert cloud.client.destroy(allowed, refs[kind]).answer is DestroyAnswer.IN_TRANSITION, kind
        # The one child that a terminate lets go at once.
        assert cloud.client.destroy(allowed, refs[Kind.IP]).answer is DestroyAnswer.ACCEPTED

    def test_a_child_alone_is_refused_while_its_server_uses_it(self) -> None:
        cloud, made = workers(1)
        for kind, ref in refs_of(made[0]).items():
            if kind is not Kind.SERVER:
                assert cloud.client.destroy(warrant(ref), ref).answer is DestroyAnswer.REFUSED, kind
        assert cloud.simulator.traffic.stats()["mutating"] == 0

    @pytest.mark.parametrize("state", ["running", "stopped"])
    def test_a_protected_server_survives(self, state: str) -> None:
        cloud, made = workers(1)
        ref = refs_of(made[0])[Kind.SERVER]
        with cloud.simulator.editing() as world:
            server = world.servers.get(ref.id)
            assert server is not None
            world.servers.put(replace(server, protected=True, state=state))
        assert cloud.client.destroy(warrant(ref), ref).answer is DestroyAnswer.REFUSED
        assert cloud.client.probe(ref).presence is Presence.PRESENT

    def test_a_local_volume_that_nobody_captured_saves_its_server(self) -> None:
        cloud, made = workers(1)
        ref, local = refs_of(made[0])[Kind.SERVER], "00000000-0000-4000-8000-0000000000aa"
        with cloud.simulator.editing() as world:
            server = world.servers.get(ref.id)
            assert server is not None
            world.volumes.put(LocalVolume(id=local, name="data", server=ref.id))
            slot = Slot(key="1", volume=local, volume_type="l_ssd")
            world.servers.put(replace(server, slots=(*server.slots, slot)))
        refused = cloud.client.destroy(warrant(ref), ref)
        assert refused.answer is DestroyAnswer.REFUSED
        assert local in refused.text
        wider = warrant(ref, Ref(Kind.INSTANCE_VOLUME, ZONE, local))
        assert cloud.client.destroy(wider, ref).answer is DestroyAnswer.ACCEPTED

    def test_a_lost_answer_to_terminate_is_not_repeated_and_the_next_look_tells(self) -> None:
        cloud, made = workers(1)
        ref = refs_of(made[0])[Kind.SERVER]
        cloud.simulator.faults.set([FaultRule(method="POST", action="drop_answer")])
        with pytest.raises(CloudError) as caught:
            cloud.client.destroy(warrant(ref), ref)
        assert caught.value.code == "RC0412"
        assert cloud.client.destroy(warrant(ref), ref).answer is DestroyAnswer.IN_TRANSITION
        cloud.clock.advance(60)
        assert cloud.client.destroy(warrant(ref), ref).answer is DestroyAnswer.ALREADY_GONE
        assert cloud.calls("POST", "/action") == 1

    def test_a_free_ip_goes_at_once(self) -> None:
        cloud, _ = workers(1)
        ref = Ref(Kind.IP, ZONE, "00000000-0000-4000-8000-0000000000bb")
        with cloud.simulator.editing() as world:
            world.ips.put(FlexibleIp(id=ref.id, address="51.15.9.9"))
        assert cloud.client.destroy(warrant(ref), ref).answer is DestroyAnswer.ACCEPTED
        assert cloud.prove(ref) == [Presence.ABSENT]


class TestTheRest:
    def test_prices_cover_every_type_and_block_storage(self) -> None:
        cloud, _ = workers(1)
        found = cloud.client.prices(ZONE)
        assert found["DEV1-S"].hour_nanos == 8_976_000
        assert "sbs_5k" in found

    def test_credentials_are_checked_by_one_cheap_call(self) -> None:
        cloud, _ = workers(1)
        cloud.client.check_credentials()
        assert cloud.client.health().calls == 1

    def test_a_key_without_rights_is_still_a_good_key(self) -> None:
        cloud = Cloud(World(keys=[Key(secret=SECRET_KEY, kinds=frozenset())]))
        cloud.client.check_credentials()

    @pytest.mark.parametrize("status", [429, 503])
    def test_trouble_in_one_zone_is_no_trouble_with_the_key(self, status: int) -> None:
        cloud, _ = workers(1)
        cloud.simulator.faults.set([FaultRule(path=f"/instance/v1/zones/{ZONE}/servers", status=status)])
        cloud.client.check_credentials()

    def test_a_server_error_in_every_region_is_an_api_that_is_down(self) -> None:
        cloud, _ = workers(1)
        cloud.simulator.faults.set([FaultRule(path="**/servers", status=503)])
        with pytest.raises(CloudError) as caught:
            cloud.client.check_credentials()
        assert caught.value.code == "RC0401"

    def test_an_api_that_is_down_is_a_cloud_error(self) -> None:
        cloud, _ = workers(1)
        cloud.simulator.faults.set([FaultRule(action="refuse")])
        with pytest.raises(CloudError) as caught:
            cloud.client.check_credentials()
        assert caught.value.code == "RC0401"

    def test_one_zone_that_fails_does_not_make_the_api_count_as_down(self) -> None:
        cloud, _ = workers(1)
        cloud.simulator.faults.set([FaultRule(path="**/zones/fr-par-1/**", action="status", status=503)])
        cloud.client.check_credentials()

    def test_an_api_that_fails_in_every_region_is_a_cloud_error(self) -> None:
        cloud, _ = workers(1)
        cloud.simulator.faults.set([FaultRule(path="**/servers", action="status", status=503)])
        with pytest.raises(CloudError) as caught:
            cloud.client.check_credentials()
        assert "503" in caught.value.message

    def test_an_api_that_gives_no_answer_is_not_asked_zone_by_zone(self) -> None:
        cloud, _ = workers(1)
        cloud.simulator.faults.set([FaultRule(action="refuse")])
        with pytest.raises(CloudError):
            cloud.client.check_credentials()
        assert len({entry.path for entry in cloud.simulator.traffic.entries()}) == 1

    def test_the_clocks_agree(self) -> None:
        cloud, _ = workers(1)
        cloud.client.scan(Kind.SERVER, ZONE)
        skew = cloud.client.health().skew_seconds
        assert skew is not None
        assert abs(skew) <= 0.5

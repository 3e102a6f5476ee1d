"""Whatever is done to a simulated cloud, in whatever order: it does not crash, and nothing in it points at nothing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from reconciler.kernel.clock import VirtualClock
from reconciler.simulator import SECRET_KEY, ZONE, Request, Simulator, World, populate, worldfile
from reconciler.simulator.catalog import image_id
from reconciler.simulator.defaults import REGION
from reconciler.simulator.rooms import ROUTES
from tests.simulator.support import BLOCK, V1, V2, VPC, Api

ACTIONS = ["poweron", "poweroff", "stop_in_place", "reboot", "terminate", "backup"]


class Cloud(RuleBasedStateMachine):
    """Creates, attachments, power, deletions and time, in any order."""

    servers, ips, volumes, networks, nics = (Bundle(name) for name in ("servers", "ips", "volumes", "networks", "nics"))

    @initialize()
    def begin(self) -> None:
        self.api = Api()

    @rule(target=servers, local=st.booleans(), dynamic=st.booleans())
    def create(self, local: bool, dynamic: bool) -> Any:
        kind = "instance_local" if local else "instance_sbs"
        image = image_id("ubuntu_noble", zone=ZONE, kind=kind)
        return self.api.server(image=image, dynamic_ip_required=dynamic)["id"]

    @rule(target=ips)
    def book(self) -> Any:
        return self.api.ip()["id"]

    @rule(target=volumes)
    def volume(self) -> Any:
        return self.api.block_volume()["id"]

    @rule(target=networks)
    def network(self) -> Any:
        return self.api.network()["id"]

    @rule(target=nics, server=servers, network=networks)
    def nic(self, server: str, network: str) -> Any:
        body = {"server_id": server, "private_network_id": network}
        made = self.api.call("POST", f"{V2}/private-network-interfaces", body)
        return made.json()["id"] if made.status == 200 else multiple()

    @rule(
        server=servers,
        action=st.sampled_from(ACTIONS),
    )
    def act(self, server: str, action: str) -> None:
        self.api.act(server, action)

    @rule(server=servers, ip=ips, gone=st.booleans())
    def move_ip(self, server: str, ip: str, gone: bool) -> None:
        self.api.call("PATCH", f"{V1}/ips/{ip}", {"server": None if gone else server})

    @rule(server=servers, volume=volumes, verb=st.sampled_from(["attach-volume", "detach-volume"]))
    def move_volume(self, server: str, volume: str, verb: str) -> None:
        self.api.call("POST", f"{V1}/servers/{server}/{verb}", {"volume_id": volume})

    @rule(server=servers)
    def delete(self, server: str) -> None:
        self.api.call("DELETE", f"{V1}/servers/{server}")

    @rule(server=servers, ips_=st.booleans(), volumes_=st.booleans(), keep=st.booleans())
    def stop_and_delete(self, server: str, ips_: bool, volumes_: bool, keep: bool) -> None:
        body = {"delete_all_ips": ips_, "delete_all_volumes": volumes_, "keep_all_private_nics": keep}
        self.api.call("POST", f"{V2}/servers/{server}/stop-and-delete", body)

    @rule(ip=consumes(ips), release=st.booleans())
    def drop_ip(self, ip: str, release: bool) -> None:
        path = f"{V1}/ips/{ip}"
        if release:
            self.api.call("POST", f"{path}/release-to-ipam", {})
        else:
            self.api.call("DELETE", path)

    @rule(volume=volumes)
    def drop_volume(self, volume: str) -> None:
        self.api.call("DELETE", f"{BLOCK}/volumes/{volume}")

    @rule(nic=consumes(nics))
    def drop_nic(self, nic: str) -> None:
        self.api.call("DELETE", f"{V2}/private-network-interfaces/{nic}")

    @rule(network=networks)
    def drop_network(self, network: str) -> None:
        self.api.call("DELETE", f"{VPC}/private-networks/{network}")

    @rule(seconds=st.sampled_from([1, 5, 30, 120]))
    def wait(self, seconds: int) -> None:
        self.api.clock.advance(seconds)

    @invariant()
    def nothing_points_at_nothing(self) -> None:
        """The reader of world files refuses every dangling id, so being readable is being whole."""
        with self.api.simulator.editing() as world:
            text = worldfile.dump(world)
        assert worldfile.dump(worldfile.parse(text)) == text

    @invariant()
    def both_apis_agree_on_who_uses_a_volume_but_for_detaching_ones(self) -> None:
        with self.api.simulator.editing() as world:
            slots = {slot.volume: server.id for server in world.servers for slot in server.slots}
            for volume in world.block_volumes:
                using = volume.reference
                if using is None:
                    assert volume.id not in slots
                elif using.status != "detaching":
                    assert slots[volume.id] == using.server

    @invariant()
    def every_public_address_is_in_ipam_and_says_the_same(self) -> None:
        with self.api.simulator.editing() as world:
            for ip in world.ips:
                if not ip.dynamic:
                    entry = world.ipam.get(ip.ipam_id)
                    assert entry is not None
                    assert (entry.resource.id if entry.resource else None) == ip.server


Cloud.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestCloud = Cloud.TestCase

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**12) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
FIELDS = (
    "name tags project project_id organization image volumes public_ips commercial_type security_group server size "
    "placement_group perf_iops from_empty from_snapshot volume_id root_volume private_network_id server_id ip_ids "
    "source address resource to_resource reverses rules action subnets vpc_id snapshot_id type server_type "
    "public_network_interface delete_ip_ids delete_volume_ids delete_private_nic_ids ipam_ip_ids "
    "private_network_interface_id policy_type inbound_default_policy description volume_type"
)
names = st.sampled_from(FIELDS.split())


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(ROUTES), st.dictionaries(names, values, max_size=4), st.data())
def test_no_body_and_no_query_makes_the_simulator_crash(route: Any, body: dict[str, Any], data: st.DataObject) -> None:
    """Whatever a client sends, it is answered or refused in the API's own words, never with a bug."""
    world = World()
    made = populate(world, servers=1)[0]
    simulator = Simulator(world, clock=VirtualClock())
    known = {
        "zone": ZONE,
        "region": REGION,
        "server": made.server,
        "volume": made.root,
        "ip": made.ip or "",
        "nic": made.nic or "",
        "key": "k",
        "group": next(iter(world.security_groups)).id,
        "network": next(iter(world.networks)).id,
        "vpc": next(iter(world.vpcs)).id,
        "snapshot": "x",
        "image": image_id("ubuntu_noble", zone=ZONE),
        "rule": "x",
    }
    query = data.draw(st.sampled_from(["", "page=0", "per_page=x", "page_token=!", "tags=", "order_by=name_asc", "a"]))
    request = Request(
        method=route.method,
        path=route.template.format(**known),
        query=query,
        headers={"X-Auth-Token": SECRET_KEY},
        body=b"" if route.method == "GET" else json.dumps(body).encode(),
    )
    response = simulator.handle(request)
    assert simulator.crashes == []
    assert response.status < 500


def test_every_route_is_of_a_known_kind_or_open_to_everybody() -> None:
    kinds = set(World().tables())
    assert {route.kind for route in ROUTES} - kinds == {""}
    assert len({(route.method, route.template) for route in ROUTES}) == len(ROUTES)


def test_ipam_and_vpc_are_regional_and_all_else_that_needs_a_right_is_zonal() -> None:
    for route in ROUTES:
        if route.kind:
            place = "{region}" if route.template.startswith(("/ipam/", "/vpc/")) else "{zone}"
            assert place in route.template

"""One world, lived through by Scaleway's own SDK: every call that it has for what the simulator serves.

After every step `survey` lists and reads everything that there is, in all dialects, so that each kind of object is read
in each of its states, also those that last a moment.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from typing import Any

from reconciler.kernel.clock import VirtualClock
from reconciler.simulator import Simulator, effects
from reconciler.simulator.catalog import image_id
from reconciler.simulator.defaults import ZONE
from tests.fidelity.sdk import Sdk

GB = 1_000_000_000
LOCAL = image_id("ubuntu_noble", zone=ZONE, kind="instance_local")
NOBLE = image_id("ubuntu_noble", zone=ZONE)


@dataclass
class Story:
    """The world's life, told through the SDK. `seen`: kind -> the states that a reader met."""

    sdk: Sdk
    clock: VirtualClock
    simulator: Simulator
    seen: dict[str, set[str]] = field(default_factory=dict)

    def met(self, kind: str, state: Any) -> None:
        self.seen.setdefault(kind, set()).add(str(state))

    def survey(self) -> None:
        """List everything, and read each thing that was listed by its id."""
        read, sdk = self.sdk.read, self.sdk
        for server in read(sdk.instance.list_servers()).servers:
            read(sdk.instance.get_server(server_id=server.id))
            self.met("server", server.state)
            for volume in server.volumes.values():
                self.met("volume of a server", volume.state)
            for nic in read(sdk.instance.list_private_ni_cs(server_id=server.id)).private_nics:
                self.met("nic v1", nic.state)
                read(sdk.instance.get_private_nic(server_id=server.id, private_nic_id=nic.id))
            read(sdk.instance.list_server_user_data(server_id=server.id))
            read(sdk.instance.get_server_compatible_types(server_id=server.id))
            read(sdk.servers.list_user_data_keys(server_id=server.id))
        for summary in read(sdk.servers.list_servers()).servers:
            self.met("server v2alpha1", read(sdk.servers.get_server(server_id=summary.id)).status)
        self._addresses_and_interfaces()
        self._storage()
        self._groups()

    def _addresses_and_interfaces(self) -> None:
        read, sdk = self.sdk.read, self.sdk
        for ip in read(sdk.instance.list_ips()).ips:
            self.met("ip", read(sdk.instance.get_ip(ip=ip.id)).ip.state)
        for entry in read(sdk.ipam.list_i_ps()).ips:
            kind = entry.resource.type_ if entry.resource is not None else "free"
            self.met("ipam ip", kind)
            read(sdk.ipam.get_ip(ip_id=entry.id))
        for nic in read(sdk.servers.list_private_network_interfaces()).private_network_interfaces:
            self.met("nic", nic.status)
            read(sdk.servers.get_private_network_interface(private_network_interface_id=nic.id))
        for network in read(sdk.vpc.list_private_networks()).private_networks:
            read(sdk.vpc.get_private_network(private_network_id=network.id))
        for vpc in read(sdk.vpc.list_vp_cs()).vpcs:
            read(sdk.vpc.get_vpc(vpc_id=vpc.id))

    def _storage(self) -> None:
        read, sdk = self.sdk.read, self.sdk
        for local in read(sdk.instance.list_volumes()).volumes:
            self.met("local volume", read(sdk.instance.get_volume(volume_id=local.id)).volume.state)
        for snapshot in read(sdk.instance.list_snapshots()).snapshots:
            self.met("local snapshot", read(sdk.instance.get_snapshot(snapshot_id=snapshot.id)).snapshot.state)
        for image in read(sdk.instance.list_images()).images:
            read(sdk.instance.get_image(image_id=image.id))
        for volume in read(sdk.block.list_volumes(include_deleted=False)).volumes:
            self.met("block volume", read(sdk.block.get_volume(volume_id=volume.id)).status)
            read(sdk.block_alpha.get_volume(volume_id=volume.id))
            for reference in volume.references:
                self.met("reference", reference.status)
        for made in read(sdk.block.list_snapshots(include_deleted=False)).snapshots:
            self.met("block snapshot", read(sdk.block.get_snapshot(snapshot_id=made.id)).status)
            read(sdk.block_alpha.get_snapshot(snapshot_id=made.id))
        read(sdk.block_alpha.list_volumes())
        read(sdk.block_alpha.list_snapshots())

    def _groups(self) -> None:
        read, sdk = self.sdk.read, self.sdk
        for group in read(sdk.instance.list_security_groups()).security_groups:
            read(sdk.instance.get_security_group(security_group_id=group.id))
            read(sdk.instance.list_security_group_rules(security_group_id=group.id))
        for one in read(sdk.instance.list_placement_groups()).placement_groups:
            read(sdk.instance.get_placement_group(placement_group_id=one.id))
            read(sdk.instance.get_placement_group_servers(placement_group_id=one.id))
        for two in read(sdk.servers.list_placement_groups()).placement_groups:
            read(sdk.servers.get_placement_group(placement_group_id=two.id))

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.survey()


def tell(story: Story) -> None:
    """All of it, in order."""
    _catalog(story)
    network = _network(story)
    _storage_life(story)
    _worker(story, network)
    _local_worker(story)
    _second_dialect(story, network)
    _last_of(story, network)


def _catalog(story: Story) -> None:
    read, sdk = story.sdk.read, story.sdk
    for page in (1, 2, 3):
        read(sdk.instance.list_servers_types(page=page, per_page=50))
    read(sdk.instance.get_server_types_availability(per_page=100))
    read(sdk.block.list_volume_types())
    read(sdk.block_alpha.list_volume_types())
    images = read(sdk.marketplace.list_images(include_eol=True)).images
    read(sdk.marketplace.get_image(image_id=images[0].id))
    (block, *_) = read(sdk.marketplace.list_local_images(image_label="ubuntu_noble", zone=ZONE)).local_images
    read(sdk.marketplace.get_local_image(local_image_id=block.id))
    read(sdk.catalog.list_public_catalog_products(zone=ZONE, page_size=100))
    read(sdk.catalog.list_public_catalog_products(zone=ZONE, api_ids=["ENT1-S"]))


def _network(story: Story) -> str:
    from scaleway.ipam.v1 import CustomResource, Reverse, Source

    read, sdk = story.sdk.read, story.sdk
    vpc = read(sdk.vpc.create_vpc(enable_routing=True, enable_transitivity=False, name="v"))
    read(sdk.vpc.update_vpc(vpc_id=vpc.id, tags=["a"]))
    read(sdk.vpc.enable_routing(vpc_id=vpc.id))
    read(sdk.vpc.enable_custom_routes_propagation(vpc_id=vpc.id))
    network = read(sdk.vpc.create_private_network(default_route_propagation_enabled=False, vpc_id=vpc.id))
    read(sdk.vpc.update_private_network(private_network_id=network.id, tags=["a"]))
    booked = read(sdk.ipam.book_ip(source=Source(private_network_id=network.id), is_ipv6=False, tags=["a"]))
    first, second = (CustomResource(mac_address=f"02:00:00:00:00:0{digit}", name="mine") for digit in "12")
    read(sdk.ipam.attach_ip(ip_id=booked.id, resource=first))
    story.survey()
    read(sdk.ipam.move_ip(ip_id=booked.id, from_resource=first, to_resource=second))
    read(sdk.ipam.detach_ip(ip_id=booked.id, resource=second))
    read(sdk.ipam.update_ip(ip_id=booked.id, tags=["b"], reverses=[Reverse(hostname="h.example.com")]))
    story.survey()
    read(sdk.ipam.release_ip(ip_id=booked.id))
    return str(network.id)


def _storage_life(story: Story) -> None:
    from scaleway.block.v1 import CreateVolumeRequestFromEmpty, CreateVolumeRequestFromSnapshot

    read, block = story.sdk.read, story.sdk.block
    volume = read(block.create_volume(perf_iops=5000, from_empty=CreateVolumeRequestFromEmpty(size=10 * GB)))
    story.survey()
    story.wait(5)
    read(block.update_volume(volume_id=volume.id, size=20 * GB, tags=["a"]))
    story.survey()
    story.wait(5)
    snapshot = read(block.create_snapshot(volume_id=volume.id, public=False, name="s"))
    story.survey()
    story.wait(5)
    read(block.update_snapshot(snapshot_id=snapshot.id, name="t"))
    read(block.export_snapshot_to_object_storage(snapshot_id=snapshot.id, bucket="b", key="k"))
    story.survey()
    story.wait(5)
    other = CreateVolumeRequestFromSnapshot(snapshot_id=snapshot.id)
    copy = read(block.create_volume(perf_iops=15000, from_snapshot=other))
    read(block.import_snapshot_from_object_storage(bucket="b", key="k", name="i"))
    story.wait(5)
    read(block.delete_volume(volume_id=copy.id))
    _older_storage(story)
    image = read(story.sdk.instance.create_image(root_volume=snapshot.id, arch="x86_64", name="i")).image
    read(story.sdk.instance.update_image(image_id=image.id, tags=["a"]))
    story.survey()
    read(story.sdk.instance.delete_image(image_id=image.id))
    read(block.delete_snapshot(snapshot_id=snapshot.id))


def _older_storage(story: Story) -> None:
    from scaleway.block.v1alpha1 import CreateVolumeRequestFromEmpty

    read, block = story.sdk.read, story.sdk.block_alpha
    volume = read(block.create_volume(perf_iops=5000, from_empty=CreateVolumeRequestFromEmpty(size=10 * GB)))
    story.wait(5)
    read(block.update_volume(volume_id=volume.id, name="n"))
    snapshot = read(block.create_snapshot(volume_id=volume.id, name="s"))
    story.wait(5)
    read(block.update_snapshot(snapshot_id=snapshot.id, tags=["a"]))
    read(block.export_snapshot_to_object_storage(snapshot_id=snapshot.id, bucket="b", key="k"))
    read(block.import_snapshot_from_object_storage(bucket="b", key="k", name="i"))
    story.wait(5)
    read(block.delete_snapshot(snapshot_id=snapshot.id))
    read(block.delete_volume(volume_id=volume.id))


def _act(story: Story, server_id: str, action: str, *, seconds: float) -> None:
    """An action, a look while it is under way, a look at its end."""
    story.sdk.read(story.sdk.instance.server_action(server_id=server_id, action=action))
    story.wait(0.1)
    story.wait(seconds)


def _worker(story: Story, network_id: str) -> None:
    read, v1 = story.sdk.read, story.sdk.instance
    group = read(v1.create_security_group(description="d", stateful=True, name="g")).security_group
    read(v1.update_security_group(security_group_id=group.id, tags=["a"], stateful=True))
    rule = read(
        v1.create_security_group_rule(
            security_group_id=group.id, protocol="TCP", direction="inbound", action="accept",
            ip_range="10.0.0.0/8", position=1, editable=True, dest_port_from=22,
        )
    ).rule  # fmt: skip
    placement = read(v1.create_placement_group(name="p")).placement_group
    read(v1.update_placement_group(placement_group_id=placement.id, tags=["a"]))
    ip = read(v1.create_ip(tags=["a"], type_="routed_ipv4")).ip
    v6 = read(v1.create_ip(type_="routed_ipv6")).ip
    server = read(
        v1.create_server(
            commercial_type="DEV1-S", image=NOBLE, name="w", public_ips=[ip.id, v6.id], tags=["a"],
            security_group=group.id, placement_group=placement.id,
        )
    ).server  # fmt: skip
    v1.set_server_user_data(server.id, "cloud-init", b"#cloud-config\n")
    assert v1.get_all_server_user_data(server.id).user_data == {"cloud-init": b"#cloud-config\n"}
    read(v1.delete_server_user_data(server_id=server.id, key="cloud-init"))
    story.survey()
    _act(story, server.id, "poweron", seconds=20)
    nic = read(v1.create_private_nic(server_id=server.id, private_network_id=network_id)).private_nic
    story.survey()
    story.wait(60)
    read(v1.update_private_nic(server_id=server.id, private_nic_id=nic.id, tags=["a"]))
    _moving_parts(story, server.id, ip.id)
    for action, seconds in (("stop_in_place", 44), ("poweron", 5), ("reboot", 41), ("backup", 5)):
        _act(story, server.id, action, seconds=seconds)
    read(v1._update_server(server_id=server.id, tags=["b"], protected=True))
    story.survey()
    read(v1._update_server(server_id=server.id, protected=False))
    read(v1.delete_private_nic(server_id=server.id, private_nic_id=nic.id))
    _act(story, server.id, "terminate", seconds=5)
    read(v1.delete_security_group_rule(security_group_id=group.id, security_group_rule_id=rule.id))
    read(v1.delete_security_group(security_group_id=group.id))
    read(v1.delete_placement_group(placement_group_id=placement.id))
    read(v1.release_ip_to_ipam(ip_id=ip.id))
    story.survey()
    read(v1.delete_ip(ip=v6.id))


def _moving_parts(story: Story, server_id: str, ip_id: str) -> None:
    """A volume and an address that come and go while the server runs."""
    read, v1 = story.sdk.read, story.sdk.instance
    (spare, *_) = [one for one in story.sdk.block.list_volumes(include_deleted=False).volumes if not one.references]
    read(v1.attach_server_volume(server_id=server_id, volume_id=spare.id, volume_type="sbs_volume"))
    story.survey()
    story.wait(5)
    read(v1.detach_server_volume(server_id=server_id, volume_id=spare.id))
    story.survey()
    story.wait(48)
    with story.simulator.editing() as world:
        attached = world.ips.get(ip_id)
        assert attached is not None
        effects.detach_ip(world, attached, now_ms=story.clock.now_ms())
    story.survey()
    read(v1.update_ip(ip=ip_id, server=server_id))
    story.survey()
    story.wait(10)


def _local_worker(story: Story) -> None:
    read, v1 = story.sdk.read, story.sdk.instance
    extra = read(v1.create_volume(name="x", volume_type="l_ssd", size=10 * GB)).volume
    read(v1.update_volume(volume_id=extra.id, tags=["a"]))
    server = read(v1.create_server(commercial_type="DEV1-S", image=LOCAL, name="l", dynamic_ip_required=True)).server
    _act(story, server.id, "poweron", seconds=30)
    root = server.volumes["0"].id
    snapshot = read(v1.create_snapshot(name="s", volume_id=root, volume_type="l_ssd")).snapshot
    story.survey()
    story.wait(42)
    read(v1.update_snapshot(snapshot_id=snapshot.id, name="t"))
    read(v1.export_snapshot(snapshot_id=snapshot.id, bucket="b", key="k"))
    read(v1.create_snapshot(name="i", volume_type="l_ssd", bucket="b", key="k"))
    story.survey()
    story.wait(42)
    read(v1.delete_snapshot(snapshot_id=snapshot.id))
    _act(story, server.id, "poweroff", seconds=26)
    _act(story, server.id, "poweron", seconds=16)
    _act(story, server.id, "terminate", seconds=5)
    read(v1.delete_volume(volume_id=extra.id))
    gone = read(v1.create_server(commercial_type="DEV1-S", image=NOBLE, name="d")).server
    read(v1.delete_server(server_id=gone.id))
    story.survey()
    story.wait(5)


def _second_dialect(story: Story, network_id: str) -> None:
    from scaleway.instance.v2alpha1 import types as v2

    read, api = story.sdk.read, story.sdk.servers
    new = v2.CreateServerRequestCreateVolume(name="root", tags=["t"], image_label="ubuntu_noble")
    address = v2.CreateServerRequestBookIP(type_="zonal_ipv4", tags=["t"])
    placement = read(api.create_placement_group(name="p"))
    read(api.update_placement_group(placement_group_id=placement.id, name="q"))

    def create(name: str) -> Any:
        return read(
            api.create_server(
                name=name,
                server_type="DEV1-S",
                tags=["t"],
                placement_group_id=placement.id,
                volumes=[v2.CreateServerRequestServerVolume(volume_type="sbs", new_volume=new)],
                public_network_interface=v2.CreateServerRequestPublicNetworkInterface(
                    ips=[v2.CreateServerRequestServerIP(new_ip=address)]
                ),
            )
        )

    server = create("one")
    _parts_of_v2(story, server.id, network_id)
    steps = (("start_server", 5), ("pause_server", 44), ("start_server", 5), ("reboot_server", 41), ("stop_server", 26))
    for step, seconds in steps:
        read(getattr(api, step)(server_id=server.id))
        story.wait(0.1)
        story.wait(seconds)
    read(api.update_server(server_id=server.id, tags=["u"]))
    read(api.delete_server(server_id=server.id, delete_all_ips=True))
    doomed = create("two")
    read(api.start_server(server_id=doomed.id))
    story.wait(5)
    volumes = [volume.id for volume in doomed.volumes]
    read(api.stop_and_delete_server(server_id=doomed.id, delete_all_ips=True, delete_volume_ids=volumes))
    story.survey()
    story.wait(5)
    read(api.delete_placement_group(placement_group_id=placement.id))


def _parts_of_v2(story: Story, server_id: str, network_id: str) -> None:
    read, api = story.sdk.read, story.sdk.servers
    content = base64.b64encode(b"#cloud-config\n").decode()
    api.set_server_cloud_init(server_id=server_id, content=content)
    assert read(api.get_server_cloud_init(server_id=server_id)).content == content
    read(api.delete_user_data(server_id=server_id, key="cloud-init"))
    nic = read(api.create_private_network_interface(private_network_id=network_id, server_id=server_id))
    read(api.update_private_network_interface(private_network_interface_id=nic.id, tags=["a"]))
    story.survey()
    read(api.detach_server_private_network_interface(server_id=server_id, private_network_interface_id=nic.id))
    story.survey()
    read(api.attach_server_private_network_interface(server_id=server_id, private_network_interface_id=nic.id))
    story.wait(60)
    read(api.delete_private_network_interface(private_network_interface_id=nic.id))
    (spare, *_) = [one for one in story.sdk.block.list_volumes(include_deleted=False).volumes if not one.references]
    read(api.attach_server_volume(server_id=server_id, volume_id=spare.id, boot_volume=False))
    read(api.detach_server_volume(server_id=server_id, volume_id=spare.id))
    ip = read(story.sdk.instance.create_ip(type_="routed_ipv4")).ip
    read(api.attach_server_ip(server_id=server_id, ip_id=ip.id, default=False, move_allowed=False))
    read(api.detach_server_ip(server_id=server_id, ip_id=ip.id))


def _last_of(story: Story, network_id: str) -> None:
    read, sdk = story.sdk.read, story.sdk
    server = read(sdk.instance.create_server(commercial_type="DEV1-S", image=NOBLE, name="locked")).server
    with story.simulator.editing() as world:
        held = world.servers.get(server.id)
        assert held is not None
        world.servers.put(replace(held, state="locked", state_detail="locked by support"))
    story.survey()
    read(sdk.vpc.delete_private_network(private_network_id=network_id))
    for vpc in [one for one in sdk.vpc.list_vp_cs().vpcs if not one.is_default]:
        read(sdk.vpc.delete_vpc(vpc_id=vpc.id))

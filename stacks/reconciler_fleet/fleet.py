"""`WorkerFleet`: one declaration, N machines with their children, and what the reconciler needs to know of them.

Every resource that can carry tags carries the owner tags, so that a machine whose row in Pulumi's state was lost can
still be found and told from a stranger's. The provider cannot tag a root volume: the reconciler does that once it has
seen the volume attached.

The fleet's identity (`uid`) is a random uuid kept by `pulumi.Stash` with its input ignored, so that it is made once,
survives every later run, and is new when the fleet is deleted and declared again. A fleet with a cloud-init or image
that may be secret keeps its digest key the same way (see spec.py).

Cloud-init goes through the `cloud_init` property and never through `user_data`: the provider compares `user_data` key
by key on every refresh, and both write the same key.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumiverse_scaleway import block, instance, network

from reconciler_fleet.output import SECRET_MARK
from reconciler_fleet.spec import NewPrivateNetwork, WorkerFleetArgs, keyed_mark, plain_mark, revision_of
from reconciler_fleet.vocabulary import REVISION_TAG, check_name, owner_tags, region_of, without_repeats

TYPE_TOKEN = "reconciler:fleet:WorkerFleet"  # noqa: S105  # a type token, not a secret


class WorkerFleet(pulumi.ComponentResource):
    """A group of workers. Machines are named `<fleet>-<slot>`, slots count from 0."""

    uid: pulumi.Output[str]
    revision: pulumi.Output[str]

    def __init__(self, name: str, args: WorkerFleetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Register the fleet. Raises ValueError for a name that cannot be a host name."""
        super().__init__(TYPE_TOKEN, check_name(name), {}, opts)
        self.name = name
        self.args = args
        self.uid = self._kept(f"{name}-uid", str(uuid.uuid4()))
        key = self._kept(f"{name}-key", pulumi.Output.secret(secrets.token_hex(32))) if args.needs_key else None
        image = _marked(args.image, key=key, show_plain=True)
        cloud_init = None if args.cloud_init is None else _marked(args.cloud_init, key=key)
        self.revision = _revision(args, image=image, cloud_init=cloud_init)
        self._network_id = self._private_network()
        self._cloud_init_mark = cloud_init
        self.servers = tuple(self._machine(slot) for slot in range(args.replicas or 0))
        self.register_outputs({"uid": self.uid, "revision": self.revision})

    def describe(self) -> dict[str, Any]:
        """This fleet as the stack output has it (see output.py). Holds no secret, and is not secret itself."""
        args = self.args
        return {
            "uid": self.uid,
            "name": self.name,
            "controller": args.controller,
            "zone": args.zone,
            "replicas": args.replicas,
            "minimum": args.minimum,
            "maximum": args.maximum,
            "revision": self.revision,
            "commercial_type": args.type,
            "component_urn": self.urn,
            "spec": {
                "image": shown(args.image),
                "root": {"size_gb": args.root.size_gb, "iops": args.root.iops},
                "volumes": [{"name": v.name, "size_gb": v.size_gb, "iops": v.iops} for v in args.volumes],
                "public_ip": args.public_ip,
                "private_network": shown(self._network_id),
                "security_group_id": shown(args.security_group_id),
                "placement_group_id": shown(args.placement_group_id),
                "cloud_init": self._cloud_init_mark,
                "tags": list(args.tags),
                "protect": args.protect,
                "protected": args.protected,
            },
        }

    def _machine(self, slot: int) -> instance.Server:
        args, name = self.args, f"{self.name}-{slot}"
        address = None
        if args.public_ip:
            address = instance.Ip(
                f"{name}-ip", type="routed_ipv4", zone=args.zone, tags=self._tags(slot), opts=self._child()
            )
        volumes = [
            block.Volume(
                f"{name}-{volume.name}",
                name=f"{name}-{volume.name}",
                size_in_gb=volume.size_gb,
                iops=volume.iops,
                zone=args.zone,
                tags=self._tags(slot),
                opts=self._child(),
            )
            for volume in args.volumes
        ]
        networks = [instance.ServerPrivateNetworkArgs(pn_id=self._network_id)] if self._network_id is not None else None
        return instance.Server(
            name,
            name=name,
            type=args.type,
            image=args.image,
            zone=args.zone,
            # Declared, because a refresh is blind to a machine that was stopped while `state` is not.
            state="started",
            tags=self._tags(slot),
            root_volume=instance.ServerRootVolumeArgs(
                volume_type="sbs_volume",
                size_in_gb=args.root.size_gb,
                sbs_iops=args.root.iops,
                delete_on_termination=True,
            ),
            # Not `ip_id`: with that the provider takes the IP off before it asks for the deletion, and a machine whose
            # deletion is then refused (`protected`) has lost its address (tried).
            ip_ids=None if address is None else [address.id],
            additional_volume_ids=[volume.id for volume in volumes] or None,
            private_networks=networks,
            security_group_id=args.security_group_id,
            placement_group_id=args.placement_group_id,
            cloud_init=args.cloud_init,
            protected=args.protected or None,
            # A new machine cannot have the slot's IP and volumes while the old one holds them (HTTP 400, tried).
            opts=pulumi.ResourceOptions.merge(self._child(), pulumi.ResourceOptions(delete_before_replace=True)),
        )

    def _private_network(self) -> pulumi.Input[str] | None:
        wanted = self.args.private_network
        if not isinstance(wanted, NewPrivateNetwork):
            return wanted
        created = network.PrivateNetwork(
            f"{self.name}-network",
            name=self.name,
            region=region_of(self.args.zone),
            tags=self._tags(None),
            opts=self._child(),
        )
        return created.id

    def _tags(self, slot: int | None) -> list[pulumi.Input[str]]:
        ours = owner_tags(scope=self.args.scope, fleet=self.name, slot=slot)
        revision = self.revision.apply(lambda digits: f"{REVISION_TAG}{digits}")
        return [*ours, revision, *without_repeats(self.args.tags)]

    def _child(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self, protect=self.args.protect or None)

    def _kept(self, name: str, value: pulumi.Input[str]) -> pulumi.Output[str]:
        """A value that is made in the first run and kept by Pulumi's state from then on."""
        options = pulumi.ResourceOptions(parent=self, ignore_changes=["input"])
        return pulumi.Stash(name, opts=options, input=value).output


def shown(value: pulumi.Input[Any] | None) -> pulumi.Input[Any] | None:
    """The value, or `[secret]` in its place: one secret inside would make the whole stack output unreadable."""
    if not isinstance(value, pulumi.Output):
        return value

    async def unless_secret() -> Any:
        return SECRET_MARK if await value.is_secret() else value

    return pulumi.Output.from_input(unless_secret())


def _marked(value: pulumi.Input[str], *, key: pulumi.Output[str] | None, show_plain: bool = False) -> pulumi.Input[str]:
    """What stands for `value` in the digest: a plain string's own digest (or itself), else a keyed one."""
    if isinstance(value, str):
        return value if show_plain else plain_mark(value)
    mark = pulumi.Output.all(value=value, key=key).apply(lambda known: keyed_mark(known["value"], key=known["key"]))
    return pulumi.Output.unsecret(mark)


def _revision(
    args: WorkerFleetArgs, *, image: pulumi.Input[str], cloud_init: pulumi.Input[str] | None
) -> pulumi.Output[str]:
    fixed: Mapping[str, Any] = {
        "zone": args.zone,
        "type": args.type,
        "root": {"size_gb": args.root.size_gb, "iops": args.root.iops},
    }
    marks = pulumi.Output.all(image=image, cloud_init=cloud_init)
    return marks.apply(lambda known: revision_of({**fixed, **known}))

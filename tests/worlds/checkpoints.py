"""State entries as the provider writes them for what a simulated cloud holds, in the JSON of a checkpoint.

`pulumi stack export` prints the document that `document` makes; it is decoded by the product's own decoder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.kernel.clock import iso
from reconciler.model.resources import region_of
from reconciler.simulator import World
from reconciler.simulator.records import BlockVolume, FlexibleIp, IpamIp, Nic, Server, Volume
from reconciler.simulator.records_static import PlacementGroup, PrivateNetwork, SecurityGroup
from reconciler.simulator.world import AnyRecord

Json = dict[str, Any]

TOKENS: Final[Mapping[type, str]] = {
    Server: "scaleway:instance/server:Server",
    FlexibleIp: "scaleway:instance/ip:Ip",
    BlockVolume: "scaleway:block/volume:Volume",
    Volume: "scaleway:instance/volume:Volume",
    Nic: "scaleway:instance/privateNic:PrivateNic",
    IpamIp: "scaleway:ipam/ip:Ip",
    PrivateNetwork: "scaleway:network/privateNetwork:PrivateNetwork",
    SecurityGroup: "scaleway:instance/securityGroup:SecurityGroup",
    PlacementGroup: "scaleway:instance/placementGroup:PlacementGroup",
}
_STATES: Final = {"running": "started", "stopped": "stopped", "stopped in place": "standby"}
_GB: Final = 1_000_000_000
# What the provider chose, so that no program says it.
_CHOSEN: Final = frozenset({"publicIps", "securityGroupId", "additionalVolumeIds", "bootType", "enableDynamicIp"})


@dataclass
class StackDraft:
    """One stack in the making. `name` is `project/stack`."""

    name: str
    resources: list[Json] = field(default_factory=list)
    pending: list[Json] = field(default_factory=list)
    fleets: list[Json] = field(default_factory=list)
    scope: str = ""

    @property
    def project(self) -> str:
        return self.name.partition("/")[0]

    @property
    def short(self) -> str:
        return self.name.partition("/")[2]

    def urn(self, token: str, name: str, *, below: str = "") -> str:
        chain = f"{below}${token}" if below else token
        return f"urn:pulumi:{self.short}::{self.project}::{chain}::{name}"

    @property
    def provider(self) -> str:
        return self.urn("pulumi:providers:scaleway", "default_1_60_0")

    def document(self, *, written_ms: int) -> Json:
        """What `pulumi stack export` prints."""
        output = {"schema_version": 1, "scope": self.scope, "fleets": self.fleets}
        root = self.urn("pulumi:pulumi:Stack", f"{self.project}-{self.short}")
        head = [
            {"urn": root, "type": "pulumi:pulumi:Stack", "custom": False, "outputs": {"reconciler": output}},
            {"urn": self.provider, "type": "pulumi:providers:scaleway", "custom": True, "id": "provider-id"},
        ]
        return {
            "version": 3,
            "deployment": {
                "manifest": {"time": iso(written_ms), "magic": "", "version": "v3.274.1"},
                "resources": [*head, *self.resources],
                "pending_operations": self.pending,
            },
        }


def pulumi_id(record: AnyRecord) -> str:
    """The id that a state has: `fr-par-1/UUID`, `fr-par/UUID`, `fr-par-1/SERVER/NIC`."""
    if isinstance(record, Nic):
        return f"{record.zone}/{record.server}/{record.id}"
    return f"{getattr(record, 'zone', None) or getattr(record, 'region', '')}/{record.id}"


def entry(urn: str, record: AnyRecord, properties: tuple[Json, Json], **changes: Any) -> Json:
    inputs, outputs = properties
    made = {
        "urn": urn,
        "type": TOKENS[type(record)],
        "custom": True,
        "id": pulumi_id(record),
        "inputs": inputs,
        "outputs": outputs,
    }
    return {**made, **changes}


def properties(record: AnyRecord, world: World) -> tuple[Json, Json]:
    """(inputs, outputs) of a program that declares all that it can."""
    match record:
        case Server():
            outputs = _server(record, world)
            inputs = {key: value for key, value in outputs.items() if key not in _CHOSEN}
            inputs["rootVolume"] = {k: v for k, v in outputs["rootVolume"].items() if k in ("sizeInGb", "sbsIops")}
            return inputs, outputs
        case FlexibleIp():
            return {"tags": list(record.tags)}, _common(record, type=record.type, reverse=record.reverse or "")
        case BlockVolume():
            shown = {"name": record.name, "sizeInGb": record.size // _GB, "iops": record.perf_iops}
        case Volume():
            shown = {"name": record.name, "sizeInGb": record.size // _GB, "type": record.volume_type}
        case Nic():
            network = f"{region_of(record.zone)}/{record.private_network}"
            shown = {"privateNetworkId": network, "serverId": f"{record.zone}/{record.server}"}
        case IpamIp():
            shown = {"address": record.address}
        case _:
            shown = {"name": getattr(record, "name", "")}
    return {**shown, "tags": list(record.tags)}, _common(record, **shown)


def _common(record: Any, **shown: Any) -> Json:
    return {**shown, "tags": list(record.tags), "projectId": record.project}


def _server(server: Server, world: World) -> Json:
    addresses = sorted(world.ips.under("server", server.id), key=lambda ip: ip.attach_order)
    nics = [nic for nic in world.nics.under("server", server.id) if not nic.tags]
    flexible = [f"{server.zone}/{ip.id}" for ip in addresses if not ip.dynamic]
    shown = _common(
        server,
        name=server.name,
        type=server.commercial_type,
        state=_STATES.get(server.state, "started"),
        image="ubuntu_noble",
        bootType=server.boot_type,
        enableDynamicIp=server.dynamic_ip_required,
        protected=server.protected,
        securityGroupId=f"{server.zone}/{server.security_group}",
        publicIps=[{"id": one, "dynamic": False} for one in flexible],
        additionalVolumeIds=[f"{server.zone}/{slot.volume}" for slot in server.slots if slot.key != "0"],
        # Interfaces with tags have an entry of their own.
        privateNetworks=[{"pnId": f"{region_of(server.zone)}/{nic.private_network}"} for nic in nics],
        rootVolume=_root(server, world),
    )
    if len(flexible) == 1:
        shown["ipId"] = flexible[0]
    return shown


def _root(server: Server, world: World) -> Json:
    slot = next((slot for slot in server.slots if slot.key == "0"), None)
    root = world.block_volumes.get(slot.volume) if slot is not None else None
    if root is None:
        return {}
    return {
        "volumeId": f"{root.zone}/{root.id}",
        "sizeInGb": root.size // _GB,
        "name": root.name,
        "sbsIops": root.perf_iops,
    }


def urns(resources: Iterable[Json]) -> set[str]:
    return {one["urn"] for one in resources}

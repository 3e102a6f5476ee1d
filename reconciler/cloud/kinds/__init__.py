"""Every kind's paths and shapes, one module each, and the table of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reconciler.cloud.kinds import images, ipam, ips, nics, servers, shared, snapshots, volumes
from reconciler.cloud.wire import KindSpec
from reconciler.model.resources import Kind

SPECS: Final[Mapping[Kind, KindSpec]] = {
    Kind.SERVER: servers.SPEC,
    Kind.IP: ips.SPEC,
    Kind.VOLUME: volumes.BLOCK_SPEC,
    Kind.INSTANCE_VOLUME: volumes.INSTANCE_SPEC,
    Kind.NIC: nics.SPEC,
    Kind.IPAM: ipam.SPEC,
    Kind.PRIVATE_NETWORK: shared.PRIVATE_NETWORK_SPEC,
    Kind.SNAPSHOT: snapshots.SPEC,
    Kind.IMAGE: images.SPEC,
    Kind.SECURITY_GROUP: shared.SECURITY_GROUP_SPEC,
    Kind.PLACEMENT_GROUP: shared.PLACEMENT_GROUP_SPEC,
}

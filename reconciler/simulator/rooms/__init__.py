"""One room per kind of object: the routes of its API and what each does to the world."""

from __future__ import annotations

from typing import Final

from reconciler.simulator.rooms import (
    block,
    catalog,
    images,
    ipam,
    ips,
    nics,
    placement_groups,
    security_groups,
    server_actions,
    server_create,
    server_v2_parts,
    server_volumes,
    servers,
    servers_v2,
    snapshots,
    volumes,
    vpc,
)
from reconciler.simulator.routing import Route

ROUTES: Final[tuple[Route, ...]] = (
    *servers.ROUTES,
    *server_create.ROUTES,
    *server_actions.ROUTES,
    *server_volumes.ROUTES,
    *servers_v2.ROUTES,
    *server_v2_parts.ROUTES,
    *ips.ROUTES,
    *volumes.ROUTES,
    *block.ROUTES,
    *snapshots.ROUTES,
    *nics.ROUTES,
    *ipam.ROUTES,
    *vpc.ROUTES,
    *security_groups.ROUTES,
    *placement_groups.ROUTES,
    *images.ROUTES,
    *catalog.ROUTES,
)

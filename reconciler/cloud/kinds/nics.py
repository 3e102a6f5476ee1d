"""Private NICs: v2alpha1 lists a whole zone; v1 lists those of one server, oldest first, and stands in where v2alpha1
is not served. Both have the same ids.

v2alpha1 does not repeat the zone in each object, and v1 not the project, so those come from the question.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from reconciler.cloud.forms import TEXT, TEXTS, TIME, At, Form, Reader, into, nullable, page_of, then
from reconciler.cloud.wire import Dialect, GetSource, KindSpec, ListSource, Page, v1, v2
from reconciler.model.resources import Nic


def _nic(zone: str) -> Form:
    return into(
        Nic,
        id=At("id", TEXT),
        zone=At("zone", TEXT, zone),
        project=At("project_id", TEXT),
        tags=At("tags", TEXTS, ()),
        created_ms=At("created_at", TIME),
        # Required, though it may be null: without it a used interface would look free.
        server_id=At("server_id", then(nullable(TEXT), lambda server_id: server_id or "")),
        private_network_id=At("private_network_id", TEXT),
        mac_address=At("mac_address", nullable(TEXT), None),
        status=At("status", TEXT),
        ipam_ids=At("ip_ids", TEXTS, ()),
    )


def _old_nic(zone: str, project: str) -> Form:
    return into(
        Nic,
        id=At("id", TEXT),
        zone=At("zone", TEXT, zone),
        project=At("\0", TEXT, project),
        tags=At("tags", TEXTS, ()),
        created_ms=At("creation_date", nullable(TIME), None),
        server_id=At("server_id", TEXT),
        private_network_id=At("private_network_id", TEXT),
        mac_address=At("mac_address", nullable(TEXT), None),
        status=At("state", TEXT),
        ipam_ids=At("ipam_ip_ids", TEXTS, ()),
    )


@cache
def _page(zone: str) -> Callable[[bytes], Page]:
    return page_of("private_network_interfaces", _nic(zone))


@cache
def _one(zone: str) -> Callable[[bytes], Any]:
    return Reader(_nic(zone))


@cache
def _old_page(zone: str, project: str) -> Callable[[bytes], Page]:
    return page_of("private_nics", _old_nic(zone, project))


def of_server(server_id: str, project: str) -> ListSource:
    """The v1 list of one server's NICs."""
    return ListSource(
        path=lambda zone: v1(zone, f"servers/{server_id}/private_nics"),
        dialect=Dialect.V1,
        decode=lambda body, zone: _old_page(zone, project)(body),
    )


SPEC: Final = KindSpec(
    lists=(
        ListSource(
            path=lambda zone: v2(zone, "private-network-interfaces"),
            dialect=Dialect.TOKEN,
            decode=lambda body, zone: _page(zone)(body),
            order=("order_by", "created_at_desc"),
        ),
    ),
    gets=(
        GetSource(
            path=lambda zone, nic_id: v2(zone, f"private-network-interfaces/{nic_id}"),
            words=frozenset({"instance_private_nic", "private_nic", "private_network_interface"}),
            decode=lambda body, zone: _one(zone)(body),
        ),
    ),
)

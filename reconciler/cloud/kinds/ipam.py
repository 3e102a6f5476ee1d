"""IPAM addresses, by region: of flexible IPs, of NICs, and booked ones.

Without the right, and without an explicit project, this list is an empty 200 (incident R008), so the project
is always sent and the known `ipam_id`s witness the answer.
"""

from __future__ import annotations

from typing import Any, Final

from reconciler.cloud.forms import (
    FLAG,
    TEXT,
    TEXTS,
    TIME,
    At,
    Form,
    Reader,
    into,
    nullable,
    page_of,
    parts,
    some_parts,
    then,
)
from reconciler.cloud.wire import Dialect, GetSource, KindSpec, ListSource
from reconciler.model.resources import IpamAddress


def _type(found: dict[str, Any] | None) -> str | None:
    return None if found is None else found["type"]


_ADDRESS: Final[Form] = into(
    IpamAddress,
    id=At("id", TEXT),
    zone=At("region", TEXT),
    project=At("project_id", TEXT),
    tags=At("tags", TEXTS, ()),
    created_ms=At("created_at", TIME),
    address=At("address", TEXT),
    is_ipv6=At("is_ipv6", FLAG, False),
    # Required, though it may be null: an answer without it would make a used address look free.
    resource_type=At("resource", then(nullable(some_parts(parts(), type=(TEXT, ""))), _type)),
    resource_id=At(("resource", "id"), nullable(TEXT), None),
)

_page, _one = page_of("ips", _ADDRESS), Reader(_ADDRESS)

SPEC: Final = KindSpec(
    lists=(
        ListSource(
            path=lambda region: f"/ipam/v1/regions/{region}/ips",
            dialect=Dialect.PAGED,
            decode=lambda body, _region: _page(body),
            order=("order_by", "created_at_desc"),
        ),
    ),
    gets=(
        GetSource(
            path=lambda region, ip_id: f"/ipam/v1/regions/{region}/ips/{ip_id}",
            words=frozenset({"ip", "ipam_ip"}),
            decode=lambda body, _region: _one(body),
        ),
    ),
)

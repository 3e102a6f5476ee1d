"""Flexible IPs, from Instance v1. The list can neither be sorted nor has it a creation date (IPAM has one, under
`ipam_id`), so it is read twice. An IPv6 has a `prefix` and no `address`. `ipam_id` equals the id on newer answers and
differs on older ones; it is never derived. The API may answer 403 for an IP that is gone (incident R009).
"""

from __future__ import annotations

from typing import Final

from reconciler.cloud.forms import LINK, TEXT, TEXTS, At, Form, constant, into, nullable, one_of, page_of
from reconciler.cloud.wire import Dialect, GetSource, KindSpec, ListSource, v1
from reconciler.model.resources import Ip

_MAYBE: Final = nullable(TEXT)

_IP: Final[Form] = into(
    Ip,
    id=At("id", TEXT),
    zone=At("zone", TEXT),
    project=At("project", TEXT),
    tags=At("tags", TEXTS, ()),
    created_ms=constant(None),
    address=At("address", _MAYBE, None),
    prefix=At("prefix", _MAYBE, None),
    type=At("type", TEXT, "routed_ipv4"),
    state=At("state", TEXT),
    server_id=At("server", LINK),  # required, though it may be null: without it a used address would look free
    ipam_id=At("ipam_id", _MAYBE, None),
    reverse=At("reverse", _MAYBE, None),
)

_page, _one = page_of("ips", _IP), one_of("ip", _IP)

SPEC: Final = KindSpec(
    lists=(ListSource(path=lambda zone: v1(zone, "ips"), dialect=Dialect.V1, decode=lambda body, _zone: _page(body)),),
    gets=(
        GetSource(
            path=lambda zone, ip_id: v1(zone, f"ips/{ip_id}"),
            words=frozenset({"instance_ip", "ip"}),
            decode=lambda body, _zone: _one(body),
        ),
    ),
)

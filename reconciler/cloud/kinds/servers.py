"""Servers, from Instance v1 alone: v2alpha1's list has neither volumes nor IPs nor NICs.

States stay as they are on the wire (`stopped in place` with spaces; the SDK's enum has underscores and never equals
it). An SBS entry of `volumes` has only id, type and boot; `public_ips` keeps the order of attachment.
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
    dict_of,
    into,
    list_of,
    nullable,
    one_of,
    page_of,
    parts,
    some_parts,
    then,
)
from reconciler.cloud.wire import Dialect, GetSource, KindSpec, ListSource, v1
from reconciler.model.resources import Server, VolumeSlot

_VOLUME: Final = some_parts(parts(id=TEXT), volume_type=(TEXT, "l_ssd"), boot=(FLAG, False))
_ADDRESS: Final = some_parts(parts(id=TEXT), dynamic=(FLAG, False))


def _slots(found: dict[str, dict[str, Any]]) -> tuple[VolumeSlot, ...]:
    return tuple(
        [
            VolumeSlot(key=key, id=slot["id"], volume_type=slot["volume_type"], boot=slot["boot"])
            for key, slot in found.items()
        ]
    )


def _fixed(found: list[dict[str, Any]] | None) -> tuple[str, ...]:
    return tuple([address["id"] for address in found or () if not address["dynamic"]])


def _dynamic(found: list[dict[str, Any]] | None) -> tuple[str, ...]:
    return tuple([address["id"] for address in found or () if address["dynamic"]])


def _ids(found: list[dict[str, str]] | None) -> tuple[str, ...]:
    return tuple([each["id"] for each in found or ()])


_ADDRESSES: Final = nullable(list_of(_ADDRESS))

_SERVER: Final[Form] = into(
    Server,
    id=At("id", TEXT),
    zone=At("zone", TEXT),
    project=At("project", TEXT),
    tags=At("tags", TEXTS, ()),
    created_ms=At("creation_date", TIME),
    name=At("name", TEXT),
    state=At("state", TEXT),
    state_detail=At("state_detail", TEXT, ""),
    commercial_type=At("commercial_type", TEXT),
    image_id=At(("image", "id"), TEXT, None),
    volumes=At("volumes", then(dict_of(_VOLUME), _slots)),  # required: these die or live on with the server
    ip_ids=At("public_ips", then(_ADDRESSES, _fixed)),
    dynamic_ip_ids=At("public_ips", then(_ADDRESSES, _dynamic)),
    nic_ids=At("private_nics", then(nullable(list_of(parts(id=TEXT))), _ids), ()),
    protected=At("protected", FLAG),  # required: an answer without it must not look like an unprotected server
    security_group_id=At(("security_group", "id"), TEXT, None),
    placement_group_id=At(("placement_group", "id"), TEXT, None),
    dynamic_ip_required=At("dynamic_ip_required", FLAG, False),
    boot_type=At("boot_type", TEXT, "local"),
    modified_ms=At("modification_date", nullable(TIME), None),
)

_page, _one = page_of("servers", _SERVER), one_of("server", _SERVER)

SPEC: Final = KindSpec(
    lists=(
        ListSource(
            path=lambda zone: v1(zone, "servers"),
            dialect=Dialect.V1,
            decode=lambda body, _zone: _page(body),
            order=("order", "creation_date_desc"),
        ),
    ),
    gets=(
        GetSource(
            path=lambda zone, server_id: v1(zone, f"servers/{server_id}"),
            words=frozenset({"instance_server", "server"}),
            decode=lambda body, _zone: _one(body),
        ),
    ),
)

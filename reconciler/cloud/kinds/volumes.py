"""Volumes live in two APIs: Block Storage has the SBS ones, Instance v1 the local ones (l_ssd, scratch).

A volume can move from one to the other (a migrated `b_ssd` keeps its id), and a ledger may know an id by the wrong
kind. So an id counts as absent only when the other API does not know it either; found there, it is unknown.

A block volume names its holders in `references`, of whatever product; one that says `detached` holds nothing any
more, one that is detaching still does.
"""

from __future__ import annotations

from typing import Any, Final

from reconciler.cloud.forms import (
    LINK,
    NUMBER,
    TEXT,
    TEXTS,
    TIME,
    At,
    Form,
    Reader,
    constant,
    into,
    list_of,
    nullable,
    one_of,
    page_of,
    parts,
    some_parts,
    then,
)
from reconciler.cloud.wire import Dialect, GetSource, KindSpec, ListSource, block, v1
from reconciler.model.resources import Kind, Volume

_REFERENCES: Final = list_of(
    some_parts(parts(product_resource_id=TEXT), product_resource_type=(TEXT, ""), status=(TEXT, "attached"))
)


def _holders(found: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple([each["product_resource_id"] for each in found if each["status"] != "detached"])


def _server(found: list[dict[str, Any]]) -> str | None:
    for each in found:
        if each["status"] != "detached" and each["product_resource_type"] == "instance_server":
            return str(each["product_resource_id"])
    return None


_BLOCK: Final[Form] = into(
    Volume,
    kind=constant(Kind.VOLUME),
    id=At("id", TEXT),
    zone=At("zone", TEXT),
    project=At("project_id", TEXT),
    tags=At("tags", TEXTS, ()),
    created_ms=At("created_at", TIME),
    name=At("name", TEXT),
    volume_type=At("type", TEXT),
    size=At("size", NUMBER),
    iops=At(("specs", "perf_iops"), nullable(NUMBER), None),
    status=At("status", TEXT),
    # Required: an answer without them would make a used volume look free.
    reference_ids=At("references", then(_REFERENCES, _holders)),
    server_id=At("references", then(_REFERENCES, _server)),
    last_detached_ms=At("last_detached_at", nullable(TIME), None),
    parent_snapshot_id=At("parent_snapshot_id", nullable(TEXT), None),
)

_HOLDER: Final = then(LINK, lambda server_id: () if server_id is None else (server_id,))

_INSTANCE: Final[Form] = into(
    Volume,
    kind=constant(Kind.INSTANCE_VOLUME),
    id=At("id", TEXT),
    zone=At("zone", TEXT),
    project=At("project", TEXT),
    tags=At("tags", TEXTS, ()),
    created_ms=At("creation_date", TIME),
    name=At("name", TEXT),
    volume_type=At("volume_type", TEXT),
    size=At("size", NUMBER),
    iops=constant(None),
    status=At("state", TEXT),
    reference_ids=At("server", _HOLDER),  # required, though it may be null
    server_id=At("server", LINK),
    last_detached_ms=constant(None),
    parent_snapshot_id=constant(None),
)

_block_page, _block_one = page_of("volumes", _BLOCK), Reader(_BLOCK)
_instance_page, _instance_one = page_of("volumes", _INSTANCE), one_of("volume", _INSTANCE)


def _block_path(zone: str, volume_id: str) -> str:
    return block(zone, f"volumes/{volume_id}")


def _instance_path(zone: str, volume_id: str) -> str:
    return v1(zone, f"volumes/{volume_id}")


_BLOCK_WORDS: Final = frozenset({"volume"})
_INSTANCE_WORDS: Final = frozenset({"instance_volume", "volume"})

BLOCK_SPEC: Final = KindSpec(
    lists=(
        ListSource(
            path=lambda zone: block(zone, "volumes"),
            dialect=Dialect.PAGED,
            decode=lambda body, _zone: _block_page(body),
            order=("order_by", "created_at_desc"),
        ),
    ),
    gets=(
        GetSource(path=_block_path, words=_BLOCK_WORDS, decode=lambda body, _zone: _block_one(body)),
        GetSource(path=_instance_path, words=_INSTANCE_WORDS),
    ),
)

INSTANCE_SPEC: Final = KindSpec(
    # The list cannot be sorted: it is read twice.
    lists=(
        ListSource(
            path=lambda zone: v1(zone, "volumes"),
            dialect=Dialect.V1,
            decode=lambda body, _zone: _instance_page(body),
        ),
    ),
    gets=(
        GetSource(path=_instance_path, words=_INSTANCE_WORDS, decode=lambda body, _zone: _instance_one(body)),
        GetSource(path=_block_path, words=_BLOCK_WORDS),
    ),
)

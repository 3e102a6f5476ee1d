"""Names of a case, and the ids and tags that they stand for: the same ones in every run and on every machine."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Final

from reconciler.model.desired import FLEET_TAG, OWNER_TAG, REVISION_TAG, SCOPE_TAG, SLOT_TAG, WORKER_TAG

_SPACE: Final = uuid.UUID("5ca1ab1e-0000-5000-8000-0000ca5e0000")

SCOPE_UUID: Final = str(uuid.uuid5(_SPACE, "the scope"))
OTHER_PROJECT: Final = str(uuid.uuid5(_SPACE, "the other project"))
REVISION: Final = "0123456789ab"
DEFAULT_STACK: Final = "ci/prod"
_OWNED: Final = "owned"


def id_of(name: str) -> str:
    """The UUID of a named thing."""
    return str(uuid.uuid5(_SPACE, f"name {name}"))


def owner_tags(
    fleet: str | None, slot: int | None, *, worker: str | None = None, revision: str = REVISION
) -> tuple[str, ...]:
    """Scope, fleet, slot (or the worker of an elastic fleet) and revision."""
    tags = [OWNER_TAG, f"{SCOPE_TAG}{SCOPE_UUID}"]
    if fleet is not None:
        tags.append(f"{FLEET_TAG}{fleet}")
    if slot is not None:
        tags.append(f"{SLOT_TAG}{slot}")
    if worker is not None:
        tags.append(f"{WORKER_TAG}{id_of(worker)}")
    return (*tags, f"{REVISION_TAG}{revision}") if fleet is not None else tuple(tags)


def expanded(
    tags: Sequence[str], *, fleet: str | None = None, slot: int | None = None, worker: str | None = None
) -> tuple[str, ...]:
    """`owned` (of this fleet and slot or worker), `owned FLEET/SLOT`, `owned FLEET/WORKER` and `none` replaced by what
    they stand for.

    Raises ValueError for an `owned` that cannot be understood.
    """
    found: list[str] = []
    for tag in tags:
        if tag == _OWNED:
            found += owner_tags(fleet, slot, worker=worker)
        elif tag.startswith(f"{_OWNED} "):
            other, slash, which = tag.removeprefix(f"{_OWNED} ").partition("/")
            if not other or (slash and not which):
                raise ValueError(f"{tag!r} is not `owned FLEET/SLOT`")
            by_slot = which.isdigit()
            found += owner_tags(other, int(which) if by_slot else None, worker=which if which and not by_slot else None)
        elif tag != "none":
            found.append(tag)
    return tuple(found)

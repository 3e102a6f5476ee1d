"""The words that programs and the reconciler share: owner tags, the stack output's name, zones.

They are written here a second time, and not imported from `reconciler`, so that a program loads only what it needs to
declare machines. A test holds both copies equal.

Tags: Scaleway publishes no limit for tags of servers, IPs and volumes. The one limit that it publishes for tags, for
IAM, is 70 characters, and ours stay below it, which is why a fleet's name has at most 40. A comma is refused, because
the Instance API joins the tags of a list filter with commas: a tag that holds one could never be searched for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from uuid import UUID

OUTPUT_NAME: Final = "reconciler"
OUTPUT_SCHEMA_VERSION: Final = 1

OWNER_TAG: Final = "reconciler"
SCOPE_TAG: Final = "reconciler:scope="
FLEET_TAG: Final = "reconciler:fleet="
SLOT_TAG: Final = "reconciler:slot="
REVISION_TAG: Final = "reconciler:revision="

ZONES: Final = (
    "fr-par-1", "fr-par-2", "fr-par-3",
    "nl-ams-1", "nl-ams-2", "nl-ams-3",
    "pl-waw-1", "pl-waw-2", "pl-waw-3",
    "it-mil-1",
)  # fmt: skip

IOPS: Final = (5000, 15000)

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_TAG_MAX: Final = 128


def region_of(zone: str) -> str:
    """`fr-par` for `fr-par-1`."""
    return zone.rsplit("-", 1)[0]


def check_name(name: str) -> str:
    """The name of a fleet or of an extra volume: a machine's host name begins with it. Raises ValueError."""
    if not _NAME.fullmatch(name):
        raise ValueError("a name has 1 to 40 lower-case letters, digits and hyphens, and no hyphen at either end")
    return name


def check_zone(zone: str) -> str:
    """Raises ValueError, which lists the known zones."""
    if zone not in ZONES:
        raise ValueError(f"unknown zone; known are {', '.join(ZONES)}")
    return zone


def check_scope(scope: str) -> str:
    """The uuid in its one canonical form, because tags are compared as text. Raises ValueError."""
    try:
        return str(UUID(scope))
    except ValueError:
        raise ValueError("a scope is the uuid that `reconciler config init` wrote") from None


def check_iops(iops: int) -> int:
    """Raises ValueError for what Block Storage does not sell."""
    if iops not in IOPS:
        raise ValueError(f"IOPS are one of {', '.join(map(str, IOPS))}")
    return iops


def check_size(size_gb: int) -> int:
    """GB of a block volume. Raises ValueError."""
    if not 1 <= size_gb <= 10_000:
        raise ValueError("a size is 1 to 10000 GB")
    return size_gb


def check_tag(tag: str) -> str:
    """A tag of the user's own. Raises ValueError."""
    if not tag or len(tag) > _TAG_MAX:
        raise ValueError(f"a tag has 1 to {_TAG_MAX} characters")
    if tag != tag.strip() or "," in tag or not tag.isprintable():
        raise ValueError("a tag has no comma, no control character and no space at either end")
    folded = tag.casefold()
    if folded == OWNER_TAG or folded.startswith(f"{OWNER_TAG}:"):
        raise ValueError("tags that begin with `reconciler` and a colon, and `reconciler` itself, are set by the fleet")
    return tag


def owner_tags(*, scope: str, fleet: str, slot: int | None = None) -> list[str]:
    """The owner tags that are known before the revision is, in the order in which every resource carries them."""
    tags = [OWNER_TAG, f"{SCOPE_TAG}{scope}", f"{FLEET_TAG}{fleet}"]
    return tags if slot is None else [*tags, f"{SLOT_TAG}{slot}"]


def without_repeats(tags: Iterable[str]) -> list[str]:
    """The tags in their order, each once: Scaleway keeps repeats, and the next preview would call them a change."""
    return list(dict.fromkeys(tags))

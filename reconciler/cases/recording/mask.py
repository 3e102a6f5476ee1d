"""What stands for what in a recording.

Everything that somebody chose is replaced by a keyed digest of itself: the same text by the same word throughout, so
that what was equal stays equal, and nobody who lacks the key can try names out. The key is made for one recording and
kept nowhere. What decides is kept: our own tag keys, slot numbers, the tag keys and name prefixes of managed clusters,
zones, states, types that are sold, times, sizes.

Patterns (of names and URNs) cannot be digested, since what they match would not match any more. So each pattern gets a
number, each name that it matches carries that number, and in the recorded settings the pattern asks for the number.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from reconciler.diff.ownership import near_miss
from reconciler.kernel.clock import parse_instant
from reconciler.model.desired import (
    FLEET_TAG,
    OWNER_TAG,
    REVISION_TAG,
    SCOPE_TAG,
    SLOT_TAG,
    UNTIL_TAG,
    WORKER_TAG,
)
from reconciler.model.scope import BUILT_IN_NEVER, KNOWN_ZONES, Scope
from reconciler.simulator.catalog import LABELS, server_types

_REGIONS: Final = frozenset(zone.rpartition("-")[0] for zone in KNOWN_ZONES)
_PLACES: Final = frozenset(KNOWN_ZONES) | _REGIONS
_OURS: Final = frozenset(
    {
        "pulumi:pulumi:Stack",
        "pulumi:providers:scaleway",
        "pulumi:index:Stash",
        "reconciler:fleet:WorkerFleet",
    }
)
_PROVIDER_TYPE: Final = re.compile(r"scaleway:[a-zA-Z]+/[a-zA-Z]+:[A-Z][a-zA-Z]+")
# How a name must begin to be matched by each of the built-in patterns.
_BUILT_IN: Final = {"pvc-*": "pvc-", "scw-k8s-*": "scw-k8s-", "*_pvc-*": "x_pvc-", "k8s-*": "k8s-"}
_CLUSTER_KEYS: Final = ("kapsule", "kosmos", "k8s.scaleway.com")
# Words that the API and the provider give out; nobody chose them.
_WORDS: Final = frozenset(
    {
        "routed_ipv4", "routed_ipv6", "nat", "sbs_volume", "l_ssd", "scratch", "b_ssd", "local", "rescue",
        "started", "stopped", "standby", "running", "stopped in place", "starting", "stopping", "locked",
        "available", "in_use", "detached", "attached", "pending", "error", "creating", "deleting", "detaching",
        "attaching", "syncing", "syncing_error", "updating", "snapshotting", "sbs_5k", "sbs_15k", "fetching",
        "hotsyncing", "instance_server", "instance_private_nic", "lb_server", "vpc_gateway_network", "custom",
    }
)  # fmt: skip


class Mask:
    """`key`: secret, of this recording alone. `scope` gives the patterns."""

    def __init__(self, key: bytes, scope: Scope) -> None:
        self._key = key
        names = [*scope.never.names, *(pattern for fleet in scope.fleets for pattern in fleet.names)]
        urns = [pattern for fleet in scope.fleets for pattern in fleet.urns]
        self._names = tuple(dict.fromkeys(names))
        self._urns = tuple(dict.fromkeys(urns))

    def digest(self, text: str, *, length: int = 12) -> str:
        made = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._key[:64], digest_size=32).hexdigest()
        return made[:length]

    def word(self, text: str) -> str:
        """A word of the API stays; anything else is somebody's."""
        known = text in _WORDS or text in _PLACES or text in server_types() or text in LABELS
        return text if known else f"x{self.digest(text)}"

    def uuid(self, text: str) -> str:
        """A UUID for an id, the same whatever its spelling."""
        made = self.digest(text.casefold(), length=32)
        return str(uuid.UUID(hex=made, version=4))

    def pulumi_id(self, text: str) -> str:
        """`fr-par-1/UUID`, or with a parent between: the place stays."""
        place, *rest = text.split("/")
        if rest and place in _PLACES:
            return "/".join([place, *map(self.uuid, rest)])
        return "/".join(self.uuid(part) for part in (place, *rest))

    # -- names

    def name(self, text: str) -> str:
        """A name that the same patterns match."""
        if not text:
            return text
        begin = next((_BUILT_IN[one] for one in BUILT_IN_NEVER.names if fnmatchcase(text, one)), "")
        marks = "".join(f"m{number}." for number, one in enumerate(self._names) if fnmatchcase(text, one))
        return f"{begin}{marks}n{self.digest(text)}"

    def name_pattern(self, pattern: str) -> str:
        return f"*m{self._names.index(pattern)}.*"

    def urn(self, text: str) -> str:
        """`urn:pulumi:STACK::PROJECT::TYPES::NAME` with the provider's own types as they are."""
        parts = text.split("::")
        if len(parts) < 4 or not parts[0].startswith("urn:pulumi:"):
            return f"urn:pulumi:{self.part('')}::{self.part('')}::x::{self.name(text)}"
        stack, project, types, name = parts[0].removeprefix("urn:pulumi:"), parts[1], parts[2], "::".join(parts[3:])
        chain = "$".join(self.type(one) for one in types.split("$"))
        marks = "".join(f"u{number}." for number, one in enumerate(self._urns) if fnmatchcase(text, one))
        return f"urn:pulumi:{self.part(stack)}::{self.part(project)}::{chain}::{marks}{self.name(name)}"

    def urn_pattern(self, pattern: str) -> str:
        return f"*u{self._urns.index(pattern)}.*"

    def type(self, text: str) -> str:
        """A type of the provider's, Pulumi's or ours; another one is somebody's component."""
        if _PROVIDER_TYPE.fullmatch(text) or text in _OURS:
            return text
        return f"own:index:C{self.digest(text)}"

    def stack(self, text: str) -> str:
        """`project/stack`, or with the organization first."""
        return "/".join(map(self.part, text.split("/")))

    def part(self, text: str) -> str:
        """A segment of a stack's name, as it is in its URNs."""
        return f"s{self.digest(text)}"

    def worker(self, text: str) -> str:
        """FLEET/SLOT, or an id of a worker."""
        fleet, slash, slot = text.partition("/")
        return f"{self.name(fleet)}/{slot}" if slash and slot.isdigit() else self.uuid(text)

    # -- tags

    def tags(self, tags: Iterable[object]) -> list[str]:
        return [self.tag(tag) for tag in tags if isinstance(tag, str)]

    def tag(self, tag: str) -> str:
        """Our own keys, and those of managed clusters, stay; values do not, slots apart."""
        if tag == OWNER_TAG or tag in BUILT_IN_NEVER.tags:
            return tag
        for prefix, masked in (
            (SCOPE_TAG, self.uuid),
            (FLEET_TAG, self.name),
            (SLOT_TAG, self._slot),
            (WORKER_TAG, self.worker),
            (REVISION_TAG, self.digest),
            (UNTIL_TAG, self._until),
        ):
            if tag.startswith(prefix):
                return prefix + masked(tag.removeprefix(prefix))
        if near_miss((tag,)) is not None:
            key, sign, value = tag.partition("=")
            return key + sign + (f"v{self.digest(value)}" if value else "")
        return self._foreign(tag)

    def _foreign(self, tag: str) -> str:
        key, sign, value = tag.partition("=")
        cluster = next((one for one in _CLUSTER_KEYS if key == one or key.startswith(f"{one}/")), None)
        if cluster is not None:
            shown = cluster if key == cluster else f"{cluster}/{self.digest(key)}"
            return shown + sign + (f"v{self.digest(value)}" if value else "")
        # One digest for the whole, so that what a pattern of a fleet asks for whole stays one thing.
        return f"t{self.digest(key, length=8)}{sign}" + (f"v{self.digest(tag)}" if value else "")

    def _slot(self, text: str) -> str:
        return text if text.isdigit() and len(text) <= 6 else f"v{self.digest(text)}"

    def _until(self, text: str) -> str:
        try:
            parse_instant(text)
        except ValueError:
            return f"v{self.digest(text)}"
        return text

    # -- addresses

    def address(self, text: str) -> str:
        """An address of the same family, and the same length of prefix."""
        host, slash, length = text.partition("/")
        number = int(self.digest(host, length=12), 16)
        suffix = f"{slash}{length}" if length.isdigit() else ""
        if ":" in host:
            return f"2001:db8:{number >> 32 & 0xFFFF:x}:{number >> 16 & 0xFFFF:x}::" + (suffix or "")
        return f"198.{18 + (number & 1)}.{number >> 8 & 0xFF}.{1 + (number >> 16) % 254}{suffix}"

    def user_at_host(self, text: str) -> str:
        return f"u{self.digest(text)}@h{self.digest(text[::-1])}"

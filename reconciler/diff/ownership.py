"""Whose is it? Signals, and when they are proof (rule 9).

A *signal* says that a resource may be ours. Soft signals are tags and names, which people copy; hard ones are what we
recorded ourselves: seen in a stack's state, seen attached to one of our workers, the machine of a worker's row.
Reporting a leftover needs one signal. Destroying something that no ledger holds needs two independent ones, of which at
least one is hard; a scope whose project is dedicated to the fleet may say that the exact owner tags are enough.

The project id is always a second check, and another scope's owner tag always wins: what says that it is somebody
else's is somebody else's.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from reconciler.model.desired import (
    FLEET_TAG,
    OWNER_TAG,
    REVISION_TAG,
    SCOPE_TAG,
    SLOT_TAG,
    UNTIL_TAG,
    WORKER_TAG,
    tag_value,
)
from reconciler.model.memory import Lineage, Memory, Release
from reconciler.model.resources import Ip, Kind, Resource, Server, Volume, owner_server_id
from reconciler.model.scope import BUILT_IN_NEVER, FleetMatch, Ownership, Scope

# A volume that the server's own create makes follows it: 0 to 0.6 s in 90 recorded creates. A volume that was there
# before the server, by however little, was somebody's already (0.16 s before is the closest recorded).
INLINE_WINDOW_MS: Final = 60_000
SETTLED_SERVER_STATES: Final = frozenset({"running", "stopped", "stopped in place"})
# These do not end by themselves: a person, or the provider's support, has to look.
STUCK_STATES: Final = frozenset({"error", "locked", "syncing_error"})

_MAPPING: Final = "mapping"
_PART_OF_A_MAPPING: Final = "part of a mapping"
_DECISION: Final = "decision"
_OWNER_PREFIXES: Final = (SCOPE_TAG, FLEET_TAG, SLOT_TAG, WORKER_TAG, REVISION_TAG, UNTIL_TAG)
# Nodes of a managed cluster carry `kapsule=<cluster id>`, and the pool's and the node's id beside it.
_CLUSTER_TAGS: Final = ("kapsule=", "kosmos=", "k8s.scaleway.com/")


@dataclass(frozen=True, slots=True)
class Signal:
    """One reason to believe that a resource is ours. `hard`: neither a tag nor a name."""

    name: str
    hard: bool
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """All signals for one resource, the fleet that they point to, and whether they prove ownership."""

    signals: tuple[Signal, ...]
    fleet: str | None
    proved: bool
    why: str

    @property
    def ours(self) -> bool:
        """Enough to report it."""
        return bool(self.signals)


def name_of(resource: Resource) -> str:
    return getattr(resource, "name", "") or ""


def has_owner_tags(tags: tuple[str, ...], *, scope: Scope) -> bool:
    """The exact owner tags of this scope, case-sensitive: `reconciler` and `reconciler:scope=<uuid>`."""
    own = SCOPE_TAG + scope.uuid in tags
    return own and OWNER_TAG in tags and foreign_scope(tags, scope=scope) is None


def foreign_scope(tags: tuple[str, ...], *, scope: Scope) -> str | None:
    """Another scope's uuid, when any scope tag names one."""
    for tag in tags:
        if tag.startswith(SCOPE_TAG) and tag[len(SCOPE_TAG) :] != scope.uuid:
            return tag[len(SCOPE_TAG) :]
    return None


def near_miss(tags: tuple[str, ...]) -> str | None:
    """A tag that looks like one of ours and is not: wrong case or stray spaces (reports R095, R097)."""
    for tag in tags:
        folded = "".join(tag.split()).casefold()
        looks = folded == OWNER_TAG or folded.startswith(_OWNER_PREFIXES)
        if looks and tag != OWNER_TAG and not tag.startswith(_OWNER_PREFIXES):
            return tag
    return None


def never_reason(resource: Resource, *, scope: Scope) -> str | None:
    """Why this resource is never touched, or None."""
    name = name_of(resource)
    for never, source in ((scope.never, "the scope's never list"), (BUILT_IN_NEVER, "built in: managed Kubernetes")):
        if any(listed.rsplit("/", 1)[-1].casefold() == resource.id.casefold() for listed in never.ids):
            return f"{source}: id {resource.id}"
        for tag in never.tags:
            if tag in resource.tags:
                return f"{source}: tag {tag}"
        for pattern in never.names:
            if name and fnmatchcase(name, pattern):
                return f"{source}: name {pattern}"
    cluster = next((tag for tag in resource.tags if tag.startswith(_CLUSTER_TAGS)), None)
    return f"built in: managed Kubernetes: tag {cluster}" if cluster is not None else None


def inline(child: Resource, server: Server) -> bool:
    """A volume that the server's own create made: its root, or local storage, born with it and not before it.

    Anything else on a server was attached by somebody, and is theirs until proved otherwise.
    """
    if child.created_ms is None or server.created_ms is None:
        return False
    if not 0 <= child.created_ms - server.created_ms <= INLINE_WINDOW_MS:
        return False
    for slot in server.volumes:
        if slot.id == child.id:
            return slot.key == "0" or slot.kind is Kind.INSTANCE_VOLUME
    return False


def goes_with(child: Resource, server: Server, *, scope: Scope, memory: Memory) -> bool:
    """Whether a child may be destroyed together with a server that is proved ours.

    NICs die with their server at the provider; the rest goes when the server's create made it or when it is proved
    ours by itself. What something else holds as well stays: attached or referenced is never collected.
    """
    if child.project != scope.project or child.ref in memory.held or child.ref in memory.released:
        return False
    if never_reason(child, scope=scope) is not None or foreign_scope(child.tags, scope=scope) is not None:
        return False
    if owner_server_id(child) not in (None, server.id):
        return False
    if isinstance(child, Volume) and set(child.reference_ids) - {server.id}:
        return False
    if child.ref.kind is Kind.NIC or inline(child, server) or of_worker(child, server, scope=scope, memory=memory):
        return True
    return claim(child, scope=scope, memory=memory).proved


def of_worker(child: Resource, server: Server, *, scope: Scope, memory: Memory) -> bool:
    """On a machine that a worker's row records, with that worker's tag: it was made for the worker.

    Two facts, of which one is no tag: where it hangs. What a person attached carries no worker's tag.
    """
    row = memory.recorded.get(server.ref)
    if row is None or owner_server_id(child) != server.id:
        return False
    return WORKER_TAG + row.worker in child.tags and has_owner_tags(child.tags, scope=scope)


def grace_ends(resource: Resource, *, scope: Scope, memory: Memory, now_ms: int) -> int:
    """When a leftover's grace is over, epoch ms: from the latest of creation, first sighting without an owner, last
    detachment. Without a memory and without a creation date it never is."""
    since = [resource.created_ms if resource.created_ms is not None else 0]
    if memory.present:
        since.append(memory.unowned_since.get(resource.ref, now_ms))
    elif resource.created_ms is None:
        since.append(now_ms)
    if isinstance(resource, Volume) and resource.last_detached_ms is not None:
        since.append(resource.last_detached_ms)
    return max(since) + scope.grace_seconds * 1000


def in_use(child: Resource) -> bool:
    """Attached or referenced by anything: never collected."""
    match child:
        case Ip():
            return child.server_id is not None or child.state == "attached"
        case Volume():
            return child.server_id is not None or bool(child.reference_ids) or child.status == "in_use"
        case _:
            return False


def settled(child: Resource) -> bool:
    """In no transient state: `detached` for IPs, `available` for volumes."""
    match child:
        case Ip():
            return child.state == "detached"
        case Volume():
            return child.status == "available"
        case Server():
            return child.state in SETTLED_SERVER_STATES
        case _:
            return True


def stuck(child: Resource) -> bool:
    """In a state that does not end by itself, so that waiting for it would be waiting for ever."""
    match child:
        case Ip() | Server():
            return child.state in STUCK_STATES
        case Volume():
            return child.status in STUCK_STATES
        case _:
            return False


def released_reason(release: Release) -> str:
    """A person said so once, which is worth more than any tag or memory that is still there."""
    return f"it was released from {release.stack} (it was {release.urn})"


def claim(resource: Resource, *, scope: Scope, memory: Memory) -> Claim:
    """Judge one resource that no ledger holds."""
    if resource.project != scope.project:
        return Claim((), None, False, f"it belongs to project {resource.project}")
    other = foreign_scope(resource.tags, scope=scope)
    if other is not None:
        return Claim((), None, False, f"it carries the owner tag of scope {other}")
    if resource.ref in memory.released:
        return Claim((), None, False, released_reason(memory.released[resource.ref]))
    line = memory.lineage.get(resource.ref)
    signals = [*_recorded(resource, memory, line), *_tagged(resource, scope=scope)]
    fleet = tag_value(resource.tags, FLEET_TAG) or (line.fleet if line is not None else None)
    for rule in scope.fleets:
        hits = _mapping_hits(resource, rule, line)
        signals.extend(hits)
        if hits and hits[0].name == _MAPPING and fleet is None:
            fleet = rule.name
    proved, why = _judge(tuple(signals), resource=resource, scope=scope)
    return Claim(tuple(signals), fleet, proved, why)


def _recorded(resource: Resource, memory: Memory, line: Lineage | None) -> list[Signal]:
    found = []
    if line is not None and line.source == "state":
        found.append(Signal("state", True, f"it was in the state of {line.stack} as {line.urn}"))
    elif line is not None:
        found.append(Signal("lineage", True, f"it was seen attached to {line.worker or line.server_id}"))
    row = memory.recorded.get(resource.ref)
    if row is not None:
        found.append(Signal("row", True, f"the row of worker {row.worker} records it"))
    if resource.ref in memory.doomed:
        found.append(Signal(_DECISION, False, "its deletion is decided"))
    return found


def _tagged(resource: Resource, *, scope: Scope) -> list[Signal]:
    if not has_owner_tags(resource.tags, scope=scope):
        return []
    return [Signal("tags", False, f"it carries the owner tags of scope {scope.name}")]


def _mapping_hits(resource: Resource, rule: FleetMatch, line: Lineage | None) -> list[Signal]:
    """What of a fleet's mapping holds. Less than `require` of it is a reason to report, and no proof.

    The URN is the memory's, so a mapping that holds by the URN alone adds nothing to what the memory says.
    """
    name = name_of(resource)
    hits = [f"tag {tag}" for tag in rule.tags if tag in resource.tags][:1]
    if name and any(fnmatchcase(name, pattern) for pattern in rule.names):
        hits.append(f"name {name}")
    if isinstance(resource, Server) and resource.security_group_id in rule.security_groups:
        hits.append(f"security group {resource.security_group_id}")
    proof = bool(hits)
    if line is not None and line.urn is not None and any(fnmatchcase(line.urn, pattern) for pattern in rule.urns):
        hits.append(f"URN {line.urn}")
    kind = _MAPPING if proof and len(hits) >= max(1, rule.require) else _PART_OF_A_MAPPING
    return [Signal(kind, False, f"fleet {rule.name}: {hit}") for hit in hits]


def _judge(signals: tuple[Signal, ...], *, resource: Resource, scope: Scope) -> tuple[bool, str]:
    names = ", ".join(dict.fromkeys(signal.name for signal in signals))
    if not signals:
        return False, "nothing says that it is ours"
    if scope.ownership is Ownership.TAGS and has_owner_tags(resource.tags, scope=scope):
        return True, f"the scope's ownership is by tags ({names})"
    # Our own decision proves nothing about whose it is: it would prove itself.
    proofs = [signal for signal in signals if signal.name not in (_PART_OF_A_MAPPING, _DECISION)]
    if any(signal.hard for signal in proofs) and len({signal.name for signal in proofs}) >= 2:
        return True, f"two independent proofs ({names})"
    return False, f"only {names} says that it is ours; a second, independent proof is missing"

"""Rule 7 as a pure function: may this id be destroyed under this deletion, as the provider shows it now?

Asked with the answer of a live GET, once before the decision for the target and its children, and again before each
destructive call. A refusal strikes the id from the deletion; the decision itself never reverts.
"""

from __future__ import annotations

from dataclasses import replace

from reconciler.diff.ownership import claim, foreign_scope, in_use, never_reason, released_reason
from reconciler.model.memory import Memory
from reconciler.model.resources import Ip, Nic, Ref, Resource, Server, Volume, owner_server_id
from reconciler.model.scope import Scope


def refusal(
    resource: Resource,
    *,
    target: Ref,
    doomed: frozenset[Ref],
    scope: Scope,
    memory: Memory,
    worker: str | None = None,
) -> str | None:
    """Why this resource must not be destroyed, or None. `doomed` are all ids of the deletion. `worker`: whose row is
    to be doomed with the target, so that it is no hold on it."""
    if resource.project != scope.project:
        return f"it belongs to project {resource.project}"
    other = foreign_scope(resource.tags, scope=scope)
    if other is not None:
        return f"it carries the owner tag of scope {other}"
    never = never_reason(resource, scope=scope)
    if never is not None:
        return never
    if isinstance(resource, Server) and resource.protected:
        return "it is protected at the provider"
    if resource.ref in memory.held:
        return "an adoption holds it"
    row = memory.recorded.get(resource.ref)
    if row is not None and row.holds and row.worker != worker:
        return f"the row of worker {row.worker} holds it"
    if resource.ref in memory.released:
        return released_reason(memory.released[resource.ref])
    stranger = _stranger(resource, doomed)
    if stranger is not None:
        return stranger
    return _unproved(resource, target=target, scope=scope, memory=memory)


def _stranger(resource: Resource, doomed: frozenset[Ref]) -> str | None:
    """What outside this deletion uses it."""
    ids = {ref.id for ref in doomed}
    owner = owner_server_id(resource)
    if owner is not None and owner not in ids:
        return f"it is attached to {owner}"
    match resource:
        case Volume():
            others = set(resource.reference_ids) - ids
            return f"it is referenced by {sorted(others)[0]}" if others else None
        case Ip() if in_use(resource) and owner is None:
            return "it is attached to something that is no server"
        case _:
            return None


def _unproved(resource: Resource, *, target: Ref, scope: Scope, memory: Memory) -> str | None:
    """The target must be proved ours by what does not depend on our own decision; children went with it then."""
    before = replace(memory, doomed=frozenset())
    judged = claim(resource, scope=scope, memory=before if resource.ref == target else memory)
    if resource.ref == target:
        return None if judged.proved else judged.why
    if isinstance(resource, Nic) or judged.ours:
        return None
    return judged.why

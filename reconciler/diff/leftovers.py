"""What runs and bills and is in no ledger: orphans, detached resources, duplicates, and what is not ours at all.

The inventory was read first and its authorities after it (rule 3): a resource that appears in either read of any
state, under whatever type, or that a live row of a worker holds, is not a leftover. What is in use by anybody's word is
none either.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.diff.authority import Entry, slot_of
from reconciler.diff.context import Context, entry_subject, subject
from reconciler.diff.judge import judge_child, judge_server
from reconciler.diff.machines import goes_along, of_worker
from reconciler.diff.ownership import Claim, in_use, near_miss
from reconciler.model.desired import FLEET_TAG, tag_value
from reconciler.model.finding import ActionKind, Evidence, Finding, FindingKind, Ledger, Verdict
from reconciler.model.inventory import Presence
from reconciler.model.resources import Ip, Kind, Ref, Resource, Server, Volume

# A mapping alone does not make a thing ours while somebody uses it.
_OURS = frozenset({"state", "lineage", "tags"})


def leftovers(context: Context) -> Iterator[Finding]:
    """All findings about resources of the project that no state holds."""
    held, project = context.held, context.scope.project
    taken: set[Ref] = set()
    for item in context.index.by_kind[Kind.SERVER].values():
        if item.id in held or item.project != project or not isinstance(item, Server):
            continue
        finding = of_worker(item, context)
        if finding is None and context.rows.holder(item, context.memory) is None:
            finding = _server(item, context)
            taken.update(finding.refs)
        else:  # a worker's, with all that hangs on it
            taken.update((item.ref, *(child.ref for child in context.usage.children(item))))
        if finding is not None:
            yield finding
    for child in context.usage.loose:
        if child.project == project and child.ref not in taken and context.rows.holder(child, context.memory) is None:
            found = _child(child, context)
            if found is not None:
                yield found


def _server(server: Server, context: Context) -> Finding:
    claim, never = context.claim(server), context.never(server)
    if not claim.ours or never is not None:
        return _unmanaged(server, context, reason=never or claim.why)
    twin = _twin(server, context)
    if twin is not None:
        return _duplicate(server, twin, context)
    children = context.usage.children(server)
    goes = [child for child in children if goes_along(child, server, context)]
    spared = [child for child in children if child not in goes]
    judgement = judge_server(server, claim, spared=spared, context=context)
    adopt, worker = judgement.adopt, context.worker_of(server.tags)
    if adopt:  # with all that it has and no state holds
        goes = [child for child in children if child.id not in context.held]
    return Finding(
        kind=FindingKind.ORPHAN,
        subjects=tuple(subject(item, urn=adopt.get(item.ref), worker=worker) for item in (server, *goes)),
        fleet=claim.fleet,
        stack=judgement.stack,
        ledgers={Ledger.STATE: "absent", Ledger.INVENTORY: server.state},
        verdict=judgement.verdict,
        action=ActionKind.ADOPT if adopt else ActionKind.DESTROY,
        reason=judgement.reason,
        rule="rules 3 and 9",
        wait_until_ms=judgement.wait_until_ms,
        age_seconds=_age(server, context),
        cost=context.cost(server, *goes),
        evidence=_evidence(server, claim, context),
        witness=claim.why if claim.proved else None,
    )


def _twin(server: Server, context: Context) -> Entry | None:
    """What the state holds for the same slot, unless that is proved gone."""
    place = slot_of(server.tags, scope=context.scope)
    entries = context.authority.servers.get(place, ()) if place is not None else ()
    return next((entry for entry in entries if context.presence(entry) is not Presence.ABSENT), None)


def _duplicate(server: Server, twin: Entry, context: Context) -> Finding:
    children = [child for child in context.usage.children(server) if child.id not in context.held]
    return Finding(
        kind=FindingKind.DUPLICATE,
        subjects=(
            subject(server, worker=context.worker_of(server.tags)),
            entry_subject(twin),
            *(subject(child) for child in children),
        ),
        fleet=tag_value(server.tags, FLEET_TAG),
        ledgers={Ledger.STATE: f"holds {twin.id}", Ledger.INVENTORY: "holds both"},
        verdict=Verdict.WAIT if context.live_anywhere is not None else Verdict.ASK,
        action=ActionKind.NONE,
        reason=context.live_anywhere or f"two machines for one slot; the state holds {twin.resource.name}",
        rule="rule 4",
        age_seconds=_age(server, context),
        cost=context.cost(server, *children),
        evidence=(context.seen(f"both carry the tags of slot {context.worker_of(server.tags)}"),),
    )


def _child(child: Ip | Volume, context: Context) -> Finding | None:
    claim, never = context.claim(child), context.never(child)
    user = "it is in use" if in_use(child) else context.usage.user_of(child)
    if user is not None and child.server_id in context.held and any(one.name in _OURS for one in claim.signals):
        return None  # ours, on a machine of ours
    if never is not None or user is not None or not claim.ours:
        return _unmanaged(child, context, reason=never or user or claim.why)
    judgement = judge_child(child, claim, context)
    return Finding(
        kind=FindingKind.DETACHED,
        subjects=(subject(child, worker=context.worker_of(child.tags)),),
        fleet=claim.fleet,
        ledgers={Ledger.STATE: "absent", Ledger.INVENTORY: "unattached"},
        verdict=judgement.verdict,
        action=ActionKind.DESTROY,
        reason=judgement.reason,
        rule="rules 3 and 9",
        wait_until_ms=judgement.wait_until_ms,
        age_seconds=_age(child, context),
        cost=context.cost(child),
        evidence=_evidence(child, claim, context),
        witness=claim.why if claim.proved else None,
    )


def _unmanaged(resource: Resource, context: Context, *, reason: str) -> Finding:
    children: list[Resource] = []
    if isinstance(resource, Server):
        children = [child for child in context.usage.children(resource) if child.id not in context.held]
    evidence: tuple[Evidence, ...] = ()
    close = near_miss(resource.tags)
    if close is not None:
        evidence = (context.seen(f"tag {close!r} looks like an owner tag and is none (case and spaces count)"),)
    return Finding(
        kind=FindingKind.UNMANAGED,
        subjects=tuple(subject(item) for item in (resource, *children)),
        ledgers={Ledger.INVENTORY: "present"},
        verdict=Verdict.NONE,
        action=ActionKind.NONE,
        reason=reason,
        rule="rule 9",
        age_seconds=_age(resource, context),
        cost=context.cost(resource, *children),
        evidence=evidence,
    )


def _age(resource: Resource, context: Context) -> int | None:
    if resource.created_ms is None:
        return None
    return max(0, (context.now_ms - resource.created_ms) // 1000)


def _evidence(resource: Resource, claim: Claim, context: Context) -> tuple[Evidence, ...]:
    since = context.memory.unowned_since.get(resource.ref)
    lines = [context.seen(signal.text, source=signal.name) for signal in claim.signals]
    if since is not None:
        lines.append(Evidence(at_ms=since, source="memory", text="first seen without an owner"))
    return tuple(lines)

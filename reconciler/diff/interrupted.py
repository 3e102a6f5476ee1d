"""What became of an operation that began and never finished?

A killed `pulumi up` leaves pending operations in the state, and no id. Its provider plugin may live on and finish the
create, a request may still be on its way, and the next `up` would make a second machine. So nothing is decided while
somebody may still be at it: the stack unlocked and at rest, no plugin of that run alive on this host, and the create
deadline passed since the operation was first seen. Then what it asked for is looked for in the inventory:

- one resource that no state holds, and that can hardly be anybody else's: adopt it;
- none, and that proved by a complete list with the right proved, in the right project and zone: clear the entry;
- several, or a doubtful one: a person decides.

An operation on what the state still holds by id (an update, a deletion) is no riddle: the resource is compared like any
other once the entry is cleared.

The engine can drop pending creates of a stack only all at once. So those that are proved absent wait for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from reconciler.diff.matching import LOOKED_FOR, Match, Wanted, likeliest, matches, wanted
from reconciler.diff.ownership import foreign_scope, never_reason, released_reason, settled
from reconciler.kernel.ids import fingerprint
from reconciler.model.desired import SCOPE_TAG
from reconciler.model.finding import FindingKind
from reconciler.model.inventory import Right, Scan
from reconciler.model.memory import Memory
from reconciler.model.resources import Kind, Resource, region_of
from reconciler.model.scope import KNOWN_ZONES, Scope
from reconciler.model.state import LiveProcess, PendingOperation, StackState, StateResource

CREATING: Final = "creating"
# A process starts a little before the engine's first write, and boot times are told in whole seconds.
_SLACK_MS: Final = 5_000


class Fate(StrEnum):
    """Least decided first."""

    ASK = "ask"
    UNKNOWN = "unknown"
    WAIT = "wait"
    ADOPT = "adopt"
    ABSENT = "absent"  # a create that is proved to have made nothing
    HELD = "held"  # an operation on what the state holds by id


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`found`: the resources that it may have made, with ADOPT exactly one; `sure`: hardly anybody else's."""

    operation: PendingOperation
    fate: Fate
    reason: str
    wait_until_ms: int | None = None
    found: tuple[Resource, ...] = ()
    sure: bool = False

    @property
    def clears(self) -> bool:
        return self.fate in (Fate.ABSENT, Fate.HELD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything that the decisions about one stack rest on.

    `processes` were looked for before the inventory was read: what is dead by then makes nothing more. `resources`
    gives what the inventory lists of a kind, `held` the ids that any state holds, `live` and `unread` the reasons why
    this stack, or any other, cannot be judged.
    """

    state: StackState
    scope: Scope
    memory: Memory
    now_ms: int
    processes: Sequence[LiveProcess]
    resources: Callable[[Kind], Iterable[Resource]]
    scan_of: Callable[[Kind, str], Scan | None]
    held: Container[str]
    live: str | None = None
    unread: str | None = None


def decide(scene: Scene) -> tuple[Decision, ...]:
    """One decision for each pending operation, in a fixed order and each once: two kills leave the same one twice."""
    unique: dict[tuple[str, str, str], PendingOperation] = {}
    for operation in scene.state.pending:
        unique.setdefault((operation.resource.urn, operation.operation, operation.resource.id or ""), operation)
    alone = [_decide(unique[key], scene) for key in sorted(unique)]
    return tuple(_together(_apart(alone)))


def finding_id(resource: StateResource) -> str:
    """The id that a finding about this pending resource has in every sweep."""
    ref = resource.ref
    kind, zone, id_ = (ref.kind.value, ref.zone, ref.id) if ref is not None else ("stack", "", "")
    return fingerprint(FindingKind.INTERRUPTED.value, kind, zone, id_, resource.urn, "")


def first_seen_ms(resource: StateResource, *, memory: Memory, now_ms: int) -> int:
    """Since when this entry has been known; now when it was not yet."""
    episode = memory.episodes.get(finding_id(resource)) if memory.present else None
    return episode.opened_ms if episode is not None else now_ms


# -- as a set


def _apart(decisions: list[Decision]) -> list[Decision]:
    """Two operations that want the same resource: a person says whose it is."""
    claims: dict[str, int] = {}
    for decision in decisions:
        if decision.fate is Fate.ADOPT:
            claims[decision.found[0].id] = claims.get(decision.found[0].id, 0) + 1
    return [
        replace(decision, fate=Fate.ASK, reason=f"another interrupted create fits {decision.found[0].ref} too")
        if decision.fate is Fate.ADOPT and claims[decision.found[0].id] > 1
        else decision
        for decision in decisions
    ]


def _together(decisions: list[Decision]) -> Iterator[Decision]:
    """Creates are cleared with all creates or not at all, other operations with all the others."""
    for decision in decisions:
        if not decision.clears:
            yield decision
            continue
        creating = decision.operation.operation == CREATING
        group = [one for one in decisions if (one.operation.operation == CREATING) == creating]
        open_one = next((one for one in group if not one.clears and one.fate is not Fate.ADOPT), None)
        if open_one is None:
            yield decision
        else:
            name = open_one.operation.resource.name
            reason = f"{decision.reason}; it is cleared together with {name}, which is not settled"
            yield replace(decision, fate=Fate.WAIT, reason=reason)


# -- one by one


def _decide(operation: PendingOperation, scene: Scene) -> Decision:
    for question in (_running, _alive, _early):
        decision = question(operation, scene)
        if decision is not None:
            return _with_suspects(decision, scene)
    if operation.operation != CREATING:
        return _of_held(operation, scene)
    decision = _of_create(operation, scene)
    if decision.fate in (Fate.ADOPT, Fate.ABSENT) and _asks_first(operation, scene):
        return replace(decision, fate=Fate.ASK, reason=f"its fleet asks first: {decision.reason}")
    return decision


def _running(operation: PendingOperation, scene: Scene) -> Decision | None:
    if scene.live is None:
        return None
    return Decision(operation=operation, fate=Fate.WAIT, reason=f"an update is running: {scene.live}")


def _with_suspects(decision: Decision, scene: Scene) -> Decision:
    """A decision to wait, with what the create seems to have made by now."""
    operation = decision.operation
    want = want_of(operation, scene.state) if operation.operation == CREATING else None
    found = _candidates(want, scene) if want is not None else ()
    sure = bool(found) and all(match.strong for match in found)
    return replace(decision, found=tuple(match.resource for match in found), sure=sure)


def _candidates(want: Wanted, scene: Scene) -> tuple[Match, ...]:
    """What may be it: in this project, and in no state."""
    project, held = scene.scope.project, scene.held
    fits = (one for one in scene.resources(want.kind) if one.id not in held and one.project == project)
    return likeliest(matches(want, fits))


def _since_ms(operation: PendingOperation, scene: Scene) -> int:
    """The latest moment at which the operation can have begun: the state was not written after it did.

    The writer's clock is another host's; in the future it is not believed.
    """
    seen = first_seen_ms(operation.resource, memory=scene.memory, now_ms=scene.now_ms)
    return max(seen, min(scene.state.written_ms or 0, scene.now_ms))


def _alive(operation: PendingOperation, scene: Scene) -> Decision | None:
    since = _since_ms(operation, scene)
    for process in scene.processes:
        if process.started_ms is None or process.started_ms <= since + _SLACK_MS:
            reason = f"{process.name} (pid {process.pid}) may still be at it: {process.why}"
            return Decision(operation=operation, fate=Fate.WAIT, reason=reason)
    return None


def _early(operation: PendingOperation, scene: Scene) -> Decision | None:
    due = _since_ms(operation, scene) + max_create_seconds(operation, scene.scope) * 1000
    if scene.now_ms >= due:
        return None
    reason = f"a run was interrupted while {operation.operation} it, and what it asked for may still be carried out"
    return Decision(operation=operation, fate=Fate.WAIT, reason=reason, wait_until_ms=due)


def max_create_seconds(operation: PendingOperation, scope: Scope) -> int:
    """How long a create may take: the scope's deadline, or that of a fleet whose mapping names the URN."""
    urn = operation.resource.urn
    fleets = [rule for rule in scope.fleets if any(fnmatchcase(urn, pattern) for pattern in rule.urns)]
    return max([scope.create_seconds, *(rule.max_create_seconds for rule in fleets)])


def _asks_first(operation: PendingOperation, scene: Scene) -> bool:
    urn = operation.resource.urn
    return any(
        dict(rule.actions).get(FindingKind.INTERRUPTED.value) == "ask"
        for rule in scene.scope.fleets
        if any(fnmatchcase(urn, pattern) for pattern in rule.urns)
    )


def _of_held(operation: PendingOperation, scene: Scene) -> Decision:
    resource, what = operation.resource, operation.operation
    if resource.id and any(one.id == resource.id and one.urn == resource.urn for one in scene.state.resources):
        reason = f"{what} it was interrupted; the state holds it by its id, and it is compared like any other"
        return Decision(operation=operation, fate=Fate.HELD, reason=reason)
    reason = f"{what} it was interrupted, and the state does not hold it: look at it in the console"
    return Decision(operation=operation, fate=Fate.ASK, reason=reason)


def _of_create(operation: PendingOperation, scene: Scene) -> Decision:
    def ask(reason: str, *, fate: Fate = Fate.ASK) -> Decision:
        return Decision(operation=operation, fate=fate, reason=reason)

    want = want_of(operation, scene.state)
    if want is None:
        return ask(f"{operation.resource.type} is not looked for: see whether it was made, and settle it by hand")
    if not want.identifiable:
        return ask("it has neither a name nor tags to be found by: see whether it was made, and settle it by hand")
    found = _candidates(want, scene)
    if not found:
        unproved = _unproved(want, operation, scene)
        if unproved is not None:
            why, fate = unproved
            return ask(why, fate=fate)
        return ask(f"{_told(want)} was proved not to be there", fate=Fate.ABSENT)
    return _of_found(operation, found, scene)


def _of_found(operation: PendingOperation, found: tuple[Match, ...], scene: Scene) -> Decision:
    resources = tuple(match.resource for match in found)

    sure = all(match.strong for match in found)

    def answer(fate: Fate, reason: str) -> Decision:
        return Decision(operation=operation, fate=fate, reason=reason, found=resources, sure=sure)

    if len(found) > 1:
        names = ", ".join(str(one.ref) for one in resources[:3])
        return answer(Fate.ASK, f"{len(found)} resources may be it ({names}): keep one, and remove the others")
    match, one = found[0], resources[0]
    holder = scene.state.by_urn.get(operation.resource.urn)
    if holder is not None:
        return answer(
            Fate.ASK, f"the state holds {holder.id} for it by now, and {one.ref} ({match.why}) runs beside it"
        )
    if scene.unread is not None:
        return answer(Fate.UNKNOWN, f"{scene.unread} may own {one.ref} and could not be read")
    barred = _barred(one, scene)
    if barred is not None:
        return answer(Fate.ASK, f"{one.ref} may be it ({match.why}), but {barred}")
    if not match.strong:
        return answer(Fate.ASK, f"{one.ref} may be it, but only because {match.why}")
    if not settled(one):
        return answer(Fate.WAIT, f"it made {one.ref} ({match.why}), which is changing state now")
    return answer(Fate.ADOPT, f"it made {one.ref} ({match.why}), which no state holds")


def _barred(one: Resource, scene: Scene) -> str | None:
    """Why this resource is not ours to adopt."""
    other = foreign_scope(one.tags, scope=scene.scope)
    if other is not None:
        return f"it carries the owner tag of scope {other}"
    if one.ref in scene.memory.doomed:
        return "its deletion is decided"
    if one.ref in scene.memory.released:
        return released_reason(scene.memory.released[one.ref])
    never = never_reason(one, scope=scene.scope)
    return f"it is never touched ({never})" if never is not None else None


def want_of(operation: PendingOperation, state: StackState) -> Wanted | None:
    """What a pending create asked for, with what its provider adds."""
    resource = operation.resource
    return (
        wanted(resource.type, resource.inputs, provider=_provider(resource, state).inputs) if resource.custom else None
    )


def _provider(resource: StateResource, state: StackState) -> StateResource:
    """The provider entry that a resource goes through; an empty one where the state does not hold it."""
    for entry in state.resources:
        if resource.provider is not None and f"{entry.urn}::{entry.id}" == resource.provider:
            return entry
    return StateResource(urn="", type="", id=None, custom=True)


# -- absence


def _unproved(want: Wanted, operation: PendingOperation, scene: Scene) -> tuple[str, Fate] | None:
    """Why "not found" is no proof, and what that makes of it; None when it is one (rule 2)."""
    stranger = _other_project(want, operation, scene)
    if stranger is not None:
        return stranger, Fate.ASK
    for zone in places(want):
        if not want.kind.regional and zone not in scene.scope.zones:
            return f"{zone}, where it may have been made, is not among the zones of the scope", Fate.ASK
        scan = scene.scan_of(want.kind, zone)
        if scan is None:
            return f"{want.kind.value}s of {zone} were not listed", Fate.UNKNOWN
        if not scan.complete:
            return f"{want.kind.value}s of {zone} were not read whole: {scan.reason or 'no reason'}", Fate.UNKNOWN
        if not scan.offered and want.zone is None:
            continue
        if scan.right is not Right.PROVED and not (scan.right is Right.ASSUMED and scan.items):
            return f"nothing proves that the key may see {want.kind.value}s of {zone}: the list is empty", Fate.ASK
    return None


def places(want: Wanted) -> tuple[str, ...]:
    """The zones or regions where it may be: its own, or all where neither it nor its provider names one."""
    if want.zone is not None:
        return (want.zone,)
    return tuple(dict.fromkeys(region_of(zone) if want.kind.regional else zone for zone in KNOWN_ZONES))


def _other_project(want: Wanted, operation: PendingOperation, scene: Scene) -> str | None:
    """Why it may have been made in a project that is not looked at.

    Where neither the inputs nor the provider name the project, the deployer's environment did. It is known from what
    the same provider made before, or from the scope tag, since a scope is one project.
    """
    project = want.project or _made_before(operation.resource, scene.state)
    if project == scene.scope.project:
        return None
    if project is not None:
        return f"it was made in project {project}, which is not this scope's"
    if SCOPE_TAG + scene.scope.uuid in want.tags:
        return None
    return "nothing says in which project it was made, so this one's lists prove nothing"


def _made_before(resource: StateResource, state: StackState) -> str | None:
    """The project of everything else that went through the same provider; None when there is none, or several."""
    projects = {
        str(entry.outputs["projectId"])
        for entry in state.resources
        if entry.provider is not None and entry.provider == resource.provider and entry.outputs.get("projectId")
    }
    return projects.pop() if len(projects) == 1 else None


def _told(want: Wanted) -> str:
    known = f"named {want.name}" if want.name is not None else "with its tags"
    place = f" in {want.zone}" if want.zone is not None else ""
    return f"a {want.kind.value} {known}{place}"


def kinds_of(operations: Iterable[PendingOperation], state: StackState) -> Mapping[tuple[Kind, str], None]:
    """(kind, place) of every list that the decisions about these creates need."""
    needed: dict[tuple[Kind, str], None] = {}
    for operation in operations:
        want = want_of(operation, state) if operation.operation == CREATING else None
        if want is not None and want.kind in LOOKED_FOR:
            needed |= dict.fromkeys((want.kind, place) for place in places(want))
    return needed

"""Rails: limits that stop a whole run before its first action (rule 10).

Each rail is a value with its limit and what was found, so that a plan shows how near it came. A percentage applies
from 20 objects of a kind on; below that the count alone does. One rail that does not hold blocks everything, not just
what went over it: a run that is wrong about one thing is not believed about the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from reconciler.model.finding import ActionKind, FindingKind
from reconciler.model.money import total
from reconciler.model.plan import Action, RailCheck
from reconciler.model.resources import Kind, Ref
from reconciler.model.world import World
from reconciler.plan.rows import ends_live_row
from reconciler.policy.tags import is_own

PERCENT_FROM: Final = 20


def check_rails(world: World, actions: Sequence[Action]) -> tuple[RailCheck, ...]:
    """All rails for a plan with these actions, those that hold and those that do not."""
    destroys = [action for action in actions if action.kind is ActionKind.DESTROY]
    forgets = [action for action in actions if any(condition.kind == "absent" for condition in action.conditions)]
    ends = [action for action in actions if ends_live_row(action)]
    entries = [action for action in forgets if action.kind is not ActionKind.PURGE]
    checks = [*_health(world, actions), *_policy(world, actions)]
    if destroys or entries or ends:
        checks += _shrink(world)
    if destroys:
        checks += [*_memory(world), *_amounts(world, destroys), *_rate(world, destroys)]
        checks += _lost(world, destroys)
    if entries:
        checks += _forgets(world, entries)
    if ends:
        checks += _ends(world, ends)
    return tuple(checks)


def _check(name: str, *, limit: float, value: float, text: str) -> RailCheck:
    return RailCheck(name=name, limit=limit, value=round(value, 4), ok=value <= limit, text=text)


def _health(world: World, actions: Sequence[Action]) -> Iterator[RailCheck]:
    limits, health = world.scope.limits, world.health
    share = 100 * health.failed / health.calls if health.calls else 0.0
    yield _check("api-errors", limit=limits.error_percent, value=share, text="failed calls in percent of all")
    scans = [scan for scan in world.inventory.scans.values() if scan.offered]
    unknown = 100 * sum(not scan.complete for scan in scans) / len(scans) if scans else 0.0
    yield _check("unknown", limit=limits.unknown_percent, value=unknown, text="listings not complete in percent")
    if health.skew_seconds is not None and actions:
        yield _check(
            "clock-skew",
            limit=limits.clock_skew_seconds,
            value=abs(health.skew_seconds),
            text="seconds from the API's clock",
        )


def _policy(world: World, actions: Sequence[Action]) -> Iterator[RailCheck]:
    """A mistake in a policy is a mistake about everything: a slip in one tag would be written to the whole estate."""
    tagged = sum(_by_policy(action) for action in actions)
    if tagged:
        limit = world.scope.limits.reconcile.count
        yield _check("count-policy", limit=limit, value=tagged, text="resources tagged because of a policy")


def _by_policy(action: Action) -> bool:
    """Owner tags are our own affair; whatever else is written beside them, a policy wants."""
    if action.finding_kind is FindingKind.POLICY:
        return True
    added = set(action.tags_after) - set(action.tags_before)
    return action.finding_kind is FindingKind.UNTAGGED_CHILD and not all(map(is_own, added))


def _memory(world: World) -> Iterator[RailCheck]:
    """Destroying needs a memory that is older than the grace: a run that remembers nothing cannot know what is new."""
    first = world.memory.first_complete_ms if world.memory.present else None
    age = (world.finished_ms - first) / 1000 if first is not None else 0.0
    short = max(0.0, world.scope.grace_seconds - age)
    yield _check("memory", limit=0, value=short, text="seconds until a complete sweep is older than the grace")


def _shrink(world: World) -> Iterator[RailCheck]:
    """An inventory that fell by more than our own deletions explain is not believed.

    A big `pulumi destroy` looks the same; it blocks one run, since the sweep of that run is the next measure.
    """
    last = world.memory.last_complete
    if last is None:
        return
    for kind, before in sorted(last.counts.items()):
        if before < PERCENT_FROM:
            continue
        now = sum(1 for _ in world.inventory.of_kind(kind))
        explained = world.memory.finalised.get(kind, 0)
        fell = 100 * max(0, before - explained - now) / before
        yield _check(
            f"shrink-{kind.value}",
            limit=world.scope.limits.shrink_percent,
            value=fell,
            text=f"percent of {before} {kind.value}(s) gone since the last complete sweep, unexplained",
        )


def _amounts(world: World, destroys: Sequence[Action]) -> Iterator[RailCheck]:
    rail = world.scope.limits.reconcile
    per_kind: dict[Kind, int] = {}
    for action in destroys:
        for ref in action.refs:
            per_kind[ref.kind] = per_kind.get(ref.kind, 0) + 1
    yield _check("count", limit=rail.count, value=len(destroys), text="deletions in this run")
    for kind, number in sorted(per_kind.items()):
        yield _check(f"count-{kind.value}", limit=rail.count, value=number, text=f"{kind.value}(s) destroyed")
        population = sum(1 for _ in world.inventory.of_kind(kind))
        if population >= PERCENT_FROM:
            yield _check(
                f"percent-{kind.value}",
                limit=rail.percent,
                value=100 * number / population,
                text=f"percent of {population} {kind.value}(s)",
            )
    cost = total(tuple(action.cost for action in destroys))
    yield _check("eur-month", limit=rail.eur_month, value=cost.month, text="EUR a month of what is destroyed")
    if cost.unpriced:
        # No known price is no price of zero: the limit in EUR says nothing about these, so a person does.
        yield _check("unpriced", limit=0, value=cost.unpriced, text="subjects without a known price")


def _rate(world: World, destroys: Sequence[Action]) -> Iterator[RailCheck]:
    done = world.memory.destroyed_last_hour
    yield _check(
        "per-hour",
        limit=world.scope.limits.per_hour,
        value=done + len(destroys),
        text=f"deletions within an hour, {done} of them by earlier runs",
    )


def _lost(world: World, destroys: Sequence[Action]) -> Iterator[RailCheck]:
    """A state that lost its machines while they run is not believed (reports R011 and R017).

    An engine deletes a machine before it forgets it. A state that forgot several that run was emptied, restored from an
    old file, or refreshed with a bad key: then everything looks left over, and is at work. One alone is an ordinary
    leftover. A machine that is not destroyed counts as well; only where none is does nothing depend on it.
    """
    doing = {ref for action in destroys for ref in action.refs if ref.kind is Kind.SERVER}
    forgotten = list(_forgotten(world)) if doing else []
    lost = Counter(stack for _, stack in forgotten)
    touched = {stack for ref, stack in forgotten if ref in doing}
    shares = [(_share_lost(world, stack, lost[stack]), stack) for stack in sorted(touched) if lost[stack] > 1]
    if shares:
        share, stack = max(shares)
        text = f"percent of its machines, {lost[stack]} that run, are in the state of {stack} no more"
        yield _check("lost-state", limit=world.scope.limits.shrink_percent, value=share, text=text)


def _forgotten(world: World) -> Iterator[tuple[Ref, str]]:
    """Each machine that runs and that no state holds any more, with the stack that held it."""
    memory, states = world.memory, world.states
    for server in world.inventory.of_kind(Kind.SERVER):
        line, ref = memory.lineage.get(server.ref), server.ref
        if line is None or line.source != "state" or line.stack is None or line.stack not in states:
            continue
        if ref in memory.released or ref in memory.doomed or any(ref in state.by_ref for state in states.values()):
            continue
        yield ref, line.stack


def _share_lost(world: World, stack: str, lost: int) -> float:
    entries = world.states[stack].resources
    kept = sum(1 for entry in entries if (ref := entry.ref) is not None and ref.kind is Kind.SERVER)
    return 100 * lost / (lost + kept)


def _forgets(world: World, forgets: Sequence[Action]) -> Iterator[RailCheck]:
    """State that would be forgotten at once: the same limits, because a provider that hides things looks like this."""
    rail = world.scope.limits.reconcile
    urns = sum(len(action.urns) for action in forgets)
    population = sum(1 for state in world.states.values() for resource in state.resources if resource.ref is not None)
    yield _check("count-state", limit=rail.count, value=urns, text="state entries dropped in this run")
    if population >= PERCENT_FROM:
        share = 100 * urns / population
        yield _check("percent-state", limit=rail.percent, value=share, text=f"percent of {population} state entries")


def _ends(world: World, ends: Sequence[Action]) -> Iterator[RailCheck]:
    """Rows that would end at once: the same limits, for the same reason."""
    rail, population = world.scope.limits.reconcile, len(world.records.workers)
    yield _check("count-rows", limit=rail.count, value=len(ends), text="rows of workers ended in this run")
    if population >= PERCENT_FROM:
        share = 100 * len(ends) / population
        yield _check("percent-rows", limit=rail.percent, value=share, text=f"percent of {population} rows of workers")

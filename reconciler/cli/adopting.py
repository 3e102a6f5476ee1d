"""The steps of `adopt`: look, run the programs, choose a URN for each id, and plan what `apply` would carry out.

What a person names is adopted on the same path as what a sweep finds: a plan, a lease, a hold, a journal, a rehearsal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reconciler.apply.adopting import adopting
from reconciler.cli.apply_session import Session
from reconciler.cli.applying import carry_out, finish_earlier, sweep_of
from reconciler.diff.choosing import Choice, Unclear, choose
from reconciler.diff.context import Context, subject
from reconciler.kernel.errors import (
    EXIT_OK,
    EXIT_REFUSED,
    EngineError,
    RefusedError,
    UsageError,
    worst_exit,
)
from reconciler.model.finding import ActionKind, Finding, FindingKind, Verdict
from reconciler.model.plan import Mode
from reconciler.model.resources import Kind, Ref, Resource, Server
from reconciler.model.world import Sweep
from reconciler.plan import build_plan
from reconciler.ports.engine import PlannedCreate, Rehearsal
from reconciler.report.layout import Block, Span, line

_SHORTEST: Final = 4
_SHOWN: Final = 8
_MANAGED: Final = frozenset({Kind.SERVER, Kind.IP, Kind.VOLUME, Kind.INSTANCE_VOLUME, Kind.NIC, Kind.IPAM})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the command line named. `everything`: whatever a sweep finds that fits one declared resource."""

    ids: tuple[str, ...]
    urn: str | None
    everything: bool


def adopt(session: Session, wish: Wish) -> int:
    """One scope. Raises UsageError RC0674, RefusedError RC0675 and RC0677, and what planning and applying raise."""
    status = EXIT_OK
    if not session.request.dry_run:
        status, stopped = finish_earlier(session)
        if stopped:
            return status
    sweep = sweep_of(session)
    context = Context(sweep.world)
    resources = _named(context, sweep, wish)
    if not resources:
        session.out.progress(f"scope {session.scope.name}: nothing to adopt")
        return status
    declared = _declared(session, sweep)
    choices = _choices(session, context, resources, declared, wish)
    if not choices:
        return worst_exit(status, EXIT_REFUSED)
    _refuse_undecided(sweep, choices)
    plan = build_plan(
        sweep.world,
        [_finding(choice, context) for choice in choices],
        mode=Mode.REPAIR,
        ids=session.runtime.ids,
    )
    session.show(plan)
    left_out = EXIT_REFUSED if len(choices) < len(resources) and not wish.everything else EXIT_OK
    done = _rehearse(session, choices) if session.request.dry_run else carry_out(session, plan)
    return worst_exit(status, left_out, done)


# -- what is meant


def _named(context: Context, sweep: Sweep, wish: Wish) -> list[Resource]:
    if not wish.everything:
        return [_by_id(context, name) for name in dict.fromkeys(wish.ids)]
    refs: dict[Ref, None] = {}
    for finding in sweep.findings:
        if finding.kind in (FindingKind.ORPHAN, FindingKind.INTERRUPTED) and finding.verdict is not Verdict.WAIT:
            refs |= dict.fromkeys(ref for ref in finding.refs if ref.kind is Kind.SERVER and ref.id not in context.held)
    released = context.world.memory.released  # who wants one of these back names it
    return [found for ref in refs if ref not in released and (found := context.index.get(ref)) is not None]


def _by_id(context: Context, name: str) -> Resource:
    """The one resource with this id or prefix that no state holds. Raises UsageError RC0674."""
    bare = name.rpartition("/")[2]
    found = [
        one
        for kind in _MANAGED
        for one in context.index.by_kind[kind].values()
        if len(bare) >= _SHORTEST and one.id.startswith(bare) and name.removesuffix(bare) in ("", f"{one.zone}/")
    ]
    held = [one for one in found if one.id in context.held]
    if len(found) == 1 and not held:
        return found[0]
    if held:
        stack, entry = context.held[held[0].id]
        what = f"{held[0].ref} is in the state of {stack} already, as {entry.urn}"
    elif found:
        what = f"{name!r} is the beginning of {len(found)} ids"
    else:
        what = f"nothing in the project has the id {name!r}"
    raise UsageError(what, code="RC0674", hint="`reconciler drift -v` shows the ids of what no state holds, in full.")


def _declared(session: Session, sweep: Sweep) -> dict[str, tuple[PlannedCreate, ...]]:
    """Stack -> what its program would create. A program that cannot be run is said; all of them is an error."""
    engine = adopting(session.runtime.engine())
    found: dict[str, tuple[PlannedCreate, ...]] = {}
    failure: EngineError | None = None
    for stack in sorted(sweep.world.states):
        session.out.progress(f"running the program of {stack} in preview")
        try:
            found[stack] = engine.planned_creates(stack)
        except EngineError as error:
            session.out.warn(f"{stack}: {error.code}: {error.message}")
            failure = failure or error
    if not found and failure is not None:
        raise failure
    return found


def _choices(
    session: Session,
    context: Context,
    resources: Sequence[Resource],
    declared: Mapping[str, tuple[PlannedCreate, ...]],
    wish: Wish,
) -> list[Choice]:
    """One for each resource; what belongs to another's choice is in that one. Raises RefusedError RC0675, unless
    everything was asked for: then what is unclear is left out, and said."""
    choices: list[Choice] = []
    for resource in sorted(resources, key=lambda one: (one.ref.kind is not Kind.SERVER, one.id)):
        if any(resource.ref in choice.targets.values() for choice in choices):
            continue
        choice = choose(resource, declared, parts=_parts(resource, resources, context), urn=wish.urn)
        if isinstance(choice, Choice):
            choices.append(choice)
        elif wish.everything:
            session.out.warn(f"{resource.ref} is left out: {choice.why}")
        else:
            raise _unclear(resource, choice)
    return choices


def _parts(resource: Resource, named: Sequence[Resource], context: Context) -> list[Resource]:
    """What it may depend on: what hangs on it and no state holds, and what else was named."""
    hanging = context.usage.children(resource) if isinstance(resource, Server) else ()
    others = (one for one in named if one.id != resource.id and one.ref.kind is not Kind.SERVER)
    return list({one.ref: one for one in (*hanging, *others) if one.id not in context.held}.values())


def _unclear(resource: Resource, choice: Unclear) -> RefusedError:
    shown = "; ".join(choice.urns[:_SHOWN]) + (" …" if len(choice.urns) > _SHOWN else "")
    hint = f"Say which: --as URN. There is: {shown}" if shown else "Declare it in a program first."
    return RefusedError(f"{resource.ref} is not adopted: {choice.why}", code="RC0675", hint=hint)


def _refuse_undecided(sweep: Sweep, choices: Sequence[Choice]) -> None:
    """An interrupted create that may still be carried out could make a second one beside what is adopted."""
    waiting = {
        finding.subjects[0].urn: finding
        for finding in sweep.findings
        if finding.kind is FindingKind.INTERRUPTED and finding.verdict is Verdict.WAIT
    }
    for choice in choices:
        for urn in choice.targets:
            if urn in waiting:
                raise RefusedError(
                    f"{urn} is not settled yet: {waiting[urn].reason}",
                    code="RC0677",
                    hint="`reconciler drift` says how long that takes; `reconciler explain` shows what is known.",
                )


# -- the plan


def _finding(choice: Choice, context: Context) -> Finding:
    found = [(context.index.get(ref), urn) for urn, ref in choice.targets.items()]
    subjects = tuple(subject(one, urn=urn, worker=context.worker_of(one.tags)) for one, urn in found if one is not None)
    return Finding(
        kind=FindingKind.ORPHAN,
        subjects=subjects,
        verdict=Verdict.ACT,
        action=ActionKind.ADOPT,
        reason=f"named to be adopted: {choice.why}",
        rule="rule 9",
        stack=choice.stack,
    )


def _rehearse(session: Session, choices: Sequence[Choice]) -> int:
    """Try it on a copy of the state, and show what stands against it."""
    engine = adopting(session.runtime.engine())
    status = EXIT_OK
    for choice in choices:
        rehearsal = engine.rehearse_adoption(choice.stack, choice.targets)
        session.out.aside(list(_told(choice, rehearsal)))
        status = worst_exit(status, EXIT_OK if rehearsal.ok else EXIT_REFUSED)
    return status


def _told(choice: Choice, rehearsal: Rehearsal) -> Iterator[Block]:
    name = next(iter(choice.targets))
    if rehearsal.ok:
        yield line(Span("rehearsed", "green"), f": {name} would change nothing but the state")
        return
    yield line(Span("differs", "bold red"), f": {name} would not be adopted")
    for difference in rehearsal.differences:
        yield line(str(difference), indent=2)

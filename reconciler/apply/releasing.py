"""Release: stop managing something without touching the machine.

The order is what makes it safe. First the store notes it, which outranks every signal that it was ours, so that no
sweep that runs in between finds an orphan. Then the state lets go of it. Last the owner tags go, re-read and by id,
never a stranger's; a release whose tags are not all gone stays open and is finished by the next one. Nothing is ever
sent to the cloud but tag lists.

What goes with a server that is released: its parts that no state holds (its root, addresses and NICs that it lists),
because they would be called left over on the day on which its new owner deletes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from reconciler.apply.lease import held_lease
from reconciler.diff.authority import in_scope
from reconciler.diff.index import own_refs
from reconciler.diff.ownership import foreign_scope
from reconciler.kernel.errors import CloudError, ReconcilerError, RefusedError
from reconciler.model.dependants import dependants
from reconciler.model.desired import OWNER_TAG
from reconciler.model.inventory import Presence, Probe
from reconciler.model.memory import Memory, Release
from reconciler.model.resources import Ref, Resource, Server
from reconciler.model.scope import Scope
from reconciler.model.state import KIND_OF_TYPE, StackState, StateResource
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import ChildProcess, Engine
from reconciler.ports.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """One entry that leaves its state. `probe` is None for what is no covered resource (a component, a provider).
    `parts` are the probes of what goes with it. `asked`: it was named, and is no dependant of what was."""

    stack: str
    entry: StateResource
    probe: Probe | None
    parts: tuple[Probe, ...] = ()
    asked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What one release would do. `serials`: stack -> the state that it was made of. `unfinished`: refs of earlier
    releases that still wait for their tags to go."""

    scope: Scope
    leaving: tuple[Leaving, ...]
    serials: Mapping[str, str]
    unfinished: tuple[Ref, ...] = ()

    def urns(self, stack: str) -> tuple[str, ...]:
        return tuple(one.entry.urn for one in self.leaving if one.stack == stack)


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """`entries`: URNs that left their state. `untagged`: what lost its owner tags. `failed`: ref -> why its tags are
    still there; the next release of the same name goes on with it."""

    entries: tuple[str, ...]
    untagged: tuple[Ref, ...]
    failed: Mapping[Ref, str]


def own_tags(tags: Sequence[str], *, scope: Scope) -> tuple[str, ...]:
    """The tags that a release takes off: ours; none at all where another scope's owner tag is among them."""
    if foreign_scope(tuple(tags), scope=scope) is not None:
        return ()
    return tuple(tag for tag in tags if tag == OWNER_TAG or tag.startswith(f"{OWNER_TAG}:"))


def propose(
    *,
    scope: Scope,
    cloud: Cloud,
    states: Mapping[str, StackState],
    memory: Memory,
    targets: Sequence[tuple[str, StateResource]],
    unfinished: Sequence[Ref],
    with_dependants: bool,
    force: bool,
) -> Proposal:
    """Look at everything and refuse what may not be. Raises RefusedError RC0611 (locked), RC0680 (pending operations),
    RC0682 (protected), RC0683 (dependants), RC0686 (doomed), RC0687 (held), RC0689 (not read)."""
    asked = {(stack, entry.urn) for stack, entry in targets}
    chosen: list[tuple[str, StateResource]] = []
    for stack in sorted({stack for stack, _ in asked}):
        state = states[stack]
        _require_free(state)
        urns = {urn for name, urn in asked if name == stack}
        more = dependants(state.resources, urns)
        if more and not with_dependants:
            raise _depended(more)
        chosen += [(stack, state.by_urn[urn]) for urn in sorted({*urns, *more})]
    _require_unprotected(chosen, force=force)
    held = {ref.id for state in states.values() for ref in state.by_ref}
    leaving = tuple(
        _leaving(stack, entry, asked=(stack, entry.urn) in asked, cloud=cloud, scope=scope, held=held)
        for stack, entry in chosen
    )
    proposal = Proposal(
        scope=scope,
        leaving=leaving,
        serials={stack: states[stack].serial for stack, _ in chosen},
        unfinished=tuple(unfinished),
    )
    _require_unspoken(proposal, memory)
    return proposal


def _require_free(state: StackState) -> None:
    if state.locks:
        who = state.locks[0].created_by
        raise RefusedError(
            f"{state.stack} is locked by {who}", code="RC0611", hint="Wait for it, or look at `reconciler unlock`."
        )
    if state.pending:
        raise RefusedError(
            f"{state.stack} has {len(state.pending)} interrupted operation(s)",
            code="RC0680",
            hint="Settle them first: they say what an interrupted run was doing to these resources.",
        )


def _depended(more: Sequence[str]) -> RefusedError:
    names = ", ".join(urn.rpartition("::")[2] for urn in more)
    return RefusedError(
        f"{len(more)} other(s) depend on what is to be released: {names}",
        code="RC0683",
        hint="Release them as well (`--with-dependants`), or name what depends on nothing of them.",
    )


def _require_unprotected(chosen: Sequence[tuple[str, StateResource]], *, force: bool) -> None:
    kept = [entry.name for _, entry in chosen if entry.protect]
    if kept and not force:
        raise RefusedError(
            f"{', '.join(kept)}: protected in the state", code="RC0682", hint="`--force` releases it anyway."
        )


def _leaving(stack: str, entry: StateResource, *, asked: bool, cloud: Cloud, scope: Scope, held: set[str]) -> Leaving:
    ref, kind = entry.ref, KIND_OF_TYPE.get(entry.type)
    if ref is None or kind is None:
        return Leaving(stack=stack, entry=entry, probe=None, asked=asked)
    if not in_scope(entry, kind, ref.zone, scope=scope):
        raise RefusedError(
            f"{entry.name} is not in scope {scope.name}", code="RC0681", hint="Its project or zone is another one."
        )
    probe = _read(cloud, ref)
    parts: tuple[Probe, ...] = ()
    if isinstance(probe.resource, Server):
        loose = [part for part in own_refs(probe.resource) if part.id not in held]
        parts = tuple(found for part in loose if (found := _read(cloud, part)).presence is Presence.PRESENT)
    return Leaving(stack=stack, entry=entry, probe=probe, parts=parts, asked=asked)


def _read(cloud: Cloud, ref: Ref) -> Probe:
    probe = cloud.probe(ref)
    if probe.presence is Presence.UNKNOWN:
        raise RefusedError(
            f"{ref} could not be read: {probe.reason or probe.status}",
            code="RC0689",
            hint="Nothing was released: its owner tags could not be taken off. Run again when it answers.",
        )
    return probe


def _require_unspoken(proposal: Proposal, memory: Memory) -> None:
    """Said before anything is asked; the store says it again, in the transaction."""
    for item in rows(proposal):
        if item.ref in memory.doomed:
            raise RefusedError(
                f"the deletion of {item.ref} is decided", code="RC0686", hint="A decision is never taken back."
            )
        if item.ref in memory.held:
            raise RefusedError(
                f"an adoption holds {item.ref}", code="RC0687", hint="Finish or release the adoption first."
            )


def rows(proposal: Proposal) -> tuple[Release, ...]:
    """What the store has to remember."""
    return tuple(_rows(proposal))


def _rows(proposal: Proposal) -> Iterator[Release]:
    for one in proposal.leaving:
        if one.probe is None:
            continue
        for probe in (one.probe, *one.parts):
            yield Release(ref=probe.ref, with_id=one.probe.ref.id, stack=one.stack, urn=one.entry.urn)


def release(
    proposal: Proposal,
    *,
    cloud: Cloud,
    engine: Engine,
    store: Store,
    holder: str,
    reason: str,
    force: bool,
    on_child: Callable[[ChildProcess], None],
) -> Released:
    """Carry it out under the scope's lease. Raises NotLeaderError (75), and what the store and the engine refuse."""
    scope = proposal.scope
    with held_lease(store, name=f"apply:{scope.uuid}", holder=holder):
        noted = rows(proposal)
        if noted:
            store.begin_release(scope.uuid, noted, by=holder, reason=reason)
        try:
            for stack in sorted(proposal.serials):
                urns = proposal.urns(stack)
                engine.release(stack, urns, serial=proposal.serials[stack], force=force, on_child=on_child)
        except ReconcilerError:
            _take_back(proposal, noted, engine=engine, store=store)
            raise
        refs = tuple(dict.fromkeys((*(item.ref for item in noted), *proposal.unfinished)))
        untagged, failed = _untag(refs, cloud=cloud, scope=scope)
        store.finish_release(scope.uuid, [ref for ref in refs if ref not in failed])
    return Released(entries=tuple(one.entry.urn for one in proposal.leaving), untagged=tuple(untagged), failed=failed)


def _take_back(proposal: Proposal, noted: Sequence[Release], *, engine: Engine, store: Store) -> None:
    """What is still in its state is managed as before. Where that cannot be read, the note stays: it destroys
    nothing, and the next release of the same name goes on from it."""
    kept: set[Ref] = set()
    for stack in proposal.serials:
        with suppress(ReconcilerError):
            present = engine.read(stack).by_urn
            kept |= {item.ref for item in noted if item.stack == stack and item.urn in present}
    if kept:
        store.cancel_release(proposal.scope.uuid, kept)


def _untag(refs: Sequence[Ref], *, cloud: Cloud, scope: Scope) -> tuple[list[Ref], dict[Ref, str]]:
    """One bad item never stops the others."""
    untagged: list[Ref] = []
    failed: dict[Ref, str] = {}
    for ref in refs:
        try:
            if _untag_one(ref, cloud=cloud, scope=scope):
                untagged.append(ref)
        except (CloudError, RefusedError) as error:
            failed[ref] = f"{error.code}: {error.message}"
    return untagged, failed


def _untag_one(ref: Ref, *, cloud: Cloud, scope: Scope) -> bool:
    probe = cloud.probe(ref)
    if probe.presence is Presence.ABSENT:
        return False
    if probe.resource is None:
        raise CloudError(f"it could not be read: {probe.reason or probe.status}", code="RC0689")
    resource: Resource = probe.resource
    ours = own_tags(resource.tags, scope=scope)
    if resource.project != scope.project or not ours:
        return False
    kept = tuple(tag for tag in resource.tags if tag not in ours)
    cloud.set_tags(ref, kept, expected=resource.tags)
    return True

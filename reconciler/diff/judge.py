"""The verdict on a leftover. Each question below may end it; only what passes all of them is acted on.

The order is the order of doubt. First what was not read (`unknown`), then what is moving (`wait`), then what somebody
may still mean to keep (`ask`), then grace, and last the proof of ownership. A decided deletion is exempt from grace and
proof, which it had when it was decided, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from reconciler.diff.context import Context
from reconciler.diff.index import own_refs
from reconciler.diff.ownership import Claim, grace_ends, settled, stuck
from reconciler.diff.recorded import workers_of
from reconciler.diff.vacancy import Unknown, places
from reconciler.model.desired import FLEET_TAG, REVISION_TAG, SLOT_TAG, tag_value
from reconciler.model.finding import Verdict
from reconciler.model.inventory import Presence
from reconciler.model.resources import Ip, Kind, Ref, Resource, Server, Volume, region_of


@dataclass(frozen=True, slots=True)
class Judgement:
    """`adopt`: ref -> URN in `stack`, of a machine and its parts that is to be taken into a state instead."""

    verdict: Verdict
    reason: str
    wait_until_ms: int | None = None
    adopt: Mapping[Ref, str] = field(default_factory=dict)
    stack: str | None = None


_Question: TypeAlias = Callable[[], Judgement | None]


def judge_server(server: Server, claim: Claim, *, spared: Iterable[Resource], context: Context) -> Judgement:
    """`spared` are the server's children that would not go with it."""
    return _first(
        lambda: _not_read(server.ref, (Kind.SERVER,), context),
        lambda: _parts_not_read(server, context),
        lambda: _moving(server, context),
        # Before what speaks against destroying it: to be adopted is no harm.
        lambda: _fits_a_slot(server, claim, context),
        lambda: Judgement(Verdict.ASK, "it is protected at the provider") if server.protected else None,
        lambda: _takes_along(spared, server, context),
        *_common(server, claim, "orphan", context),
    )


def judge_recorded(server: Server, claim: Claim, *, spared: Iterable[Resource], context: Context) -> Judgement:
    """For the machine of a row that must not stay as it is. The row is its ledger, so no grace runs; everything that
    speaks against destroying an orphan speaks against this."""
    holder = context.authority.holder(server.id)
    return _first(
        lambda: _not_read(server.ref, (Kind.SERVER,), context),
        lambda: _parts_not_read(server, context),
        lambda: Judgement(Verdict.ASK, f"it is {holder} as well") if holder is not None else None,
        lambda: _moving(server, context),
        lambda: Judgement(Verdict.ASK, "it is protected at the provider") if server.protected else None,
        lambda: _takes_along(spared, server, context),
        lambda: None if context.world.states else Judgement(Verdict.ASK, "no stack was read that could own it"),
        lambda: _adopted(server.ref, context),
        lambda: _asks(claim, "stale_row", context),
        lambda: None if claim.proved else Judgement(Verdict.ASK, claim.why),
        lambda: Judgement(Verdict.ACT, claim.why),
    )


def judge_unrecorded(server: Server, context: Context) -> Judgement:
    """For a running machine of an elastic fleet that no row knows."""
    problems = sorted(context.world.desired.problems)
    return _first(
        lambda: _not_read(server.ref, (Kind.SERVER,), context),
        lambda: Judgement(Verdict.UNKNOWN, f"its fleet may be another's: {problems[0]}") if problems else None,
        lambda: _moving(server, context),
        lambda: _held(server, context),  # the row of another scope may
        lambda: _from_elsewhere(server.ref, context),
        lambda: _grace(server, context),
        lambda: Judgement(Verdict.ACT, "it runs, and no row knows it"),
    )


def judge_child(child: Ip | Volume, claim: Claim, context: Context) -> Judgement:
    """For an IP or volume that nothing uses."""
    return _first(
        # A server that was not listed may be using it.
        lambda: _not_read(child.ref, (child.ref.kind, Kind.SERVER), context),
        lambda: _bookings_not_read(child, context),
        lambda: _moving(child, context),
        *_common(child, claim, f"detached_{child.ref.kind.value}", context),
    )


def _first(*questions: _Question) -> Judgement:
    for ask in questions:
        judgement = ask()
        if judgement is not None:
            return judgement
    raise AssertionError("the last question always has an answer")


def _common(resource: Resource, claim: Claim, action_key: str, context: Context) -> tuple[_Question, ...]:
    return (
        lambda: None if context.world.states else Judgement(Verdict.ASK, "no stack was read that could own it"),
        lambda: _decided(resource.ref, context),
        lambda: _held(resource, context),
        lambda: _from_elsewhere(resource.ref, context),
        lambda: _grace(resource, context),
        lambda: _asks(claim, action_key, context),
        lambda: None if claim.proved else Judgement(Verdict.ASK, claim.why),
        lambda: _part_of_a_machine(resource, context),
        lambda: Judgement(Verdict.ACT, f"in no ledger: {claim.why}"),
    )


def _not_read(ref: Ref, kinds: Iterable[Kind], context: Context) -> Judgement | None:
    for kind in kinds:
        why = context.why_incomplete(kind, ref.zone)
        if why is not None:
            return Judgement(Verdict.UNKNOWN, why)
    if context.unread is not None:
        return Judgement(Verdict.UNKNOWN, f"{context.unread} may own it and could not be read")
    return None


def _bookings_not_read(child: Ip | Volume, context: Context) -> Judgement | None:
    """IPAM alone knows of users that are no servers: gateways, load balancers."""
    why = context.why_incomplete(Kind.IPAM, region_of(child.zone)) if isinstance(child, Ip) else None
    return Judgement(Verdict.UNKNOWN, why) if why is not None else None


def _parts_not_read(server: Server, context: Context) -> Judgement | None:
    """What a server has and no list shows would be destroyed, or let loose, unseen."""
    for ref in own_refs(server):
        if ref.kind is not Kind.NIC and context.index.get(ref) is None:
            return Judgement(Verdict.UNKNOWN, f"its {ref} was not read")
    problems = sorted(context.world.desired.problems)
    return Judgement(Verdict.UNKNOWN, f"it may fit a slot: {problems[0]}") if problems else None


def _moving(resource: Resource, context: Context) -> Judgement | None:
    if context.live_anywhere is not None:
        return Judgement(Verdict.WAIT, f"{context.live_anywhere}; it may be taking this into its state")
    if settled(resource):
        return None
    state = getattr(resource, "status", None) or getattr(resource, "state", "")
    return Judgement(Verdict.ASK if stuck(resource) else Verdict.WAIT, f"it is {state}")


def _takes_along(spared: Iterable[Resource], server: Server, context: Context) -> Judgement | None:
    for child in spared:
        row = context.rows.holder_beside(child, server.ref, context.memory)
        if row is not None:
            return Judgement(Verdict.ASK, f"it uses {child.ref}, which the row of worker {row.id} holds")
        holder = context.authority.holder(child.id)
        if holder is not None:
            return Judgement(Verdict.ASK, f"it uses {child.ref}, which is {holder}: adopt it, or detach that first")
        if child.ref in context.memory.released and child.ref.kind is Kind.NIC:
            return Judgement(Verdict.ASK, f"its termination would destroy {child.ref}, which was released")
        if child.ref.kind is Kind.INSTANCE_VOLUME:
            return Judgement(Verdict.ASK, f"its termination would destroy {child.ref}, which is not proved ours")
    return None


def _fits_a_slot(server: Server, claim: Claim, context: Context) -> Judgement | None:
    fleet = context.fleets.get(tag_value(server.tags, FLEET_TAG) or "")
    slot = tag_value(server.tags, SLOT_TAG)
    if fleet is None or slot is None or tag_value(server.tags, REVISION_TAG) != fleet.revision:
        return None
    if not _is_slot(slot, fleet.replicas or 0) or server.ref in context.memory.doomed:
        return None
    found = places(server, fleet, slot, context)
    fits = f"slot {fleet.name}/{slot} is vacant and this machine fits"
    if isinstance(found, Unknown):
        return Judgement(Verdict.ASK, f"{fits}; {found.why}: `reconciler adopt {server.id}`, or destroy it")
    return (
        _held(server, context)
        or _from_elsewhere(server.ref, context)
        or _soon(found, fleet.stack, fits, server, context)
        or _asks(claim, "orphan", context)
        or Judgement(Verdict.ACT, f"{fits}: it is adopted", adopt=found, stack=fleet.stack)
    )


def _soon(found: Mapping[Ref, str], stack: str, fits: str, server: Server, context: Context) -> Judgement | None:
    """It is adopted once its grace is over: nobody is to read that it would be destroyed."""
    waits = _grace(server, context)
    return None if waits is None else replace(waits, reason=f"{fits}; {waits.reason}", adopt=found, stack=stack)


def _is_slot(text: str, replicas: int) -> bool:
    """A tag is text from outside: other scripts have digits too, and a number may have thousands of them."""
    return len(text) < 10 and text.isascii() and text.isdigit() and str(int(text)) == text and int(text) < replicas


def _part_of_a_machine(child: Resource, context: Context) -> Judgement | None:
    """Taken off a machine that is still there: for a rescue, say. Its state will want it back.

    Once a refresh has taken the detachment into the state, no entry names the part any more; the memory does, which
    saw it made with the machine.
    """
    part = context.parts.get(child.id)
    if part is not None and _may_be_there(part.server_id, context):
        return Judgement(Verdict.ASK, f"it is a part of {part.holder}")
    line = context.memory.lineage.get(child.ref)
    made_with = line.server_id if line is not None else None
    if made_with is not None and _may_be_there(made_with, context):
        return Judgement(Verdict.ASK, f"it was made with server {made_with}, which is still there")
    return None


def _may_be_there(server_id: str, context: Context) -> bool:
    probe = context.index.probed[Kind.SERVER].get(server_id)
    if probe is not None:
        return probe.presence is not Presence.ABSENT
    return server_id in context.held or server_id in context.index.by_kind[Kind.SERVER]


def _decided(ref: Ref, context: Context) -> Judgement | None:
    if ref in context.memory.doomed:
        return Judgement(Verdict.ACT, "its deletion is decided and not finished")
    return None


def _held(resource: Resource, context: Context) -> Judgement | None:
    row = context.memory.recorded.get(resource.ref)
    named = (one for one in workers_of(resource.tags) if one in context.living)
    worker = row.worker if row is not None and row.holds else next(named, None)
    if worker is not None:
        return Judgement(Verdict.ASK, f"the row of worker {worker} holds it")
    return _adopted(resource.ref, context)


def _adopted(ref: Ref, context: Context) -> Judgement | None:
    if ref in context.memory.held:
        return Judgement(Verdict.ASK, "an adoption holds it")
    if context.pending:
        return Judgement(Verdict.ASK, "an interrupted operation may have made it; settle that first")
    return None


def _from_elsewhere(ref: Ref, context: Context) -> Judgement | None:
    """A stack that is no longer among those that are read cannot say that it still wants a thing.

    Another backend, a pattern that matches less, a stack taken off the list: all look as if everything were left.
    """
    line = context.memory.lineage.get(ref)
    if line is not None and line.stack is not None and line.stack not in context.world.states:
        return Judgement(Verdict.ASK, f"it came from stack {line.stack}, which is not among those that are read")
    return None


def _grace(resource: Resource, context: Context) -> Judgement | None:
    due = grace_ends(resource, scope=context.scope, memory=context.memory, now_ms=context.now_ms)
    return Judgement(Verdict.WAIT, "its grace has not passed", due) if due > context.now_ms else None


def _asks(claim: Claim, action_key: str, context: Context) -> Judgement | None:
    for rule in context.scope.fleets:
        if rule.name == claim.fleet and dict(rule.actions).get(action_key) == "ask":
            return Judgement(Verdict.ASK, f"fleet {claim.fleet} asks before it destroys")
    return None

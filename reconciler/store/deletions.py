"""The deletion protocol: decide, commit, and only then hand out the licence to destroy.

This is the only module that makes a `Warrant`, and it makes one only from what a committed transaction returned: a
warrant in somebody's hand is a decision on disk. Each transaction here takes the scope's mutex, then checks the lease
(so that a takeover waits, and a deposed leader is stopped), then the rows of resources by id, then the deletion.

A decision is never taken back. Its ids end one by one: proved absent, or *struck* because rule 7 refused them. Either
way the doomed row goes away in the same transaction, and a later hold or decision makes a new row.

Every operation may be repeated after an answer that was lost: deciding gives the open deletion again, striking and
extending twice are once, finalising what is finished is done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import RefusedError, StoreError
from reconciler.kernel.ids import Ids
from reconciler.model.resources import Ref
from reconciler.model.warrant import Deletion, DeletionStage, Warrant
from reconciler.ports.store import Lease
from reconciler.store.claims import (
    TEXT_LIMIT,
    Request,
    capture,
    change,
    doomed_already,
    finished,
    held,
    lock_claim,
    new_claim,
    open_claim_on,
    outdated,
    refusal,
)
from reconciler.store.deletion_rows import HOUR_MS, decided_since, refs_in, target_of
from reconciler.store.failures import Broken, ConstraintBroken
from reconciler.store.leases import fence
from reconciler.store.locks import lock_scope
from reconciler.store.resources import doom, eligible, is_ref, note_and_lock, ref_of
from reconciler.store.tables import deletion_claims, deletion_refs, lineage, provider_resources, sightings
from reconciler.store.text import storable
from reconciler.store.unit import Database
from reconciler.store.workers import doom_worker


@dataclass(frozen=True, slots=True)
class _Kept:
    """A deletion as a transaction left it; it becomes a warrant after the commit."""

    claim: Row[Any]
    refs: tuple[Row[Any], ...]


class Deletions:
    def __init__(self, database: Database, *, clock: Clock, ids: Ids) -> None:
        self._database, self._clock, self._ids = database, clock, ids

    def decide(self, request: Request, *, lease: Lease) -> Warrant:
        """Raises NotLeaderError, RefusedError RC0621 (held), RC0622 (rate rail), RC0626 (doomed by another); with a
        worker also RC0230 and RC0231 (its row is not the one that was judged)."""
        with _composite_key(request.refs):
            return _warrant(self._database.write("decide_deletion", lambda c: self._decide(c, request, lease)))

    def extend(self, warrant: Warrant, found: Collection[Ref], *, lease: Lease) -> Warrant:
        """A found id that may not be doomed is kept as struck, with the reason, and is never in the warrant."""
        with _composite_key(found):
            return _warrant(self._database.write("extend_deletion", lambda c: self._extend(c, warrant, found, lease)))

    def strike(self, warrant: Warrant, ref: Ref, why: str, *, lease: Lease) -> Warrant:
        """Raises StoreError RC0217 for an id that the deletion never captured."""
        return _warrant(self._database.write("strike", lambda c: self._strike(c, warrant, ref, why, lease)))

    def take_over(self, deletion: Deletion, *, lease: Lease) -> Warrant:
        """A warrant for an open deletion under this lease; the ids are read anew, not taken from the value."""
        return _warrant(self._database.write("warrant_of", lambda c: self._take_over(c, deletion, lease)))

    def note_sent(self, warrant: Warrant, *, lease: Lease) -> None:
        """A delete was sent: one attempt more."""

        def work(connection: Connection) -> None:
            claim = self._open(connection, warrant, lease)
            values = {"stage": DeletionStage.DELETE_SENT.value, "sent_ms": self._clock.now_ms()}
            change(connection, claim, attempts=claim.attempts + 1, **values)

        self._database.write("note_sent", work)

    def note_error(self, warrant: Warrant, error: str, retry_seconds: float, *, lease: Lease) -> None:
        """The attempt failed; one that failed before anything was sent counts as an attempt too."""

        def work(connection: Connection) -> None:
            claim, now = self._open(connection, warrant, lease), self._clock.now_ms()
            counted = claim.sent_ms is not None and claim.sent_ms > (claim.last_error_ms or 0)
            change(
                connection,
                claim,
                attempts=claim.attempts + (0 if counted else 1),
                last_error=storable(error, limit=TEXT_LIMIT),
                last_error_ms=now,
                next_attempt_ms=now + int(retry_seconds * 1000),
            )

        self._database.write("note_error", work)

    def finalise(self, warrant: Warrant, proved_absent: Collection[Ref], *, lease: Lease) -> bool:
        """Close it when every id that is not struck is proved absent; False, and nothing written, otherwise."""
        proved = frozenset(proved_absent)
        return self._database.write("finalise_deletion", lambda c: self._finalise(c, warrant, proved, lease))

    # -- inside the transactions

    def _decide(self, connection: Connection, request: Request, lease: Lease) -> _Kept:
        now = self._clock.now_ms()
        lock_scope(connection, request.scope, now_ms=now)
        fence(connection, lease)
        claim = open_claim_on(connection, request.target)
        if claim is not None:
            if claim.scope_id != request.scope:
                raise doomed_already(request.target, f"deletion {claim.id} of another scope")
            return self._under(connection, claim, lease)
        decided = decided_since(connection, request.scope, now - HOUR_MS)
        if decided >= request.per_hour:
            raise RefusedError(
                f"{decided} deletions were decided within the last hour; the limit is {request.per_hour}",
                code="RC0622",
                hint="Wait, or raise limits.lifecycle.per_hour.",
            )
        deletion_id = self._ids.new()
        connection.execute(insert(deletion_claims).values(new_claim(request, deletion_id, lease.token, now)))
        if request.worker is not None:  # its hold goes here, so that the view may list what it held
            doom_worker(connection, request.worker, request.target, deletion_id=deletion_id, now_ms=now)
        noted = note_and_lock(connection, request.refs, scope=request.scope, ids=self._ids, now_ms=now)
        allowed = eligible(connection, noted)
        for ref in sorted(request.refs - allowed):
            raise refusal(connection, ref, noted)
        doom(connection, list(noted.values()), deletion_id=deletion_id)
        capture(connection, deletion_id, request.refs, now_ms=now)
        return _kept(connection, deletion_id)

    def _extend(self, connection: Connection, warrant: Warrant, found: Collection[Ref], lease: Lease) -> _Kept:
        now = self._clock.now_ms()
        claim = self._open(connection, warrant, lease)
        new = frozenset(found) - {ref_of(row) for row in refs_in(connection, claim.id)}
        if new:
            noted = note_and_lock(connection, new, scope=claim.scope_id, ids=self._ids, now_ms=now)
            allowed = eligible(connection, noted)
            if allowed:
                doom(connection, [noted[ref] for ref in allowed], deletion_id=claim.id)
                capture(connection, claim.id, allowed, now_ms=now)
            for ref in new - allowed:
                why = str(refusal(connection, ref, noted))
                capture(connection, claim.id, [ref], now_ms=now, struck_ms=now, why=why)
        return _kept(connection, claim.id)

    def _strike(self, connection: Connection, warrant: Warrant, ref: Ref, why: str, lease: Lease) -> _Kept:
        claim = self._open(connection, warrant, lease)
        mine = (deletion_refs.c.deletion_id == claim.id) & is_ref(deletion_refs, ref)
        row = connection.execute(select(deletion_refs).where(mine)).one_or_none()
        if row is None:
            raise StoreError(f"{ref} is no part of the deletion {claim.id}", code="RC0217")
        if row.struck_ms is None:
            reason = storable(why, limit=TEXT_LIMIT)
            connection.execute(update(deletion_refs).where(mine).values(struck_ms=self._clock.now_ms(), why=reason))
            doomed = (provider_resources.c.deletion_id == claim.id) & is_ref(provider_resources, ref)
            connection.execute(delete(provider_resources).where(doomed))
        return _kept(connection, claim.id)

    def _take_over(self, connection: Connection, deletion: Deletion, lease: Lease) -> _Kept:
        lock_scope(connection, deletion.scope, now_ms=self._clock.now_ms())
        fence(connection, lease)
        claim = lock_claim(connection, deletion.id)
        if claim.finished_ms is not None:
            raise finished(claim)
        return self._under(connection, claim, lease)

    def _finalise(self, connection: Connection, warrant: Warrant, proved: frozenset[Ref], lease: Lease) -> bool:
        claim = self._locked(connection, warrant, lease)
        if claim.finished_ms is not None:
            return True
        rows = refs_in(connection, claim.id)
        gone = [ref_of(row) for row in rows if row.struck_ms is None]
        if not proved.issuperset(gone):
            return False
        now = self._clock.now_ms()
        for ref in gone:
            connection.execute(
                update(deletion_refs)
                .where(deletion_refs.c.deletion_id == claim.id, is_ref(deletion_refs, ref))
                .values(absent_ms=now)
            )
            for memory in (sightings, lineage):  # a UUID is not used again: nothing will ever ask for it
                connection.execute(delete(memory).where(memory.c.scope_id == claim.scope_id, is_ref(memory, ref)))
        connection.execute(
            delete(provider_resources).where(provider_resources.c.deletion_id == claim.id),
            execution_options={"step": "finalise.rows"},
        )
        outcome = "gone" if len(gone) == len(rows) else "partly_struck" if gone else "struck"
        change(connection, claim, stage=DeletionStage.FINALIZED.value, finished_ms=now, outcome=outcome)
        return True

    # -- what they share

    def _locked(self, connection: Connection, warrant: Warrant, lease: Lease) -> Row[Any]:
        """Scope, lease, deletion: locked, and the warrant is of the token that now owns the deletion."""
        lock_scope(connection, warrant.scope, now_ms=self._clock.now_ms())
        fence(connection, lease)
        claim = lock_claim(connection, warrant.deletion_id)
        if not warrant.fence_token == claim.fence_token == lease.token:
            raise outdated(claim, min(warrant.fence_token, lease.token))
        return claim

    def _open(self, connection: Connection, warrant: Warrant, lease: Lease) -> Row[Any]:
        claim = self._locked(connection, warrant, lease)
        if claim.finished_ms is not None:
            raise finished(claim)
        return claim

    def _under(self, connection: Connection, claim: Row[Any], lease: Lease) -> _Kept:
        """The open deletion, owned by this lease's token from now on."""
        if claim.fence_token > lease.token:
            raise outdated(claim, lease.token)
        if claim.fence_token < lease.token:
            change(connection, claim, fence_token=lease.token)
        return _kept(connection, claim.id)


@contextmanager
def _composite_key(refs: Collection[Ref]) -> Iterator[None]:
    """Around a unit of work that dooms `refs`: the composite key may see a hold that the view was never told of."""
    try:
        yield
    except ConstraintBroken as error:
        if error.broken is Broken.FOREIGN_KEY:
            raise held(f"one of {', '.join(str(ref) for ref in sorted(refs))} is held") from error
        raise


def _warrant(kept: _Kept) -> Warrant:
    """The licence. Called with what a unit of work returned, so after its commit."""
    claim = kept.claim
    return Warrant(
        deletion_id=claim.id,
        fence_token=claim.fence_token,
        scope=claim.scope_id,
        project=claim.project,
        target=target_of(claim),
        refs=frozenset(ref_of(row) for row in kept.refs if row.struck_ms is None),
    )


def _kept(connection: Connection, deletion_id: str) -> _Kept:
    claim = connection.execute(select(deletion_claims).where(deletion_claims.c.id == deletion_id)).one()
    return _Kept(claim, refs_in(connection, deletion_id))

"""Releases: a person said that these are not ours to manage any more.

The row is written before the state lets go of a resource, because the moment after that a sweep would find a machine
with our tags in no ledger. It stays *begun* until the owner tags are gone too, and it ends when a state holds the
resource again. Like an adoption it is a hold by a composite key: what is released cannot be doomed, and the other way
round; whoever commits first wins.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, insert, select, update

from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import RefusedError
from reconciler.kernel.ids import Ids
from reconciler.model.memory import Release
from reconciler.model.resources import Ref
from reconciler.store.failures import Broken, ConstraintBroken
from reconciler.store.holds import hold_on
from reconciler.store.locks import insert_missing
from reconciler.store.resources import is_ref, note_and_lock, ref_of, ref_values
from reconciler.store.tables import releases, scopes
from reconciler.store.text import storable
from reconciler.store.unit import Database

_TEXT_LIMIT = 2_000


class Releases:
    def __init__(self, database: Database, *, clock: Clock, ids: Ids) -> None:
        self._database, self._clock, self._ids = database, clock, ids

    def note(self, scope: str, items: Sequence[Release], *, by: str, reason: str) -> None:
        """All of them or none. One that is released already stays as it is.

        Raises RefusedError RC0686 (its deletion is decided), RC0687 (an adoption holds it).
        """
        try:
            self._database.write("begin_release", lambda connection: self._begin(connection, scope, items, by, reason))
        except ConstraintBroken as error:
            if error.broken is Broken.FOREIGN_KEY:
                raise _doomed(items[0].ref) from error
            raise

    def _begin(self, connection: Connection, scope: str, items: Sequence[Release], by: str, reason: str) -> None:
        now = self._clock.now_ms()
        insert_missing(connection, scopes, [{"id": scope, "noted_ms": now}])
        noted = note_and_lock(connection, [one.ref for one in items], scope=scope, ids=self._ids, now_ms=now)
        open_now = {
            row.resource_id for row in connection.execute(select(releases).where(releases.c.resource_live == 1)).all()
        }
        for item in sorted(items, key=lambda one: one.ref):
            row = noted[item.ref]
            if row.live is None:
                raise _doomed(item.ref)
            hold = hold_on(connection, row.id)
            if hold is not None:
                raise RefusedError(
                    f"{item.ref} is held for {hold.urn} of {hold.stack}",
                    code="RC0687",
                    hint="Nothing was released; finish or release the adoption first.",
                )
            if row.id in open_now:
                continue
            values: dict[str, Any] = {
                "id": self._ids.new(),
                "scope_id": scope,
                "resource_id": row.id,
                **ref_values(item.ref),
                "with_id": item.with_id,
                "stack": storable(item.stack),
                "urn": storable(item.urn),
                "released_by": storable(by, limit=_TEXT_LIMIT),
                "reason": storable(reason, limit=_TEXT_LIMIT),
                "begun_ms": now,
            }
            connection.execute(insert(releases).values(values), execution_options={"step": "releases.insert"})

    def finish(self, scope: str, refs: Collection[Ref]) -> None:
        """Their owner tags are gone as well."""
        now = self._clock.now_ms()

        def work(connection: Connection) -> None:
            for ref in sorted(refs):
                wanted = (releases.c.scope_id == scope) & is_ref(releases, ref) & releases.c.done_ms.is_(None)
                connection.execute(update(releases).where(wanted, releases.c.ended_ms.is_(None)).values(done_ms=now))

        self._database.write("finish_release", work)

    def cancel(self, scope: str, refs: Collection[Ref]) -> None:
        """They never left their state; what is done is not taken back."""
        now = self._clock.now_ms()

        def work(connection: Connection) -> None:
            for ref in sorted(refs):
                wanted = (releases.c.scope_id == scope) & is_ref(releases, ref) & releases.c.done_ms.is_(None)
                values = {"resource_live": None, "ended_ms": now}
                connection.execute(update(releases).where(wanted, releases.c.ended_ms.is_(None)).values(values))

        self._database.write("cancel_release", work)


def read_releases(connection: Connection) -> dict[Ref, Release]:
    """The open ones of the whole database: an id means the same thing in every scope."""
    found = connection.execute(select(releases).where(releases.c.resource_live == 1))
    return {
        (ref := ref_of(row)): Release(
            ref=ref, with_id=row.with_id, stack=row.stack, urn=row.urn, begun_ms=row.begun_ms, done_ms=row.done_ms
        )
        for row in found
    }


def end_releases(connection: Connection, refs: Collection[Ref], *, at_ms: int) -> int:
    """A state holds these again; how many rows ended."""
    ended = 0
    for ref in sorted(refs):
        wanted = is_ref(releases, ref) & (releases.c.resource_live == 1) & releases.c.done_ms.is_not(None)
        statement = update(releases).where(wanted).values(resource_live=None, ended_ms=at_ms)
        ended += connection.execute(statement).rowcount
    return ended


def _doomed(ref: Ref) -> RefusedError:
    return RefusedError(
        f"the deletion of {ref} is decided",
        code="RC0686",
        hint="A decision is never taken back. Nothing was released.",
    )

"""Holds: an adoption into Pulumi state forbids the deletion of the resource while it lasts.

The acquirer locks the resource's row and reads `live` after the lock; the composite key stands behind it. Whoever
commits first wins, and the other is refused: there is no order of the two in which both succeed.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import RefusedError
from reconciler.kernel.ids import Ids
from reconciler.model.resources import Ref
from reconciler.store.failures import Broken, ConstraintBroken
from reconciler.store.locks import insert_missing
from reconciler.store.resources import note_and_lock
from reconciler.store.tables import adoptions, scopes
from reconciler.store.text import storable
from reconciler.store.unit import Database


class Holds:
    def __init__(self, database: Database, *, clock: Clock, ids: Ids) -> None:
        self._database, self._clock, self._ids = database, clock, ids

    def acquire(self, *, scope: str, ref: Ref, stack: str, urn: str) -> str:
        """The id of the hold; the same again for the same stack and URN.

        Raises RefusedError RC0623 (its deletion is decided), RC0624 (held for another URN), RC0625 (the URN holds
        another resource).
        """
        stack, urn = storable(stack), storable(urn)
        try:
            return self._database.write(
                "hold_for_adoption", lambda connection: self._acquire(connection, scope, ref, stack, urn)
            )
        except ConstraintBroken as error:
            if error.broken is Broken.FOREIGN_KEY:
                raise _doomed(ref) from error
            if error.broken is Broken.UNIQUE:
                raise RefusedError(
                    f"{urn} of {stack} already holds another resource than {ref}",
                    code="RC0625",
                    hint="Finish or release that adoption first.",
                ) from error
            raise

    def _acquire(self, connection: Connection, scope: str, ref: Ref, stack: str, urn: str) -> str:
        now = self._clock.now_ms()
        insert_missing(connection, scopes, [{"id": scope, "noted_ms": now}])
        resource = note_and_lock(connection, [ref], scope=scope, ids=self._ids, now_ms=now)[ref]
        if resource.live is None:
            raise _doomed(ref)
        held = hold_on(connection, resource.id)
        if held is not None:
            if (held.stack, held.urn) == (stack, urn):
                return str(held.id)
            raise RefusedError(
                f"{ref} is held for {held.urn} of {held.stack}", code="RC0624", hint="One resource has one URN."
            )
        values: dict[str, Any] = {
            "id": self._ids.new(),
            "resource_id": resource.id,
            "stack": stack,
            "urn": urn,
            "held_ms": now,
        }
        connection.execute(insert(adoptions).values(values), execution_options={"step": "holds.insert"})
        return str(values["id"])

    def release(self, adoption_id: str) -> None:
        """Let go; nothing happens for a hold that was released before."""
        statement = (
            update(adoptions)
            .where(adoptions.c.id == adoption_id, adoptions.c.released_ms.is_(None))
            .values(resource_live=None, released_ms=self._clock.now_ms())
        )
        self._database.write("release_adoption", lambda connection: connection.execute(statement))


def hold_on(connection: Connection, resource_id: str) -> Row[Any] | None:
    """The open hold on a resource."""
    statement = select(adoptions).where(adoptions.c.resource_id == resource_id, adoptions.c.resource_live == 1)
    return connection.execute(statement).one_or_none()


def _doomed(ref: Ref) -> RefusedError:
    return RefusedError(
        f"the deletion of {ref} is decided",
        code="RC0623",
        hint="A decision is never taken back; see `reconciler deletions`.",
    )

"""Lies about ends: what was accepted and does not happen, happens late, or is taken back.

Accepted is not gone (rule 6): the only difference between a deletion that works and one that never will is what a later
read shows. These kinds change what happens. Everything they leave is whole: nothing in it points at nothing, but for
the reference of a volume that has not yet understood that its server is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from reconciler.kernel.randomness import Randomness
from reconciler.simulator.lies.asked import Asked
from reconciler.simulator.lies.behaviour import Behaviour, LieKind, Meet
from reconciler.simulator.lies.journal import Journal
from reconciler.simulator.lies.keys import Key
from reconciler.simulator.lies.restore import Remains, gather, restore
from reconciler.simulator.records import BlockVolume
from reconciler.simulator.wire import Response
from reconciler.simulator.world import Change, World

_FOREVER: Final = "0 for ever"


class _End(Behaviour):
    def concerns(self, asked: Asked) -> bool:
        return asked.ends

    def outcome(self, asked: Asked, dice: Randomness, response: Response, journal: Journal) -> Response:
        if response.status < 300:
            self.bend(asked, journal)
        return response

    def bend(self, asked: Asked, journal: Journal) -> None:
        raise NotImplementedError


class _Stays(_End):
    def bend(self, asked: Asked, journal: Journal) -> None:
        journal.undo()
        if wait_ms := self.lie.number("for_ms"):
            asked.later(asked.now_ms + wait_ms, asked.again)


class _Undone(_End):
    """It goes as it should, and is back `after_gone_ms` later."""

    def bend(self, asked: Asked, journal: Journal) -> None:
        remains = gather(asked.kind, asked.target, journal)
        if remains is not None:
            asked.later(asked.now_ms + self.lie.number("back_ms"), _Back(asked, remains))


class _Back:
    """Waits until the object is gone, then brings it back."""

    def __init__(self, asked: Asked, remains: Remains) -> None:
        self._asked, self._remains = asked, remains

    def __call__(self, world: World, now_ms: int) -> None:
        if self._remains.id not in world.tables()[self._remains.kind]:
            restore(world, self._remains, now_ms=now_ms)
        elif any(item.op == "server_gone" and item.target == self._remains.id for item in world.pending()):
            self._asked.later(now_ms + 1000, self)


class _Sticks(_End):
    """A terminate that never ends, or late: the server is `stopping` or `locked` until then."""

    def concerns(self, asked: Asked) -> bool:
        return asked.terminates

    def bend(self, asked: Asked, journal: Journal) -> None:
        world, wait_ms = asked.world, self.lie.number("for_ms")
        ends = [item for item in world.pending() if (item.op, item.target) == ("server_gone", asked.target)]
        world.replace_pending(item for item in world.pending() if item not in ends)
        server = world.servers.get(asked.target)
        if server is None:
            return
        locked = self.lie.text("state") == "locked"
        if locked:
            world.servers.put(replace(server, state="locked", state_detail=""))
        if not wait_ms:
            return
        due = asked.now_ms + wait_ms
        if locked:
            detail: dict[str, str | int] = {
                "from": "locked",
                "state": "stopping",
                "detail": "terminating",
                "located": 1,
            }
            world.schedule(due, "server_state", server.id, **detail)
        for item in ends:
            world.schedule(due, item.op, item.target, **item.args)


class _Clings(Behaviour):
    """A block volume goes on saying `in_use`, by a server that is no more."""

    of_events = True

    def concerns(self, asked: Asked) -> bool:
        return False

    def heard(self, world: World, changes: Sequence[Change], meet: Meet) -> None:
        for change in changes:
            old = change.old
            if not isinstance(old, BlockVolume) or old.reference is None or old.reference.server in world.servers:
                continue
            if old.reference.status == "detaching":
                continue  # it has clung already
            now = world.block_volumes.get(old.id)
            if now is None or now.reference is not None or meet(old, old.zone, change.at_ms) is None:
                continue
            reference = replace(old.reference, status="detaching")
            world.block_volumes.put(replace(now, status="in_use", reference=reference, last_detached_ms=None))
            if wait_ms := self.lie.number("for_ms"):
                world.schedule(change.at_ms + wait_ms, "block_detached", old.id)


def _wait(doc: str, *samples: int) -> Key:
    return Key(type="number", default=0, doc=f"{doc}; {_FOREVER}", samples=samples)


KINDS: Final = (
    LieKind(
        name="delete_stays",
        summary="a deletion is accepted and nothing happens, for ever or for a time",
        keys={"for_ms": _wait("how long until it happens after all", 0, 60_000, 3_600_000)},
        build=_Stays,
        changes=True,
    ),
    LieKind(
        name="delete_undone",
        summary="what was deleted is gone, and comes back",
        keys={
            "back_ms": Key(
                type="number", default=60_000, low=1, doc="after how long", samples=(10_000, 60_000, 3_600_000)
            )
        },
        build=_Undone,
        changes=True,
    ),
    LieKind(
        name="terminate_sticks",
        summary="a terminated server stays in `stopping`, or is `locked`, for ever or for a time",
        keys={
            "state": Key(
                type="choice",
                default="stopping",
                choices=("stopping", "locked"),
                doc="in which state",
                samples=("stopping", "locked"),
            ),
            "for_ms": _wait("how long until it is gone after all", 0, 60_000, 3_600_000),
        },
        build=_Sticks,
        changes=True,
    ),
    LieKind(
        name="volume_clings",
        summary="a block volume stays `in_use` after its server is gone, for ever or for a time",
        keys={"for_ms": _wait("how long", 0, 66_000, 600_000)},
        build=_Clings,
        changes=True,
    ),
)

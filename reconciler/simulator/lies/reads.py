"""Lies about what is there: lists that lag, shrink or are empty, and answers out of a cache.

All of them are views. Lists lag because they are served from an index that is filled later than the object itself is
written (cloud lists are documented as eventually consistent almost everywhere). A list that is empty or shrunk though
the caller has the right to see it all is the worst answer an inventory can get: 200, no error, and nothing in it
(incident R008).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reconciler.kernel.randomness import Randomness
from reconciler.simulator.lies.asked import Asked
from reconciler.simulator.lies.behaviour import Behaviour, LieKind
from reconciler.simulator.lies.dice import share
from reconciler.simulator.lies.keys import Key
from reconciler.simulator.lies.lie import Lie
from reconciler.simulator.lies.view import BentTable, View
from reconciler.simulator.wire import Response
from reconciler.simulator.world import Change

_LAG: Final = Key(type="number", default=5000, low=1, doc="how much later", samples=(500, 5000, 60_000))
_READS: Final = Key(
    type="choice",
    default="list",
    choices=("list", "get", "both"),
    doc="which reads lag: lists, reads by id, or both",
    samples=("list", "list", "both"),
)


class _Lag(Behaviour):
    """Reads show the objects as they were `lag_ms` ago."""

    def __init__(self, lie: Lie) -> None:
        super().__init__(lie)
        self.history_ms = lie.number("lag_ms")

    def concerns(self, asked: Asked) -> bool:
        reads = self.lie.text("reads")
        if asked.lists:
            return reads != "get"
        return reads != "list" and asked.reads and asked.by_id

    def see(self, asked: Asked, dice: Randomness, view: View) -> None:
        ids = self.lie.match.ids
        table = view.table(asked.kind)
        for item in self.history.since(asked.kind, asked.now_ms - self.history_ms).values():
            if not ids or item.id in ids:
                self.bend(item, asked.world.tables()[asked.kind].get(item.id), table)

    def bend(self, change: Change, now: object, table: BentTable) -> None:
        raise NotImplementedError


class _ListLag(_Lag):
    def bend(self, change: Change, now: object, table: BentTable) -> None:
        chosen = self.lie.words("changes")
        if change.old is None:
            if "create" in chosen:
                table.hide(change.id)
        elif now is None:
            if "delete" in chosen:
                table.show(change.old, order=change.order)
        elif "change" in chosen:
            table.show(change.old, order=change.order)


class _TagLag(_Lag):
    def bend(self, change: Change, now: object, table: BentTable) -> None:
        if change.old is not None and now is not None:
            table.show(replace(now, tags=change.old.tags), order=change.order)  # type: ignore[type-var]


class _Shrunk(Behaviour):
    """The same objects are missing from every page, and every total is lower by them: the list looks complete."""

    def concerns(self, asked: Asked) -> bool:
        return asked.lists

    def see(self, asked: Asked, dice: Randomness, view: View) -> None:
        if self.lie.match.ids:
            for item in self.lie.match.ids:
                view.table(asked.kind).hide(item)
            return
        lost, salt = self.lie.share("share"), self.lie.number("salt")
        view.table(asked.kind).hide_where(lambda item: share(salt, item) < lost)


class _Empty(Behaviour):
    def concerns(self, asked: Asked) -> bool:
        return asked.lists

    def see(self, asked: Asked, dice: Randomness, view: View) -> None:
        view.table(asked.kind).hide_where(lambda _item: True)


class _Stale(Behaviour):
    """What this address answered to this caller the last time it was fresh, refusals by 404 included."""

    def __init__(self, lie: Lie) -> None:
        super().__init__(lie)
        self._kept: dict[tuple[str | None, str, str], tuple[int, Response]] = {}

    def concerns(self, asked: Asked) -> bool:
        return asked.reads and (asked.lists or asked.by_id) and (self.lie.flag("lists") or not asked.lists)

    def after(self, asked: Asked, dice: Randomness, response: Response) -> Response:
        key = (asked.request.header("X-Auth-Token"), asked.request.path, asked.request.query)
        kept = self._kept.get(key)
        if kept is not None and asked.now_ms - kept[0] < self.lie.number("age_ms"):
            return kept[1]
        if response.status in {200, 404}:
            self._kept[key] = (asked.now_ms, response)
        return response


KINDS: Final = (
    LieKind(
        name="list_lag",
        summary="lists show creations and deletions later than a read by id does",
        keys={
            "lag_ms": _LAG,
            "changes": Key(
                type="choices",
                default=("create", "delete"),
                choices=("create", "delete", "change"),
                doc="what lags; change is any other change",
                samples=(("create", "delete"), ("create",), ("delete",), ("create", "delete", "change")),
            ),
            "reads": _READS,
        },
        build=_ListLag,
        check=lambda lie: "" if lie.words("changes") else "changes is empty, so nothing lags",
    ),
    LieKind(
        name="tag_lag",
        summary="changed tags show later in lists, and in tag filters, than in a read by id",
        keys={"lag_ms": _LAG, "reads": _READS},
        build=_TagLag,
    ),
    LieKind(
        name="shrunk_list",
        summary="a share of the objects, or those of `ids`, is missing from a list whose totals agree with it",
        keys={
            "share": Key(type="share", default=0.5, doc="how much is missing", samples=(0.05, 0.5, 0.95)),
            "salt": Key(type="number", default=0, doc="another number hides others", samples=(0, 1, 2)),
        },
        build=_Shrunk,
    ),
    LieKind(
        name="empty_list",
        summary="a list answers 200 with nothing in it and a total of 0, though the caller may see it all",
        keys={},
        build=_Empty,
    ),
    LieKind(
        name="stale_answer",
        summary="a read is answered out of a cache: with what the same request was answered up to `age_ms` ago",
        keys={
            "age_ms": Key(type="number", default=30_000, low=1, doc="how long it is kept", samples=(1000, 30_000)),
            "lists": Key(type="flag", default=True, doc="whether lists are cached too", samples=(True, False)),
        },
        build=_Stale,
    ),
)

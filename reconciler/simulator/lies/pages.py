"""Lies about paging: what a list says while somebody creates and deletes between two of its pages, and what it says
when nobody does.

All lists page by offset, so a creation in front of page 2 makes the last object of page 1 appear again, and a deletion
makes one disappear from the listing altogether. Both are shown here without a change to the world: pages after the
first are cut from a view in which objects of the first page are missing, or strangers that exist nowhere are in front.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from reconciler.kernel.randomness import Randomness
from reconciler.simulator.lies.asked import Asked
from reconciler.simulator.lies.behaviour import Behaviour, LieKind
from reconciler.simulator.lies.keys import Key
from reconciler.simulator.lies.lie import Lie
from reconciler.simulator.lies.view import View
from reconciler.simulator.wire import Json, Response, dump, dump_v1


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page as it stands in an answer. `name` is the key of its objects; the total is in a header in v1."""

    body: Json
    name: str
    items: tuple[Json, ...]
    total: int
    headers: Mapping[str, str]

    @property
    def in_header(self) -> bool:
        return "X-Total-Count" in self.headers


def read_page(response: Response) -> Page | None:
    """None for what is no page of a list."""
    if response.status != 200:
        return None
    try:
        body = json.loads(response.body)
    except ValueError:
        return None
    lists = [key for key, value in body.items() if isinstance(value, list)] if isinstance(body, dict) else []
    if len(lists) != 1:
        return None
    total = response.headers.get("X-Total-Count", body.get("total_count"))
    if total is None:
        return None
    items = tuple(body[lists[0]])
    return Page(body=body, name=lists[0], items=items, total=int(total), headers=response.headers)


def write_page(asked: Asked, response: Response, page: Page, *, items: tuple[Json, ...], total: int) -> Response:
    """The same answer with other objects in it and another total."""
    body, headers = {**page.body, page.name: list(items)}, dict(response.headers)
    if page.in_header:
        headers["X-Total-Count"] = str(total)
    else:
        body["total_count"] = total
    write = dump_v1 if asked.route.template.startswith("/instance/v1/") else dump
    return replace(response, headers=headers, body=write(body))


class _Listing(Behaviour):
    """A lie about lists."""

    def concerns(self, asked: Asked) -> bool:
        return asked.lists

    def after(self, asked: Asked, dice: Randomness, response: Response) -> Response:
        page = read_page(response)
        return response if page is None else self.bend(asked, dice, response, page)

    def bend(self, asked: Asked, dice: Randomness, response: Response, page: Page) -> Response:
        return response


class _Shift(_Listing):
    """Told to every page after the first of a listing whose first page it has seen."""

    def __init__(self, lie: Lie) -> None:
        super().__init__(lie)
        self._first: dict[str, tuple[str, ...]] = {}

    def see(self, asked: Asked, dice: Randomness, view: View) -> None:
        if asked.first_page:
            return
        table = view.table(asked.kind)
        first = self._first.get(asked.listing, ())[: self.lie.number("by")]
        if self.lie.text("how") == "deletes":
            for item in first:
                table.hide(item)
            return
        for item in first:
            record = asked.world.tables()[asked.kind].get(item)
            if record is not None:
                stranger = str(uuid.uuid5(uuid.NAMESPACE_OID, item))
                table.show(replace(record, id=stranger, created_ms=asked.now_ms), order=1 << 62)

    def bend(self, asked: Asked, dice: Randomness, response: Response, page: Page) -> Response:
        if asked.first_page:
            self._first[asked.listing] = tuple(str(item.get("id", "")) for item in page.items)
        return response


class _WrongTotal(_Listing):
    def bend(self, asked: Asked, dice: Randomness, response: Response, page: Page) -> Response:
        by = self.lie.number("by")
        if self.lie.flag("moves"):
            by = round(dice.uniform(-abs(by), abs(by)))
        return write_page(asked, response, page, items=page.items, total=max(0, page.total + by))


class _Duplicate(_Listing):
    """The last objects of a page again at the head of the next one."""

    def __init__(self, lie: Lie) -> None:
        super().__init__(lie)
        self._last: dict[str, tuple[Json, ...]] = {}

    def bend(self, asked: Asked, dice: Randomness, response: Response, page: Page) -> Response:
        again = () if asked.first_page or not page.items else self._last.get(asked.listing, ())
        kept = page.items[: len(page.items) - len(again)] if self.lie.flag("displaces") else page.items
        shown = (*again, *kept)
        self._last[asked.listing] = shown[-self.lie.number("count") :]
        return write_page(asked, response, page, items=shown, total=page.total) if again else response


class _Missing(_Listing):
    """Objects are left out of their page, and the total still counts them, or not, as `total` says."""

    def bend(self, asked: Asked, dice: Randomness, response: Response, page: Page) -> Response:
        chosen = self.lie.match.ids
        if chosen:
            kept = tuple(item for item in page.items if item.get("id") not in chosen)
        else:
            left = list(page.items)
            for _ in range(min(self.lie.number("count"), len(left))):
                left.pop(min(int(dice.uniform(0, len(left))), len(left) - 1))
            kept = tuple(left)
        lost = len(page.items) - len(kept)
        total = page.total - (lost if self.lie.text("total") == "lowered" else 0)
        return write_page(asked, response, page, items=kept, total=total)


def _count(default: int, doc: str) -> Key:
    return Key(type="number", default=default, low=1, high=100, doc=doc, samples=(1, 2, 5))


KINDS: Final = (
    LieKind(
        name="page_shift",
        summary="somebody creates or deletes between the first page of a listing and the others",
        keys={
            "how": Key(
                type="choice",
                default="deletes",
                choices=("deletes", "creates"),
                doc="what happens in between",
                samples=("deletes", "creates"),
            ),
            "by": _count(1, "how many objects"),
        },
        build=_Shift,
    ),
    LieKind(
        name="wrong_total",
        summary="a list counts wrongly: by the same on every page, or by something else on each",
        keys={
            "by": Key(type="number", default=-1, low=-(10**6), doc="how far off", samples=(-3, -1, 1, 100)),
            "moves": Key(
                type="flag", default=False, doc="another error, from -by to by, on each page", samples=(True, False)
            ),
        },
        build=_WrongTotal,
        check=lambda lie: "" if lie.number("by") else "by 0 is the right total",
    ),
    LieKind(
        name="duplicate_item",
        summary="the last objects of a page are on the next one too",
        keys={
            "count": _count(1, "how many"),
            "displaces": Key(
                type="flag", default=True, doc="as many others fall off the end of the page", samples=(True, False)
            ),
        },
        build=_Duplicate,
    ),
    LieKind(
        name="missing_item",
        summary="objects are left out of their page",
        keys={
            "count": _count(1, "how many of each page, where `ids` names none"),
            "total": Key(
                type="choice",
                default="kept",
                choices=("kept", "lowered"),
                doc="whether the total of that page still counts them",
                samples=("kept", "lowered"),
            ),
        },
        build=_Missing,
    ),
)

"""The proof that a list was read whole.

All of Scaleway's lists page by offset, and the world moves while they are read. The classic trap: an ascending list of
150, 100 a page; after page 1 number 50 is deleted and number 151 created. The total stays 150, 150 different ids are
read, and number 101 has slid into page 1 unseen.

A list is *complete* when it was read without an error and one of two theorems holds. Both speak of an object x that
existed from the first request to the last, and of pages that are cuts of the list at a moment, with the total of that
moment.

**Newest first, one pass.** Every page shows the same total; ids are unique and as many as the total; the creation
dates that came never rise. Then x was read. *Why*: what is created during the pass lands before x, what is deleted is
newer or older than x. Between two pages the total did not change, so creations = deletions (newer) + deletions
(older), and x moved by creations - deletions (newer) = deletions (older) >= 0 places. x never moves towards the pages
already read, so it cannot slip past; it is met at the latest on the last page, because its place is always below the
total. (Objects with equal dates may swap; among them x can only be missed if another of them is read twice, which
unique ids exclude.)

**Any order, two passes.** Each pass shows one total on all its pages and as many unique ids, and both passes gave the
same set of ids A. Then x is in A. *Why*: ids are not used again, so what both passes saw existed in between; at the
end of the first pass all of A existed and the total said |A|. An x outside of A would make |A| + 1. This needs no
order at all, and it holds for the same shift in both passes: hiding one x twice takes a deletion of something read,
and the deleted thing is missing in the second pass.

What neither can see: an API whose total is wrong by the very object it hides, and one that inserts late (an old date
that becomes visible during the pass, behind x). So no list alone is a proof of absence; a typed 404 by id is the other
half (`proofs`).

A list that moved is read again from the start, three times at most; an error is not a movement and ends the reading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import ge
from typing import Final, TypeAlias

from reconciler.cloud.wire import Page
from reconciler.model.resources import Resource

PAGE_SIZE: Final = 100
MAX_RESTARTS: Final = 3
MAX_PAGES: Final = 5000  # half a million objects of one kind in one place


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A page that could not be had.

    `denied`: 403. `missing`: the API itself says that it has no such route. `unrouted`: whoever answered knows no such
    route, typed or not.
    """

    reason: str
    denied: bool = False
    missing: bool = False
    unrouted: bool = False


# (page number from 1, page token or None) -> the page
Fetch: TypeAlias = Callable[[int, str | None], Page | Fault]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What was read. `items` hold each id once; without `complete` they prove presence only."""

    items: tuple[Resource, ...]
    complete: bool
    passes: int
    fault: Fault | None = None

    @property
    def reason(self) -> str | None:
        return None if self.fault is None else self.fault.reason


@dataclass(slots=True)
class _Pass:
    """One pass over a list, while it is read. `moved` says how the list was seen to change."""

    items: dict[str, Resource] = field(default_factory=dict)
    total: int | None = None
    first_size: int = 0
    last_size: int = 0
    pages: int = 0
    falling: bool = True  # creation dates came, and none was later than the one before it
    last_date: int | None = None
    moved: str | None = None
    fault: Fault | None = None

    def sound(self) -> bool:
        return self.moved is None and self.fault is None


def read_list(fetch: Fetch, *, newest_first: bool, tokens: bool = False) -> Listing:
    """Read a list until it is proved whole. `newest_first`: the request asks for that order. `tokens`: pages are
    linked by token instead of number."""
    passes = 0
    last = _Pass()
    for _ in range(1 + MAX_RESTARTS):
        first = last = _read_pass(fetch, tokens=tokens)
        passes += 1
        if first.fault is not None:
            break
        if not first.sound():
            continue
        if newest_first and first.falling:
            return Listing(items=tuple(first.items.values()), complete=True, passes=1)
        second = last = _read_pass(fetch, tokens=tokens)
        passes += 1
        if second.fault is not None:
            break
        if second.sound() and second.total == first.total and second.items.keys() == first.items.keys():
            return Listing(items=tuple(second.items.values()), complete=True, passes=2)
        if second.sound():
            second.moved = "two passes gave different ids"
    fault = last.fault or Fault(reason=f"the list moved while it was read, {1 + MAX_RESTARTS} times: {last.moved}")
    return Listing(items=tuple(last.items.values()), complete=False, passes=passes, fault=fault)


def _read_pass(fetch: Fetch, *, tokens: bool) -> _Pass:
    state = _Pass()
    token: str | None = None
    seen_tokens: set[str] = set()
    while state.sound():
        if state.pages >= MAX_PAGES:
            state.fault = Fault(reason=f"more than {MAX_PAGES} pages")
            break
        page = fetch(state.pages + 1, token)
        if isinstance(page, Fault):
            state.fault = page
            break
        _take(state, page, tokens=tokens)
        if not state.sound():
            break
        token = page.next_token if tokens else None
        if token is not None and token in seen_tokens:
            state.fault = Fault(reason="a page token came twice")
        elif token is not None:
            seen_tokens.add(token)
        elif tokens or _ended(state):
            _check_count(state)
            break
    return state


def _take(state: _Pass, page: Page, *, tokens: bool) -> None:
    state.pages += 1
    state.last_size = len(page.items)
    if state.pages == 1:
        state.total, state.first_size = page.total, len(page.items)
    fresh = {item.id: item for item in page.items}
    twice = len(fresh) < len(page.items) or not state.items.keys().isdisjoint(fresh)
    state.items.update(fresh)
    _follow(state, [item.created_ms for item in page.items])
    if page.total is None:
        state.fault = Fault(reason="the list gave no total, so nothing says that it was read whole")
    elif page.total != state.total:
        state.moved = f"the total went from {state.total} to {page.total}"
    elif twice:
        state.moved = "an id came twice"
    elif len(state.items) > page.total:
        state.moved = f"more ids than the total of {page.total}"
    elif not tokens and state.last_size > state.first_size:
        state.moved = "a page was longer than the first"
    elif not tokens and state.last_size < state.first_size and len(state.items) < page.total:
        state.moved = f"a page was short, and only {len(state.items)} of {page.total} ids came"


def _follow(state: _Pass, dates: list[int | None]) -> None:
    known = [date for date in (state.last_date, *dates) if date is not None]
    if None in dates or not all(map(ge, known, known[1:])):
        state.falling = False
    state.last_date = known[-1] if known else None


def _ended(state: _Pass) -> bool:
    """All ids are there, and the last page says so by being short; after a full one the next must be empty."""
    if state.total is not None and len(state.items) < state.total and state.last_size > 0:
        return False
    full = max(1, state.first_size if state.pages > 1 else PAGE_SIZE)
    return state.last_size < full


def _check_count(state: _Pass) -> None:
    if state.sound() and len(state.items) != state.total:
        state.moved = f"{len(state.items)} ids came, and the total is {state.total}"

"""The proof of completeness, against lists that move while they are read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.cloud import paging
from reconciler.cloud.paging import MAX_RESTARTS, Fault, Listing, read_list
from reconciler.cloud.wire import Page
from reconciler.model.resources import Kind, Other

Order = Literal["desc", "asc", "id", "tied"]


def item(name: str, date: int | None) -> Other:
    return Other(kind=Kind.IMAGE, id=name, zone="fr-par-1", project="p", created_ms=date)


@dataclass(slots=True)
class MovingList:
    """A list that pages by offset, as all of Scaleway's do, and changes before each request by a script.

    `script[n]` is what happens before request n: numbers delete the object at that place of the order of birth,
    "new" creates one. `order` is what the server does, whatever it was asked. `tied`: newest first, with objects of
    equal date in another order at every request. `held` counts the total with page 1 and repeats it for the others.
    """

    size: int
    order: Order
    count: int
    script: list[list[int | str]]
    tie: int = 1
    held: bool = False
    dated: bool = True
    requests: int = 0
    born: int = 0
    alive: dict[str, int] = field(default_factory=dict)
    steady: set[str] = field(default_factory=set)
    total: int | None = None

    def __post_init__(self) -> None:
        for number in range(self.count):
            self._create(number // self.tie)
        self.steady = set(self.alive)

    def _create(self, date: int) -> None:
        # Ids jump about, so that the order by id has nothing to do with the order of birth.
        self.alive[f"{self.born * 7919 % 1009:04d}"] = date
        self.born += 1

    def _happen(self) -> None:
        for event in self.script[self.requests] if self.requests < len(self.script) else []:
            if event == "new":
                self._create(1000 + self.born)
            elif isinstance(event, int) and self.alive:
                name = list(self.alive)[event % len(self.alive)]
                del self.alive[name]
                self.steady.discard(name)

    def _sorted(self) -> list[str]:
        names = list(self.alive)
        if self.order == "id":
            return sorted(names)
        if self.order == "asc":
            return sorted(names, key=lambda name: (self.alive[name], name))
        flip = self.requests % 2 if self.order == "tied" else 0
        names.sort(reverse=bool(flip))
        return sorted(names, key=lambda name: -self.alive[name])

    def fetch(self, number: int, token: str | None) -> Page | Fault:
        self._happen()
        self.requests += 1
        names = self._sorted()
        if self.total is None or number == 1 or not self.held:
            self.total = len(names)
        part = names[(number - 1) * self.size : number * self.size]
        items = tuple(item(name, self.alive[name] if self.dated else None) for name in part)
        return Page(items=items, total=self.total)


def missed(world: MovingList, listing: Listing) -> set[str]:
    """What was there from the first request to the last and is not in a list that claims to be complete."""
    return world.steady - {one.id for one in listing.items} if listing.complete else set()


events = st.lists(st.one_of(st.integers(0, 15), st.just("new")), max_size=3)


@given(
    order=st.sampled_from(["desc", "asc", "id", "tied"]),
    asked_newest_first=st.booleans(),
    size=st.integers(1, 4),
    count=st.integers(0, 14),
    tie=st.integers(1, 4),
    script=st.lists(events, max_size=14),
    held=st.booleans(),
    dated=st.booleans(),
)
@settings(max_examples=600, deadline=None)
def test_a_complete_list_never_lacks_what_was_there_all_the_time(
    order: Order,
    asked_newest_first: bool,
    size: int,
    count: int,
    tie: int,
    script: list[list[int | str]],
    held: bool,
    dated: bool,
) -> None:
    """Whatever the order that the server really has, the shifts between pages, the ties and the totals."""
    world = MovingList(size=size, order=order, count=count, tie=tie, script=script, held=held, dated=dated)
    listing = read_list(world.fetch, newest_first=asked_newest_first)
    assert missed(world, listing) == set()


@pytest.mark.parametrize("quiet", [1, 3])
@pytest.mark.parametrize("order", ["desc", "asc"])
def test_no_small_world_fools_the_proof(order: Order, quiet: int) -> None:
    """Every way in which five objects on pages of two can lose and gain one before each of three requests in a row,
    in the first pass and in the second."""
    gaps: list[list[int | str]] = [[], ["new"]]
    gaps += [[place] for place in range(5)]
    gaps += [[place, "new"] for place in range(5)]
    for script in itertools.product(gaps, repeat=3):
        for newest_first in (True, False):
            world = MovingList(size=2, order=order, count=5, script=[*[[]] * quiet, *script])
            assert missed(world, read_list(world.fetch, newest_first=newest_first)) == set(), script


def ascending_trap() -> MovingList:
    """150 objects, oldest first, 100 a page; after page 1 number 50 is deleted and number 151 is created."""
    return MovingList(size=100, order="asc", count=150, script=[[], [49, "new"]])


def test_one_ascending_pass_is_fooled_by_a_delete_and_a_create_between_two_pages() -> None:
    """The total stays 150, 150 different ids come, and number 101 is never seen: why two passes are needed."""
    world = ascending_trap()
    hundred_and_first = list(world.alive)[100]
    one = paging._read_pass(world.fetch, tokens=False)
    assert one.sound()
    assert (one.total, len(one.items)) == (150, 150)
    assert hundred_and_first in world.steady
    assert hundred_and_first not in one.items


@pytest.mark.parametrize("newest_first", [True, False])
def test_two_passes_see_through_the_ascending_trap(newest_first: bool) -> None:
    """Also when newest first was asked for and the server ignored it: the dates that came give it away."""
    world = ascending_trap()
    listing = read_list(world.fetch, newest_first=newest_first)
    assert listing.complete
    assert missed(world, listing) == set()
    assert listing.passes == 2


def test_the_same_shift_in_both_passes_does_not_hide_the_same_object_twice() -> None:
    """The object is hidden in each pass by a deletion of something read, which the other pass lacks or has."""
    world = MovingList(size=2, order="asc", count=5, script=[[], [0, "new"], [], [], [0, "new"], [], [], [0, "new"]])
    listing = read_list(world.fetch, newest_first=False)
    assert missed(world, listing) == set()


def test_newest_first_takes_one_pass_and_one_request_a_page() -> None:
    world = MovingList(size=100, order="desc", count=250, script=[])
    listing = read_list(world.fetch, newest_first=True)
    assert (listing.complete, listing.passes, world.requests) == (True, 1, 3)


def test_a_full_last_page_is_followed_by_an_empty_one_before_it_is_believed() -> None:
    world = MovingList(size=100, order="desc", count=200, script=[])
    assert read_list(world.fetch, newest_first=True).complete
    assert world.requests == 3


def test_a_create_and_a_delete_behind_the_reader_are_harmless_when_newest_come_first() -> None:
    world = MovingList(size=100, order="desc", count=250, script=[[], [249, "new"]])
    listing = read_list(world.fetch, newest_first=True)
    assert listing.complete
    assert listing.passes == 1
    assert missed(world, listing) == set()


def test_a_list_without_dates_is_read_twice_even_when_newest_first_was_asked_for() -> None:
    world = MovingList(size=2, order="desc", count=5, script=[], dated=False)
    assert read_list(world.fetch, newest_first=True).passes == 2


def test_a_list_that_always_moves_is_given_up_after_three_restarts() -> None:
    world = MovingList(size=2, order="desc", count=9, script=[["new"]] * 99)
    listing = read_list(world.fetch, newest_first=True)
    assert not listing.complete
    assert listing.passes == 1 + MAX_RESTARTS
    assert listing.reason is not None
    assert "moved" in listing.reason


def test_a_list_that_rests_after_two_movements_is_complete() -> None:
    world = MovingList(size=2, order="desc", count=9, script=[[], ["new"], [], ["new"]])
    assert read_list(world.fetch, newest_first=True).complete


def pages(*given: Page | Fault) -> paging.Fetch:
    """A server that answers page n with the n-th of these, and with the last one beyond."""
    return lambda number, token: given[min(number, len(given)) - 1]


def page(*names: str, total: int | None, token: str | None = None) -> Page:
    return Page(items=tuple(item(name, 100 - int(name)) for name in names), total=total, next_token=token)


@pytest.mark.parametrize(
    ("fetch", "words"),
    [
        (pages(page("1", "2", total=4)), "twice"),
        (pages(page("1", "2", total=5), page("3", total=5), page(total=5)), "short"),
        (pages(page("1", "2", total=5), page(total=5)), "short"),
        (pages(page("1", "2", total=1)), "more ids"),
        (pages(page("1", total=3), page("2", "3", total=3)), "longer"),
        (pages(page("1", "2", total=4), page("3", "4", total=5)), "total went"),
        (pages(page("1", "2", total=2000000), page("3", "4", total=2000000), page(total=2000000)), "short"),
        (pages(page(total=3)), "the total is 3"),
        (pages(page("1", total=None)), "no total"),
        (pages(page("1", "2", total=4), Fault(reason="HTTP 503")), "503"),
    ],
)
def test_a_list_that_contradicts_itself_is_never_complete(fetch: paging.Fetch, words: str) -> None:
    listing = read_list(fetch, newest_first=True)
    assert not listing.complete
    assert listing.reason is not None
    assert words in listing.reason


def test_a_full_page_with_a_total_too_small_is_found_out_by_the_page_after_it() -> None:
    """The total says 100 and the first page holds 100, but there is a second page."""
    first = Page(items=tuple(item(str(n), 1000 - n) for n in range(100)), total=100)
    second = Page(items=(item("more", 1),), total=100)
    assert not read_list(pages(first, second), newest_first=True).complete


def test_a_server_that_ignores_the_page_number_is_not_believed() -> None:
    everything = Page(items=tuple(item(str(n), 1000 - n) for n in range(150)), total=150)
    assert not read_list(pages(everything), newest_first=True).complete


def test_an_error_in_the_middle_keeps_what_was_seen_and_proves_no_absence() -> None:
    listing = read_list(pages(page("1", "2", total=4), Fault(reason="HTTP 500")), newest_first=True)
    assert {one.id for one in listing.items} == {"1", "2"}
    assert not listing.complete


def test_an_error_in_the_second_pass_voids_the_first() -> None:
    answers: Iterator[Page | Fault] = iter([page("1", total=1), Fault(reason="timeout")])
    assert not read_list(lambda number, token: next(answers), newest_first=False).complete


def test_a_denied_list_is_not_read_again() -> None:
    asked: list[int] = []

    def fetch(number: int, token: str | None) -> Fault:
        asked.append(number)
        return Fault(reason="HTTP 403", denied=True)

    listing = read_list(fetch, newest_first=True)
    assert asked == [1]
    assert listing.fault is not None
    assert listing.fault.denied


class TestTokens:
    """Lists whose pages are linked by token."""

    def test_the_list_ends_where_no_token_comes(self) -> None:
        chain = {None: page("1", "2", total=3, token="a"), "a": page("3", total=3)}
        listing = read_list(lambda number, token: chain[token], newest_first=True, tokens=True)
        assert listing.complete
        assert {one.id for one in listing.items} == {"1", "2", "3"}

    def test_a_token_that_comes_twice_ends_the_reading(self) -> None:
        chain = {None: page("1", total=9, token="a"), "a": page("2", total=9, token="a")}
        listing = read_list(lambda number, token: chain[token], newest_first=True, tokens=True)
        assert listing.reason == "a page token came twice"

    def test_an_early_end_is_not_believed(self) -> None:
        chain = {None: page("1", total=3, token="a"), "a": page("2", total=3)}
        assert not read_list(lambda number, token: chain[token], newest_first=True, tokens=True).complete

    def test_tokens_without_end_are_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(paging, "MAX_PAGES", 10)
        listing = read_list(
            lambda number, token: Page(items=(item(str(number), 99 - number),), total=99, next_token=str(number)),
            newest_first=True,
            tokens=True,
        )
        assert listing.reason == "more than 10 pages"

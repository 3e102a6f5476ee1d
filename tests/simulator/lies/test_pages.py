"""Lies about paging: shifts, totals, repeated and missing objects."""

from __future__ import annotations

import pytest

from tests.simulator.lies.rig import LISTS, Rig
from tests.simulator.support import V2


def walk(rig: Rig, kind: str, pages: int = 4) -> tuple[list[str], list[int]]:
    """The ids of pages of two, in order, and the total of each."""
    found = [rig.page(kind, number) for number in range(1, pages + 1)]
    return [item for ids, _ in found for item in ids], [total for _, total in found]


def test_a_deletion_between_pages_makes_an_object_disappear_from_the_listing() -> None:
    rig = Rig(workers=6)
    true, _ = walk(rig, "server")
    rig.tell("page_shift", kinds=["server"], how="deletes", by=1)
    seen, totals = walk(rig, "server")
    assert seen == [*true[:2], *true[3:]]
    assert totals == [6, 5, 5, 5]


def test_a_creation_between_pages_makes_an_object_appear_twice() -> None:
    rig = Rig(workers=6)
    true, _ = walk(rig, "server")
    rig.tell("page_shift", kinds=["server"], how="creates", by=1)
    seen, totals = walk(rig, "server")
    assert seen == [*true[:2], *true[1:]]
    assert totals == [6, 7, 7, 7]


def test_pages_by_token_shift_as_well() -> None:
    rig = Rig(workers=6)
    path = f"{V2}/servers"
    rig.tell("page_shift", kinds=["server"], how="deletes")
    first = rig.get(path, page_size=2).json()
    second = rig.get(path, page_size=2, page_token=first["next_page_token"]).json()
    ids = [worker.server for worker in reversed(rig.made)]
    assert [item["id"] for item in second["servers"]] == ids[3:5]


def test_two_listings_shift_apart() -> None:
    rig = Rig(workers=6)
    rig.tell("page_shift", kinds=["server"])
    rig.page("server", 1)
    assert rig.page("server", 2, tags="fleet")[1] == 6


@pytest.mark.parametrize("kind", LISTS)
def test_a_total_can_be_wrong_by_the_same_on_every_page(kind: str) -> None:
    rig = Rig()
    (ids, total) = rig.page(kind)
    rig.tell("wrong_total", kinds=[kind], by=-2)
    assert rig.page(kind) == (ids, total - 2)
    assert rig.page(kind, 2)[1] == total - 2


def test_a_total_can_be_another_one_on_each_page() -> None:
    rig = Rig()
    rig.tell("wrong_total", kinds=["server"], by=100, moves=True)
    assert len(set(walk(rig, "server")[1])) > 2


def test_a_total_is_never_below_zero() -> None:
    rig = Rig()
    rig.tell("wrong_total", by=-1000)
    assert rig.page("server")[1] == 0


def test_the_last_object_of_a_page_is_on_the_next_one_and_displaces_another() -> None:
    rig = Rig(workers=6)
    true, _ = walk(rig, "server")
    rig.tell("duplicate_item", kinds=["server"])
    assert walk(rig, "server") == ([*true[:2], true[1], true[2], true[2], true[4]], [6, 6, 6, 6])


def test_a_repeated_object_can_make_its_page_longer() -> None:
    rig = Rig(workers=4)
    true, _ = walk(rig, "server")
    rig.tell("duplicate_item", kinds=["server"], displaces=False)
    assert rig.page("server", 1)[0] == true[:2]
    assert rig.page("server", 2)[0] == [true[1], true[2], true[3]]


def test_a_named_object_is_missing_from_its_page_and_still_counted() -> None:
    rig = Rig()
    true, _ = walk(rig, "server")
    rig.tell("missing_item", kinds=["server"], ids=[true[1]])
    seen, totals = walk(rig, "server")
    assert (seen, totals) == ([true[0], *true[2:]], [5, 5, 5, 5])


def test_a_missing_object_can_be_missing_from_the_total_of_its_page_only() -> None:
    rig = Rig()
    rig.tell("missing_item", kinds=["server"], count=1, total="lowered", nth=[2])
    assert walk(rig, "server")[1] == [5, 4, 5, 5]

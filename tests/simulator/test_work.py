"""What a request touches does not grow with the world: counted, not timed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from reconciler.simulator import PROJECT_ID, World, populate
from reconciler.simulator.tables import Entry
from tests.simulator.support import BLOCK, IPAM, V1, V2, Api


@dataclass
class Count:
    touched: int = 0


class CountedRecords(dict[str, Any]):
    """Records that count how often one is taken; walking through all of them counts all."""

    def __init__(self, count: Count, records: dict[str, Any]) -> None:
        super().__init__(records)
        self._count = count

    def __getitem__(self, key: str) -> Any:
        self._count.touched += 1
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._count.touched += 1
        return super().get(key, default)

    def values(self) -> Any:
        self._count.touched += len(self)
        return super().values()


class CountedEntries(list[Entry]):
    """An index that counts the entries taken from it."""

    def __init__(self, count: Count, entries: list[Entry]) -> None:
        super().__init__(entries)
        self._count = count

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        self._count.touched += len(found) if isinstance(at, slice) else 1
        return found

    def __iter__(self) -> Any:
        self._count.touched += len(self)
        return super().__iter__()

    def __reversed__(self) -> Any:
        self._count.touched += len(self)
        return super().__reversed__()


def counted(servers: int) -> tuple[Api, Count]:
    world, count = World(), Count()
    populate(world, servers=servers, tags=("fleet", "linux"))
    for table in world.tables().values():
        table._records = CountedRecords(count, table._records)
        for key, entries in table._indexes.items():
            table._indexes[key] = CountedEntries(count, entries)
    return Api(world), count


SMALL, LARGE = counted(300), counted(3000)
PAGES = [
    (f"{V1}/servers", "per_page=100&page=2"),
    (f"{V1}/servers", f"per_page=100&page=2&project={PROJECT_ID}"),
    (f"{V1}/servers", "per_page=100&page=2&tags=fleet"),
    (f"{V1}/servers", "per_page=100&page=2&order=creation_date_asc"),
    (f"{V1}/ips", "per_page=100&page=2"),
    (f"{V1}/volumes", "per_page=100"),
    (f"{BLOCK}/volumes", "page_size=100&page=2"),
    (f"{BLOCK}/volumes", f"page_size=100&page=2&order_by=created_at_desc&project_id={PROJECT_ID}"),
    (f"{IPAM}/ips", "page_size=100&page=2"),
    (f"{V2}/private-network-interfaces", "page_size=100"),
    (f"{V2}/servers", "page_size=100&tags=linux"),
]


def touched(world: tuple[Api, Count], path: str, query: str) -> int:
    api, count = world
    count.touched = 0
    api.get(path, query)
    return count.touched


@pytest.mark.parametrize(("path", "query"), PAGES)
def test_a_page_touches_as_much_of_a_large_world_as_of_a_small_one(path: str, query: str) -> None:
    small, large = touched(SMALL, path, query), touched(LARGE, path, query)
    assert large == small
    assert large <= 100 * 15  # a server with its address, interface, volume, group and image


def test_after_a_change_a_page_touches_no_more_than_before() -> None:
    path, query = PAGES[0]
    before = touched(LARGE, path, query)
    server = LARGE[0].get(path, "per_page=1")["servers"][0]["id"]
    assert LARGE[0].status("PATCH", f"{path}/{server}", {"name": "renamed"}) == 200
    assert touched(LARGE, path, query) == before


def test_a_list_that_walks_is_seen_to_walk() -> None:
    """The counter counts: a filter by name has no index."""
    assert touched(LARGE, f"{V1}/servers", "per_page=100&name=worker") > 3000

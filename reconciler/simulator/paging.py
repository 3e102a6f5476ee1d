"""Lists: which records, in which order, cut into pages.

All lists page by offset, so a deletion between two pages shifts what follows by one and a client that goes on by page
number misses an object. That is the API's nature, and a simulator that hid it would be of no use.

Three dialects: Instance v1 (`page`, `per_page`, total and links in headers), Block, IPAM, VPC and Marketplace
(`page`, `page_size`, `total_count` in the body), v2alpha1 (`page_size`, `page_token`, `next_page_token`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from reconciler.simulator.records import IndexKey
from reconciler.simulator.tables import Record, Table
from reconciler.simulator.wire import Json, Query, invalid

R = TypeVar("R", bound=Record)

MAX_PAGE: Final = 100
DEFAULT_PAGE: Final = 50


@dataclass(frozen=True)  # no slots: Python 3.11 cannot make a slotted generic by `Order[Server](...)`
class Order(Generic[R]):
    """`by` None is the order of creation, which the indexes keep; any other key sorts what was found."""

    newest_first: bool
    by: Callable[[R], str | int] | None = None


@dataclass(frozen=True)
class Selection(Generic[R]):
    """What a list call asks for. With neither a predicate nor another order a page is a slice of an index."""

    table: Table[R]
    keys: tuple[IndexKey, ...]
    order: Order[R]
    accept: Callable[[R], bool] | None = None

    def cut(self, *, offset: int, limit: int) -> tuple[int, list[R]]:
        """(total, the records of this page)."""
        if len(self.keys) == 1 and self.accept is None and self.order.by is None:
            total = self.table.count(*self.keys[0])
            part = self.table.page(self.keys[0], newest_first=self.order.newest_first, offset=offset, limit=limit)
            return total, part
        found = self._all()
        return len(found), found[offset : offset + limit]

    def _all(self) -> list[R]:
        found = [record for key in self.keys for record in self.table.under(*key)]
        if self.accept is not None:
            found = [record for record in found if self.accept(record)]
        by = self.order.by
        if by is not None:
            found.sort(key=by, reverse=self.order.newest_first)
        elif len(self.keys) > 1:
            found.sort(key=lambda record: record.created_ms, reverse=self.order.newest_first)
        elif self.order.newest_first:
            found.reverse()
        return found


def page_number(query: Query) -> int:
    return max(1, query.number("page", 1))


def page_size(query: Query, name: str, default: int = DEFAULT_PAGE) -> int:
    size = query.number(name, default)
    if size == 0:
        raise invalid(name, "constraint", "must be at least 1")
    return min(size, MAX_PAGE)


def links(query: Query, *, path: str, page: int, size: int, total: int) -> Mapping[str, str]:
    """The headers of a v1 list: relative links without zone prefix, and the stray `&` of the real ones."""
    last = -(-total // size)
    rest = "&".join(part for part in query.raw.split("&") if part and part.split("=")[0] not in {"page", "per_page"})

    def link(number: int, relation: str) -> str:
        return f'<{path}?page={number}&per_page={size}&{rest}>; rel="{relation}"'

    parts = [link(page + 1, "next")] if page < last else []
    return {"X-Total-Count": str(total), "Link": ",".join([*parts, link(last, "last")])}


def token_offset(query: Query) -> int:
    """The offset inside a v2alpha1 page token; the token is opaque to clients."""
    token = query.first("page_token")
    if not token:
        return (page_number(query) - 1) * page_size(query, "page_size")
    try:
        return int(base64.urlsafe_b64decode(token.encode()).decode())
    except (binascii.Error, ValueError) as error:
        raise invalid("page_token", "format", "not a page token") from error


def next_token(offset: int, size: int, total: int) -> Json:
    """`next_page_token` is absent on the last page."""
    if offset + size >= total:
        return {}
    return {"next_page_token": base64.urlsafe_b64encode(str(offset + size).encode()).decode()}

"""What is common to all shapes on the wire.

A shape names exactly the fields that the product needs and ignores the rest: unknown fields come every month, and key
order differs between edges of the same endpoint. Pydantic decodes a body in one pass from bytes (`validate_json`); a
body that does not fit raises ValueError, which the caller turns into "unknown". The kinds that come by the thousand are
decoded straight into the model's values (`forms`); the others have shapes here, which their module turns into values.

Two dialects name the same things differently: Instance v1 says `project`, `creation_date` and `server.id`, the others
`project_id`, `created_at` and so on. Times end in `+00:00` or in `Z`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Final, TypeAlias, TypeVar, dataclass_transform

from pydantic import Field, TypeAdapter

from reconciler.kernel.clock import parse_instant
from reconciler.model.resources import Resource

W = TypeVar("W")

Total: TypeAlias = Annotated[int, Field(ge=0)] | None


@dataclass_transform(kw_only_default=True)
def shape(form: type[W]) -> type[W]:
    """A shape on the wire: a slotted dataclass that pydantic fills; keys that it does not name are ignored.

    Not a BaseModel, because that is three objects each for the garbage collector to walk instead of one, which doubles
    the time that a list of ten thousand servers takes.
    """
    return dataclass(slots=True, kw_only=True)(form)


@shape
class Named:
    """A link to something, of which only the id counts."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page, decoded. `total` is what the body says; the header's is added by the reader."""

    items: tuple[Resource, ...]
    total: int | None = None
    next_token: str | None = None


class Dialect(Enum):
    """How a list is paged and how the project is named."""

    V1 = "v1"  # page, per_page, project=; total in X-Total-Count
    PAGED = "paged"  # page, page_size, project_id=; total_count in the body
    TOKEN = "token"  # noqa: S105  # page_size, page_token, project_id=; total_count and next_page_token in the body


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSource:
    """One list call. `order` is the parameter that sorts newest first, None where the API has none."""

    path: Callable[[str], str]  # by locality
    dialect: Dialect
    decode: Callable[[bytes, str], Page]  # (body, locality); raises ValueError
    order: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetSource:
    """One call by id. `words` are the resource words of its typed 404.

    `decode` None: a 200 here means that the id lives in another API than its kind says, which is neither presence nor
    absence of the kind.
    """

    path: Callable[[str, str], str]  # by locality and id
    words: frozenset[str]
    decode: Callable[[bytes, str], Resource] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSpec:
    """All ways to read one kind. A kind that lives in two APIs is whole when both lists are, and absent when both
    answer a typed 404."""

    lists: tuple[ListSource, ...]
    gets: tuple[GetSource, ...]


_READERS: Final[dict[type, TypeAdapter[Any]]] = {}


def parse(form: type[W], body: bytes) -> W:
    """Raises ValueError (pydantic's ValidationError is one). A form's reader is made when it is first needed."""
    reader = _READERS.get(form)
    if reader is None:
        reader = _READERS[form] = TypeAdapter(form)
    value: W = reader.validate_json(body)
    return value


def millis(text: str | None) -> int | None:
    """Epoch milliseconds of a time on the wire; raises ValueError for a malformed one."""
    return None if not text else parse_instant(text)


def tag_tuple(tags: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(tags or ())


def v1(zone: str, rest: str) -> str:
    return f"/instance/v1/zones/{zone}/{rest}"


def v2(zone: str, rest: str) -> str:
    return f"/instance/v2alpha1/zones/{zone}/{rest}"


def block(zone: str, rest: str) -> str:
    return f"/block/v1/zones/{zone}/{rest}"

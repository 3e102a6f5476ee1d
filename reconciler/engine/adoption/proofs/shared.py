"""What every proof uses: the call, the answer, the two ways not to answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.engine.adoption.book import Book
from reconciler.engine.adoption.comparison import Comparison
from reconciler.engine.adoption.expectation import Expectation
from reconciler.engine.adoption.live import Live
from reconciler.model.resources import Kind
from reconciler.ports.engine import Difference

UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
INSTANCE: Final = r"/instance/v1/zones/(?P<place>[^/]+)"
INSTANCE_V2: Final = r"/instance/v2alpha1/zones/(?P<place>[^/]+)"
BLOCK: Final = r"/block/v1(?:alpha1)?/zones/(?P<place>[^/]+)"
SERVER: Final = rf"{INSTANCE}/servers/(?P<id>{UUID})"


@dataclass(frozen=True, slots=True)
class Reply:
    """What the gate says in the API's place. The object in it is the live one."""

    status: int
    body: bytes = b""

    @classmethod
    def json(cls, status: int, content: Mapping[str, Any]) -> Reply:
        return cls(status, json.dumps(content).encode())


class NotProvedError(Exception):
    """The call is not answered, for these reasons."""

    def __init__(self, differences: Iterable[Difference]) -> None:
        super().__init__("not proved")
        self.differences = tuple(differences)


@dataclass(frozen=True, slots=True)
class Call:
    """One changing call of the program. `path` is the API's path, `parts` what the route found in it, `raw` the body,
    which may hold a secret."""

    method: str
    path: str
    parts: Mapping[str, str]
    raw: bytes = field(repr=False)
    live: Live
    book: Book

    @property
    def place(self) -> str:
        return self.parts["place"]

    def body(self) -> dict[str, Any]:
        """The body as a JSON object. Raises NotProvedError."""
        try:
            content = json.loads(self.raw, object_pairs_hook=_once)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise self.refuse("sends a body that is no JSON object")
        return content

    def refuse(self, wants: str) -> NotProvedError:
        """The refusal of a call that belongs to no target."""
        return NotProvedError(
            [Difference(urn="", path=f"{self.method} {self.path}", program=wants, cloud="no target for it")]
        )

    def target(self, kind: Kind) -> Expectation:
        """The target that the path names, its create already answered. Raises NotProvedError."""
        found = self.book.claimed(kind, self.place, self.parts["id"].lower())
        if found is None:
            raise self.refuse("changes what it did not create in this run")
        return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that is there twice means one thing to one reader and another to the next."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


Reader = Callable[[Live, Expectation], dict[str, Any] | None]
# (comparison, body, live object, live reads or None for a first look without them)
Comparer = Callable[[Comparison, Mapping[str, Any], Mapping[str, Any], Live | None], None]


def match(call: Call, kind: Kind, *, read: Reader, compare: Comparer) -> tuple[Expectation, dict[str, Any]]:
    """The one target that a create equals, claimed, and its live object. Raises NotProvedError, UnreadError.

    The first look is at what was read before, to choose among many; the proof is of what is there now.
    """
    body = call.body()
    with call.book.matching:
        looks = [(_first_look(call, item, body, read=read, compare=compare), item) for item in _waiting(call, kind)]
        fitting = [item for look, item in looks if not look.differences]
        if len(fitting) > 1:
            raise NotProvedError(_ambiguous(fitting))
        best = fitting[0] if fitting else min(looks, key=lambda entry: len(entry[0].differences))[1]
        found = read(call.live, best)
        comparison = Comparison(best)
        if found is None:
            comparison.differ("", f"{kind.value} {best.ref.id}", None)
        else:
            compare(comparison, body, found, call.live)
        if comparison.name_to_use is not None and len(comparison.differences) == 1:
            call.book.names[best.urn] = comparison.name_to_use
        if comparison.differences or found is None:
            raise NotProvedError(comparison.differences)
        call.book.claim(best)
    return best, found


def _waiting(call: Call, kind: Kind) -> list[Expectation]:
    waiting = call.book.waiting(kind, call.place)
    if not waiting:
        raise call.refuse(f"creates a {kind.value} that is no target")
    return waiting


def _first_look(
    call: Call, item: Expectation, body: Mapping[str, Any], *, read: Reader, compare: Comparer
) -> Comparison:
    comparison = Comparison(item)
    found = call.book.remembered(item)
    if found is None:
        found = read(call.live, item)
        if found is None:
            comparison.differ("", f"{item.ref.kind.value} {item.ref.id}", None)
            return comparison
        call.book.remember(item, found)
    compare(comparison, body, found, None)
    return comparison


def _ambiguous(items: Iterable[Expectation]) -> list[Difference]:
    return [
        Difference(urn=item.urn, path="", program="one create", cloud="several targets that equal it") for item in items
    ]

"""One answer of the API as a value, and what its refusals mean.

Whatever happened to a request is an `Answer`: a status with a body, or a `fault` that says in a word why there is no
usable one. Nothing here raises, so that no caller can forget that "no answer" is not "not there".

A *typed* 404 is a JSON object with `"type": "not_found"`, a resource word that the API uses for that kind, and the id
that was asked for. A 404 of a proxy, of an unknown route, with HTML or with an empty body is none: it says nothing
about the object.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from reconciler.kernel.text import visible

NOT_FOUND: Final = "not_found"
_ERROR_BODY_LIMIT: Final = 64 * 1024  # a refusal is a few hundred bytes; more is a page of something else


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`status` None: no answer arrived. `fault`: why the answer cannot be used, though a status may have come.

    `sent` is False only when the request provably never left (the connection was not made, the deadline had passed).
    `requests` is how many were sent, retries included. `total` is the raw `X-Total-Count`.
    """

    method: str
    path: str
    status: int | None = None
    body: bytes = field(default=b"", repr=False)
    total: str | None = None
    retry_after: float | None = None
    request_id: str | None = None
    fault: str | None = None
    sent: bool = True
    requests: int = 1

    @property
    def ok(self) -> bool:
        return self.fault is None and self.status is not None and 200 <= self.status < 300

    @property
    def whole(self) -> bool:
        """A 200, the only success that a read may believe: a 206 is a part, a 204 is nothing."""
        return self.fault is None and self.status == 200

    def told(self) -> str:
        """What happened, in a few words that hold no secret: for reasons and error messages."""
        if self.fault is not None:
            return self.fault if self.status is None else f"HTTP {self.status}, {self.fault}"
        refusal = read_refusal(self)
        words = [f"HTTP {self.status}", refusal.type, refusal.help_message or refusal.message]
        return " ".join(visible(word, limit=160) for word in words if word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The fields of an error body that we act on; empty where the body has none or is no JSON object."""

    type: str = ""
    message: str = ""
    help_message: str = ""
    precondition: str = ""
    resource: str = ""
    resource_id: str = ""
    typed: bool = False


def read_refusal(answer: Answer) -> Refusal:
    if answer.fault is not None or not answer.body or len(answer.body) > _ERROR_BODY_LIMIT:
        return Refusal()
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        return Refusal()
    if not isinstance(body, dict):
        return Refusal()

    def text(key: str) -> str:
        value = body.get(key)
        return value if isinstance(value, str) else ""

    return Refusal(
        type=text("type"),
        message=text("message"),
        help_message=text("help_message"),
        precondition=text("precondition"),
        resource=text("resource"),
        resource_id=text("resource_id"),
        typed=bool(text("type")),
    )


def is_typed_404(answer: Answer, *, words: Collection[str], resource_id: str) -> bool:
    """Whether the API itself says that this id of this kind is not there.

    `words` are the resource words of the kind. An id in the body must be the one asked for; emulators leave it out.
    """
    if answer.status != 404 or answer.fault is not None:
        return False
    refusal = read_refusal(answer)
    named = refusal.resource_id.lower()
    return refusal.type == NOT_FOUND and refusal.resource in words and named in ("", resource_id.lower())


def route_is_missing(answer: Answer) -> bool:
    """Whether the API itself says that it has no such route: how it says that a product is not offered in a place.

    Recorded for unknown routes: a typed 404 with the resource `unknown` and an empty id. 501 with a typed body is read
    alike. An untyped 404 is not: a proxy in the way answers that, too.
    """
    if answer.fault is not None or answer.status not in (404, 501):
        return False
    refusal = read_refusal(answer)
    if answer.status == 501:
        return refusal.typed
    return refusal.type == NOT_FOUND and refusal.resource in ("", "unknown") and not refusal.resource_id

"""Lies of the wire and of identity: clocks, bodies that end early or never, and answers about something else."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from reconciler.kernel.randomness import Randomness
from reconciler.simulator.lies.asked import Asked
from reconciler.simulator.lies.behaviour import Behaviour, LieKind
from reconciler.simulator.lies.keys import Key
from reconciler.simulator.wire import Response, http_date

_MEGABYTE: Final = 1_000_000


class _AnyAnswer(Behaviour):
    def concerns(self, asked: Asked) -> bool:
        return True


class _Skew(_AnyAnswer):
    def after(self, asked: Asked, dice: Randomness, response: Response) -> Response:
        jump = self.lie.number("jump_ms")
        skew = self.lie.number("skew_ms") + round(dice.uniform(-jump, jump))
        return replace(response, headers={**response.headers, "Date": http_date(max(0, asked.now_ms + skew))})


class _WithBody(_AnyAnswer):
    def after(self, asked: Asked, dice: Randomness, response: Response) -> Response:
        return self.bend(response) if response.body else response

    def bend(self, response: Response) -> Response:
        raise NotImplementedError


class _Cut(_WithBody):
    def bend(self, response: Response) -> Response:
        at = int(len(response.body) * self.lie.share("share"))
        if self.lie.text("length") == "agrees":
            return replace(response, body=response.body[:at])
        return replace(response, drop="cut", cut_at=at)


class _Slow(_WithBody):
    def bend(self, response: Response) -> Response:
        return replace(response, pace_bytes=self.lie.number("bytes"), pace_ms=self.lie.number("every_ms"))


class _Big(_WithBody):
    def bend(self, response: Response) -> Response:
        try:
            body = json.loads(response.body)
        except ValueError:
            return response
        if not isinstance(body, dict) or not body:
            return response
        junk = _junk(self.lie.text("how"), self.lie.number("megabytes"))
        return replace(response, body=response.body.rstrip()[:-1] + b", " + junk + b"}")


@cache
def _junk(how: str, megabytes: int) -> bytes:
    """Members of a JSON object that no schema knows, this many megabytes of them."""
    if how == "string":
        return b'"junk": "' + b"x" * (megabytes * _MEGABYTE) + b'"'
    if how == "deep":
        return b'"junk": ' + b"[" * (megabytes * _MEGABYTE // 2) + b"]" * (megabytes * _MEGABYTE // 2)
    member = len(b'"junk0000000": 0, ')
    return b", ".join(b'"junk%07d": 0' % number for number in range(megabytes * _MEGABYTE // member))


class _Type(_AnyAnswer):
    def after(self, asked: Asked, dice: Randomness, response: Response) -> Response:
        body = _BODIES[self.lie.text("body")]
        headers = {**response.headers, "Content-Type": self.lie.text("type")}
        return replace(response, headers=headers, body=response.body if body is None else body)


_PORTAL: Final = b"<!doctype html><html><body>Sign in to the network</body></html>"
_BODIES: Final[Mapping[str, bytes | None]] = {"same": None, "html": _PORTAL, "array": b"[]", "null": b"null"}


class _Other(Behaviour):
    """The next object of the kind in the same place stands in for the one asked for; or only its id does."""

    def concerns(self, asked: Asked) -> bool:
        return asked.request.method == "GET" and asked.by_id and self._stand_in(asked) is not None

    def redirect(self, asked: Asked, dice: Randomness) -> str | None:
        return self._stand_in(asked) if self.lie.text("how") == "object" else None

    def after(self, asked: Asked, dice: Randomness, response: Response) -> Response:
        other = self._stand_in(asked)
        if self.lie.text("how") == "object" or other is None:
            return response
        return replace(response, body=response.body.replace(asked.target.encode(), other.encode(), 1))

    def _stand_in(self, asked: Asked) -> str | None:
        table = asked.world.tables().get(asked.kind)
        entry = None if table is None else table.entry(asked.target)
        if table is None or entry is None:
            return None
        entries = table.entries(("in", asked.place))
        if len(entries) < 2:
            return None
        return entries[bisect_right(entries, entry) % len(entries)][2]


KINDS: Final = (
    LieKind(
        name="date_skew",
        summary="the Date header is wrong: always by the same, or by something else in each answer",
        keys={
            "skew_ms": Key(
                type="number", default=0, low=-(10**10), high=10**10, doc="always", samples=(-600_000, 0, 3_600_000)
            ),
            "jump_ms": Key(
                type="number",
                default=0,
                high=10**10,
                doc="at most, to either side, per answer",
                samples=(5000, 900_000),
            ),
        },
        build=_Skew,
        check=lambda lie: "" if lie.number("skew_ms") or lie.number("jump_ms") else "a skew of 0 is the right time",
    ),
    LieKind(
        name="cut_body",
        summary="a body ends early: before its announced length, or with a length that agrees with the cut",
        keys={
            "share": Key(type="share", default=0.5, doc="how much of it arrives", samples=(0.0, 0.5, 0.99)),
            "length": Key(
                type="choice",
                default="announced",
                choices=("announced", "agrees"),
                doc="what Content-Length says",
                samples=("announced", "agrees"),
            ),
        },
        build=_Cut,
        check=lambda lie: "" if lie.share("share") < 1 else "a share of 1 is the whole body",
    ),
    LieKind(
        name="slow_body",
        summary="a body trickles: so many bytes at a time, with a pause before each",
        keys={
            "bytes": Key(type="number", default=64, low=1, doc="at a time", samples=(64, 1024)),
            "every_ms": Key(type="number", default=1000, low=1, doc="the pause", samples=(10, 1000)),
        },
        build=_Slow,
    ),
    LieKind(
        name="big_body",
        summary="a body of valid JSON with megabytes of members that no schema knows",
        keys={
            "megabytes": Key(type="number", default=8, low=1, high=1024, doc="how many", samples=(1, 4)),
            "how": Key(
                type="choice",
                default="string",
                choices=("string", "keys", "deep"),
                doc="one text, many members, or a list in a list in a list",
                samples=("string", "keys", "deep"),
            ),
        },
        build=_Big,
    ),
    LieKind(
        name="wrong_type",
        summary="another content type, with the right body or with one that is none of the API's",
        keys={
            "type": Key(type="text", default="text/html", doc="the content type", samples=("text/html", "text/plain")),
            "body": Key(
                type="choice",
                default="same",
                choices=tuple(_BODIES),
                doc="the body: the right one, a sign-in page, an empty list, null",
                samples=tuple(_BODIES),
            ),
        },
        build=_Type,
    ),
    LieKind(
        name="other_resource",
        summary="a read by id answers with another object, or with the right one under the id of another",
        keys={
            "how": Key(
                type="choice",
                default="object",
                choices=("object", "id"),
                doc="what is another's: the whole object, or its id only",
                samples=("object", "id"),
            )
        },
        build=_Other,
    ),
)

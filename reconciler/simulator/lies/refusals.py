"""Lies by refusal: a right, a credential, a limit or a backend that is said to be in the way, and is not.

A 403 hides what exists and looks like what is gone; a 401 that comes and goes is a credential that is fine; 429s are
scattered over a pass (as recorded: empty body, no Retry-After); a 5xx says nothing about whether the work was done.
"""

from __future__ import annotations

from typing import Final

from reconciler.kernel.randomness import Randomness
from reconciler.simulator.lies.asked import Asked
from reconciler.simulator.lies.behaviour import Behaviour, LieKind
from reconciler.simulator.lies.keys import Key
from reconciler.simulator.lies.view import View
from reconciler.simulator.wire import Refusal, Response, denied, dump, dump_v1, unauthenticated


def refusal_response(asked: Asked, refusal: Refusal) -> Response:
    """A refusal in the dialect of the API that was asked."""
    write = dump_v1 if asked.route.template.startswith("/instance/v1/") else dump
    headers = {"Content-Type": "application/json", **refusal.headers}
    return Response(status=refusal.status, headers=headers, body=b"" if refusal.body is None else write(refusal.body))


class _Denied(Behaviour):
    """The right is there and is denied: by 403, or by a list with nothing in it."""

    def concerns(self, asked: Asked) -> bool:
        if not asked.reads or not asked.kind:
            return False
        reads = self.lie.text("reads")
        return reads == "both" or (reads == "list") == asked.lists

    def _empties(self, asked: Asked) -> bool:
        return asked.lists and self.lie.text("lists") == "empty"

    def instead(self, asked: Asked, dice: Randomness) -> Response | None:
        return None if self._empties(asked) else refusal_response(asked, denied("read", asked.kind))

    def see(self, asked: Asked, dice: Randomness, view: View) -> None:
        if self._empties(asked):
            view.table(asked.kind).hide_where(lambda _item: True)


class _Unauthenticated(Behaviour):
    def concerns(self, asked: Asked) -> bool:
        return bool(asked.kind)

    def instead(self, asked: Asked, dice: Randomness) -> Response | None:
        return refusal_response(asked, unauthenticated("expired"))


class _RateLimited(Behaviour):
    def concerns(self, asked: Asked) -> bool:
        return True

    def instead(self, asked: Asked, dice: Randomness) -> Response | None:
        return Response(status=429, headers={"X-Envoy-Ratelimited": "true"})


class _Broken(Behaviour):
    """A gateway's or a backend's 5xx; with `effect` the work was done all the same."""

    def concerns(self, asked: Asked) -> bool:
        return True

    def instead(self, asked: Asked, dice: Randomness) -> Response | None:
        return None if self.lie.flag("effect") else self._answer()

    def after(self, asked: Asked, dice: Randomness, response: Response) -> Response:
        return self._answer() if self.lie.flag("effect") else response

    def _answer(self) -> Response:
        kind, body = _BODIES[self.lie.text("body")]
        headers = {} if kind is None else {"Content-Type": kind}
        return Response(status=self.lie.number("status"), headers=headers, body=body)


_BODIES: Final[dict[str, tuple[str | None, bytes]]] = {
    "json": ("application/json", dump({"message": "internal error", "type": "internal"})),
    "html": ("text/html", b"<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>"),
    "text": ("text/plain", b"upstream connect error or disconnect/reset before headers"),
    "empty": (None, b""),
}

KINDS: Final = (
    LieKind(
        name="hiding_403",
        summary="403 for what exists and may be seen, and, as `lists` says, a 403 or an empty 200 for its list",
        keys={
            "reads": Key(
                type="choice",
                default="both",
                choices=("list", "get", "both"),
                doc="which reads",
                samples=("list", "get", "both"),
            ),
            "lists": Key(
                type="choice",
                default="empty",
                choices=("empty", "refused"),
                doc="what lists answer: 200 with nothing, or 403",
                samples=("empty", "refused"),
            ),
        },
        build=_Denied,
    ),
    LieKind(
        name="flapping_401",
        summary="401 for a credential that is good",
        keys={},
        build=_Unauthenticated,
    ),
    LieKind(
        name="scattered_429",
        summary="429 as recorded (empty body, no Retry-After), for the requests that chance or counting picks",
        keys={},
        build=_RateLimited,
    ),
    LieKind(
        name="server_error",
        summary="a 5xx, with or without the effect that was asked for",
        keys={
            "status": Key(type="number", default=503, low=500, high=599, doc="which", samples=(500, 502, 503, 504)),
            "effect": Key(type="flag", default=False, doc="whether the work was done", samples=(True, False)),
            "body": Key(
                type="choice",
                default="text",
                choices=tuple(_BODIES),
                doc="what comes with it",
                samples=tuple(_BODIES),
            ),
        },
        build=_Broken,
    ),
)

"""Routes: a method and a path template, the kind of object behind it, and the function that answers.

Each room (`rooms/*.py`) exports its `ROUTES`. A template's placeholders reach the handler as `call.params`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reconciler.simulator.call import Call
    from reconciler.simulator.wire import Response

Handler = Callable[["Call"], "Response"]


@dataclass(frozen=True, slots=True)
class Route:
    """`kind` is the right that a key needs; "" for what is open to everybody. `listing`: a list of that kind."""

    method: str
    template: str
    handler: Handler
    kind: str = ""
    listing: bool = False

    @property
    def mutating(self) -> bool:
        return self.method not in {"GET", "HEAD"}


class Router:
    def __init__(self, routes: Iterable[Route]) -> None:
        self._by_shape: dict[tuple[str, int], list[tuple[tuple[str, ...], Route]]] = {}
        for route in routes:
            parts = tuple(route.template.strip("/").split("/"))
            self._by_shape.setdefault((route.method, len(parts)), []).append((parts, route))

    def match(self, method: str, path: str) -> tuple[Route, Mapping[str, str]] | None:
        parts = path.strip("/").split("/")
        for template, route in self._by_shape.get((method, len(parts)), ()):
            params = _fit(template, parts)
            if params is not None:
                return route, params
        return None


def _fit(template: tuple[str, ...], parts: list[str]) -> dict[str, str] | None:
    params: dict[str, str] = {}
    for wanted, part in zip(template, parts, strict=True):
        if wanted.startswith("{"):
            params[wanted[1:-1]] = part
        elif wanted != part:
            return None
    return params

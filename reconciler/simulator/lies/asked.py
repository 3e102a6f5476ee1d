"""One request as a lie sees it: what is asked, of which object, as which step of which undertaking."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Query, Request
from reconciler.simulator.world import World

# Ends a path by id that is no object of the route's kind.
_PARTS: Final = ("{key}", "{rule}")
_ENDS: Final = ("/stop-and-delete",)
_TOKENS: Final = ("page", "page_token")


@dataclass(frozen=True)
class Asked:
    """`world` is the true one. `later` runs something at a moment; `again` carries this request out at one."""

    request: Request
    route: Route
    params: Mapping[str, str]
    world: World
    now_ms: int
    later: Callable[[int, Callable[[World, int], None]], None]
    again: Callable[[World, int], None]

    @property
    def kind(self) -> str:
        return self.route.kind

    @property
    def place(self) -> str:
        """The zone or region of the path, "" for neither."""
        return self.params.get("zone") or self.params.get("region") or ""

    @property
    def reads(self) -> bool:
        return self.request.method in {"GET", "HEAD"}

    @property
    def lists(self) -> bool:
        return self.route.listing and self.reads

    @cached_property
    def by_id(self) -> bool:
        """Whether the path names one object of the route's kind and nothing below it."""
        template = self.route.template
        return bool(self.kind) and template.endswith("}") and not template.endswith(_PARTS)

    @cached_property
    def target(self) -> str:
        """The object that the path is about; for the parts and actions of a server, the server. "" for a list."""
        if self.by_id:
            return self.request.path.rstrip("/").rsplit("/", 1)[-1]
        named = self.route.template.rsplit("{", 1)[-1].partition("}")[0]
        if self.route.template.endswith("{key}"):
            named = "server"
        return "" if named in {"zone", "region"} else self.params.get(named, "")

    @cached_property
    def body(self) -> Any:
        try:
            return json.loads(self.request.body or b"null")
        except ValueError:
            return None

    def sent(self, key: str) -> Any:
        return self.body.get(key) if isinstance(self.body, dict) else None

    @cached_property
    def ends(self) -> bool:
        """Whether this asks for the end of `target`: DELETE, terminate or stop-and-delete."""
        if self.by_id and self.request.method == "DELETE":
            return True
        return self.terminates

    @cached_property
    def terminates(self) -> bool:
        """Whether this asks a running server to stop and be gone."""
        if self.request.method != "POST":
            return False
        if self.route.template.endswith("/action"):
            return bool(self.sent("action") == "terminate")
        return self.route.template.endswith(_ENDS)

    @cached_property
    def step(self) -> str:
        """Which step of making a worker this is: ip, volume, server, power_on, nic, user_data; else ""."""
        method, template = self.request.method, self.route.template
        if template.endswith("/user_data/{key}") and method in {"PATCH", "PUT"}:
            return "user_data"
        if method != "POST":
            return ""
        if (template.endswith("/action") and self.sent("action") == "poweron") or template.endswith("/start"):
            return "power_on"
        words = {"servers": "server", "ips": "ip", "volumes": "volume", "private_nics": "nic"}
        last = template.rsplit("/", 1)[-1]
        return "nic" if last == "private-network-interfaces" else words.get(last, "")

    @cached_property
    def query(self) -> Query:
        return Query(self.request.query)

    @cached_property
    def listing(self) -> str:
        """The same for every page of one listing by one caller."""
        rest = "&".join(part for part in self.request.query.split("&") if part.partition("=")[0] not in _TOKENS)
        return f"{self.request.header('X-Auth-Token')} {self.request.path}?{rest}"

    @cached_property
    def first_page(self) -> bool:
        return not self.query.first("page_token") and (self.query.first("page") or "1") == "1"

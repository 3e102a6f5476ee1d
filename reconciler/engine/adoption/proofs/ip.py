"""Flexible IPs: `POST .../ips`, and the reverse name that older providers set in a second call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reconciler.engine.adoption.comparison import Comparison
from reconciler.engine.adoption.expectation import Expectation
from reconciler.engine.adoption.live import Live
from reconciler.engine.adoption.proofs.shared import Call, NotProvedError, Reply, match
from reconciler.model.resources import Kind

_KEYS: Final = frozenset({"project", "type", "tags"})
_DEFAULT_TYPE: Final = "routed_ipv4"


def path_of(item: Expectation) -> str:
    return f"/instance/v1/zones/{item.ref.zone}/ips/{item.ref.id}"


def read(live: Live, item: Expectation) -> dict[str, Any] | None:
    found = live.find(path_of(item))
    ip = None if found is None else found.get("ip")
    return ip if isinstance(ip, dict) else None


def compare(comparison: Comparison, body: Mapping[str, Any], ip: Mapping[str, Any], _live: Live | None) -> None:
    comparison.only(body, _KEYS)
    comparison.same("type", body.get("type"), ip.get("type"), default=_DEFAULT_TYPE)
    comparison.same("projectId", body.get("project"), ip.get("project"))
    comparison.tags(body.get("tags"), ip.get("tags"))


def create(call: Call) -> Reply:
    _, ip = match(call, Kind.IP, read=read, compare=compare)
    return Reply.json(201, {"ip": ip})


def update(call: Call) -> Reply:
    """`{"reverse": ...}` or `{"tags": ...}`, when it is so already. Attaching and detaching are never answered."""
    item, body = call.target(Kind.IP), call.body()
    ip = read(call.live, item)
    comparison = Comparison(item)
    comparison.only(body, {"reverse", "tags"})
    if ip is None:
        comparison.differ("", f"ip {item.ref.id}", None)
    else:
        if "reverse" in body:
            comparison.same("reverse", body["reverse"], ip.get("reverse"))
        if "tags" in body:
            comparison.tags(body["tags"], ip.get("tags"))
    if comparison.differences or ip is None:
        raise NotProvedError(comparison.differences)
    return Reply.json(200, {"ip": ip})

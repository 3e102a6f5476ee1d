"""A tiny API in memory: bodies in the real shapes, and an `Api` over a handler that sees every request."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from reconciler.cloud.credentials import Credentials, Secret
from reconciler.cloud.limiter import Limiter
from reconciler.cloud.transport import Api
from reconciler.kernel.clock import Clock, VirtualClock
from reconciler.kernel.randomness import SeededRandomness

PROJECT = "105bdce1-64c0-48ab-899d-868455867ecf"
STRANGER = "51b656e3-4865-41e8-adbc-0c45bdd780db"
SECRET = "5ca1ab1e-0000-4000-8000-00000000abcd"
ZONE = "fr-par-1"
NOW_MS = 1_796_000_000_000  # the end of November 2026, after everything that these worlds hold
Json = dict[str, Any]
Handler = Callable[[httpx2.Request], httpx2.Response]


def uid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


def stamp(second: int) -> str:
    """`second` after the first of November 2026, without a zone."""
    return (datetime(2026, 11, 1, tzinfo=UTC) + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S.000000")


def server(number: int, **changes: Any) -> Json:
    """A running server in the shape of v1; `number` is its id and its second of birth."""
    known: Json = {
        "id": uid(number), "name": f"w{number}", "project": PROJECT, "organization": PROJECT, "zone": ZONE,
        "state": "running", "state_detail": "booting kernel", "commercial_type": "DEV1-S", "boot_type": "local",
        "creation_date": stamp(number) + "+00:00", "modification_date": stamp(number) + "+00:00", "tags": [],
        "image": {"id": uid(900), "name": "Ubuntu"}, "protected": False, "dynamic_ip_required": False,
        "volumes": {}, "public_ips": [], "public_ip": None, "private_nics": [], "placement_group": None,
        "security_group": {"id": uid(901), "name": "Default security group"}, "allowed_actions": ["poweroff"],
    }  # fmt: skip
    return {**known, **changes}


def ip(number: int, **changes: Any) -> Json:
    known: Json = {
        "id": uid(number), "address": f"51.15.0.{number % 250}", "prefix": None, "reverse": None, "server": None,
        "organization": PROJECT, "project": PROJECT, "zone": ZONE, "type": "routed_ipv4", "state": "detached",
        "tags": [], "ipam_id": uid(number + 50_000),
    }  # fmt: skip
    return {**known, **changes}


def volume(number: int, **changes: Any) -> Json:
    known: Json = {
        "id": uid(number), "name": f"v{number}", "type": "sbs_5k", "size": 10_000_000_000, "project_id": PROJECT,
        "created_at": stamp(number) + "Z", "updated_at": stamp(number) + "Z", "references": [],
        "parent_snapshot_id": None, "status": "available", "tags": [], "specs": {"perf_iops": 5000, "class": "sbs"},
        "last_detached_at": None, "kms_key_id": None, "zone": ZONE,
    }  # fmt: skip
    return {**known, **changes}


def local_volume(number: int, **changes: Any) -> Json:
    known: Json = {
        "id": uid(number), "name": f"l{number}", "volume_type": "l_ssd", "export_uri": None, "project": PROJECT,
        "server": None, "size": 20_000_000_000, "state": "available", "creation_date": stamp(number) + "+00:00",
        "modification_date": stamp(number) + "+00:00", "tags": [], "zone": ZONE,
    }  # fmt: skip
    return {**known, **changes}


def nic(number: int, **changes: Any) -> Json:
    known: Json = {
        "id": uid(number), "private_network_id": uid(902), "project_id": PROJECT, "server_id": uid(1),
        "security_group_id": "", "mac_address": "02:00:00:00:00:01", "status": "available", "ip_ids": [], "tags": [],
        "created_at": stamp(number) + "Z", "updated_at": stamp(number) + "Z",
    }  # fmt: skip
    return {**known, **changes}


def reference(holder: str, *, status: str = "attached", kind: str = "instance_server") -> Json:
    return {"id": uid(77), "product_resource_type": kind, "product_resource_id": holder, "status": status}


def reply(body: Any, status: int = 200, **headers: str) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(status, content=content, headers={"Content-Type": "application/json", **named})


def not_found(resource: str, resource_id: str) -> httpx2.Response:
    body = {"type": "not_found", "message": "resource is not found", "resource": resource, "resource_id": resource_id}
    return reply(body, 404)


def denied() -> httpx2.Response:
    details = [{"action": "read", "resource": "server"}]
    return reply({"details": details, "message": "insufficient permissions", "type": "permissions_denied"}, 403)


def throttled() -> httpx2.Response:
    """As recorded: no body, no Content-Type, no Retry-After."""
    return httpx2.Response(429, headers={"X-Envoy-Ratelimited": "true"})


def html(status: int) -> httpx2.Response:
    return httpx2.Response(
        status, content=b"<html><body>Bad Gateway</body></html>", headers={"Content-Type": "text/html"}
    )


def no_route() -> httpx2.Response:
    return not_found("unknown", "")


class Recorder:
    """A handler that keeps what it was asked, and answers by path, or with `default`."""

    def __init__(self, routes: dict[str, Any] | None = None, default: Any = None) -> None:
        self.requests: list[httpx2.Request] = []
        self.routes: dict[str, Any] = routes or {}
        self.default = default

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self.routes.get(f"{request.method} {request.url.path}", self.routes.get(request.url.path))
        if answer is None:
            answer = self.default if self.default is not None else no_route()
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Exception):
            raise answer
        # A response is read once; each request needs its own.
        copy = httpx2.Response(answer.status_code, headers=answer.headers, content=answer.content)
        copy.request = request
        return copy

    def sent(self, method: str) -> list[str]:
        return [request.url.path for request in self.requests if request.method == method]


def credentials(**changes: Any) -> Credentials:
    return Credentials(**{"secret_key": Secret(SECRET), "project": PROJECT, **changes})


def make_api(handler: Handler, *, clock: Clock | None = None, rate: int = 50, **options: Any) -> Api:
    used = clock or VirtualClock(start_ms=NOW_MS)
    return Api(
        credentials(),
        clock=used,
        randomness=SeededRandomness(7),
        limiter=Limiter(clock=used, rate=rate),
        transport=httpx2.MockTransport(handler),
        **options,
    )

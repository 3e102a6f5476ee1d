"""What goes over the wire: requests, responses, queries, times and the bodies of refusals.

The two dialects differ and clients trip over the difference: the Instance API v1 writes JSON with spaces and times
with `+00:00`, the others write it dense and with `Z`. Refusal bodies are the recorded ones where a recording exists;
docs/simulator.md lists the others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import parse_qsl

Json = dict[str, Any]
Drop = Literal["none", "refused", "before", "after", "cut"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`headers` in any case; `query` as it stood in the URL, without `?`."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)

    def header(self, name: str) -> str | None:
        wanted = name.lower()
        for key, value in self.headers.items():
            if key.lower() == wanted:
                return value
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """`delay_ms` is to be waited by whoever carries the answer; `drop` says how the connection ends.

    none: the answer arrives. refused: there was no connection to begin with. before: the request was never executed,
    the connection just closes. after: it was executed, and the connection closes without an answer. cut: `body` is cut
    short, `cut_at` bytes of it arrive. With `pace_bytes` the body arrives so many bytes at a time, `pace_ms` apart.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay_ms: int = 0
    drop: Drop = "none"
    cut_at: int | None = None
    pace_bytes: int = 0
    pace_ms: int = 0

    @property
    def arriving(self) -> bytes:
        """As much of the body as arrives."""
        return self.body if self.drop != "cut" else self.body[: self.cut_at]

    def chunks(self) -> list[bytes]:
        """The body as it arrives: in one piece, or in those of its pace."""
        whole = self.arriving
        if self.pace_bytes <= 0:
            return [whole]
        return [whole[at : at + self.pace_bytes] for at in range(0, len(whole), self.pace_bytes)]

    def json(self) -> Any:
        return json.loads(self.body)


class Query:
    """The parameters of a URL; a key may repeat."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.pairs = parse_qsl(raw, keep_blank_values=True)

    def first(self, name: str) -> str | None:
        return next((value for key, value in self.pairs if key == name), None)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def flag(self, name: str) -> bool | None:
        """`true`, `True` and `1` are true: the Python SDK sends Python's spelling."""
        value = self.first(name)
        return None if value is None else value.lower() in {"true", "1"}

    def number(self, name: str, default: int) -> int:
        value = self.first(name)
        if value is None:
            return default
        if not value.isdigit():
            raise invalid(name, "format", "not a number")
        return int(value)


class Refusal(Exception):  # the word of the API: a request that it refuses, not a fault of ours
    """An answer that is not the one asked for; raised by handlers, turned into a response by the simulator."""

    def __init__(self, status: int, body: Json | None, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{status}")
        self.status, self.body, self.headers = status, body, dict(headers or {})


def not_found(resource: str, resource_id: str) -> Refusal:
    body = {"type": "not_found", "message": "resource is not found", "resource": resource, "resource_id": resource_id}
    return Refusal(404, body)


def denied(action: str, resource: str) -> Refusal:
    details = [{"action": action, "resource": resource}]
    return Refusal(403, {"details": details, "message": "insufficient permissions", "type": "permissions_denied"})


def unauthenticated(reason: str) -> Refusal:
    body = {
        "type": "denied_authentication",
        "message": "authentication is denied",
        "method": "api_key",
        "reason": reason,
    }
    return Refusal(401, body)


def invalid(argument: str, reason: str, help_message: str) -> Refusal:
    details = [{"argument_name": argument, "reason": reason, "help_message": help_message}]
    return Refusal(400, {"type": "invalid_arguments", "message": "invalid argument(s)", "details": details})


def bad_request(message: str) -> Refusal:
    return Refusal(400, {"message": message, "type": "invalid_request_error"})


def precondition(kind: str, help_message: str, *, status: int = 412) -> Refusal:
    body = {
        "type": "precondition_failed",
        "message": "precondition is not respected",
        "precondition": kind,
        "help_message": help_message,
    }
    return Refusal(status, body)


def transient(resource: str, resource_id: str, state: str) -> Refusal:
    body = {
        "current_state": state,
        "message": "resource is in a transient state",
        "resource": resource,
        "resource_id": resource_id,
        "type": "transient_state",
    }
    return Refusal(409, body)


def quota_exceeded(resource: str, *, current: int, quota: int) -> Refusal:
    details = [{"current": current, "quota": quota, "resource": resource}]
    return Refusal(
        403, {"details": details, "message": "quota(s) exceeded for this resource", "type": "quotas_exceeded"}
    )


def out_of_stock(resource: str) -> Refusal:
    return Refusal(412, {"type": "out_of_stock", "message": "resource is out of stock", "resource": resource})


# Kept, because most times of an object are the same one, and a page of a hundred servers has six hundred.
@lru_cache(maxsize=100_000)
def time_v1(epoch_ms: int) -> str:
    """`2026-07-30T12:55:26.540000+00:00`, the Instance API v1's form."""
    return _moment(epoch_ms).isoformat(timespec="microseconds")


@lru_cache(maxsize=100_000)
def time_z(epoch_ms: int | None) -> str | None:
    """`2026-07-30T12:55:26.540000Z`, everybody else's form."""
    return None if epoch_ms is None else _moment(epoch_ms).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def http_date(epoch_ms: int) -> str:
    return format_datetime(_moment(epoch_ms).replace(microsecond=0), usegmt=True)


def _moment(epoch_ms: int) -> datetime:
    return datetime.fromtimestamp(epoch_ms / 1000, tz=UTC)


def dump_v1(value: Json) -> bytes:
    return json.dumps(value).encode()


def dump(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")

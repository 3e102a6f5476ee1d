"""What the gate answers to the provider, as a pure function of what the API answered.

The provider takes "gone" out of state, and it is easily convinced: any 404, a 403 on an IP, and any error whose body
is of type `not_found` whatever its status. So no error body of the API is passed on. Each answer is one of

* **pass**: 2xx, and the misses that are part of an ordinary read (below);
* **gone**: a typed 404 of our own, for an id that is proved absent and for no other;
* **failed**: 424 with our own words. The provider retries 429 and 5xx (three times, 2 s to 2 min apart) and maps 400,
  401, 403, 404, 409, 410 and 412 to meanings; 424 means nothing to it, so the read of that one resource fails at once
  and its entry stays as it is (tried with provider 2.81.0);
* **busy**: 429 and 5xx keep their status, for those the provider's own retries are right.

While previewing without a proof a *typed* 404 passes, for there the question is what the provider says; a 403 never
does (R009).

Ordinary misses, unless a resource of that very type is being read: the server read asks the Instance API for an SBS
volume first and takes its 404 as "ask Block Storage"; a user-data key may go between list and read; a volume's parent
snapshot may be another project's (403) or deleted (404); `GET /metadata` is optional.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

FAILED_STATUS: Final = 424
_UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_LAST_ID: Final = re.compile(rf"/({_UUID})$")
_TYPED: Final = frozenset({"not_found", "unknown_resource"})


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105  # a verdict, not a password
    GONE = "gone"
    FAILED = "failed"
    BUSY = "busy"


@dataclass(frozen=True, slots=True)
class _OrdinaryMiss:
    path: re.Pattern[str]
    statuses: frozenset[int]
    unless_type: str  # a targeted type for which this path is the resource itself


_ORDINARY: Final = (
    _OrdinaryMiss(re.compile(r"/metadata"), frozenset({404}), ""),
    _OrdinaryMiss(
        re.compile(rf"/instance/v1/zones/[^/]+/volumes/{_UUID}"), frozenset({404}), "scaleway:instance/volume:Volume"
    ),
    _OrdinaryMiss(
        re.compile(rf"/instance/v1/zones/[^/]+/servers/{_UUID}/user_data(?:/[^/]+)?"),
        frozenset({404}),
        "scaleway:instance/userData:UserData",
    ),
    _OrdinaryMiss(
        re.compile(rf"/block/v1[a-z0-9]*/zones/[^/]+/snapshots/{_UUID}"),
        frozenset({403, 404}),
        "scaleway:block/snapshot:Snapshot",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRules:
    """`proved`: UUIDs proved absent. `types`: Pulumi types that are read in this run. `observe`: a preview whose
    purpose is to learn what the provider says, where a typed 404 passes."""

    proved: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    observe: bool = False

    def judge(self, path: str, status: int, body: bytes) -> Verdict:
        """The verdict on one GET; `path` without the query."""
        if 200 <= status < 300:
            return Verdict.PASS
        if status == 429 or status >= 500:
            return Verdict.BUSY
        if status not in (403, 404):
            return Verdict.FAILED
        if last_id(path) in self.proved:
            return Verdict.GONE
        if self._ordinary(path, status):
            return Verdict.PASS
        if status == 404 and self.observe and _typed(body):
            return Verdict.PASS
        return Verdict.FAILED

    def _ordinary(self, path: str, status: int) -> bool:
        return any(
            status in miss.statuses and miss.path.fullmatch(path) and miss.unless_type not in self.types
            for miss in _ORDINARY
        )


def last_id(path: str) -> str:
    """The UUID that a path ends with, in lower case; empty when it ends with something else."""
    found = _LAST_ID.search(path)
    return found.group(1).lower() if found else ""


def proved_ids(ids: Collection[str]) -> frozenset[str]:
    """The UUIDs of Pulumi ids such as `fr-par-1/UUID`. An id without a UUID proves nothing about any path."""
    return frozenset(filter(None, (last_id(f"/{identity}") for identity in ids)))


def _typed(body: bytes) -> bool:
    try:
        content = json.loads(body)
    except ValueError:
        return False
    return isinstance(content, dict) and content.get("type") in _TYPED


def gone_body(path: str) -> bytes:
    return json.dumps(
        {
            "type": "not_found",
            "message": "resource is not found",
            "resource": "proved_absent",
            "resource_id": last_id(path),
        }
    ).encode()


def failed_body(why: str) -> bytes:
    """No word of it may read as a type that the provider knows, nor hold `is not found`."""
    return json.dumps({"type": "reconciler_gate", "message": why}).encode()

"""The API at an earlier date: keys that it has gained since are absent from its answers.

`WorldOptions.api_date` (`2025-11-04`, or with a time of day) chooses; empty means today's. A client that must still
read what an older tool has stored, or a test against older recordings, needs the shapes of that day. Each row was read
off recorded answers: `until` is the first moment at which one has the key. What changed and was never recorded before
the change is not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from reconciler.simulator.wire import Request, Response, dump, dump_v1


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """`key` is not in answers under `api` from `since` to `until`; in objects that have `beside` and lack `without`.

    Moments compare as text. `null`: the key is there, without a value.
    """

    api: str
    key: str
    until: str
    since: str = ""
    beside: str = ""
    without: str = ""
    null: bool = False


ABSENT: Final = (
    Absent(api="/instance/v1/", key="dns", until="2026-07-30"),
    Absent(api="/instance/v1/", key="filesystems", until="2025-05-22"),
    Absent(api="/instance/v1/", key="end_of_service", until="2025-05-22"),
    Absent(api="/instance/v1/", key="gpu_info", until="2025-05-22"),
    Absent(api="/instance/v1/", key="max_file_systems", until="2025-05-22"),
    Absent(api="/instance/v1/", key="internet_bandwidth", until="2025-05-22", beside="internal_bandwidth", null=True),
    Absent(api="/instance/v1/", key="scratch_storage_max_volumes_count", until="2026-07-01"),
    Absent(api="/instance/v1/", key="scratch_storage_max_size", until="2026-07-01", null=True),
    # Of the SBS volumes of a server, which show no size.
    Absent(api="/instance/v1/", key="state", until="2025-11-04", beside="boot", without="size"),
    # Gone for at least one day, and back.
    Absent(api="/instance/v1/", key="export_uri", since="2025-11-04", until="2026-07-30"),
    Absent(api="/block/", key="kms_key_id", until="2026-06-15"),
    Absent(api="/block/", key="public", until="2026-05-18"),
    Absent(api="/vpc/", key="transitivity_enabled", until="2026-06-23T09:21:37"),
    Absent(api="/vpc/", key="region", until="2026-06-23", beside="subnet"),
    Absent(api="/vpc/", key="s3_integration_enabled", until="2026-07-30"),
    Absent(api="/vpc/", key="has_s3_integration", until="2026-07-30"),
)
# Until then the answer to an action said where its task is.
_TASK_LOCATION_UNTIL: Final = "2026-07-30"
# Since then a snapshot that is being made of a volume in use shows a reference of the provider's own.
SNAPSHOT_REFERENCE_SINCE: Final = "2026-07-30"


def as_of(date: str, request: Request, response: Response) -> Response:
    """`response` as the API gave it on `date`; unchanged where `date` is empty."""
    if not date or not response.body.startswith(b"{"):
        return response
    rows = [row for row in ABSENT if request.path.startswith(row.api) and row.since <= date < row.until]
    body = response.json()
    headers = {**response.headers, **dict(_task(date, request, body))}
    if not rows:
        return replace(response, headers=headers)
    write = dump_v1 if request.path.startswith("/instance/v1/") else dump
    return replace(response, headers=headers, body=write(_older(body, rows)))


def _older(value: Any, rows: list[Absent]) -> Any:
    if isinstance(value, list):
        return [_older(item, rows) for item in value]
    if not isinstance(value, dict):
        return value
    changed = {row.key: row for row in rows if row.key in value and _fits(value, row)}
    return {
        key: None if key in changed else _older(item, rows)
        for key, item in value.items()
        if key not in changed or changed[key].null
    }


def _fits(value: dict[str, Any], row: Absent) -> bool:
    return (not row.beside or row.beside in value) and (not row.without or row.without not in value)


def _task(date: str, request: Request, body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if date < _TASK_LOCATION_UNTIL and request.path.endswith("/action") and "task" in body:
        base = "/".join(request.path.split("/")[:5])
        yield "Location", f"https://api.scaleway.com{base}/tasks/{body['task']['id']}"

"""One request on its way through a handler: everything that the handler may know, and the rules all handlers share.

Rights first: an id outside the key's projects answers 403, and a list shows only what the key may see. Then the
object itself: missing is a typed 404 with the resource word of its API.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

from reconciler.simulator.keys import Key
from reconciler.simulator.mint import Mint
from reconciler.simulator.records import IndexKey
from reconciler.simulator.routing import Route
from reconciler.simulator.tables import Record, Table
from reconciler.simulator.timings import Timings
from reconciler.simulator.wire import (
    Json,
    Query,
    Request,
    Response,
    bad_request,
    denied,
    dump,
    dump_v1,
    invalid,
    not_found,
    quota_exceeded,
)
from reconciler.simulator.world import World


class Owned(Record, Protocol):
    @property
    def project(self) -> str: ...


R = TypeVar("R", bound=Owned)


@dataclass(frozen=True)
class Call:
    request: Request
    route: Route
    params: Mapping[str, str]
    world: World
    key: Key
    mint: Mint
    timings: Timings
    speed: float
    now_ms: int

    @cached_property
    def query(self) -> Query:
        return Query(self.request.query)

    @cached_property
    def body(self) -> Json:
        """The JSON object sent; an empty body is an empty object."""
        if not self.request.body.strip():
            return {}
        try:
            value = json.loads(self.request.body)
        except ValueError as error:
            raise bad_request("The request body is not valid JSON.") from error
        if not isinstance(value, dict):
            raise bad_request("The request body must be a JSON object.")
        return value

    @property
    def zone(self) -> str:
        return self.params["zone"]

    @property
    def region(self) -> str:
        return self.params["region"]

    @property
    def hidden(self) -> bool:
        """Whether this list must look empty to this key."""
        kind = self.route.kind
        return self.route.listing and (
            (kind in self.key.hidden and not self.key.has_right(kind))
            or (kind == "ipam_ip" and self.key.ipam_needs_project and self.query.first("project_id") is None)
        )

    def due(self, seconds: float) -> int:
        """The moment that lies `seconds` of cloud time ahead."""
        return self.now_ms + round(seconds * 1000 / self.speed)

    def fetch(self, table: Table[R], record_id: str, *, place: str, resource: str) -> R:
        """The record, or 404; or 403 when the key's projects do not hold it."""
        record = table.get(record_id)
        if record is None or ("in", place) not in record.index_keys():
            raise not_found(resource, record_id)
        if not self.key.may_see(record.project):
            raise denied("write" if self.route.mutating else "read", resource)
        return record

    def keys_in(self, place: str, parameter: str) -> tuple[IndexKey, ...]:
        """The index keys of a list: one project where the caller names it, else all that the key may see."""
        if self.hidden:
            return ()
        project = self.query.first(parameter)
        if project:
            if not self.key.may_see(project):
                raise denied("read", self.route.kind)
            return (("of", place, project),)
        organization = self.query.first("organization" if parameter == "project" else "organization_id")
        if organization and organization != self.world.organization:
            raise denied("read", self.route.kind)
        if self.key.projects is None:
            return (("in", place),)
        return tuple(("of", place, project) for project in sorted(self.key.projects))

    def narrow(
        self, keys: tuple[IndexKey, ...], *, place: str, tags: set[str], any_of: bool
    ) -> tuple[tuple[IndexKey, ...], frozenset[str] | None]:
        """The index of one tag in place of a whole project's, where tags are asked for.

        Looking for the leftovers of one worker by its tag must not walk through ten thousand others. Returns the keys,
        and the projects that what is found must be in besides (None: the keys say it). The tag that the index answers
        is taken out of `tags`: what is left in there is to be tested. Several tags of which any will do stay a walk.
        """
        if not keys or not tags or (any_of and len(tags) > 1):
            return keys, None
        tag = min(tags)
        tags.discard(tag)
        if keys[0][0] == "of":
            return tuple(("tag", place, tag, key[2]) for key in keys), None
        return (("tag", place, tag),), None

    def project_of_body(self, *names: str) -> str:
        """Where a new object goes. A project that the key cannot see answers 403, as recorded for unknown ones."""
        sent = next((self.body[name] for name in names if self.body.get(name)), None)
        if sent is None or sent == self.world.organization:
            sent = self.key.default_project
        if not isinstance(sent, str) or not self.key.may_see(sent):
            raise denied("write", self.route.kind)
        return sent

    def respect_quota(self, table: Table[Any], *, place: str, project: str) -> None:
        quota = dict(self.world.options.quotas).get(self.route.kind)
        current = table.count("of", place, project)
        if quota is not None and current >= quota:
            raise quota_exceeded(self.route.kind, current=current, quota=quota)

    def tags_of_body(self) -> tuple[str, ...] | None:
        """The tags sent, or None when the body names none; null clears, as an empty list does."""
        if "tags" not in self.body:
            return None
        return strings(self.body["tags"] or [], "tags")

    def as_kind(self, kind: str) -> Call:
        """The same call under another right: for a handler that touches a second kind."""
        return replace(self, route=replace(self.route, kind=kind))


def strings(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise invalid(name, "format", "must be a list of strings")
    return tuple(value)


def text(body: Json, name: str, default: str | None = None) -> str:
    """A required text; `default` stands in for an absent or empty one."""
    value = body.get(name)
    if isinstance(value, str) and value:
        return value
    if value in (None, "") and default is not None:
        return default
    raise invalid(name, "required" if value in (None, "") else "format", "a text is needed")


def number(body: Json, name: str, default: int | None = None) -> int:
    value = body.get(name, default)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise invalid(name, "required" if value is None else "format", "a number is needed")


def optional_text(body: Json, name: str) -> str | None:
    """A text or nothing; empty counts as nothing."""
    return text(body, name) if body.get(name) not in (None, "") else None


def optional_number(body: Json, name: str) -> int | None:
    return None if body.get(name) is None else number(body, name)


def mapping(body: Json, name: str) -> Json:
    """An object; absent and null are an empty one."""
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid(name, "format", "must be an object")
    return value


def mappings(body: Json, name: str) -> list[Json]:
    """A list of objects; absent and null are an empty one."""
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise invalid(name, "format", "must be a list of objects")
    return value


def reply_v1(body: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in the Instance API v1's dialect."""
    return Response(status=status, headers=_json(headers), body=dump_v1(body))


def reply(body: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status=status, headers=_json(headers), body=dump(body))


def nothing() -> Response:
    return Response(status=204)


def _json(headers: Mapping[str, str] | None) -> dict[str, str]:
    return {"Content-Type": "application/json", **(headers or {})}

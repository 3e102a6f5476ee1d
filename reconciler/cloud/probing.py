"""One GET by id, and what it proves.

PRESENT: a 200 whose body is an object of the kind with that id. ABSENT: a typed 404 from every API that could hold the
id. Everything else is UNKNOWN, with the reason: 403 (it hides what is gone and what is not ours to see alike), 429,
5xx, no answer, a 404 that the API did not type, a 200 that cannot be read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from reconciler.cloud.answers import Answer, is_typed_404, route_is_missing
from reconciler.cloud.kinds import SPECS
from reconciler.cloud.transport import Api
from reconciler.cloud.wire import GetSource
from reconciler.model.inventory import Presence, Probe
from reconciler.model.resources import Kind, Ref, Resource, region_of

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LOCALITY: Final = re.compile(r"[a-z]{2}-[a-z]{3}(-[0-9]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A probe, the API call under which the object was found, how many requests it took, and whether any API of the
    kind is offered in its place: where none is, nothing of the kind exists."""

    probe: Probe
    path: str | None = None
    requests: int = 0
    offered: bool = True


def place_of(kind: Kind, locality: str) -> str:
    """The locality as the kind's API wants it: a region for regional kinds. Raises ValueError for a malformed one."""
    if not _LOCALITY.fullmatch(locality):
        raise ValueError(f"not a zone or region: {locality!r}")
    return region_of(locality) if kind.regional else locality


def look(api: Api, ref: Ref) -> Sighting:
    """Ask every API of the kind for the id. Raises AuthenticationError alone."""
    if not _UUID.fullmatch(ref.id):
        # An empty id would ask for the list, and one with a slash for something else.
        return Sighting(probe=_unknown(api, ref, None, "the id is not a UUID"))
    try:
        place = place_of(ref.kind, ref.zone)
    except ValueError as error:
        return Sighting(probe=_unknown(api, ref, None, str(error)))
    absent, requests, doubt = False, 0, None
    for source in SPECS[ref.kind].gets:
        path = source.path(place, ref.id)
        answer = api.get(path)
        requests += answer.requests
        if answer.whole:
            return Sighting(probe=_found(api, ref, place, source, answer), path=path, requests=requests)
        if is_typed_404(answer, words=source.words, resource_id=ref.id):
            absent = absent or source.decode is not None
        elif not route_is_missing(answer):
            # An API that does not exist here cannot hold the id; any other answer leaves it open.
            doubt = doubt or answer
    if doubt is not None or not absent:
        reason = "no API of this kind is offered here" if doubt is None else doubt.told()
        offered = doubt is not None or absent
        return Sighting(probe=_unknown(api, ref, doubt, reason), requests=requests, offered=offered)
    gone = Probe(ref=ref, presence=Presence.ABSENT, at_ms=api.clock.now_ms(), status=404)
    return Sighting(probe=gone, requests=requests)


def _found(api: Api, ref: Ref, place: str, source: GetSource, answer: Answer) -> Probe:
    if source.decode is None:
        return _unknown(api, ref, answer, "the id is in another API than its kind says")
    try:
        resource: Resource = source.decode(answer.body, place)
    except ValueError:
        api.unreadable(answer)
        return _unknown(api, ref, answer, f"HTTP {answer.status} with a body that is not the API's")
    if resource.id.lower() != ref.id.lower() or resource.zone != place:
        return _unknown(api, ref, answer, "the API answered with another object")
    return Probe(ref=ref, presence=Presence.PRESENT, at_ms=api.clock.now_ms(), resource=resource, status=answer.status)


def _unknown(api: Api, ref: Ref, answer: Answer | None, reason: str) -> Probe:
    status = None if answer is None else answer.status
    return Probe(ref=ref, presence=Presence.UNKNOWN, at_ms=api.clock.now_ms(), status=status, reason=reason)

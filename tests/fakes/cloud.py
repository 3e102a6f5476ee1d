"""A provider in a dict. Everything it holds is listed and probed; a knob makes a part of it unknown or refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from reconciler.kernel.clock import Clock, VirtualClock
from reconciler.kernel.errors import AuthenticationError, CloudError
from reconciler.model.inventory import Presence, Probe, Right, Scan
from reconciler.model.money import Price
from reconciler.model.resources import Kind, Ref, Resource, Server, owner_server_id
from reconciler.model.warrant import DestroyAnswer, Destroyed, Warrant
from reconciler.ports.cloud import ApiHealth

PROJECT: Final = "11111111-1111-4111-8111-111111111111"
ZONE: Final = "fr-par-1"


@dataclass
class FakeCloud:
    """Knobs: `unauthorised` (401 everywhere), `broken` ((kind, zone) -> why its scan is not complete), `stubborn`
    (ids that a destroy accepts and that stay), `on_destroy` (called in the middle of one), `skew_seconds`."""

    clock: Clock = field(default_factory=VirtualClock)
    project: str = PROJECT
    zone_names: tuple[str, ...] = (ZONE,)
    resources: dict[Ref, Resource] = field(default_factory=dict)
    price_list: dict[str, Price] = field(default_factory=dict)
    unauthorised: bool = False
    broken: dict[tuple[Kind, str], str] = field(default_factory=dict)
    stubborn: set[str] = field(default_factory=set)
    on_destroy: Callable[[Ref], None] | None = None
    skew_seconds: float | None = 0.0
    calls: int = 0
    destroyed: list[Ref] = field(default_factory=list)
    tagged: list[tuple[Ref, tuple[str, ...]]] = field(default_factory=list)

    def add(self, *resources: Resource) -> None:
        for resource in resources:
            self.resources[resource.ref] = resource

    def zones(self) -> tuple[str, ...]:
        return self.zone_names

    def check_credentials(self) -> None:
        self._call()

    def scan(self, kind: Kind, locality: str, *, known_ids: Collection[str] = ()) -> Scan:
        self._call()
        why = self.broken.get((kind, locality))
        items = tuple(found for ref, found in self.resources.items() if (ref.kind, ref.zone) == (kind, locality))
        now = self.clock.now_ms()
        return Scan(
            kind=kind,
            zone=locality,
            started_ms=now,
            finished_ms=now,
            complete=why is None,
            right=Right.PROVED if known_ids else Right.ASSUMED,
            reason=why,
            calls=1,
            items=items if why is None else (),
        )

    def probe(self, ref: Ref) -> Probe:
        self._call()
        now, found = self.clock.now_ms(), self.resources.get(ref)
        if (ref.kind, ref.zone) in self.broken:
            return Probe(ref=ref, presence=Presence.UNKNOWN, at_ms=now, status=503, reason="HTTP 503")
        if found is None:
            return Probe(ref=ref, presence=Presence.ABSENT, at_ms=now, status=404, reason="typed 404")
        return Probe(ref=ref, presence=Presence.PRESENT, at_ms=now, resource=found, status=200)

    def prove_absent(self, refs: Collection[Ref], *, known_ids: Mapping[Kind, Collection[str]]) -> Mapping[Ref, Probe]:
        return {ref: self.probe(ref) for ref in refs}

    def prices(self, zone: str) -> Mapping[str, Price]:
        return self.price_list

    def set_tags(self, ref: Ref, tags: tuple[str, ...], *, expected: tuple[str, ...]) -> Resource:
        self._call()
        found = self.resources.get(ref)
        if found is None or found.tags != expected:
            raise CloudError(f"the tags of {ref} moved", code="RC0420")
        fresh = dataclasses.replace(found, tags=tags)
        self.resources[ref] = fresh
        self.tagged.append((ref, tags))
        return fresh

    def destroy(self, warrant: Warrant, ref: Ref) -> Destroyed:
        assert warrant.covers(ref)
        self._call()
        self.destroyed.append(ref)
        if self.on_destroy is not None:
            self.on_destroy(ref)
        if ref not in self.resources:
            return Destroyed(ref=ref, answer=DestroyAnswer.ALREADY_GONE, text="typed 404", status=404)
        if ref.id not in self.stubborn:
            gone = self.resources.pop(ref)
            if isinstance(gone, Server):
                self._detach_children(gone)
        return Destroyed(ref=ref, answer=DestroyAnswer.ACCEPTED, text="accepted", status=204)

    def health(self) -> ApiHealth:
        return ApiHealth(calls=self.calls, failed=0, throttled=0, skew_seconds=self.skew_seconds)

    def _call(self) -> None:
        self.calls += 1
        if self.unauthorised:
            raise AuthenticationError("the API answered 401")

    def _detach_children(self, server: Server) -> None:
        for ref, found in list(self.resources.items()):
            if owner_server_id(found) != server.id:
                continue
            match ref.kind:
                case Kind.NIC:
                    del self.resources[ref]
                case _:
                    assert not isinstance(found, Server)
                    self.resources[ref] = _detached(found)


def _detached(resource: Resource) -> Resource:
    changes: dict[str, object] = {"server_id": None}
    if hasattr(resource, "reference_ids"):
        changes |= {"reference_ids": ()}
    return dataclasses.replace(resource, **changes)  # type: ignore[arg-type]  # both fields exist on what gets here

"""The provider, as the product sees it.

Every method may raise `AuthenticationError` (401). Reads never raise for anything else: what could not be read is a
value (`Scan.complete` False, `Presence.UNKNOWN`). Writes raise `CloudError`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from reconciler.model.inventory import Probe, Scan
from reconciler.model.money import Price
from reconciler.model.resources import Kind, Ref, Resource
from reconciler.model.warrant import Destroyed, Warrant


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiHealth:
    """Since the client was made. `skew_seconds`: the API's `Date` minus our clock, None before the first answer."""

    calls: int
    failed: int
    throttled: int
    skew_seconds: float | None


class Cloud(Protocol):
    @property
    def project(self) -> str: ...

    def zones(self) -> tuple[str, ...]:
        """All zones known to exist."""
        ...

    def check_credentials(self) -> None:
        """One cheap authenticated call. Raises AuthenticationError (401) or CloudError (unreachable)."""
        ...

    def scan(self, kind: Kind, locality: str, *, known_ids: Collection[str] = ()) -> Scan:
        """List one kind in one zone or region, with the proof of completeness in the result.

        `known_ids` are ids of the kind *in this locality* that another ledger holds: each must be in the list, or
        answer 200 or a typed 404 under the same key, for the right to be proved. Ids of other places cost a GET each,
        and make a kind that is not offered here look contradicted.
        """
        ...

    def probe(self, ref: Ref) -> Probe:
        """One GET by id in the resource's own locality."""
        ...

    def prove_absent(self, refs: Collection[Ref], *, known_ids: Mapping[Kind, Collection[str]]) -> Mapping[Ref, Probe]:
        """Rule 2 for each ref: a typed 404 by id that no complete scan begun after it contradicts, or, where the API
        answers 403 for what is gone (IPs), absence from two complete scans with the right proved. The probe of a ref
        that is neither seen nor proved absent is UNKNOWN with a reason. `known_ids` may be of any place: the list is
        searched for all of them, and a few are asked for."""
        ...

    def prices(self, zone: str) -> Mapping[str, Price]:
        """Price of one hour: of a server by commercial type, of one GB by volume type (`sbs_5k`). May be empty."""
        ...

    def set_tags(self, ref: Ref, tags: tuple[str, ...], *, expected: tuple[str, ...]) -> Resource:
        """Replace the whole tag list after reading it again; CloudError RC0420 when it is no longer `expected`."""
        ...

    def destroy(self, warrant: Warrant, ref: Ref) -> Destroyed:
        """The only destructive call in the product: one request for one id that the warrant covers.

        A server is terminated (running, stopped in place) or deleted (stopped); everything else is deleted by its own
        API. Raises CloudError when the API fails, with the effect unknown.
        """
        ...

    def health(self) -> ApiHealth: ...

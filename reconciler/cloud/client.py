"""The port `Cloud`, over HTTP. Everything is in the other modules; this one ties them to one key and one project."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from reconciler.cloud import destroy, prices, probing, proofs, scanning
from reconciler.cloud import tags as tagging
from reconciler.cloud.credentials import Credentials
from reconciler.cloud.limiter import Limiter
from reconciler.cloud.transport import Api
from reconciler.cloud.zones import FIRST_ZONES, ZONES
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import CloudError
from reconciler.kernel.executor import Executor, SerialExecutor
from reconciler.kernel.randomness import Randomness, SystemRandomness
from reconciler.model.inventory import Probe, Scan
from reconciler.model.money import Price
from reconciler.model.resources import Kind, Ref, Resource
from reconciler.model.warrant import Destroyed, Warrant
from reconciler.ports.cloud import ApiHealth

if TYPE_CHECKING:
    import httpx2


class ScalewayCloud:
    """One project under one key. Thread-safe; close it, or use it in `with`.

    `transport` replaces the network. `executor` runs the GETs of one proof; scans are as parallel as the caller makes
    them. `allow_plain_http` permits `http://` beyond loopback. The first call imports httpx2.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        clock: Clock,
        randomness: Randomness | None = None,
        executor: Executor | None = None,
        limiter: Limiter | None = None,
        transport: httpx2.BaseTransport | None = None,
        allow_plain_http: bool = False,
    ) -> None:
        self._project = credentials.project
        self._randomness = randomness or SystemRandomness()
        self._executor = executor or SerialExecutor()
        self._api = Api(
            credentials,
            clock=clock,
            randomness=self._randomness,
            limiter=limiter,
            transport=transport,
            allow_plain_http=allow_plain_http,
        )

    @property
    def project(self) -> str:
        return self._project

    def zones(self) -> tuple[str, ...]:
        return ZONES

    def check_credentials(self) -> None:
        """One server of one zone. A 403 or a 429 is an answer: the key is good, and what it may see is for the scans to
        say.

        A zone that answers with an error says nothing about the others (rule 12), so a zone of each region is asked
        before the API counts as down. No answer at all is the network's, and the same for every zone.

        Raises AuthenticationError RC0309 (401) or CloudError RC0401.
        """
        said = ""
        for zone in FIRST_ZONES:
            answer = self._api.get(
                f"/instance/v1/zones/{zone}/servers", [("project", self._project), ("per_page", "1"), ("page", "1")]
            )
            if answer.ok or answer.status in (403, 429):
                return
            said = said or answer.told()
            if answer.status is None:
                break
        raise CloudError(
            f"the Scaleway API does not answer as it should: {said}",
            code="RC0401",
            hint="Check SCW_API_URL, the network and https://status.scaleway.com.",
        )

    def scan(self, kind: Kind, locality: str, *, known_ids: Collection[str] = ()) -> Scan:
        return scanning.scan(self._api, kind, locality, project=self._project, known_ids=known_ids)

    def probe(self, ref: Ref) -> Probe:
        return probing.look(self._api, ref).probe

    def prove_absent(self, refs: Collection[Ref], *, known_ids: Mapping[Kind, Collection[str]]) -> Mapping[Ref, Probe]:
        return proofs.prove_absent(self._api, refs, project=self._project, known_ids=known_ids, executor=self._executor)

    def prices(self, zone: str) -> Mapping[str, Price]:
        return prices.prices(self._api, zone)

    def set_tags(self, ref: Ref, tags: tuple[str, ...], *, expected: tuple[str, ...]) -> Resource:
        return tagging.set_tags(
            self._api, ref, tags, expected=expected, project=self._project, randomness=self._randomness
        )

    def destroy(self, warrant: Warrant, ref: Ref) -> Destroyed:
        return destroy.destroy(self._api, warrant, ref, project=self._project)

    def health(self) -> ApiHealth:
        return self._api.health()

    def close(self) -> None:
        self._api.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

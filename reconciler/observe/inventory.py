"""Read the provider: every listed kind in every zone, then what only a targeted read shows, then proofs of absence.

Flexible IPs are listed before IPAM, because each v1 IP's `ipam_id` is the witness that an IPAM list is not empty for
lack of the right (report R008), and because IPAM alone knows when an IP was booked. What a state holds and a complete
list does not is asked for by id; what seems to differ is read once more by id, so that a list that lags makes no
finding. Where that second read says *gone*, it is proved like any other absence; where it gives no answer, the
difference stays unconfirmed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from reconciler.diff.authority import in_scope
from reconciler.diff.index import Index
from reconciler.diff.properties import compare, same
from reconciler.kernel.executor import Executor
from reconciler.model.inventory import Inventory, Presence, Probe, Scan
from reconciler.model.money import Price
from reconciler.model.resources import Ip, IpamAddress, Kind, Ref, Resource, region_of
from reconciler.model.scope import Scope
from reconciler.model.state import StackState, StateResource
from reconciler.observe.coverage import LISTED, LISTED_REGIONAL, TARGETED
from reconciler.ports.cloud import Cloud

_Known = Mapping[Kind, Collection[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads one scope's inventory through one cloud."""

    scope: Scope
    cloud: Cloud
    executor: Executor

    def read(self, states: Sequence[StackState], *, recorded: Collection[Ref] = ()) -> Inventory:
        """`recorded`: machines that rows of workers name. What a ledger holds is a witness, and is proved absent."""
        entries = dict(self._entries(states))
        rows = sorted(ref for ref in set(recorded) - entries.keys() if ref.zone in self.scope.zones)
        known, here = _known_ids((*entries, *rows)), _known_by_place((*entries, *rows))
        scans = self._scan([(kind, zone) for zone in self.scope.zones for kind in LISTED], here)
        for ip in (item for scan in scans.values() for item in scan.items):
            if isinstance(ip, Ip) and ip.ipam_id:
                here.setdefault((Kind.IPAM, region_of(ip.zone)), set()).add(ip.ipam_id)
        regions = sorted({region_of(zone) for zone in self.scope.zones})
        scans |= self._scan([(kind, region) for region in regions for kind in LISTED_REGIONAL], here)
        inventory = Inventory(scans=_with_booking_times(scans), prices=self._prices(scans))
        probes = self._probed(ref for ref in entries if ref.kind in TARGETED)
        lacking = [ref for ref in (*entries, *rows) if _lacks(ref, inventory, probes)]
        probes |= self._proved(lacking, known)
        seen = self._probed(self._differing(entries, replace_probes(inventory, probes)))
        probes |= seen
        probes |= self._proved([ref for ref, probe in seen.items() if probe.presence is Presence.ABSENT], known)
        return replace_probes(inventory, _dated(probes, scans))

    def _entries(self, states: Sequence[StackState]) -> Iterator[tuple[Ref, StateResource]]:
        for state in states:
            for resource in state.resources:
                ref = resource.ref
                if ref is not None and in_scope(resource, ref.kind, ref.zone, scope=self.scope):
                    yield ref, resource

    def _scan(
        self, jobs: Sequence[tuple[Kind, str]], known: Mapping[tuple[Kind, str], Collection[str]]
    ) -> dict[tuple[Kind, str], Scan]:
        """An id is a witness in its own place only: elsewhere it would cost a GET and prove nothing."""

        def one(job: tuple[Kind, str]) -> Scan:
            kind, place = job
            return self.cloud.scan(kind, place, known_ids=known.get(job, ()))

        return {job: outcome.unwrap() for job, outcome in zip(jobs, self.executor.map(one, jobs), strict=True)}

    def _prices(self, scans: Mapping[tuple[Kind, str], Scan]) -> dict[tuple[str, str], Price]:
        priced = (Kind.SERVER, Kind.VOLUME)
        zones = sorted({zone for (kind, zone), scan in scans.items() if scan.items and kind in priced})
        found: dict[tuple[str, str], Price] = {}
        for zone, outcome in zip(zones, self.executor.map(self.cloud.prices, zones), strict=True):
            for name, price in outcome.unwrap().items():
                found[zone, name] = price
        return found

    def _probed(self, refs: Iterable[Ref]) -> dict[Ref, Probe]:
        asked = list(refs)
        outcomes = self.executor.map(self.cloud.probe, asked)
        return {ref: outcome.unwrap() for ref, outcome in zip(asked, outcomes, strict=True)}

    def _proved(self, refs: Sequence[Ref], known: _Known) -> dict[Ref, Probe]:
        return dict(self.cloud.prove_absent(refs, known_ids=known)) if refs else {}

    def _differing(self, entries: Mapping[Ref, StateResource], inventory: Inventory) -> Iterator[Ref]:
        index, managed = Index(inventory), {ref.id for ref in entries}
        for ref, entry in entries.items():
            found = index.get(ref)
            if found is None or ref in inventory.probes or same(entry, found, index=index):
                continue
            if compare(entry, found, index=index, managed=managed).differences:
                yield ref


def _lacks(ref: Ref, inventory: Inventory, probes: Mapping[Ref, Probe]) -> bool:
    """Whether absence is to be proved: a complete list, or a GET, lacks it. An incomplete list is a reason for
    nothing."""
    if ref.kind in TARGETED:
        return probes[ref].presence is Presence.ABSENT
    return inventory.presence(ref) is Presence.ABSENT


def replace_probes(inventory: Inventory, probes: Mapping[Ref, Probe]) -> Inventory:
    return Inventory(scans=inventory.scans, prices=inventory.prices, probes=dict(probes))


def _known_ids(refs: Iterable[Ref]) -> dict[Kind, set[str]]:
    known: dict[Kind, set[str]] = {}
    for ref in refs:
        known.setdefault(ref.kind, set()).add(ref.id)
    return known


def _known_by_place(refs: Iterable[Ref]) -> dict[tuple[Kind, str], set[str]]:
    known: dict[tuple[Kind, str], set[str]] = {}
    for ref in refs:
        known.setdefault((ref.kind, ref.zone), set()).add(ref.id)
    return known


def _booked(scans: Mapping[tuple[Kind, str], Scan]) -> dict[str, int]:
    items = (item for scan in scans.values() for item in scan.items)
    return {item.id: item.created_ms for item in items if isinstance(item, IpamAddress) and item.created_ms is not None}


def _with_booking_times(scans: Mapping[tuple[Kind, str], Scan]) -> dict[tuple[Kind, str], Scan]:
    booked = _booked(scans)
    return {
        key: replace(scan, items=tuple(_date(item, booked) for item in scan.items)) if key[0] is Kind.IP else scan
        for key, scan in scans.items()
    }


def _date(item: Resource, booked: Mapping[str, int]) -> Resource:
    since = booked.get(item.ipam_id) if isinstance(item, Ip) and item.ipam_id is not None else None
    return item if since is None else replace(item, created_ms=since)


def _dated(probes: Mapping[Ref, Probe], scans: Mapping[tuple[Kind, str], Scan]) -> dict[Ref, Probe]:
    booked = _booked(scans)
    return {
        ref: replace(probe, resource=_date(probe.resource, booked)) if probe.resource is not None else probe
        for ref, probe in probes.items()
    }

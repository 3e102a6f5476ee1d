"""One kind in one place, listed, with the proof of completeness in the result.

The explicit project goes with every list: an org-wide key lists others' projects, and IPAM checks the right only when
a project is named. What comes back is checked again, object by object: one of another project or place means that the
filter was not honoured, so the scan is incomplete and the stranger is left out. Names and tags are never filtered by
the server: names match as substrings, and tags are AND in one API and OR in the other.

*Not offered here* is apart from *denied*. Where the API itself says that it has no such route (a typed 404 for no
resource, or a typed 501), nothing can exist: the scan is complete and empty with `offered` False. Its right stays
unknown, so it proves no absence, and when another ledger knows an id there it is not believed at all.

Private NICs fall back to v1's lists by server where v2alpha1 is not served at all (emulators): complete when the
server list and every one of those lists are. Their ids can be probed through v2alpha1 only, so a known NIC that is in
none of those lists leaves the scan incomplete.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from reconciler.cloud import probing, rights
from reconciler.cloud.answers import Answer, route_is_missing
from reconciler.cloud.kinds import SPECS, nics
from reconciler.cloud.paging import PAGE_SIZE, Fault, Listing, read_list
from reconciler.cloud.transport import Api
from reconciler.cloud.wire import Dialect, ListSource, Page
from reconciler.model.inventory import Probe, Right, Scan
from reconciler.model.resources import Kind, Ref, Resource, Server

Ask = Callable[[Ref], Probe]

_NOT_OFFERED: Final = "not offered here"


@dataclass(slots=True)
class _Read:
    """All lists of a kind, merged."""

    items: dict[str, Resource] = field(default_factory=dict)
    passes: int = 1
    fault: Fault | None = None
    offered: bool = True


def scan(
    api: Api,
    kind: Kind,
    locality: str,
    *,
    project: str,
    known_ids: Collection[str] = (),
    limit: int = rights.PROBE_LIMIT,
    ask: Ask | None = None,
) -> Scan:
    """List a kind. `ask` answers for a known id that the list lacks (by default one GET). Raises AuthenticationError
    alone."""
    started_ms = api.clock.now_ms()
    try:
        place = probing.place_of(kind, locality)
    except ValueError as error:
        job = _Scanning(api=api, kind=kind, place=locality, project=project, started_ms=started_ms)
        return job.result(_Read(), right=Right.UNKNOWN, reason=str(error))
    job = _Scanning(api=api, kind=kind, place=place, project=project, started_ms=started_ms)
    read = job.read()
    if not read.offered:
        reason = f"{_NOT_OFFERED}, yet {len(known_ids)} ids are known here" if known_ids else None
        return job.result(read, right=Right.UNKNOWN, reason=reason)
    if read.fault is not None:
        right = Right.DENIED if read.fault.denied else Right.UNKNOWN
        return job.result(read, right=right, reason=read.fault.reason)
    listed = rights.ListRead(kind=kind, project=project, started_ms=started_ms, ids=read.items.keys())
    verdict = rights.judge(listed, known_ids, lambda id_: job.probe(id_, ask), limit=limit)
    return job.result(read, right=verdict.right, reason=verdict.refuted)


@dataclass(slots=True, kw_only=True)
class _Scanning:
    """One scan on its way, with its count of requests."""

    api: Api
    kind: Kind
    place: str
    project: str
    started_ms: int
    requests: int = 0

    def result(self, read: _Read, *, right: Right, reason: str | None) -> Scan:
        return Scan(
            kind=self.kind,
            zone=self.place,
            started_ms=self.started_ms,
            finished_ms=self.api.clock.now_ms(),
            complete=reason is None,
            right=right,
            reason=reason,
            offered=read.offered,
            passes=read.passes,
            calls=self.requests,
            items=tuple(read.items.values()),
        )

    def probe(self, id_: str, ask: Ask | None) -> Probe:
        ref = Ref(self.kind, self.place, id_)
        if ask is not None:
            return ask(ref)
        seen = probing.look(self.api, ref)
        self.requests += seen.requests
        return seen.probe

    def read(self) -> _Read:
        read = _Read()
        missing = 0
        sources = SPECS[self.kind].lists
        for source in sources:
            listing = self._list(source)
            fault = listing.fault
            if fault is not None and fault.unrouted and self.kind is Kind.NIC:
                return self._nics_by_server()
            if fault is not None and fault.missing:
                missing += 1
            else:
                self._merge(read, listing)
        read.offered = missing < len(sources)
        return read

    def _list(self, source: ListSource) -> Listing:
        def fetch(number: int, token: str | None) -> Page | Fault:
            answer = self.api.get(source.path(self.place), _query(source, self.project, number, token))
            self.requests += answer.requests
            return _page(self.api, source, answer, self.place)

        return read_list(fetch, newest_first=source.order is not None, tokens=source.dialect is Dialect.TOKEN)

    def _merge(self, read: _Read, listing: Listing) -> None:
        own = [item for item in listing.items if item.project == self.project and item.zone == self.place]
        read.items = {item.id: item for item in own} | read.items
        read.passes = max(read.passes, listing.passes)
        strangers = len(listing.items) - len(own)
        fault = listing.fault
        if fault is None and strangers:
            fault = Fault(reason=f"{strangers} objects of another project or zone came: the filter was not honoured")
        if fault is not None and (read.fault is None or fault.denied):
            read.fault = fault

    def _nics_by_server(self) -> _Read:
        servers = _Read()
        for source in SPECS[Kind.SERVER].lists:
            listing = self._list(source)
            self._merge(servers, listing)
            if listing.fault is not None and listing.fault.missing:
                servers.offered = False
        read = _Read(passes=servers.passes, fault=servers.fault, offered=servers.offered)
        for server in _with_nics(servers.items.values()):
            if read.fault is not None:
                break
            self._merge(read, self._list(nics.of_server(server.id, self.project)))
        return read


def _query(source: ListSource, project: str, number: int, token: str | None) -> list[tuple[str, str]]:
    size = str(PAGE_SIZE)
    match source.dialect:
        case Dialect.V1:
            query = [("project", project), ("per_page", size), ("page", str(number))]
        case Dialect.PAGED:
            query = [("project_id", project), ("page_size", size), ("page", str(number))]
        case Dialect.TOKEN:
            query = [("project_id", project), ("page_size", size)]
            query += [("page_token", token)] if token is not None else []
    return [*query, source.order] if source.order is not None else query


def _page(api: Api, source: ListSource, answer: Answer, place: str) -> Page | Fault:
    if not answer.whole:
        return Fault(
            reason=answer.told(),
            denied=answer.status == 403,
            missing=route_is_missing(answer),
            unrouted=answer.fault is None and answer.status in (404, 405, 501),
        )
    try:
        page = source.decode(answer.body, place)
    except ValueError:
        api.unreadable(answer)
        return Fault(reason=f"HTTP {answer.status} with a body that is not the API's")
    if answer.total is None:
        return page
    total = int(answer.total) if answer.total.isascii() and answer.total.isdigit() and len(answer.total) < 10 else None
    if total is None or page.total not in (None, total):
        return Fault(reason="the list's total is no number, or its header and body differ")
    return Page(items=page.items, total=total, next_token=page.next_token)


def _with_nics(items: Iterable[Resource]) -> Iterable[Server]:
    return (item for item in items if isinstance(item, Server) and item.nic_ids)

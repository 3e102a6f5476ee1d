"""The state of a simulated cloud: tables, keys, options and the transitions that are still under way.

A `World` holds no rules. What the API does to it is in `rooms`, what time does to it in `transitions`, what people do
to it behind everybody's back in `strangers`. It is not thread-safe: a `Simulator` guards it with one lock
(`Simulator.world()` from outside a request).
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from reconciler.simulator.defaults import ORGANIZATION_ID
from reconciler.simulator.keys import Key, default_key
from reconciler.simulator.records import BlockVolume, FlexibleIp, IpamIp, Nic, Server, Volume
from reconciler.simulator.records_static import (
    BlockSnapshot,
    Image,
    PlacementGroup,
    PrivateNetwork,
    SecurityGroup,
    Snapshot,
    Vpc,
)
from reconciler.simulator.tables import Table

AnyRecord = (
    Server | FlexibleIp | Volume | BlockVolume | Nic | IpamIp | PrivateNetwork | Vpc
    | SecurityGroup | PlacementGroup | Image | Snapshot | BlockSnapshot
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldOptions:
    """Facts of the API that differ between times, accounts or accounts' luck.

    `ipam_id_differs`: an IP's `ipam_id` is not its id (as recorded until November 2025).
    `deleted_ip_status`: what GET answers for an IP that is gone: 404 (as recorded) or 403 (as reported).
    `nic_delete_needs_detach`: v2alpha1 refuses to delete an attached interface with 412 (since September 2026).
    `v2_delete_keeps_sbs`: v2alpha1 `DELETE` leaves SBS volumes whatever its selectors say, as its documentation warns.
    `quotas`: kind -> how many objects one project may have. `stock`: "zone/TYPE" -> how many may be powered on.
    `absent_products`: "block/it-mil-1": a product that this place does not offer.
    `api_date`: the day (`2025-11-04`) or moment whose shapes answers have; empty means today's (`ages`).
    """

    ipam_id_differs: bool = False
    deleted_ip_status: int = 404
    nic_delete_needs_detach: bool = False
    v2_delete_keeps_sbs: bool = True
    quotas: tuple[tuple[str, int], ...] = ()
    stock: tuple[tuple[str, int], ...] = ()
    absent_products: tuple[str, ...] = ()
    api_date: str = ""


@dataclass(frozen=True, slots=True, order=True)
class Transition:
    """Something that will be true at `due_ms`. `op` and `args` are data, so that a world can be stored mid-way."""

    due_ms: int
    sequence: int
    op: str = field(compare=False)
    target: str = field(compare=False)
    args: Mapping[str, str | int] = field(compare=False, default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one record. `old` None: created. `new` None: removed. `order`: its place among those of its age."""

    at_ms: int
    kind: str
    order: int
    old: Any
    new: Any

    @property
    def id(self) -> str:
        return str((self.new if self.old is None else self.old).id)


class World:
    """All that exists. Put and remove records through the tables; ask `find` when only an id is known."""

    def __init__(
        self,
        *,
        organization: str = ORGANIZATION_ID,
        keys: Iterable[Key] | None = None,
        options: WorldOptions | None = None,
    ) -> None:
        self.organization = organization
        self.keys: dict[str, Key] = {key.secret: key for key in ([default_key()] if keys is None else keys)}
        self.options = options or WorldOptions()
        self.servers: Table[Server] = Table()
        self.ips: Table[FlexibleIp] = Table()
        self.volumes: Table[Volume] = Table()
        self.block_volumes: Table[BlockVolume] = Table()
        self.nics: Table[Nic] = Table()
        self.ipam: Table[IpamIp] = Table()
        self.networks: Table[PrivateNetwork] = Table()
        self.vpcs: Table[Vpc] = Table()
        self.security_groups: Table[SecurityGroup] = Table()
        self.placement_groups: Table[PlacementGroup] = Table()
        self.images: Table[Image] = Table()
        self.snapshots: Table[Snapshot] = Table()
        self.block_snapshots: Table[BlockSnapshot] = Table()
        self._by_kind: Mapping[str, Table[Any]] = {
            "vpc": self.vpcs,
            "private_network": self.networks,
            "security_group": self.security_groups,
            "placement_group": self.placement_groups,
            "snapshot": self.snapshots,
            "block_snapshot": self.block_snapshots,
            "image": self.images,
            "server": self.servers,
            "ip": self.ips,
            "volume": self.volumes,
            "block_volume": self.block_volumes,
            "private_nic": self.nics,
            "ipam_ip": self.ipam,
        }
        self._pending: list[Transition] = []
        self._sequence = 0
        self._addresses = 0
        self._attachments = 0
        # The moment at which whatever happens now happens: a transition's due time, else the time of the request.
        self.moment_ms = 0
        self._watchers: list[list[Change]] = []

    def tables(self) -> Mapping[str, Table[Any]]:
        """Kind (the word of world files, rights and quotas) -> its table."""
        return self._by_kind

    def add(self, *records: AnyRecord) -> None:
        """Put each record into the table of its kind."""
        tables = self.tables()
        for record in records:
            tables[KIND_OF[type(record)]].put(record)

    def __contains__(self, record_id: object) -> bool:
        return any(record_id in table for table in self._by_kind.values())

    def seen_as(self, tables: Mapping[str, Table[Any]]) -> World:
        """A world like this one, with other tables in the place of some; the rest is shared."""
        seen = copy.copy(self)
        names = {id(value): name for name, value in vars(self).items() if isinstance(value, Table)}
        for kind, table in tables.items():
            setattr(seen, names[id(self._by_kind[kind])], table)
        seen._by_kind = {**self._by_kind, **tables}
        return seen

    def find(self, record_id: str) -> AnyRecord | None:
        for table in self.tables().values():
            record: AnyRecord | None = table.get(record_id)
            if record is not None:
                return record
        return None

    def schedule(self, due_ms: int, op: str, target: str, **args: str | int) -> None:
        self._sequence += 1
        heapq.heappush(self._pending, Transition(due_ms, self._sequence, op, target, args))

    def next_due(self, now_ms: int) -> Transition | None:
        """Take the earliest transition that is due, if any."""
        if self._pending and self._pending[0].due_ms <= now_ms:
            return heapq.heappop(self._pending)
        return None

    def pending(self) -> list[Transition]:
        """What is still under way, earliest first."""
        return sorted(self._pending)

    def replace_pending(self, transitions: Iterable[Transition]) -> None:
        """Let these be what is under way, and nothing else."""
        self._pending = list(transitions)
        heapq.heapify(self._pending)

    def watch(self, heard: list[Change]) -> None:
        """Append every change from now on to `heard`, until `unwatch`. Several may watch; nobody costs nothing."""
        self._watchers.append(heard)
        for kind, table in self.tables().items():
            table.watch = partial(self._note, kind)

    def unwatch(self, heard: list[Change]) -> None:
        self._watchers = [item for item in self._watchers if item is not heard]
        if not self._watchers:
            for table in self.tables().values():
                table.watch = None

    def _note(self, kind: str, old: Any, new: Any, order: int) -> None:
        change = Change(self.moment_ms, kind, order, old, new)
        for heard in self._watchers:
            heard.append(change)

    def next_attachment(self) -> int:
        """Public IPs are listed in the order in which they were attached; this numbers the attachments."""
        self._attachments = max(self._attachments, max((ip.attach_order for ip in self._first_ips()), default=0)) + 1
        return self._attachments

    def next_number(self) -> int:
        """Numbers from which addresses and MACs are made: each is given out once."""
        self._addresses += 1
        return self._addresses

    def _first_ips(self) -> Iterable[FlexibleIp]:
        # A loaded world brings its own numbers; they are looked at once, before the first attachment here.
        return self.ips if self._attachments == 0 else ()


KIND_OF: dict[type, str] = {
    Vpc: "vpc",
    PrivateNetwork: "private_network",
    SecurityGroup: "security_group",
    PlacementGroup: "placement_group",
    Snapshot: "snapshot",
    BlockSnapshot: "block_snapshot",
    Image: "image",
    Server: "server",
    FlexibleIp: "ip",
    Volume: "volume",
    BlockVolume: "block_volume",
    Nic: "private_nic",
    IpamIp: "ipam_ip",
}

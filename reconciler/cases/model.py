"""A case as frozen values, checked: every name in it leads somewhere, and nothing hangs on itself.

Times are seconds before the start (`age`, `gone`) or lengths; sizes are bytes. `mark` is where it stands in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reconciler.cases.problems import NOWHERE, Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One object of the world. `kind`: server, ip, volume, nic, network, snapshot, placement_group, security_group.

    `on` is the server that has it, `of` the volume of a snapshot, `network` the network of an interface. `part` tells
    what a server brought with it (`root`, `ip`, `volume`, `nic`); `says` are outputs of the state that differ.
    """

    kind: str
    name: str
    zone: str
    ours: bool = True
    tags: tuple[str, ...] = ()
    age: int = 0
    gone: int | None = None
    in_cloud: bool = True
    stack: str | None = None  # whose state holds it; None for no state
    home: str | None = None  # the stack that it belongs to, in its state or not
    fleet: str | None = None
    slot: int | None = None
    worker: str | None = None
    on: str | None = None
    of: str | None = None
    network: str | None = None
    part: str | None = None
    logical: str = ""  # its name in the program, and so in its URN; empty: its name
    protect: bool = False
    deleting: bool = False  # the state holds it as a copy that waits for its deletion
    ahead: int = 0  # seconds by which the provider's clock was ahead when it was made
    says: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    mark: Mark = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetDecl:
    name: str
    replicas: int | None  # None: elastic, between the two others
    minimum: int | None
    maximum: int | None
    type: str
    zone: str
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LockDecl:
    by: str = "ci@runner"
    pid: int = 4711
    age: int = 0
    here: bool = False
    alive: bool | None = None
    command: str = ""
    job: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingDecl:
    operation: str
    name: str
    age: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StackChange:
    """None: stays as it is. `unlock`: the lock goes. `unreadable` empty: it can be read again."""

    lock: LockDecl | None = None
    unlock: bool = False
    pending: tuple[PendingDecl, ...] | None = None
    unreadable: str | None = None
    hangs: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackDecl:
    name: str
    fleets: tuple[FleetDecl, ...] = ()
    output: bool = True
    now: StackChange = field(default_factory=StackChange)


@dataclass(frozen=True, slots=True, kw_only=True)
class RightsDecl:
    denied: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    read_only: bool = False
    ipam_needs_project: bool = False
    revoked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDecl:
    """A row of the records. `age` and `sent` are seconds before the start; `ended` is why there is only a tombstone."""

    worker: str
    fleet: str
    state: str
    machine: str | None = None
    age: int = 0
    sent: int | None = None
    ended: str | None = None
    mark: Mark = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLeft:
    """A row that must be left; None: not looked at."""

    worker: str
    state: str | None = None
    machine: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessDecl:
    name: str
    pid: int
    why: str
    age: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a stranger. `args` hold names of this case where the simulator wants ids; `label` names what
    it makes."""

    op: str
    args: Mapping[str, Any]
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Meanwhile:
    method: str
    path: str
    nth: int
    do: Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One expected finding; None: not looked at."""

    label: str
    verdict: str
    action: str | None = None
    reason: str | None = None
    rule: str | None = None
    wait: int | None = None
    eur_month: float | None = None
    changed: tuple[str, ...] | None = None
    others: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A counter and what it may be: `==`, `<=` or `>=` a number."""

    counter: str
    relation: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`kind`: run, advance, do, faults, lies, stacks, key; the value in the field of that name. The other fields are
    what must hold of a `run`; None: not looked at."""

    kind: str
    mark: Mark
    run: tuple[str, ...] = ()
    advance: int = 0
    do: Operation | None = None
    faults: tuple[Any, ...] = ()
    lies: tuple[Any, ...] = ()
    stacks: Mapping[str, StackChange] = field(default_factory=dict)
    key: RightsDecl | None = None
    exit: int | None = None
    findings: tuple[Expected, ...] | None = None
    includes: tuple[Expected, ...] = ()
    counts: Mapping[str, int] | None = None
    actions: Mapping[str, str] | None = None
    deletes: tuple[str, ...] | None = None
    calls: tuple[Bound, ...] = ()
    stdout: Said = Said()
    stderr: Said = Said()
    kill: str | None = None
    nth: int = 1
    during: tuple[Meanwhile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """What must hold at the end; None: not looked at."""

    deletes: tuple[str, ...] = ()
    survive: tuple[str, ...] = ()
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    state: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pending: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    calls: tuple[Bound, ...] = ()
    rows: tuple[RowLeft, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    path: Path
    why: str
    source: tuple[str, ...]
    rules: tuple[int, ...]
    no_engine: str | None  # why the real engine cannot play it
    seed: int
    start_ms: int
    memory: int  # seconds before the start; 0: none
    settings: Mapping[str, Any]  # a whole configuration document
    key: RightsDecl
    options: Mapping[str, Any]
    instant: bool
    stacks: tuple[StackDecl, ...]
    items: tuple[Item, ...]
    recorded: Path | None
    rows: tuple[RowDecl, ...] | None  # None: no rows are kept (adapter `none`)
    processes: tuple[ProcessDecl, ...]
    faults: tuple[Any, ...]
    lies: tuple[Any, ...]
    steps: tuple[Step, ...]
    end: End

    def item(self, name: str) -> Item | None:
        return next((item for item in self.items if item.name == name), None)

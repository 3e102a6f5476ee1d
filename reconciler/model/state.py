"""Pulumi's state as values: one stack's checkpoint, its locks, its pending operations.

Secrets never get in: a secret (or ciphertext) anywhere in inputs or outputs is replaced by `SECRET` when the
checkpoint is decoded, and a value that holds it is never compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from reconciler.model.resources import Kind, Ref


class _Secret:
    """The mark that stands where a secret stood. Equal to nothing, prints as `[secret]`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "[secret]"

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Secret:
        return self


SECRET: Final = _Secret()

# Pulumi type token -> kind, for what we list or GET. What is not here is "not covered".
KIND_OF_TYPE: Final[Mapping[str, Kind]] = {
    "scaleway:instance/server:Server": Kind.SERVER,
    "scaleway:instance/ip:Ip": Kind.IP,
    "scaleway:block/volume:Volume": Kind.VOLUME,
    "scaleway:instance/volume:Volume": Kind.INSTANCE_VOLUME,
    "scaleway:instance/privateNic:PrivateNic": Kind.NIC,
    "scaleway:ipam/ip:Ip": Kind.IPAM,
    "scaleway:network/privateNetwork:PrivateNetwork": Kind.PRIVATE_NETWORK,
    "scaleway:instance/securityGroup:SecurityGroup": Kind.SECURITY_GROUP,
    "scaleway:instance/placementGroup:PlacementGroup": Kind.PLACEMENT_GROUP,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StateResource:
    """One entry of `deployment.resources`. `id` is the provider's, as Pulumi has it: `fr-par-1/UUID`."""

    urn: str
    type: str
    id: str | None
    custom: bool
    parent: str | None = None
    provider: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    protect: bool = False
    external: bool = False
    pending_delete: bool = False  # `delete: true`, an old copy that a replace has not removed yet
    ignore_changes: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    init_errors: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.urn.rsplit("::", 1)[-1]

    @property
    def ref(self) -> Ref | None:
        """The provider resource that this entry stands for; None for what is not covered or has no id."""
        kind = KIND_OF_TYPE.get(self.type)
        if kind is None or not self.id or not self.custom:
            return None
        parts = self.id.split("/")
        if len(parts) < 2 or not all(parts):
            return None
        return Ref(kind, parts[0], parts[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingOperation:
    """An operation that began and never finished: `creating`, `updating`, `deleting`, `reading`, `importing`."""

    operation: str
    resource: StateResource


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Who holds a stack. `created_by` is `user@host`; pid is known on DIY backends only."""

    created_by: str
    pid: int | None = None
    created_ms: int | None = None
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveProcess:
    """A process on this host that may still be carrying out what a run of a stack began.

    A provider plugin outlives a killed CLI and goes on with its create. `why` ties it to the stack, or says that
    nothing rules it out. `started_ms` is None where the system does not tell it.
    """

    pid: int
    name: str
    why: str
    started_ms: int | None = None


@dataclass(frozen=True)
class StackState:
    """One export of one stack, with its locks. Not slotted, for the cached indexes.

    `serial` changes whenever the resources, pending operations or outputs do: a digest, since a checkpoint carries
    none of its own. `written_ms` is when the engine wrote the checkpoint last, by the clock of the host that did.
    """

    stack: str  # project/stack
    serial: str
    read_ms: int
    resources: tuple[StateResource, ...] = ()
    pending: tuple[PendingOperation, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)
    locks: tuple[Lock, ...] = ()
    locks_known: bool = True
    written_ms: int | None = None

    @cached_property
    def by_urn(self) -> Mapping[str, StateResource]:
        return {resource.urn: resource for resource in self.resources if not resource.pending_delete}

    @cached_property
    def by_ref(self) -> Mapping[Ref, StateResource]:
        return {ref: resource for resource in self.resources if (ref := resource.ref) is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadStack:
    """A stack that may own something and could not be read: while there is one, nothing is an orphan."""

    stack: str
    code: str
    reason: str
    hint: str = ""

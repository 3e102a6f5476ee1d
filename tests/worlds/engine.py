"""An engine over the states of a world, which reads the same API as everybody, lies included.

It keeps the rules of the real one (`reconciler.engine.gate_rules`): what is proved absent and denied by the API, and
nothing else, leaves the state; any other answer but a 2xx leaves the entry as it is and is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from reconciler.engine import checkpoint
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import EngineError
from reconciler.model.desired import FLEET_TAG, SLOT_TAG, tag_value
from reconciler.model.program import CREATE, DELETE, SAME, ProgramResource, ProgramView
from reconciler.model.resources import Kind, Ref
from reconciler.model.state import StackState, StateResource
from reconciler.ports.engine import AdoptionResult, ChildProcess, RefreshResult
from reconciler.simulator import SECRET_KEY, Request, Simulator
from tests.fakes.engine import FakeEngine
from tests.worlds.checkpoints import TOKENS, properties, pulumi_id

_PATHS: Final[Mapping[Kind, str]] = {
    Kind.SERVER: "/instance/v1/zones/{0}/servers/{1}",
    Kind.IP: "/instance/v1/zones/{0}/ips/{1}",
    Kind.INSTANCE_VOLUME: "/instance/v1/zones/{0}/volumes/{1}",
    Kind.VOLUME: "/block/v1/zones/{0}/volumes/{1}",
    Kind.NIC: "/instance/v2alpha1/zones/{0}/private-network-interfaces/{1}",
    Kind.IPAM: "/ipam/v1/regions/{0}/ips/{1}",
    Kind.PRIVATE_NETWORK: "/vpc/v2/regions/{0}/private-networks/{1}",
    Kind.SECURITY_GROUP: "/instance/v1/zones/{0}/security_groups/{1}",
    Kind.PLACEMENT_GROUP: "/instance/v1/zones/{0}/placement_groups/{1}",
}
# What a refresh does not see unless the program declares it.
_BLIND: Final = ("name", "state", "securityGroupId")


def decode(name: str, document: Mapping[str, Any], *, read_ms: int) -> StackState:
    """A stack's state from the JSON of its checkpoint, by the product's own decoder."""
    found = checkpoint.decode(json.dumps(document).encode())
    return StackState(
        stack=name,
        serial=found.serial,
        read_ms=read_ms,
        resources=found.resources,
        pending=found.pending,
        outputs=found.outputs,
        written_ms=found.written_ms,
    )


@dataclass(kw_only=True)
class WorldEngine(FakeEngine):
    simulator: Simulator
    clock: Clock
    undeclared: frozenset[str] = frozenset()
    runs_programs: bool = False
    forgot: list[tuple[str, StateResource]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.entry_for = self._entry

    # -- the API

    def _status(self, ref: Ref) -> int:
        """What a GET by id answers; 0 for no answer."""
        request = Request(
            method="GET",
            path=_PATHS[ref.kind].format(ref.zone, ref.id),
            query="",
            headers={"X-Auth-Token": SECRET_KEY},
            body=b"",
        )
        answer = self.simulator.handle(request)
        return 0 if answer.drop != "none" else answer.status

    # -- refresh

    def refresh(
        self,
        stack: str,
        urns: Collection[str],
        *,
        proved_absent: Collection[str],
        on_child: Callable[[ChildProcess], None],
    ) -> RefreshResult:
        on_child(ChildProcess(pid=1, started_ms=0, stack=stack, argv=("pulumi", "refresh")))
        state, operations, failed = self.states[stack], dict[str, str](), dict[str, str]()
        for urn in urns:
            entry = state.by_urn[urn]
            assert entry.ref is not None
            status = self._status(entry.ref)
            if 200 <= status < 300:
                operations[urn] = "update"
            elif status in (403, 404) and urn in proved_absent:
                operations[urn] = "delete"
            else:
                failed[urn] = f"the API answered {status}"
        self._write(stack, operations)
        self.refreshed.append((stack, tuple(sorted(urns))))
        return RefreshResult(operations=operations, lock_seconds=0.1, failed=failed)

    def _write(self, stack: str, operations: Mapping[str, str]) -> None:
        state, kept = self.states[stack], list[StateResource]()
        for entry in state.resources:
            done = operations.get(entry.urn) if not entry.pending_delete else None
            if done == "delete":
                self.forgot.append((stack, entry))
            else:
                kept.append(entry if done is None else self._taken_in(entry))
        self.states[stack] = replace(state, resources=tuple(kept), serial=f"{state.serial}+")

    def _taken_in(self, entry: StateResource) -> StateResource:
        """The entry as a refresh leaves it: what the cloud says now, but for what it is blind to."""
        assert entry.ref is not None
        with self.simulator.editing() as world:
            record = world.find(entry.ref.id)
            if record is None:
                return entry
            inputs, outputs = properties(record, world)
        outputs |= {key: entry.outputs.get(key) for key in _BLIND if key in outputs and key not in entry.inputs}
        known = {key: value for key, value in inputs.items() if key in entry.inputs}
        return replace(entry, inputs={**entry.inputs, **known}, outputs=outputs)

    # -- adoption

    def adopt(
        self, stack: str, targets: Mapping[str, Ref], *, on_child: Callable[[ChildProcess], None]
    ) -> AdoptionResult:
        for ref in targets.values():
            status = self._status(ref)
            if status != 200:
                raise EngineError(f"the read of {ref} answered {status}", code="RC0512")
        return super().adopt(stack, targets, on_child=on_child)

    def _entry(self, urn: str, ref: Ref, asked: StateResource | None) -> StateResource:
        with self.simulator.editing() as world:
            record = world.find(ref.id)
            assert record is not None
            inputs, outputs = properties(record, world)
        token = TOKENS[type(record)]
        provider = asked.provider if asked is not None else None
        return StateResource(
            urn=urn,
            type=token,
            id=pulumi_id(record),
            custom=True,
            inputs=inputs,
            outputs=outputs,
            provider=provider,
        )

    # -- programs

    def declared(self, stack: str) -> ProgramView:
        """What the program says: all that its state holds, but for what was taken out of it, and what is vacant."""
        if not self.runs_programs:
            return super().declared(stack)
        state = self.states[stack]
        found = {
            one.urn: ProgramResource(
                urn=one.urn, type=one.type, operation=DELETE if one.urn in self.undeclared else SAME
            )
            for one in state.resources
        }
        found |= {one.urn: one for one in self._creates(state)}
        return ProgramView(stack=stack, at_ms=self.clock.now_ms(), resources=found)

    def _creates(self, state: StackState) -> Iterator[ProgramResource]:
        token = TOKENS_OF_SERVER
        filled = {
            (tag_value(tags, FLEET_TAG), tag_value(tags, SLOT_TAG))
            for one in state.resources
            if one.type == token
            for tags in [tuple(one.inputs.get("tags", ()))]
        }
        for fleet in state.outputs["reconciler"]["fleets"]:
            name, scope = fleet["name"], state.outputs["reconciler"]["scope"]
            for slot in range(int(fleet.get("replicas", 0))):
                if (name, str(slot)) in filled:
                    continue
                tags = ("reconciler", f"reconciler:scope={scope}", f"{FLEET_TAG}{name}", f"{SLOT_TAG}{slot}")
                urn = f"{fleet['component_urn'].rpartition('::')[0]}${token}::{name}-{slot}"
                yield ProgramResource(urn=urn, type=token, operation=CREATE, zone=fleet["zone"], tags=tags)


TOKENS_OF_SERVER: Final = "scaleway:instance/server:Server"

"""The engine of a case: the product's own, with a model of the CLI below it.

Only what needs a real process is replaced above the CLI: what lives on this host, and adoption, which runs the user's
program. Here the program is what the case declares: the resources that belong to a stack and are not in its state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reconciler.cases import provider
from reconciler.cases.model import Item, LockDecl, ProcessDecl
from reconciler.cases.pulumi import NOBODY, ModelGate, ModelPulumi, decoded
from reconciler.cases.statefile import Document, States, entry, inputs_of, pulumi_id, type_of, urn_of
from reconciler.engine.adapter import PulumiEngine
from reconciler.engine.cli import EngineLimits, PulumiCli
from reconciler.engine.gate import Gate
from reconciler.engine.refresh import Refresher
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import EngineError
from reconciler.kernel.randomness import Randomness
from reconciler.model.resources import Ref
from reconciler.model.state import LiveProcess, Lock
from reconciler.ports.engine import (
    AdoptionRefused,
    AdoptionResult,
    ChildProcess,
    Difference,
    EngineInfo,
    LockEvidence,
    PlannedCreate,
    Rehearsal,
)

if TYPE_CHECKING:
    import httpx2

_INFO: Final = EngineInfo(
    cli_path="pulumi",
    cli_version="3.274.1",
    plugin_path="pulumi-resource-scaleway",
    plugin_version="2.81.0",
    source="path",
    sdk_version="1.60.0",
)
_COMPARED: Final = ("name", "type", "tags", "zone", "state")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a case says about this host and its programs; steps may change it."""

    items: tuple[Item, ...]
    processes: tuple[ProcessDecl, ...]
    locks: dict[str, LockDecl]  # by stack
    start_ms: int
    hanging: set[str] = field(default_factory=set)  # stacks that a command does not come to an end with


class ModelEngine(PulumiEngine):
    """See the module. `transport` leads to the cloud; `env` holds the key that children read with."""

    def __init__(
        self,
        *,
        states: States,
        host: Host,
        transport: httpx2.BaseTransport | None,
        env: Mapping[str, str],
        clock: Clock,
        randomness: Randomness,
        directory: Path,
    ) -> None:
        self._states, self._host, self._transport = states, host, transport
        self._gates: dict[str, Gate] = {}
        super().__init__(
            backend=f"file://{states.root}",
            env=env,
            clock=clock,
            randomness=randomness,
            directory=directory,
            api_url=env["SCW_API_URL"],
        )
        self._refresher = Refresher(self._cli, work_dirs={}, api_url=env["SCW_API_URL"], gate=self._gate)

    def _gate(self, url: str, rules: Any, verify: bool) -> Gate:
        del verify
        return ModelGate(url, rules, gates=self._gates, transport=self._transport)

    def _cli_at(self, backend: str | None) -> PulumiCli:
        return ModelPulumi(
            states=self._states,
            gates=self._gates,
            hanging=self._host.hanging,
            env=self._environ,
            backend=backend,
            directory=self._directory,
            clock=self._clock,
            randomness=self._randomness,
            limits=EngineLimits(),
        )

    # -- this host

    def live_processes(self, stack: str) -> tuple[LiveProcess, ...]:
        del stack
        return tuple(
            LiveProcess(pid=one.pid, name=one.name, why=one.why, started_ms=self._host.start_ms - one.age * 1000)
            for one in self._host.processes
        )

    def lock_evidence(self, stack: str) -> tuple[LockEvidence, ...]:
        held, _ = self._locks(self._resolve(stack))
        return tuple(self._evidence(stack, lock) for lock in held)

    def _evidence(self, stack: str, lock: Lock) -> LockEvidence:
        said = self._host.locks.get(stack, LockDecl())
        return LockEvidence(lock=lock, here=said.here, alive=said.alive, command=said.command, job=said.job)

    def await_child(self, child: ChildProcess) -> bool:
        """A child of the model died with the run that started it, and held no lock."""
        del child
        return True

    def info(self) -> EngineInfo:
        return _INFO

    # -- adoption, modelled

    def planned_creates(self, stack: str) -> tuple[PlannedCreate, ...]:
        known = {one["urn"] for one in self._states.read(stack)["resources"]}
        declared = {urn_of(item): item for item in reversed(self._declared_items(stack))}
        return tuple(
            PlannedCreate(
                urn=urn,
                type=type_of(item),
                name=item.logical or item.name,
                parent=None,
                inputs=inputs_of(item, self._host.items),
                dependencies=(),
            )
            for urn, item in sorted(declared.items())
            if urn not in known
        )

    def _declared_items(self, stack: str) -> Sequence[Item]:
        """What the program makes: what belongs to a fleet of the stack, or to its state; roots are made inline."""
        return [
            item
            for item in self._host.items
            if item.home == stack and item.part not in ("root", "nic") and (item.fleet is not None or item.stack)
        ]

    def rehearse_adoption(self, stack: str, targets: Mapping[str, Ref]) -> Rehearsal:
        self.read(stack)
        found: list[Difference] = []
        for urn, ref in targets.items():
            item = self._item(urn)
            found += self._differences(item, ref)
        return Rehearsal(ok=not found, differences=tuple(found))

    def _item(self, urn: str) -> Item:
        for item in self._host.items:
            if item.home is not None and urn_of(item) == urn:
                return item
        raise EngineError(
            f"the program declares no {urn}", code="RC0821", hint="A case declares what is in its `resources`."
        )

    def _differences(self, item: Item, ref: Ref) -> list[Difference]:
        inputs, outputs = inputs_of(item, self._host.items), self._outputs(item, ref)
        return [
            Difference(urn=urn_of(item), path=key, program=str(inputs[key]), cloud=str(outputs.get(key)))
            for key in _COMPARED
            if key in inputs and inputs[key] != outputs.get(key)
        ]

    def _outputs(self, item: Item, ref: Ref) -> Mapping[str, Any]:
        import httpx2

        with httpx2.Client(transport=self._transport, base_url=self._environ["SCW_API_URL"], trust_env=False) as client:

            def get(path: str) -> tuple[int, Any]:
                answer = client.get(path, headers={"X-Auth-Token": self._environ["SCW_SECRET_KEY"]})
                return answer.status_code, decoded(answer.content)

            reading = provider.read(type_of(item), f"{ref.zone}/{ref.id}", get)
        if reading.outputs is None:
            raise EngineError(f"{ref} cannot be read: {reading.status}", code="RC0822", hint="Nothing was written.")
        return {
            **reading.outputs,
            **({"image": item.details.get("image", "ubuntu_noble")} if item.kind == "server" else {}),
        }

    def adopt(
        self, stack: str, targets: Mapping[str, Ref], *, on_child: Callable[[ChildProcess], None]
    ) -> AdoptionResult:
        rehearsal = self.rehearse_adoption(stack, targets)
        if not rehearsal.ok:
            raise AdoptionRefused(
                f"{stack} and the cloud differ: {rehearsal.differences[0]}",
                code="RC0823",
                hint="Settle the differences first.",
                differences=rehearsal.differences,
            )
        self._require_unlocked(self._resolve(stack))
        name = self._resolve(stack)
        on_child(self._cli.child(pid=NOBODY, started_ms=self._clock.now_ms(), name=name, argv=("pulumi", "up")))
        known = {one["urn"] for one in self._states.read(stack)["resources"]}
        made = [self._adopted(self._item(urn), ref) for urn, ref in targets.items() if urn not in known]
        urns = {one["urn"] for one in made}

        def change(document: Document) -> None:
            document["resources"] += made
            document["pending_operations"] = [
                one for one in document.get("pending_operations", []) if one["resource"]["urn"] not in targets
            ]

        self._states.change(stack, change, now_ms=self._clock.now_ms())
        return AdoptionResult(adopted=tuple(sorted(urns)), already=tuple(sorted(set(targets) - urns)), lock_seconds=0.1)

    def _adopted(self, item: Item, ref: Ref) -> Document:
        made = entry(item, inputs_of(item, self._host.items), self._outputs(item, ref))
        return {**made, "id": pulumi_id(item) if ref.id in pulumi_id(item) else f"{ref.zone}/{ref.id}"}

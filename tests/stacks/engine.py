"""A stand-in for the Pulumi engine that records what a program registers, with its options.

It answers every resource with an id of its zone, and a `Stash` with its input, as the real engine does in the first
run. `run` gives back all registrations and the stack outputs, resolved, with a note of which of them are secret.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pulumi
from pulumi.runtime import mocks as pulumi_mocks

FLEET = "reconciler:fleet:WorkerFleet"
IP = "scaleway:instance/ip:Ip"
NETWORK = "scaleway:network/privateNetwork:PrivateNetwork"
SERVER = "scaleway:instance/server:Server"
STASH = "pulumi:index:Stash"
VOLUME = "scaleway:block/volume:Volume"


@dataclass(frozen=True)
class Registered:
    """One resource that the program asked for. `inputs` have Pulumi's camel-case names."""

    type: str
    name: str
    parent: str
    protect: bool
    delete_before_replace: bool
    ignore_changes: tuple[str, ...]
    inputs: Mapping[str, Any]


@dataclass
class Ran:
    """What one run of a program came to."""

    resources: list[Registered] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)
    secret_outputs: set[str] = field(default_factory=set)

    def of(self, type_: str) -> list[Registered]:
        return sorted((one for one in self.resources if one.type == type_), key=lambda one: one.name)


class _Mocks(pulumi_mocks.Mocks):
    def __init__(self) -> None:
        self.inputs: dict[tuple[str, str], Mapping[str, Any]] = {}

    def call(self, args: pulumi_mocks.MockCallArgs) -> Any:
        raise AssertionError(f"the program called {args.token}")

    def new_resource(self, args: pulumi_mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        self.inputs[args.typ, args.name] = args.inputs
        state = dict(args.inputs)
        if args.typ == STASH:
            state["output"] = args.inputs["input"]
        place = args.inputs.get("zone") or args.inputs.get("region") or "nowhere"
        return (f"{place}/{args.name}" if args.custom else None), state


class _Monitor(pulumi_mocks.MockMonitor):
    def __init__(self, ran: Ran) -> None:
        self.recorded = _Mocks()
        self.ran = ran
        super().__init__(self.recorded)

    def RegisterResource(self, request: Any) -> Any:
        response = super().RegisterResource(request)  # type: ignore[no-untyped-call]
        if request.type != "pulumi:pulumi:Stack":
            self.ran.resources.append(
                Registered(
                    type=request.type,
                    name=request.name,
                    parent=request.parent,
                    protect=bool(request.protect),
                    delete_before_replace=bool(request.deleteBeforeReplace),
                    ignore_changes=tuple(request.ignoreChanges),
                    inputs=self.recorded.inputs[request.type, request.name],
                )
            )
        return response


def run(
    program: Callable[[], object],
    *,
    config: Mapping[str, str] | None = None,
    secret: tuple[str, ...] = (),
    into: Ran | None = None,
) -> Ran:
    """Run `program` as Pulumi would, with this stack configuration (values as Pulumi hands them over: text).

    `into` is filled as the program goes on, for programs that do not end well.
    """
    ran = Ran() if into is None else into
    pulumi_mocks.set_mocks(_Mocks(), monitor=_Monitor(ran), project="test", stack="dev")
    root = pulumi.runtime.get_root_resource()
    assert root is not None
    root.outputs = {}  # type: ignore[attr-defined]  # the stack resource outlives a run, and its outputs must not

    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def body() -> pulumi.Output[Any]:
        pulumi.runtime.set_all_config(dict(config or {}), list(secret))
        program()
        outputs = dict(root.outputs)  # type: ignore[attr-defined]
        return pulumi.Output.all(*[_resolved(ran, name, value) for name, value in outputs.items()])

    with mock.patch.dict(os.environ):
        os.environ.pop("PULUMI_CONFIG", None)
        body()
    return ran


def _resolved(ran: Ran, name: str, value: Any) -> pulumi.Output[Any]:
    output = pulumi.Output.from_input(value)

    async def note() -> None:
        ran.outputs[name] = await output.future()
        if await output.is_secret():
            ran.secret_outputs.add(name)

    return pulumi.Output.from_input(note())

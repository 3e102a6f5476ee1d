"""Decodes `pulumi preview --json`: what the program declares, and what an `up` would do.

A value that is a secret prints as `[secret]`, one that is not known yet as a fixed UUID; a program that writes those
very texts would be taken at its word, which only hides a value from a comparison or a reader. Default providers are
not in it. The properties of a resource that are always secret (user data) are masked whatever they look like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from reconciler.engine import masking
from reconciler.engine.shapes import complaint
from reconciler.kernel.errors import EngineError
from reconciler.model.state import SECRET
from reconciler.ports.engine import UNKNOWN, PlannedCreate

_SECRET_TEXT: Final = "[secret]"  # noqa: S105  # what is printed in its place
_UNKNOWN_TEXT: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
STACK_REFERENCE: Final = "pulumi:pulumi:StackReference"
# What the engine registers by itself; it shows as a create in a stack that was never deployed.
_OWN: Final = frozenset({"pulumi:pulumi:Stack", STACK_REFERENCE})


class _State(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    urn: str = Field(min_length=1)
    type: str = Field(min_length=1)
    custom: bool = False
    inputs: dict[str, Any] | None = None
    outputs: dict[str, Any] | None = None
    parent: str | None = None
    provider: str | None = None
    dependencies: list[str] | None = None
    property_dependencies: dict[str, list[str] | None] | None = Field(default=None, alias="propertyDependencies")
    secret_outputs: list[str] | None = Field(default=None, alias="additionalSecretOutputs")


class _Step(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    op: str
    urn: str
    old: _State | None = Field(default=None, alias="oldState")
    new: _State | None = Field(default=None, alias="newState")
    detailed: dict[str, Any] | None = Field(default=None, alias="detailedDiff")


class _Diagnostic(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    message: str = ""
    severity: str = ""


class _Digest(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    steps: list[_Step] | None = None
    diagnostics: list[_Diagnostic] | None = None


_DIGEST: Final = TypeAdapter(_Digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A property that an `up` would change: old and new value, masked."""

    path: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A create, with what its adoption needs beside the public part."""

    create: PlannedCreate
    property_dependencies: Mapping[str, tuple[str, ...]]
    # Whether its name is one that Pulumi makes up, new in every run.
    auto_named: bool
    provider: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`operations`: URN -> op of everything that the program declares or an `up` would touch. `references`: the stacks
    whose outputs the program reads."""

    operations: Mapping[str, str]
    creates: Mapping[str, Planned]
    changes: Mapping[str, tuple[Change, ...]]
    references: tuple[str, ...] = ()


def decode(raw: bytes | bytearray) -> tuple[Plan, Sequence[str]]:
    """The plan, and the errors that the engine reports in it. Raises EngineError RC0504."""
    try:
        digest = _DIGEST.validate_json(raw)
    except ValidationError as error:
        raise EngineError(
            f"`pulumi preview --json` did not print a plan ({complaint(error)})",
            code="RC0504",
            hint="Run it by hand: the CLI may be too old, or something else writes to its standard output.",
        ) from None
    errors = [item.message for item in digest.diagnostics or () if item.severity == "error"]
    return _plan(digest.steps or []), errors


def _plan(steps: Sequence[_Step]) -> Plan:
    creates = {step.urn: _planned(step.new) for step in steps if step.op == "create" and step.new is not None}
    references = [
        state.inputs.get("name")
        for step in steps
        if (state := step.new or step.old) is not None and state.type == STACK_REFERENCE and state.inputs
    ]
    return Plan(
        operations={step.urn: step.op for step in steps},
        creates={urn: item for urn, item in creates.items() if item.create.type not in _OWN},
        changes={step.urn: _changes(step) for step in steps if step.detailed},
        references=tuple(dict.fromkeys(name for name in references if isinstance(name, str))),
    )


def _planned(state: _State) -> Planned:
    raw = state.inputs or {}
    inputs, _ = masking.mask(state.type, _marked(raw), {}, named=state.secret_outputs or (), wrapped=False)
    by_property = {key: tuple(urns or ()) for key, urns in (state.property_dependencies or {}).items()}
    needed = [*(state.dependencies or ()), *(urn for urns in by_property.values() for urn in urns)]
    needed += [state.parent] if state.parent else []
    needed += [state.provider.rpartition("::")[0]] if state.provider else []
    defaults = raw.get("__defaults")
    return Planned(
        create=PlannedCreate(
            urn=state.urn,
            type=state.type,
            name=state.urn.rsplit("::", 1)[-1],
            parent=state.parent,
            inputs=inputs,
            dependencies=tuple(dict.fromkeys(needed)),
            custom=state.custom,
        ),
        property_dependencies=by_property,
        auto_named=isinstance(defaults, list) and "name" in defaults,
        provider=state.provider,
    )


def _marked(value: Any) -> Any:
    if value == _SECRET_TEXT:
        return SECRET
    if value == _UNKNOWN_TEXT:
        return UNKNOWN
    if isinstance(value, dict):
        return {key: _marked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_marked(item) for item in value]
    return value


def _changes(step: _Step) -> tuple[Change, ...]:
    kind = (step.new or step.old).type if step.new or step.old else ""  # type: ignore[union-attr]
    old, new = _clean(kind, step.old), _clean(kind, step.new)
    return tuple(Change(path=path, old=_at(old, path), new=_at(new, path)) for path in sorted(step.detailed or {}))


def _clean(kind: str, state: _State | None) -> dict[str, Any]:
    """Inputs over outputs, masked: what the program said, else what the provider answered."""
    if state is None:
        return {}
    inputs, outputs = masking.mask(
        kind,
        _marked(state.inputs or {}),
        _marked(state.outputs or {}),
        named=state.secret_outputs or (),
        wrapped=True,
    )
    return {**outputs, **inputs}


def _at(side: Mapping[str, Any], path: str) -> Any:
    """The value of the property that a path begins with: `tags[0]` is in `tags`."""
    name = path.partition(".")[0].partition("[")[0]
    return side.get(name)

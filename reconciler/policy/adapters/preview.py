"""`pulumi preview --json`, or a plan of `pulumi preview --save-plan`, as items.

A preview has the whole inputs of everything that it prints (`--show-sames` prints what stays as it is, too); a secret
is the text `[secret]`, a value that is not known yet a fixed UUID. A plan has the whole inputs of what is made, and of
the rest only what changes: what it does not say is not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from reconciler.kernel.errors import ConfigError
from reconciler.model.state import SECRET
from reconciler.policy.adapters.inputs import items_of_inputs
from reconciler.policy.adapters.lookups import Lookups
from reconciler.policy.item import UNKNOWN, Item

_SECRET_TEXT: Final = "[secret]"  # noqa: S105  # what is printed in its place
_SECRET_KEY: Final = "4dabf18193072939515e22adb298388d"  # noqa: S105  # the mark of a wrapped value in a plan file
# One text per type in a plan file; a preview prints the one for text.
_UNKNOWN_TEXTS: Final = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
# What a preview prints of resources that the program does not declare, or only reads.
_NOT_DECLARED: Final = frozenset(
    {"delete", "delete-replaced", "discard", "discard-replaced", "remove-pending-replace", "read", "read-replacement"}
)
_MADE: Final = frozenset({"create", "create-replacement", "import", "import-replacement", "replace"})


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class _State(_Loose):
    urn: str = Field(min_length=1)
    type: str = Field(min_length=1)
    id: str | None = None
    custom: bool = False
    inputs: dict[str, Any] | None = None


class _Step(_Loose):
    op: str
    new: _State | None = Field(default=None, alias="newState")


class _Diff(_Loose):
    adds: dict[str, Any] | None = None
    updates: dict[str, Any] | None = None


class _Goal(_Loose):
    type: str = Field(min_length=1)
    custom: bool = False
    inputs: _Diff | None = Field(default=None, alias="inputDiff")


class _Planned(_Loose):
    goal: _Goal | None = None
    steps: list[str] | None = None


class _Document(_Loose):
    steps: list[_Step] | None = None
    planned: dict[str, _Planned] | None = Field(default=None, alias="resourcePlans")


_DOCUMENT: Final = TypeAdapter(_Document)


def items_of_preview(text: str, lookups: Lookups) -> tuple[Item, ...]:
    """Raises ConfigError RC0841 for a text that is neither."""
    try:
        document = _DOCUMENT.validate_json(text)
    except ValidationError:
        document = _Document()
    if document.steps is None and document.planned is None:
        raise ConfigError(
            "this is neither a preview nor a plan of Pulumi",
            code="RC0841",
            hint="`pulumi preview --json --show-sames > FILE`, or `pulumi preview --save-plan FILE`.",
        )
    return (*_of_steps(document.steps or (), lookups), *_of_plan(document.planned or {}, lookups))


def _of_steps(steps: Any, lookups: Lookups) -> Iterator[Item]:
    for step in steps:
        if step.new is None or step.op in _NOT_DECLARED or not step.new.custom:
            continue
        yield from items_of_inputs(
            step.new.type,
            _marked(step.new.inputs or {}),
            lookups,
            urn=step.new.urn,
            id=step.new.id,
            stack=_stack(step.new.urn),
        )


def _of_plan(planned: Mapping[str, _Planned], lookups: Lookups) -> Iterator[Item]:
    for urn, one in planned.items():
        operations = set(one.steps or ())
        if one.goal is None or not one.goal.custom or (operations and operations <= _NOT_DECLARED):
            continue
        diff = one.goal.inputs or _Diff()
        inputs = _marked({**(diff.adds or {}), **(diff.updates or {})})
        yield from items_of_inputs(
            one.goal.type, inputs, lookups, urn=urn, stack=_stack(urn), partial=not operations & _MADE
        )


def _stack(urn: str) -> str | None:
    """`project/stack` of `urn:pulumi:STACK::PROJECT::…`."""
    parts = urn.removeprefix("urn:pulumi:").split("::")
    return f"{parts[1]}/{parts[0]}" if len(parts) > 3 else None


def _marked(value: Any) -> Any:
    if isinstance(value, str):
        if value == _SECRET_TEXT:
            return SECRET
        return UNKNOWN if value in _UNKNOWN_TEXTS else value
    if isinstance(value, dict):
        return SECRET if _SECRET_KEY in value else {key: _marked(item) for key, item in value.items()}
    return [_marked(item) for item in value] if isinstance(value, list) else value

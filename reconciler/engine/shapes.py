"""The shape of a checkpoint, checked at the border.

Only what is read is declared; unknown fields pass. A wrong shape is an EngineError that names the place and never the
value: the value may be a secret.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from reconciler.kernel.errors import EngineError


class RawResource(BaseModel):
    """One entry of `resources`, as the engine's `ResourceV3` writes it: empty fields are left out or null."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    urn: str = Field(min_length=1)
    type: str = Field(min_length=1)
    custom: bool = False
    id: str | None = None
    parent: str | None = None
    provider: str | None = None
    inputs: dict[str, Any] | None = None
    outputs: dict[str, Any] | None = None
    protect: bool | None = None
    external: bool | None = None
    delete: bool | None = None
    pending_replacement: bool | None = Field(default=None, alias="pendingReplacement")
    ignore_changes: list[str] | None = Field(default=None, alias="ignoreChanges")
    dependencies: list[str] | None = None
    property_dependencies: dict[str, list[str] | None] | None = Field(default=None, alias="propertyDependencies")
    deleted_with: str | None = Field(default=None, alias="deletedWith")
    init_errors: list[str] | None = Field(default=None, alias="initErrors")
    secret_outputs: list[str] | None = Field(default=None, alias="additionalSecretOutputs")
    aliases: list[str] | None = None


class RawOperation(BaseModel):
    """One entry of `pending_operations`; the resource of a `creating` one has no id."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    type: str = Field(min_length=1)
    resource: RawResource


class RawSecretsProvider(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    type: str = ""
    state: dict[str, Any] | None = None


_JSON: Final = TypeAdapter(dict[str, Any])


def broken(message: str) -> EngineError:
    """The error for a checkpoint that contradicts itself or has a wrong shape."""
    return EngineError(
        f"the checkpoint is broken: {message}",
        code="RC0506",
        hint="`pulumi state repair` mends what it can. Until then nothing of this stack is changed and nothing in its "
        "project counts as an orphan.",
    )


def complaint(error: ValidationError) -> str:
    """Where a value has a wrong shape, without the value."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(step) for step in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def parse_object(raw: bytes | bytearray, *, what: str) -> dict[str, Any]:
    """A JSON object from bytes. Raises EngineError RC0504."""
    try:
        return _JSON.validate_json(raw)
    except ValidationError as error:
        raise EngineError(
            f"{what} is no JSON object ({complaint(error)})",
            code="RC0504",
            hint="Run the same `pulumi` command by hand: something else writes to its standard output.",
        ) from None


def resource(raw: object, place: str) -> RawResource:
    try:
        return RawResource.model_validate(raw)
    except ValidationError as error:
        raise broken(f"{place}: {complaint(error)}") from None


def operation(raw: object, place: str) -> RawOperation:
    try:
        return RawOperation.model_validate(raw)
    except ValidationError as error:
        raise broken(f"{place}: {complaint(error)}") from None


def secrets_provider(raw: object) -> RawSecretsProvider:
    if raw is None:
        return RawSecretsProvider()
    try:
        return RawSecretsProvider.model_validate(raw)
    except ValidationError as error:
        raise broken(f"secrets_providers: {complaint(error)}") from None


def items(parent: dict[str, Any], key: str) -> list[Any]:
    """A list that Go writes as a list, as null, or not at all."""
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise broken(f"{key} is a {type(value).__name__} and not a list")
    return value


def child(parent: dict[str, Any], key: str) -> dict[str, Any]:
    """An object that may be null or absent: a stack that was never deployed."""
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise broken(f"{key} is a {type(value).__name__} and not an object")
    return value

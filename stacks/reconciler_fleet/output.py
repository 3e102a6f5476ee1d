"""The stack output `reconciler`: what a program tells the reconciler about the fleets that it declares.

One output with a schema version, because a reader finds it in any checkpoint without running the program. It is never
secret: a secret output could be read only with the stack's passphrase, which the reconciler does not ask for. What the
spec of a fleet holds of a secret is a keyed digest, or the mark `[secret]`.

`FleetOutput` is the contract; schema.json beside this file is made from it (`python -m reconciler_fleet`).
Readers ignore keys that they do not know; a change that they could not ignore raises the schema version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import pulumi
from pydantic import BaseModel, ConfigDict, Field

from reconciler_fleet.vocabulary import OUTPUT_NAME, OUTPUT_SCHEMA_VERSION, check_scope

if TYPE_CHECKING:
    from reconciler_fleet.fleet import WorkerFleet
    from reconciler_fleet.policy import TagPolicy

SECRET_MARK: Final = "[secret]"  # noqa: S105  # stands in a secret's place

_Count = Annotated[int, Field(ge=0)]
_Uuid = Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class Root(_Part):
    """The root volume. `iops` null: the image's default."""

    size_gb: _Count
    iops: int | None


class Volume(_Part):
    """An extra block volume of every machine."""

    name: str
    size_gb: _Count
    iops: int


class Spec(_Part):
    """What a machine is made from, without secrets."""

    image: str
    root: Root
    volumes: list[Volume]
    public_ip: bool
    private_network: str | None
    security_group_id: str | None
    placement_group_id: str | None
    cloud_init: str | None = Field(description="A digest of the cloud-init, never the text; null when there is none.")
    tags: list[str]
    protect: bool
    protected: bool


class Fleet(_Part):
    """One declared fleet: `replicas` for a static one, `minimum` and `maximum` for an elastic one."""

    uid: _Uuid
    name: Annotated[str, Field(min_length=1)]
    controller: Literal["static", "elastic"]
    zone: str
    replicas: _Count | None
    minimum: _Count | None
    maximum: _Count | None
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
    commercial_type: str
    component_urn: str
    spec: Spec


class FleetOutput(_Part):
    """The whole output."""

    schema_version: Literal[1]
    scope: _Uuid
    fleets: list[Fleet]
    policy: dict[str, Any] | None = Field(
        default=None, description="The rules that the stack declares for its resources: a policy, as a file has it."
    )


def export_fleets(scope: str, fleets: Sequence[WorkerFleet], *, policy: TagPolicy | None = None) -> None:
    """Export the stack output for these fleets, and the rules for the stack's resources. Call it once, with all.

    Raises `pulumi.RunError` when it was called before (the second call would hide the first one's fleets, and the
    reconciler would take them for withdrawn), when two fleets share a name, or when one belongs to another scope.
    """
    scope = check_scope(scope)
    names = [fleet.name for fleet in fleets]
    repeated = sorted({name for name in names if names.count(name) > 1})
    strangers = [fleet.name for fleet in fleets if fleet.args.scope != scope]
    if repeated:
        raise pulumi.RunError(f"two fleets have the same name: {', '.join(repeated)}")
    if strangers:
        raise pulumi.RunError(f"fleets of another scope than {scope}: {', '.join(strangers)}")
    if OUTPUT_NAME in getattr(pulumi.runtime.get_root_resource(), "outputs", {}):
        raise pulumi.RunError("export_fleets was called twice; call it once, with all fleets of the stack")
    document: dict[str, Any] = {
        "schema_version": OUTPUT_SCHEMA_VERSION,
        "scope": scope,
        "fleets": [fleet.describe() for fleet in fleets],
    }
    if policy is not None:
        document["policy"] = dict(policy.document)
    pulumi.export(OUTPUT_NAME, document)


def schema() -> dict[str, Any]:
    """The JSON schema of the output."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **FleetOutput.model_json_schema()}

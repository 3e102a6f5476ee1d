"""A state of a sweep as a deployment, masked.

Only properties that some comparison looks at are copied, each by a rule of its own; whatever has no rule is left out,
so that a property nobody thought of cannot carry anything away. A secret stays a secret, without its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from reconciler.cases.language_world import OPERATIONS
from reconciler.cases.recording.mask import Mask
from reconciler.diff.declared import MOST_REPLICAS
from reconciler.engine.masking import SIGNATURE
from reconciler.model.desired import OUTPUT_NAME
from reconciler.model.state import SECRET, StackState, StateResource
from reconciler.simulator.catalog import LABELS

Json = dict[str, Any]

_SECRET: Final[Json] = {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": ""}
_UUID_LENGTH: Final = 36


def deployment(state: StackState, *, mask: Mask) -> Json:
    """What `stack export` would hold under `deployment`, without its manifest."""
    resources = [_entry(one, mask) for one in state.resources]
    for made, one in zip(resources, state.resources, strict=True):
        if one.type == "pulumi:pulumi:Stack":
            made["outputs"] = _output(state.outputs.get(OUTPUT_NAME), mask)
    pending = [
        {"type": _operation(one.operation, mask), "resource": _entry(one.resource, mask)} for one in state.pending
    ]
    return {"resources": resources, **({"pending_operations": pending} if pending else {})}


def _operation(operation: str, mask: Mask) -> str:
    return operation if operation in OPERATIONS else f"x{mask.digest(operation)}"


def _entry(one: StateResource, mask: Mask) -> Json:
    made: Json = {"urn": mask.urn(one.urn), "type": mask.type(one.type), "custom": one.custom}
    if one.id:
        made["id"] = mask.pulumi_id(one.id)
    if one.parent:
        made["parent"] = mask.urn(one.parent)
    if one.provider:
        urn, _, identity = one.provider.rpartition("::")
        made["provider"] = f"{mask.urn(urn)}::{mask.pulumi_id(identity)}"
    for key, value in (("protect", one.protect), ("external", one.external), ("delete", one.pending_delete)):
        if value:
            made[key] = True
    ignored = [name for name in one.ignore_changes if name.split(".")[0].split("[")[0] in (*_RULES, "*")]
    if ignored:
        made["ignoreChanges"] = ignored
    return {**made, "inputs": properties(one.inputs, mask), "outputs": properties(one.outputs, mask)}


def properties(given: Mapping[str, Any], mask: Mask) -> Json:
    """The properties that have a rule."""
    return {
        key: _value(value, _RULES[key], mask) for key, value in given.items() if key in _RULES and value is not None
    }


_Rule = Callable[[Any, Mask], Any]


def _value(value: Any, rule: _Rule, mask: Mask) -> Any:
    return _SECRET if value is SECRET else rule(value, mask)


def _id(value: Any, mask: Mask) -> Any:
    return mask.pulumi_id(value) if isinstance(value, str) and value else ""


def _ids(value: Any, mask: Mask) -> Any:
    return (
        [_value(one, _id, mask) for one in value] if isinstance(value, Sequence) and not isinstance(value, str) else []
    )


def _name(value: Any, mask: Mask) -> Any:
    return mask.name(value) if isinstance(value, str) else ""


def _tags(value: Any, mask: Mask) -> Any:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [
        mask.tag(one) if isinstance(one, str) else _SECRET for one in value if one is SECRET or isinstance(one, str)
    ]


def _word(value: Any, mask: Mask) -> Any:
    return mask.word(value) if isinstance(value, str) else None


def _image(value: Any, mask: Mask) -> Any:
    """A label of the marketplace stays a label; an id is an id."""
    if not isinstance(value, str):
        return None
    bare = value.rpartition("/")[2]
    if len(bare) == _UUID_LENGTH:
        return mask.pulumi_id(value)
    return value if value in LABELS else f"x{mask.digest(value)}"


def _number(value: Any, _: Mask) -> Any:
    return value if isinstance(value, int | float) else None


def _table(value: Any, mask: Mask) -> Any:
    return properties(value, mask) if isinstance(value, Mapping) else {}


def _tables(value: Any, mask: Mask) -> Any:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [_value(one, _table, mask) for one in value]


_RULES: Final[Mapping[str, _Rule]] = {
    **dict.fromkeys(
        (
            "id",
            "ipId",
            "securityGroupId",
            "placementGroupId",
            "privateNetworkId",
            "serverId",
            "volumeId",
            "pnId",
            "projectId",
        ),
        _id,
    ),
    **dict.fromkeys(("ipIds", "additionalVolumeIds"), _ids),
    **dict.fromkeys(("type", "state", "bootType", "volumeType", "zone", "region"), _word),
    **dict.fromkeys(("sizeInGb", "sbsIops", "iops", "enableDynamicIp", "protected", "dynamic"), _number),
    **dict.fromkeys(("publicIps", "privateNetworks"), _tables),
    "rootVolume": _table,
    "image": _image,
    "name": _name,
    "tags": _tags,
}


def _output(output: Any, mask: Mask) -> Json:
    """The stack output of a program that knows us, by its own rules."""
    if not isinstance(output, Mapping):
        return {}
    fleets = output.get("fleets")
    listed = fleets if isinstance(fleets, Sequence) and not isinstance(fleets, str) else []
    return {
        OUTPUT_NAME: {
            "schema_version": _number(output.get("schema_version"), mask),
            "scope": mask.uuid(str(output.get("scope"))),
            "fleets": [_fleet(one, mask) for one in listed if isinstance(one, Mapping)],
        }
    }


def _fleet(one: Mapping[str, Any], mask: Mask) -> Json:
    counts = {key: _count(one.get(key)) for key in ("replicas", "minimum", "maximum")}
    controller = one.get("controller")
    return {
        "uid": mask.uuid(str(one.get("uid"))),
        "name": mask.name(str(one.get("name"))),
        "controller": controller if controller in ("static", "elastic") else "x",
        "zone": mask.word(str(one.get("zone"))),
        "revision": mask.digest(str(one.get("revision"))),
        "commercial_type": mask.word(str(one.get("commercial_type") or "DEV1-S")),
        "component_urn": mask.urn(str(one.get("component_urn") or "")),
        **counts,
    }


def _count(value: Any) -> int | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_REPLICAS
    return int(value) if known else None

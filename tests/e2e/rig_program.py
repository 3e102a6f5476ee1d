"""A Pulumi program from a JSON description, as a process of its own: `python rig_program.py up|destroy DESCRIPTION`.

Run apart, so that the SDK's import, its threads and its warnings stay out of the test process, and so that a test can
hold it or kill it as one kills a deploy. A description names `project`, `stack`, `resources` and `outputs`. A resource
is `{"type", "name", "args", "ignore"}`; `{"$ref": NAME}` in the arguments is another resource's id, `{"$secret": TEXT}`
a secret.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any, Final

import pulumi
from pulumi import automation

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import pulumiverse_scaleway as scaleway

TYPES: Final[dict[str, Any]] = {
    "server": scaleway.instance.Server,
    "ip": scaleway.instance.Ip,
    "volume": scaleway.block.Volume,
    "local_volume": scaleway.instance.Volume,
    "nic": scaleway.instance.PrivateNic,
    "private_network": scaleway.network.PrivateNetwork,
    "security_group": scaleway.instance.SecurityGroup,
    "placement_group": scaleway.instance.PlacementGroup,
    "ipam": scaleway.ipam.Ip,
}


def declare(description: dict[str, Any]) -> None:
    made: dict[str, Any] = {}
    for item in description["resources"]:
        options = pulumi.ResourceOptions(ignore_changes=item.get("ignore") or None)
        made[item["name"]] = TYPES[item["type"]](item["name"], **_value(item["args"], made), opts=options)
    for name, value in description.get("outputs", {}).items():
        pulumi.export(name, value)


def _value(value: Any, made: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_value(item, made) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return made[value["$ref"]].id
    if "$secret" in value:
        return pulumi.Output.secret(value["$secret"])
    return {key: _value(item, made) for key, item in value.items()}


def main() -> None:
    command, path = sys.argv[1:]
    description = json.loads(Path(path).read_text())
    stack = automation.create_or_select_stack(
        description["stack"],
        project_name=description["project"],
        program=lambda: declare(description),
        opts=automation.LocalWorkspaceOptions(env_vars=dict(os.environ)),
    )
    if command == "up":
        stack.up()
    else:
        stack.destroy()


if __name__ == "__main__":
    main()

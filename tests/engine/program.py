"""A Pulumi program as a process of its own: `python program.py up '{"ips": ["ip0"]}'`.

Run apart, so that the SDK's import, its threads and its warnings stay out of the test process, and so that a test can
kill it as one kills a deploy.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pulumi
import pulumiverse_scaleway as scaleway
from pulumi import automation

ZONE = "fr-par-1"


def declare(spec: dict[str, Any]) -> None:
    provider = None
    if spec.get("explicit"):
        provider = scaleway.Provider("explicit", **spec["explicit"], secret_key=pulumi.Output.secret(os.environ["KEY"]))
    options = pulumi.ResourceOptions(provider=provider)
    ips = {name: scaleway.instance.Ip(name, zone=ZONE, tags=["t"], opts=options) for name in spec.get("ips", ())}
    for name in spec.get("secret_ips", ()):
        scaleway.instance.Ip(name, zone=ZONE, tags=[pulumi.Output.secret("secret-tag")], opts=options)
    for name in spec.get("volumes", ()):
        scaleway.block.Volume(name, zone=ZONE, iops=5000, size_in_gb=10, tags=["t"], opts=options)
    servers = {}
    for name, ip in spec.get("servers", {}).items():
        servers[name] = scaleway.instance.Server(
            name,
            zone=ZONE,
            type="PLAY2-PICO",
            image="ubuntu_noble",
            ip_id=ips[ip].id,
            tags=["t"],
            cloud_init=pulumi.Output.secret("#cloud-config\n"),
            root_volume={"volume_type": "sbs_volume", "size_in_gb": 20},
            opts=options,
        )
    for name, server in spec.get("nics", {}).items():
        network = scaleway.network.PrivateNetwork(f"{name}-net", tags=["t"], opts=options)
        scaleway.instance.PrivateNic(
            name, zone=ZONE, server_id=servers[server].id, private_network_id=network.id, tags=["t"], opts=options
        )
    pulumi.export("names", sorted(ips))
    pulumi.export("password", pulumi.Output.secret("hunter2hunter2"))


def main() -> None:
    command, spec = sys.argv[1], json.loads(sys.argv[2])
    stack = automation.create_or_select_stack(
        spec.get("stack", "dev"),
        project_name=spec.get("project", "proj"),
        program=lambda: declare(spec),
        opts=automation.LocalWorkspaceOptions(env_vars=dict(os.environ)),
    )
    if command == "up":
        stack.up()
    else:
        stack.destroy()


if __name__ == "__main__":
    main()

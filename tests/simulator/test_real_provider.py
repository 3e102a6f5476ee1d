"""The real Pulumi engine and the real Scaleway provider against a simulator: the judge of what the simulator says.

One life of a stack with every resource that a fleet uses: `up`, a preview and a refresh without changes, new tags,
`destroy`. What the provider asks that the simulator does not serve would show here first.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reconciler.simulator import Served, Simulator, defaults, serve

pytestmark = [
    pytest.mark.engine,
    pytest.mark.xdist_group("real-provider"),
    # The provider's SDK warns of its own old module names when it is imported.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.skipif(
        any(shutil.which(tool) is None for tool in ("pulumi", "pulumi-resource-scaleway")),
        reason="no pulumi and pulumi-resource-scaleway on PATH: `make test` brings them",
    ),
]

# One of each kind of call that the provider of 2026 makes; more is fine, fewer means that the program was not run.
EXPECTED = {
    "POST /instance/v1/zones/{zone}/servers",
    "POST /instance/v1/zones/{zone}/servers/{server}/action",
    "PATCH /instance/v1/zones/{zone}/servers/{server}/user_data/{key}",
    "POST /instance/v1/zones/{zone}/ips",
    "POST /block/v1/zones/{zone}/volumes",
    "POST /vpc/v2/regions/{region}/private-networks",
    "POST /ipam/v1/regions/{region}/ips",
    "POST /instance/v2alpha1/zones/{zone}/private-network-interfaces",
    "GET /instance/v2alpha1/zones/{zone}/private-network-interfaces",
    "GET /ipam/v1/regions/{region}/ips",
    "GET /marketplace/v2/local-images",
    "GET /instance/v1/zones/{zone}/products/servers",
    "DELETE /block/v1/zones/{zone}/volumes/{volume}",
    "DELETE /instance/v1/zones/{zone}/ips/{ip}",
}


@dataclass
class Life:
    """What one life of the stack came to."""

    simulator: Simulator
    changes: dict[str, dict[str, int]] = field(default_factory=dict)
    mutating: dict[str, int] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)


def program(tags: list[str]) -> Callable[[], None]:
    """A worker with everything, a second one with an interface and a booked address, one on local storage."""

    def run() -> None:
        import pulumiverse_scaleway as scaleway

        ip = scaleway.instance.Ip("ip", tags=tags)
        data = scaleway.block.Volume("data", iops=5000, size_in_gb=10, tags=tags)
        network = scaleway.network.PrivateNetwork("network")
        scaleway.instance.Server(
            "worker",
            type="DEV1-S",
            image="ubuntu_noble",
            root_volume={"volume_type": "sbs_volume", "size_in_gb": 10},
            ip_id=ip.id,
            private_networks=[{"pn_id": network.id}],
            additional_volume_ids=[data.id],
            cloud_init="#cloud-config\n",
            tags=tags,
        )
        group = scaleway.instance.SecurityGroup(
            "group", inbound_default_policy="drop", inbound_rules=[{"action": "accept", "port": 22}]
        )
        placement = scaleway.instance.PlacementGroup("placement")
        second = scaleway.instance.Server(
            "second",
            type="PRO2-XXS",
            image="ubuntu_noble",
            security_group_id=group.id,
            placement_group_id=placement.id,
            user_data={"key": "value"},
            tags=tags,
        )
        other = scaleway.network.PrivateNetwork("other")
        booked = scaleway.ipam.Ip("booked", sources=[{"private_network_id": other.id}], tags=tags)
        scaleway.instance.PrivateNic(
            "nic", server_id=second.id, private_network_id=other.id, ipam_ip_ids=[booked.id], tags=tags
        )
        scaleway.instance.Server(
            "local",
            type="DEV1-S",
            image="ubuntu_jammy",
            root_volume={"volume_type": "l_ssd", "size_in_gb": 20},
            tags=tags,
        )
        scaleway.instance.Volume("scratchpad", type="l_ssd", size_in_gb=10)

    return run


def stack_of(served: Served, directory: Path, tags: list[str]) -> Any:
    from pulumi import automation

    environment = {
        **defaults.environment(served.url),
        "PULUMI_BACKEND_URL": f"file://{directory}",
        "PULUMI_HOME": str(directory / "home"),
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PATH": os.environ["PATH"],
    }
    options = automation.LocalWorkspaceOptions(env_vars=environment, work_dir=str(directory))
    return automation.create_or_select_stack("dev", "simulated", program(tags), opts=options)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    directory = tmp_path_factory.mktemp("stack")
    simulator, tags = Simulator(speed=100_000), ["fleet"]
    seen = Life(simulator)
    with serve(simulator) as served:
        stack = stack_of(served, directory, tags)

        def note(step: str, changes: Any) -> None:
            seen.changes[step] = {str(getattr(kind, "value", kind)): count for kind, count in changes.items()}
            seen.mutating[step] = simulator.traffic.stats()["mutating"]

        note("up", stack.up().summary.resource_changes)
        with simulator.editing() as world:
            seen.shown = {server.name: server for server in world.servers}
        note("preview", stack.preview(expect_no_changes=True).change_summary)
        note("refresh", stack.preview_refresh(expect_no_changes=True).change_summary)
        tags.append("more")
        note("tags", stack.up().summary.resource_changes)
        note("settled", stack.preview(expect_no_changes=True).change_summary)
        note("destroy", stack.destroy().summary.resource_changes)
        with simulator.editing() as world:
            seen.left = {kind: len(table) for kind, table in world.tables().items() if len(table)}
        yield seen


def test_up_creates_everything_and_all_servers_run(life: Life) -> None:
    assert life.changes["up"] == {"create": 13}
    assert {server.state for server in life.shown.values()} == {"running"}


def test_a_preview_and_a_refresh_right_after_up_want_nothing_and_change_nothing(life: Life) -> None:
    assert set(life.changes["preview"]) == set(life.changes["refresh"]) == {"same"}
    assert life.mutating["up"] == life.mutating["preview"] == life.mutating["refresh"]


def test_new_tags_are_an_update_that_settles(life: Life) -> None:
    assert life.changes["tags"] == {"same": 6, "update": 7}
    assert set(life.changes["settled"]) == {"same"}


def test_destroy_leaves_only_what_comes_with_a_project(life: Life) -> None:
    """The default security group and the default VPC, which nobody declared."""
    assert life.changes["destroy"] == {"delete": 13}
    assert life.left == {"security_group": 1, "vpc": 1}


def test_the_provider_asks_nothing_that_the_simulator_does_not_serve(life: Life) -> None:
    assert life.simulator.traffic.unknown() == {}
    assert life.simulator.crashes == []
    assert set(life.simulator.traffic.calls()) >= EXPECTED

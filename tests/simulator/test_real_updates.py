"""The real engine and provider change and read what they made: one stack, every kind of update that a fleet sees.

After each step the next preview must want nothing: a simulator that answers an update with anything but what the
provider expects shows itself there first. tests/simulator/test_real_provider.py has creation and destruction.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from reconciler.simulator import Simulator, serve
from tests.simulator.test_real_provider import stack_of

pytestmark = [
    pytest.mark.engine,
    pytest.mark.xdist_group("real-updates"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.skipif(
        any(shutil.which(tool) is None for tool in ("pulumi", "pulumi-resource-scaleway")),
        reason="no pulumi and pulumi-resource-scaleway on PATH: `make test` brings them",
    ),
]
GB = 1_000_000_000


@dataclass(frozen=True)
class Wish:
    """What the program declares. Each step of the stack's life is another one."""

    tags: tuple[str, ...] = ("first",)
    server_type: str = "DEV1-S"
    address: int = 0
    volumes: tuple[int, ...] = (0,)
    size: int = 10
    iops: int = 5000
    root: int = 10
    state: str = "started"
    data: str = "#cloud-config\n"
    name: str = "worker"


FIRST = Wish()
STEPS = (
    ("tags and names", replace(FIRST, tags=("second", "more"), name="renamed")),
    ("user data", replace(FIRST, tags=("second",), data="#cloud-config\nhostname: h\n")),
    ("sizes", replace(FIRST, size=20, iops=15000, root=20)),
    ("another address", replace(FIRST, size=20, iops=15000, root=20, address=1)),
    ("another volume", replace(FIRST, size=20, iops=15000, root=20, address=1, volumes=(0, 1))),
    ("another type", replace(FIRST, size=20, iops=15000, root=20, address=1, volumes=(1,), server_type="DEV1-M")),
    ("standby", replace(FIRST, size=20, iops=15000, root=20, volumes=(), server_type="DEV1-M", state="standby")),
    ("stopped", replace(FIRST, size=20, iops=15000, root=20, volumes=(), server_type="DEV1-M", state="stopped")),
)


def program(wish: Callable[[], Wish]) -> Callable[[], None]:
    def run() -> None:
        import pulumiverse_scaleway as scaleway

        now = wish()
        tags = list(now.tags)
        ips = [scaleway.instance.Ip(f"ip-{number}", tags=tags) for number in (0, 1)]
        volumes = [
            scaleway.block.Volume(f"data-{number}", iops=now.iops, size_in_gb=now.size, tags=tags) for number in (0, 1)
        ]
        network = scaleway.network.PrivateNetwork("network", name=f"{now.name}-network", tags=tags)
        booked = scaleway.ipam.Ip("booked", sources=[{"private_network_id": network.id}], tags=tags)
        server = scaleway.instance.Server(
            "worker",
            name=now.name,
            type=now.server_type,
            image="ubuntu_noble",
            root_volume={"volume_type": "sbs_volume", "size_in_gb": now.root, "sbs_iops": now.iops},
            ip_id=ips[now.address].id,
            additional_volume_ids=[volumes[number].id for number in now.volumes],
            user_data={"key": now.data},
            state=now.state,
            tags=tags,
        )
        scaleway.instance.PrivateNic(
            "nic", server_id=server.id, private_network_id=network.id, ipam_ip_ids=[booked.id], tags=tags
        )
        snapshot = scaleway.block.Snapshot("snapshot", volume_id=volumes[0].id, name=f"{now.name}-snap", tags=tags)
        scaleway.instance.Image("image", root_volume_id=snapshot.id, name=f"{now.name}-image", tags=tags)

    return run


@dataclass
class Life:
    simulator: Simulator
    changes: dict[str, dict[str, int]] = field(default_factory=dict)
    settled: dict[str, dict[str, int]] = field(default_factory=dict)
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    simulator = Simulator(speed=100_000)
    seen, now = Life(simulator), {"wish": FIRST}
    with serve(simulator) as served:
        stack = stack_of(served, tmp_path_factory.mktemp("stack"), [])
        stack.workspace.program = program(lambda: now["wish"])

        def note(step: str) -> None:
            seen.changes[step] = _counts(stack.up().summary.resource_changes)
            seen.settled[step] = _counts(stack.preview(expect_no_changes=True).change_summary)
            with simulator.editing() as world:
                seen.shown[step] = {
                    "servers": list(world.servers), "ips": list(world.ips), "volumes": list(world.block_volumes),
                    "ipam": list(world.ipam), "nics": list(world.nics),
                }  # fmt: skip

        note("create")
        for step, wish in STEPS:
            now["wish"] = wish
            note(step)
        seen.changes["refresh"] = _counts(stack.refresh(expect_no_changes=True).summary.resource_changes)
        seen.changes["destroy"] = _counts(stack.destroy().summary.resource_changes)
        with simulator.editing() as world:
            seen.left = {kind: len(table) for kind, table in world.tables().items() if len(table)}
        yield seen


def _counts(changes: Any) -> dict[str, int]:
    return {str(getattr(kind, "value", kind)): count for kind, count in changes.items()}


def test_everything_is_created_and_every_step_updates_what_it_changes(life: Life) -> None:
    assert life.changes["create"] == {"create": 11}
    assert {step: set(changes) - {"same"} for step, changes in life.changes.items()} == {
        "create": {"create"}, **{step: {"update"} for step, _ in STEPS}, "refresh": set(), "destroy": {"delete"},
    }  # fmt: skip


def test_after_every_step_a_preview_wants_nothing(life: Life) -> None:
    assert {step: set(changes) for step, changes in life.settled.items()} == {
        step: {"same"} for step in ("create", *(name for name, _ in STEPS))
    }


def worker(life: Life, step: str) -> Any:
    (server,) = life.shown[step]["servers"]
    return server


def test_each_change_arrives_in_the_cloud_and_nothing_is_made_twice(life: Life) -> None:
    assert {step: [len(shown[kind]) for kind in ("servers", "nics", "ips")] for step, shown in life.shown.items()} == {
        step: [1, 1, 2] for step in life.shown
    }
    assert worker(life, "tags and names").name == "renamed"
    assert worker(life, "tags and names").tags == ("second", "more")
    assert dict(worker(life, "user data").user_data) == {"key": b"#cloud-config\nhostname: h\n"}
    assert worker(life, "another type").commercial_type == "DEV1-M"
    states = {step: worker(life, step).state for step in ("create", "another type", "standby", "stopped")}
    assert states == {
        "create": "running", "another type": "running", "standby": "stopped in place", "stopped": "stopped",
    }  # fmt: skip


def test_addresses_and_volumes_move_as_declared(life: Life) -> None:
    server = worker(life, "create").id
    holders = {step: [ip.server for ip in shown["ips"]].count(server) for step, shown in life.shown.items()}
    assert holders == dict.fromkeys(life.shown, 1)
    first, second = ({ip.id for ip in life.shown[step]["ips"] if ip.server} for step in ("create", "another address"))
    assert first.isdisjoint(second)
    assert {len(worker(life, step).slots) for step in ("create", "sizes")} == {2}
    assert len(worker(life, "another volume").slots) == 3
    assert len(worker(life, "another type").slots) == 2
    assert len(worker(life, "standby").slots) == 1
    sizes = sorted((volume.size // GB, volume.perf_iops) for volume in life.shown["sizes"]["volumes"])
    assert sizes == [(20, 15000)] * 3


def test_destroy_leaves_only_what_comes_with_a_project_and_no_route_was_unknown(life: Life) -> None:
    assert life.changes["destroy"] == {"delete": 11}
    assert life.left == {"security_group": 1, "vpc": 1}
    assert life.simulator.traffic.unknown() == {}
    assert life.simulator.crashes == []
    assert set(life.simulator.traffic.calls()) >= {
        "POST /instance/v1/zones/{zone}/images",
        "POST /block/v1/zones/{zone}/snapshots",
        "PATCH /block/v1/zones/{zone}/volumes/{volume}",
        "PATCH /instance/v2alpha1/zones/{zone}/private-network-interfaces/{nic}",
        "PATCH /instance/v1/zones/{zone}/ips/{ip}",
        "PATCH /ipam/v1/regions/{region}/ips/{ip}",
        "PATCH /vpc/v2/regions/{region}/private-networks/{network}",
        "DELETE /instance/v2alpha1/zones/{zone}/private-network-interfaces/{nic}",
    }

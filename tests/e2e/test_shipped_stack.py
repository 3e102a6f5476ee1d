"""The shipped stack on the real Pulumi engine and the real Scaleway provider, against a simulated cloud.

Each story is run once per module and recorded step by step; the tests look at the record, one fact each.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.simulator import Simulator, World, serve
from reconciler.simulator.defaults import environment

ROOT = Path(__file__).resolve().parents[2]
SCOPE = "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c11"
STACK = "dev"
DEADLINE_SECONDS = 240
NO_ENGINE = next((name for name in ("pulumi", "pulumi-resource-scaleway") if shutil.which(name) is None), None)

pytestmark = [
    pytest.mark.engine,
    pytest.mark.xdist_group("shipped-stack"),
    pytest.mark.skipif(NO_ENGINE is not None, reason=f"{NO_ENGINE} is not on PATH: make toolchain"),
]

STATIC: dict[str, Any] = {
    "name": "linux",
    "zone": "fr-par-1",
    "type": "DEV1-S",
    "image": "ubuntu_noble",
    "replicas": 3,
    "root": {"size_gb": 20, "iops": 15000},
    "public_ip": "flexible",
    "private_network": "create",
    "tags": ["role=ci"],
    "volumes": [{"name": "cache", "size_gb": 10}],
    "cloud_init": "#cloud-config\n",
}


@dataclass(frozen=True)
class Step:
    status: int
    text: str


@dataclass(frozen=True)
class Things:
    """What the simulated cloud holds at one moment: tags by name or id, and who holds which IP."""

    servers: dict[str, list[str]]
    states: set[str]
    ips: list[tuple[list[str], str | None]]
    volumes: list[list[str]]
    networks: list[list[str]]
    nics: int

    def count(self) -> int:
        return len(self.servers) + len(self.ips) + len(self.volumes) + len(self.networks) + self.nics


@dataclass
class Story:
    """One stack and one cloud, with everything that was done to them."""

    folder: Path
    simulator: Simulator
    environ: Mapping[str, str]
    steps: dict[str, Step] = field(default_factory=dict)
    things: dict[str, Things] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)

    def pulumi(self, name: str, *argv: str) -> Step:
        """Run the CLI; its whole process group ends with it, whatever happens."""
        command = ["pulumi", *argv, "--non-interactive", "--color", "never"]
        child = subprocess.Popen(
            command,
            cwd=self.folder,
            env=dict(self.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            text, _ = child.communicate(timeout=DEADLINE_SECONDS)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise
        self.steps[name] = Step(child.returncode, text)
        self.things[name] = self._look()
        return self.steps[name]

    def configure(self, **keys: Any) -> None:
        path = self.folder / f"Pulumi.{STACK}.yaml"
        old = yaml.safe_load(path.read_text()) if path.exists() else {}
        config = {f"reconciler:{key}": value for key, value in keys.items()}
        path.write_text(yaml.safe_dump({**old, "config": config}, allow_unicode=True))

    def export(self) -> dict[str, Any]:
        """The checkpoint without its passphrase: what the reconciler itself reads."""
        environ = {name: value for name, value in self.environ.items() if name != "PULUMI_CONFIG_PASSPHRASE"}
        run = subprocess.run(
            ["pulumi", "stack", "export", "--stack", STACK],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=True,
        )
        deployment: dict[str, Any] = json.loads(run.stdout)["deployment"]
        return deployment

    def read_output(self, name: str) -> None:
        stack = next(one for one in self.export()["resources"] if one["type"] == "pulumi:pulumi:Stack")
        self.outputs[name] = stack["outputs"].get("reconciler")

    def _look(self) -> Things:
        with self.simulator.editing() as world:
            return Things(
                servers={server.name: list(server.tags) for server in world.servers},
                states={server.state for server in world.servers},
                ips=[(list(ip.tags), ip.server) for ip in world.ips],
                volumes=[list(volume.tags) for volume in world.block_volumes],
                networks=[list(network.tags) for network in world.networks],
                nics=len(world.nics),
            )


def begin(folder: Path, simulator: Simulator, url: str) -> Story:
    """A copy of the shipped project in `folder`, with a backend and a home of its own."""
    project = folder / "project"
    shutil.copytree(ROOT / "stacks", project / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Pulumi.yaml", project)
    (project / ".venv").symlink_to(sys.prefix)
    for name in ("backend", "home"):
        (folder / name).mkdir()
    (folder / "scw.yaml").touch()
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "PULUMI_HOME": str(folder / "home" / ".pulumi"),
        "PULUMI_BACKEND_URL": f"file://{folder / 'backend'}",
        "PULUMI_CONFIG_PASSPHRASE": "a passphrase of this test",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "RECONCILER_TOOLCHAIN_PYTHON": sys.executable,
        "SCW_CONFIG_PATH": str(folder / "scw.yaml"),
        **environment(url),
    }
    story = Story(folder=project, simulator=simulator, environ=environ)
    assert story.pulumi("init", "stack", "init", STACK).status == 0, story.steps["init"].text
    return story


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Three workers: declared, looked at, declared again, one taken away, all taken away."""
    simulator = Simulator(World(), speed=1000)
    with serve(simulator) as server:
        story = begin(tmp_path_factory.mktemp("life"), simulator, server.url)
        story.configure(scope=SCOPE, fleets=[STATIC])
        story.pulumi("up", "up", "--yes", "--skip-preview")
        story.read_output("up")
        story.pulumi("refresh", "refresh", "--preview-only", "--expect-no-changes")
        story.pulumi("preview", "preview", "--expect-no-changes", "--diff")
        story.pulumi("up again", "up", "--yes", "--skip-preview", "--expect-no-changes")
        story.read_output("up again")
        story.configure(scope=SCOPE, fleets=[{**STATIC, "image": "ubuntu_jammy", "replicas": 2}])
        story.pulumi("change", "up", "--yes", "--skip-preview")
        story.read_output("change")
        story.pulumi("preview after", "preview", "--expect-no-changes", "--diff")
        story.pulumi("destroy", "destroy", "--yes", "--skip-preview")
        yield story
        assert simulator.crashes == []


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """An elastic fleet whose cloud-init is a secret."""
    simulator = Simulator(World(), speed=1000)
    with serve(simulator) as server:
        story = begin(tmp_path_factory.mktemp("secret"), simulator, server.url)
        elastic = {key: value for key, value in STATIC.items() if key not in ("replicas", "cloud_init")}
        story.configure(scope=SCOPE, fleets=[{**elastic, "min": 0, "max": 9}])
        key = "reconciler:fleets[0].cloud_init"
        story.pulumi("secret", "config", "set", "--secret", "--path", key, "hunter2-hunter2")
        story.pulumi("up", "up", "--yes", "--skip-preview")
        story.read_output("up")
        story.pulumi("refresh", "refresh", "--preview-only", "--expect-no-changes")
        story.pulumi("preview", "preview", "--expect-no-changes", "--diff")
        yield story


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """A worker under Scaleway's server protection, which somebody tries to destroy."""
    simulator = Simulator(World(), speed=1000)
    with serve(simulator) as server:
        story = begin(tmp_path_factory.mktemp("protected"), simulator, server.url)
        fleet = {"name": "linux", "zone": "fr-par-1", "type": "DEV1-S", "image": "ubuntu_noble", "replicas": 1}
        story.configure(scope=SCOPE, fleets=[{**fleet, "protected": True}])
        story.pulumi("up", "up", "--yes", "--skip-preview")
        story.pulumi("destroy", "destroy", "--yes", "--skip-preview")
        yield story


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """A good fleet beside one with two mistakes."""
    simulator = Simulator(World(), speed=1000)
    with serve(simulator) as server:
        story = begin(tmp_path_factory.mktemp("wrong"), simulator, server.url)
        bad = {**STATIC, "name": "arm", "zone": "fr-par-9", "root": {"size": 20}}
        story.configure(scope=SCOPE, fleets=[STATIC, bad])
        story.pulumi("up", "up", "--yes", "--skip-preview")
        yield story


def test_the_first_up_makes_three_running_workers_with_their_children(life: Story) -> None:
    assert life.steps["up"].status == 0, life.steps["up"].text
    made = life.things["up"]
    assert sorted(made.servers) == ["linux-0", "linux-1", "linux-2"]
    assert made.states == {"running"}
    assert (len(made.ips), len(made.volumes), len(made.networks), made.nics) == (3, 6, 1, 3)


def test_every_worker_has_an_ip_of_its_own(life: Story) -> None:
    holders = [holder for _, holder in life.things["up"].ips]
    assert None not in holders
    assert len(set(holders)) == 3


def test_servers_carry_exactly_the_owner_tags_and_the_users_own(life: Story) -> None:
    revision = life.outputs["up"]["fleets"][0]["revision"]
    assert life.things["up"].servers["linux-1"] == [
        "reconciler",
        f"reconciler:scope={SCOPE}",
        "reconciler:fleet=linux",
        "reconciler:slot=1",
        f"reconciler:revision={revision}",
        "role=ci",
    ]


def test_ips_and_extra_volumes_carry_the_tags_of_their_slot(life: Story) -> None:
    made = life.things["up"]
    servers = sorted(made.servers.values())
    assert sorted(tags for tags, _ in made.ips) == servers
    assert sorted(tags for tags in made.volumes if tags) == servers


def test_the_provider_leaves_root_volumes_without_tags(life: Story) -> None:
    assert [tags for tags in life.things["up"].volumes if not tags] == [[], [], []]


@pytest.mark.parametrize("step", ["refresh", "preview", "up again", "preview after"])
def test_nothing_is_left_to_change(life: Story, step: str) -> None:
    assert life.steps[step].status == 0, life.steps[step].text


def test_the_fleets_identity_and_revision_survive_another_up(life: Story) -> None:
    assert life.outputs["up"] is not None
    assert life.outputs["up again"] == life.outputs["up"]


def test_the_output_is_readable_without_the_passphrase_and_counts_the_replicas(life: Story) -> None:
    output = life.outputs["up"]
    assert (output["schema_version"], output["scope"]) == (1, SCOPE)
    assert [(fleet["name"], fleet["replicas"]) for fleet in output["fleets"]] == [("linux", 3)]


def test_a_new_image_replaces_the_machines_in_their_slots_and_one_replica_less_takes_the_last_slot(life: Story) -> None:
    assert life.steps["change"].status == 0, life.steps["change"].text
    after = life.things["change"]
    assert sorted(after.servers) == ["linux-0", "linux-1"]
    assert (len(after.ips), len(after.volumes), after.nics) == (2, 4, 2)


def test_another_image_is_another_revision_of_the_same_fleet(life: Story) -> None:
    before, after = (life.outputs[step]["fleets"][0] for step in ("up", "change"))
    assert before["revision"] != after["revision"]
    assert before["uid"] == after["uid"]


def test_destroy_leaves_nothing_behind(life: Story) -> None:
    assert life.steps["destroy"].status == 0, life.steps["destroy"].text
    assert life.things["destroy"].count() == 0


def test_an_elastic_fleet_makes_its_network_and_no_machine(secret: Story) -> None:
    assert secret.steps["up"].status == 0, secret.steps["up"].text
    made = secret.things["up"]
    assert (made.count(), len(made.networks)) == (1, 1)


@pytest.mark.parametrize("step", ["refresh", "preview"])
def test_the_kept_key_of_a_secret_leaves_nothing_to_change(secret: Story, step: str) -> None:
    assert secret.steps[step].status == 0, secret.steps[step].text


def test_a_secret_cloud_init_is_a_keyed_digest_in_an_output_that_is_no_secret(secret: Story) -> None:
    assert secret.outputs["up"]["fleets"][0]["spec"]["cloud_init"].startswith("hmac-sha256:")


def test_neither_the_secret_nor_the_key_of_its_digest_is_in_clear_anywhere_in_the_checkpoint(secret: Story) -> None:
    deployment = secret.export()
    key = next(one for one in deployment["resources"] if one["urn"].endswith("::linux-key"))
    assert "ciphertext" in key["outputs"]["output"]
    assert "hunter2" not in json.dumps(deployment)


def test_a_refused_destroy_of_a_protected_worker_leaves_it_its_ip(protected: Story) -> None:
    assert protected.steps["up"].status == 0, protected.steps["up"].text
    assert "server is protected" in protected.steps["destroy"].text
    assert protected.things["destroy"] == protected.things["up"]


def test_a_wrong_configuration_names_every_mistake(wrong: Story) -> None:
    assert wrong.steps["up"].status != 0
    assert "reconciler:fleets[1].zone: unknown zone; known are fr-par-1" in wrong.steps["up"].text
    assert "reconciler:fleets[1].root.size: unknown key; did you mean `size_gb`?" in wrong.steps["up"].text


def test_a_wrong_configuration_makes_nothing_of_the_fleets_that_are_right(wrong: Story) -> None:
    assert wrong.things["up"].count() == 0

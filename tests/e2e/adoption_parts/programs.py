"""Programs of people who know nothing of this product, each with something that an adoption could stumble over."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from reconciler.model.resources import Kind, Ref
from tests.e2e.adoption_parts.rows import Row, killed_deploy
from tests.e2e.adoption_parts.site import PROJECT, Site
from tests.e2e.rig import ROOT

_HEAD: Final = "import pulumi, pulumiverse_scaleway as scaleway\n"
_COMPONENT: Final = """
class Worker(pulumi.ComponentResource):
    def __init__(self, name):
        super().__init__("mine:index:Worker", name, {}, None)
        ip = scaleway.instance.Ip(f"{name}-ip", zone="fr-par-1", tags=[name], opts=pulumi.ResourceOptions(parent=self))
        self.server = scaleway.instance.Server(
            name, name=name, zone="fr-par-1", type="DEV1-S", image="ubuntu_noble", ip_ids=[ip.id],
            tags=[pulumi.Output.secret("a-secret-tag"), name], cloud_init=pulumi.Output.secret("#cloud-config"),
            opts=pulumi.ResourceOptions(
                parent=self, aliases=[pulumi.Alias(name=f"{name}-old")], ignore_changes=["userData"], protect=True
            ),
        )
        self.register_outputs({"id": self.server.id})

for number in range(2):
    Worker(f"w{number}")
"""
_EXPLICIT: Final = """
provider = scaleway.Provider(
    "mine", zone="nl-ams-1", region="nl-ams", project_id="5ca1ab1e-0000-4000-8000-000000000002"
)

def owned(args):
    if "tags" in args.props:
        args.props["tags"] = [*args.props["tags"], "owner=me"]
    return pulumi.ResourceTransformResult(props=args.props, opts=args.opts)

pulumi.runtime.register_resource_transform(owned)
options = pulumi.ResourceOptions(provider=provider)
ip = scaleway.instance.Ip("ip", tags=["x"], opts=options)
scaleway.instance.Server(
    "w", name="w", type="DEV1-S", image="ubuntu_noble", ip_id=ip.id, tags=["a"], user_data={"key": "value"},
    state="started", opts=options,
)
pulumi.export("address", pulumi.Output.secret(ip.address))
"""
_UNNAMED: Final = """
net = scaleway.network.PrivateNetwork("net", region="fr-par")
volume = scaleway.block.Volume("v", zone="fr-par-1", iops=5000, size_in_gb=10)
for number in range(2):
    scaleway.instance.Server(
        f"w{number}", zone="fr-par-1", type="DEV1-S", image="ubuntu_noble", tags=[f"w{number}"],
        private_networks=[{"pn_id": net.id}], additional_volume_ids=[volume.id] if number else None,
    )
for number in range(3):
    scaleway.instance.Ip(f"ip{number}", zone="fr-par-1")
"""
_LOCAL: Final = """
group = scaleway.instance.SecurityGroup("sg", zone="fr-par-1", name="sg", inbound_default_policy="drop")
volume = scaleway.instance.Volume("v", zone="fr-par-1", type="l_ssd", size_in_gb=5, name="v")
scaleway.instance.Server(
    "w", name="w", zone="fr-par-1", type="DEV1-S", image="ubuntu_noble", security_group_id=group.id, protected=True,
    root_volume={"volume_type": "l_ssd", "size_in_gb": 10}, additional_volume_ids=[volume.id],
)
"""
_AT_REST: Final = """
scaleway.instance.Server("off", name="off", zone="fr-par-1", type="DEV1-S", image="ubuntu_noble", state="stopped")
scaleway.instance.Server(
    "waiting", name="waiting", zone="fr-par-1", type="DEV1-S", image="ubuntu_noble", state="standby",
    root_volume={"name": "root-of-it", "size_in_gb": 12, "volume_type": "sbs_volume"},
)
"""
_REFERENCE: Final = """
if pulumi.get_stack() == "base":
    pulumi.export("tag", pulumi.Output.secret("from-base"))
else:
    tag = pulumi.StackReference("organization/fleet/base").require_output("tag")
    scaleway.instance.Ip("ip", zone="fr-par-1", tags=[tag])
"""


@dataclass(frozen=True)
class Program:
    """`prepare`: puts it into a site and begins its stack. `servers`: how many machines a killed deploy leaves; 0 is a
    deploy that ends, and a state that loses all."""

    name: str
    prepare: Callable[[Site], None]
    servers: int = 0

    def __str__(self) -> str:
        return f"{self.name} {'killed' if self.servers else 'lost'}"


def _source(text: str) -> Callable[[Site], None]:
    def prepare(site: Site) -> None:
        site.write_program(_HEAD + text)
        site.begin()

    return prepare


def _reference(site: Site) -> None:
    """A stack that another one's program reads an output of, a secret at that."""
    site.write_program(_HEAD + _REFERENCE)
    for args in (("stack", "init", "organization/fleet/base"), ("up", "--yes", "--skip-preview", "--stack", "base")):
        done = site.pulumi_here(*args)
        assert done.returncode == 0, done.stderr
    shutil.copy(site.project / "Pulumi.base.yaml", site.project / "Pulumi.prod.yaml")
    site.begin()


def _fleet(site: Site) -> None:
    """The component library that the product ships, with everything that a fleet can have."""
    (site.project / "__main__.py").unlink()
    shutil.copytree(ROOT / "stacks", site.project / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    shipped = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
    (site.project / "Pulumi.yaml").write_text(yaml.safe_dump({**shipped, "name": PROJECT}))
    (site.project / ".venv").symlink_to(sys.prefix)
    site.begin()
    fleet: dict[str, Any] = {
        "name": "linux",
        "zone": "fr-par-1",
        "type": "DEV1-S",
        "image": "ubuntu_noble",
        "replicas": 3,
        "root": {"size_gb": 20, "iops": 15000},
        "private_network": "create",
        "volumes": [{"name": "cache", "size_gb": 10}],
        "cloud_init": "#cloud-config\n",
        "protect": True,
    }
    path = site.project / "Pulumi.prod.yaml"
    config = {"reconciler:scope": "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c11", "reconciler:fleets": [fleet]}
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "config": config}))


PROGRAMS: Final = (
    Program("component", _source(_COMPONENT)),
    Program("explicit provider", _source(_EXPLICIT)),
    Program("without names", _source(_UNNAMED)),
    Program("local storage", _source(_LOCAL)),
    Program("not running", _source(_AT_REST)),
    Program("stack reference", _reference),
    Program("WorkerFleet", _fleet),
    Program("WorkerFleet", _fleet, servers=3),
)


def run(program: Program) -> Row:
    """Deployed, lost from the state or never in it, adopted."""
    row = Row(program.name, after="killed deploy" if program.servers else "lost state")
    with tempfile.TemporaryDirectory(prefix="adoption-") as directory, Site(Path(directory)) as site:
        try:
            program.prepare(site)
            targets = killed_deploy(site, program.servers) if program.servers else _lost(site)
            calls, cloud = len(site.mutating_calls()), site.cloud_text()
            row.adopted = len(site.adopt(targets).adopted)
            assert site.refs().items() >= dict(targets).items()
            assert site.state().pending == ()
            site.require_quiet()
            assert site.mutating_calls()[calls:] == []
            assert site.cloud_text() == cloud
            site.require_clean()
        except Exception as error:  # a row that breaks must not hide the others
            row.faults.append(f"{type(error).__name__}: {str(error)[:2000]}")
    return row


def _lost(site: Site) -> Mapping[str, Ref]:
    site.deploy()
    targets = _adoptable(site.refs())
    site.forget(targets)
    return targets


def _adoptable(refs: Mapping[str, Ref]) -> dict[str, Ref]:
    """A security group's create goes on with its rules, which no proof covers; it stays in the state."""
    return {urn: ref for urn, ref in refs.items() if ref.kind is not Kind.SECURITY_GROUP}

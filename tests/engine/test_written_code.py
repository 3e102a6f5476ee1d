"""Code that `adopt --write-code` writes, run by the real engine: adopted, it wants nothing; imported, neither."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from reconciler.cloud import ScalewayCloud, load_credentials
from reconciler.kernel.executor import SerialExecutor
from reconciler.kernel.randomness import SeededRandomness
from reconciler.model.resources import Kind, Ref, Resource, Volume
from reconciler.model.state import KIND_OF_TYPE
from reconciler.report.program_text import program_text
from reconciler.simulator import defaults
from tests.engine.projects import IP, VOLUME, Project, urn
from tests.engine.real import CLOCK, RealWorld

BEFORE = """
ip1 = scaleway.instance.Ip("ip1", zone="fr-par-1", tags=["t", 'quo"ted'])
net = scaleway.network.PrivateNetwork("net", tags=["n"])
volume = scaleway.block.Volume("v0", zone="fr-par-1", iops=5000, size_in_gb=10, tags=["t"])
server = scaleway.instance.Server(
    "w0", zone="fr-par-1", type="PLAY2-PICO", image="ubuntu_noble", ip_ids=[ip1.id], tags=["t"],
    additional_volume_ids=[volume.id], root_volume={"volume_type": "sbs_volume", "size_in_gb": 20, "sbs_iops": 15000},
)
scaleway.instance.PrivateNic("nic", zone="fr-par-1", server_id=server.id, private_network_id=net.id, tags=["c"])
"""
TYPES = {kind: token for token, kind in KIND_OF_TYPE.items()}


@pytest.fixture
def project(real: RealWorld) -> Project:
    return Project(real)


def cloud_of(real: RealWorld) -> ScalewayCloud:
    environ = {key: value for key, value in real.env.items() if key != "SCW_CONFIG_PATH"} | {"HOME": str(real.home)}
    credentials = load_credentials(environ, project=defaults.PROJECT_ID)
    return ScalewayCloud(credentials, clock=CLOCK, randomness=SeededRandomness(1), executor=SerialExecutor())


def let_go(project: Project) -> tuple[Resource, ...]:
    """Take everything of the provider's out of the state, as if no program had ever declared it; what it was."""
    state = project.real.state()
    refs = [entry.ref for entry in state.resources if entry.ref is not None]
    urns = [entry.urn for entry in state.resources if entry.ref is not None]
    project.engine().release("proj/dev", urns, serial=state.serial, force=False, on_child=lambda _: None)
    cloud = cloud_of(project.real)
    found = [cloud.probe(ref).resource for ref in refs]
    return tuple(one for one in found if one is not None)


def roots_of(project: Project) -> Mapping[str, Volume]:
    items = cloud_of(project.real).scan(Kind.VOLUME, "fr-par-1").items
    return {one.id: one for one in items if isinstance(one, Volume)}


def write(project: Project, resources: tuple[Resource, ...]) -> None:
    project.path("found.py").write_text(program_text(resources, roots=roots_of(project)))
    project.write("import found\n")


def targets(project: Project, resources: tuple[Resource, ...]) -> dict[str, Ref]:
    """URN -> what it is, each kind once."""
    view = project.engine().declared("proj/dev")
    by_type = {TYPES[one.ref.kind]: one.ref for one in resources}
    return {one.urn: by_type[one.type] for one in view.creates if one.type in by_type}


def require_clean(project: Project, calls: list[str]) -> None:
    view = project.engine().declared("proj/dev")
    assert [(one.operation, one.urn, one.changes) for one in view.resources.values() if one.operation != "same"] == []
    project.up()
    assert project.real.mutating_calls() == calls


@pytest.mark.engine
def test_all_five_kinds_are_clean_after_their_adoption(project: Project) -> None:
    project.write(BEFORE)
    project.up()
    resources = let_go(project)
    assert len(resources) == 5
    calls = project.real.mutating_calls()
    write(project, resources)
    result = project.engine().adopt("proj/dev", targets(project, resources), on_child=lambda _: None)
    assert len(result.adopted) == 5
    require_clean(project, calls)


@pytest.mark.engine
def test_an_ip_and_a_block_volume_are_clean_after_a_protected_import(project: Project) -> None:
    """Before the code is there, and with what it declares afterwards."""
    project.write(
        'scaleway.instance.Ip("a", zone="fr-par-1", tags=["t"])\n'
        'scaleway.block.Volume("v", zone="fr-par-1", iops=5000, size_in_gb=10, tags=["t"])\n'
    )
    project.up()
    resources = let_go(project)
    calls = project.real.mutating_calls()
    write(project, resources)
    names = {one.type: one.name for one in project.engine().declared("proj/dev").creates}
    for token, kind in ((IP, Kind.IP), (VOLUME, Kind.VOLUME)):
        found = next(one for one in resources if one.ref.kind is kind)
        argv = ("import", token, names[token], f"{found.zone}/{found.id}", "--protect=true", "--yes")
        project.pulumi(*argv, "--skip-preview", "--generate-code=false", "--stack", "dev")
        assert project.real.state().by_urn[urn(token, names[token])].protect
    print(project.engine().declared("proj/dev"))
    require_clean(project, calls)

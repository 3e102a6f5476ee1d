"""What a program declares, by the real engine: every operation, and a program that fails."""

from __future__ import annotations

import pytest

from reconciler.engine import program
from reconciler.engine.adoption import digest
from reconciler.kernel.errors import EngineError
from reconciler.model.program import ProgramView
from tests.engine.projects import IP, SERVER, VOLUME, Project, urn
from tests.engine.real import RealWorld

BEFORE = """
ip0 = scaleway.instance.Ip("ip0", zone="fr-par-1", tags=["t"])
ip1 = scaleway.instance.Ip("ip1", zone="fr-par-1", tags=["t"])
scaleway.block.Volume("v0", zone="fr-par-1", iops=5000, size_in_gb=10, tags=["t"])
scaleway.instance.Server(
    "w0", zone="fr-par-1", type="PLAY2-PICO", image="ubuntu_noble", ip_id=ip1.id, tags=["t"],
    user_data={"cloud-init": pulumi.Output.secret("hunter2-before")},
    root_volume={"volume_type": "sbs_volume", "size_in_gb": 20},
)
"""
AFTER = """
ip1 = scaleway.instance.Ip("ip1", zone="fr-par-1", tags=["t", "u"])
scaleway.instance.Ip("ip2", zone="fr-par-1", tags=["n"])
scaleway.block.Volume("v0", zone="fr-par-1", iops=5000, size_in_gb=10, tags=["t"])
scaleway.instance.Server(
    "w0", zone="fr-par-1", type="PLAY2-PICO", image="ubuntu_jammy", ip_id=ip1.id, tags=["t"],
    user_data={"cloud-init": pulumi.Output.secret("hunter2-after")},
    root_volume={"volume_type": "sbs_volume", "size_in_gb": 20},
)
"""


@pytest.fixture
def project(real: RealWorld) -> Project:
    return Project(real)


@pytest.mark.engine
def test_every_operation_of_an_edited_program(project: Project) -> None:
    """One deploy and one edit, because a deploy is what costs time."""
    project.write(BEFORE)
    project.up()
    before, calls = project.real.raw(), project.real.mutating_calls()
    project.write(AFTER)
    view = project.engine().declared("proj/dev")
    assert [one.urn for one in view.deletes] == [urn(IP, "ip0")]
    assert [one.urn for one in view.updates] == [urn(IP, "ip1")]
    assert [one.urn for one in view.replaces] == [urn(SERVER, "w0")]
    assert [(one.urn, one.tags, one.zone) for one in view.creates] == [(urn(IP, "ip2"), ("n",), "fr-par-1")]
    assert urn(VOLUME, "v0") in view.urns
    assert urn(IP, "ip0") not in view.urns
    assert (project.real.raw(), project.real.mutating_calls()) == (before, calls)
    assert project.real.lock_files() == []
    _require_masked(view)


def _require_masked(view: ProgramView) -> None:
    server = view.resources[urn(SERVER, "w0")]
    paths = {change.path.partition("[")[0].partition(".")[0] for change in server.changes}
    assert {"image", "userData"} <= paths
    assert "hunter2" not in repr(view)


@pytest.mark.engine
def test_a_program_that_fails_in_the_middle_declares_nothing(project: Project) -> None:
    project.write('scaleway.instance.Ip("ip0", zone="fr-par-1")\nraise KeyError("no such image")\n')
    with pytest.raises(EngineError) as caught:
        project.engine().declared("proj/dev")
    assert caught.value.code == "RC0541"
    assert "no such image" in caught.value.message


@pytest.mark.engine
def test_a_program_of_an_unknown_place_is_refused(project: Project) -> None:
    with pytest.raises(EngineError) as caught:
        project.real.engine().declared("proj/dev")
    assert caught.value.code == "RC0570"


def plan(**operations: str) -> digest.Plan:
    return digest.Plan(
        operations={urn(IP, name): operation for name, operation in operations.items()}, creates={}, changes={}
    )


@pytest.mark.parametrize("operation", ["replace", "create-replacement", "delete-replaced", "import-replacement"])
def test_the_parts_of_a_replace_are_one_replace(operation: str) -> None:
    found = program.view(plan(a=operation), stack="proj/dev", at_ms=1)
    assert [one.name for one in found.replaces] == ["a"]


def test_properties_of_the_bridge_are_no_change() -> None:
    changes = {
        urn(IP, "a"): (digest.Change(path="__meta", old=1, new=2), digest.Change(path="tags", old=[], new=["t"]))
    }
    found = program.view(
        digest.Plan(operations={urn(IP, "a"): "update"}, creates={}, changes=changes), stack="proj/dev", at_ms=1
    )
    assert [change.path for change in found.updates[0].changes] == ["tags"]


def test_the_type_is_the_last_of_the_urn() -> None:
    nested = f"urn:pulumi:dev::proj::reconciler:fleet:WorkerFleet${IP}::a"
    found = program.view(digest.Plan(operations={nested: "delete"}, creates={}, changes={}), stack="s", at_ms=1)
    assert found.deletes[0].type == IP

"""`adopt --write-code`: for what is in no state, and nothing else."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

from reconciler.model.resources import Kind, Other, Volume, VolumeSlot
from tests.cli.conftest import Run
from tests.fakes.cloud import PROJECT, ZONE
from tests.fakes.estate import FakeWorld, scope_named


def test_the_code_of_a_leftover_goes_to_the_file(run: Run, world: FakeWorld, tmp_path: Path) -> None:
    ip = world.leftover_ip()
    ran = run("adopt", "--write-code", "found.py", ip.id)
    text = (tmp_path / "found.py").read_text()
    assert (ran.status, ip.id in text) == (0, True)
    ast.parse(text)


def test_a_dash_is_stdout(run: Run, world: FakeWorld) -> None:
    ran = run("adopt", "--write-code", "-", world.leftover_ip().id[:8])
    assert "scaleway.instance.Ip(" in ran.out


def test_it_writes_nothing_else(run: Run, world: FakeWorld) -> None:
    run("adopt", "--write-code", "-", world.leftover_ip().id)
    assert (world.store_port.sweeps, world.cloud_port.tagged, world.engine_port.refreshed) == ([], [], [])


def test_a_file_that_is_there_is_not_overwritten(run: Run, world: FakeWorld, tmp_path: Path) -> None:
    (tmp_path / "found.py").write_text("mine")
    ran = run("adopt", "--write-code", "found.py", world.leftover_ip().id)
    assert (ran.status, "RC0578" in ran.err, (tmp_path / "found.py").read_text()) == (6, True, "mine")


def test_what_a_state_holds_is_refused(run: Run, world: FakeWorld) -> None:
    ip = world.leftover_ip()
    entry = world.vanished_ip()
    world.engine_port.gone.clear()
    state = next(iter(world.engine_port.states.values()))
    world.engine_port.add(replace(state, resources=(replace(entry, id=f"{ZONE}/{ip.id}"),)))
    ran = run("adopt", "--write-code", "-", ip.id)
    assert (ran.status, "RC0577" in ran.err, ran.out) == (6, True, "")


def test_a_server_whose_root_was_not_read_is_refused(run: Run, world: FakeWorld) -> None:
    server = replace(world.stranger(), volumes=(VolumeSlot(key="0", id="x", volume_type="sbs_volume"),))
    world.cloud_port.add(server)
    assert "RC0579" in run("adopt", "--write-code", "-", server.id).err


def test_a_managed_clusters_volume_is_refused(run: Run, world: FakeWorld) -> None:
    volume = Volume(
        id="ffff0001-0000-4000-8000-000000000000",
        zone=ZONE,
        project=PROJECT,
        name="pvc-1",
        volume_type="sbs_5k",
        size=1,
        status="available",
    )
    world.cloud_port.add(volume)
    ran = run("adopt", "--write-code", "-", volume.id)
    assert (ran.status, "managed Kubernetes" in ran.err) == (6, True)


def test_a_private_network_is_found_by_its_whole_id(run: Run, world: FakeWorld) -> None:
    net = Other(
        id="ffff0002-0000-4000-8000-000000000000",
        zone="fr-par",
        project=PROJECT,
        kind=Kind.PRIVATE_NETWORK,
        name="net",
    )
    world.cloud_port.add(net)
    assert "scaleway.network.PrivateNetwork(" in run("adopt", "--write-code", "-", net.id).out


def test_an_unknown_id_is_a_usage_error(run: Run) -> None:
    ran = run("adopt", "--write-code", "-", "ffff0009-0000-4000-8000-000000000000")
    assert (ran.status, "RC0575" in ran.err) == (64, True)


def test_several_scopes_need_a_name(run: Run, world: FakeWorld) -> None:
    world.scopes = (*world.scopes, scope_named("gpu", 2))
    assert "RC0574" in run("adopt", "--write-code", "-", world.leftover_ip().id).err


def test_an_option_of_an_adoption_beside_it_is_a_usage_error(run: Run, world: FakeWorld) -> None:
    for extra in (["--all"], ["--as", "urn:x"], ["-y"], ["--dry-run"], ["-j"]):
        ran = run("adopt", "--write-code", "-", world.leftover_ip().id, *extra)
        assert (ran.status, "RC0676" in ran.err, ran.out) == (64, True, ""), extra


def test_without_an_id_it_is_a_usage_error(run: Run) -> None:
    assert run("adopt", "--write-code", "-").status == 64

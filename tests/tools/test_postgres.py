"""PostgreSQL for tests: where its programs are found, and that a server never outlives its run."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.fakes import write_tool
from tools.pins import TREE
from tools.postgres import PostgresUnavailable, find_server, start, temporary_cluster

PROGRAMS = ("initdb", "pg_ctl", "postgres")


def install(directory: Path, *, without: str = "") -> Path:
    for program in PROGRAMS:
        if program != without:
            write_tool(directory / program, "")
    return directory


def test_the_newest_packaged_server_is_taken(tmp_path: Path) -> None:
    install(tmp_path / "9.6" / "bin")
    newest = install(tmp_path / "17" / "bin")
    install(tmp_path / "15" / "bin")
    assert find_server({"PATH": ""}, packaged=tmp_path) == newest


def test_a_server_on_path_wins_and_links_are_followed(tmp_path: Path) -> None:
    install(tmp_path / "packaged" / "17" / "bin")
    real = install(tmp_path / "real")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pg_ctl").symlink_to(real / "pg_ctl")
    found = find_server({"PATH": str(tmp_path / "bin")}, packaged=tmp_path / "packaged")
    assert found == real


def test_client_programs_alone_are_no_server(tmp_path: Path) -> None:
    install(tmp_path / "17" / "bin", without="postgres")
    assert find_server({"PATH": ""}, packaged=tmp_path) is None


def test_a_machine_without_a_server_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.postgres.find_server", lambda: None)
    with pytest.raises(PostgresUnavailable, match="apt-get install"):
        start()


@pytest.fixture
def server() -> None:
    if find_server() is None:
        pytest.skip("no PostgreSQL server on this machine")


@pytest.mark.postgres
@pytest.mark.usefixtures("server")
def test_databases_of_one_cluster_are_made_and_dropped() -> None:
    with temporary_cluster() as cluster:
        assert cluster.create_database("one").endswith(f"/one?host={str(cluster.directory).replace('/', '%2F')}")
        assert "one" in cluster.sql("SELECT datname FROM pg_database").split()
        cluster.drop_database("one")
        assert "one" not in cluster.sql("SELECT datname FROM pg_database").split()
        assert cluster.sql("SHOW deadlock_timeout") == "200ms"
        assert cluster.sql("SHOW listen_addresses") == ""
    assert not cluster.directory.exists()


def wait_for_end(descriptor: int) -> None:
    """Wait for a process that is not our child; its descriptor is readable when it has ended."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(30_000), "the watchdog still runs"


@pytest.mark.postgres
@pytest.mark.usefixtures("server")
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux can wait for a process that is no child")
@pytest.mark.parametrize("end", ["exit", "kill"])
def test_the_server_is_gone_when_its_run_is_however_the_run_ends(end: str) -> None:
    code = (
        "import sys; from tools.postgres import start; cluster = start();"
        "print(cluster.directory, cluster.watchdog, flush=True); sys.stdin.read()"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code], cwd=TREE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    directory, watchdog = run.stdout.readline().split()
    assert (Path(directory) / "data" / "postmaster.pid").exists()
    descriptor = os.pidfd_open(int(watchdog))
    try:
        if end == "kill":
            run.kill()
        run.communicate()
        wait_for_end(descriptor)
    finally:
        os.close(descriptor)
    assert not Path(directory).exists()

"""The real world behind the ports: what is made of the settings, and that none of it is contacted too early."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.apply import runner
from reconciler.cli.composition import RealWorld, Runtime, holder, lease_name
from reconciler.cli.options import Globals
from reconciler.engine.adapter import PulumiEngine
from reconciler.kernel.errors import AuthenticationError, ConfigError, StoreError
from reconciler.simulator import Simulator, World, serve
from reconciler.simulator.defaults import PROJECT_ID, environment
from reconciler.store.schema import HEAD
from tests.fakes.estate import scope_named

CONFIG = f"""
[state]
stacks = ["demo/*"]
[[scope]]
name = "demo"
uuid = "00000001-9999-4999-8999-999999999999"
project = "{PROJECT_ID}"
zones = ["fr-par-1"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "reconciler.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def runtime_of(environ: dict[str, str], folder: Path, config: str = CONFIG) -> Runtime:
    (folder / "reconciler.toml").write_text(config)
    base = {"HOME": str(folder), "RECONCILER_DATABASE_URL": f"sqlite:///{folder / 'x.db'}"}
    world = RealWorld({**base, **environ})
    return Runtime(world, world.settings(Globals(), need_scopes=True))


@pytest.fixture
def simulated(folder: Path) -> Iterator[Runtime]:
    simulator = Simulator(World(), clock=RealWorld({}).clock(), randomness=RealWorld({}).randomness(), speed=1000)
    with serve(simulator) as server:
        runtime = runtime_of(environment(server.url), folder)
        yield runtime
        runtime.close()


def test_the_cloud_is_the_scopes_project_under_the_users_key(simulated: Runtime) -> None:
    scope = simulated.settings.scopes[0]
    cloud = simulated.cloud(scope)
    cloud.check_credentials()
    assert cloud.project == PROJECT_ID
    assert simulated.cloud(scope) is cloud


def test_without_a_key_only_the_cloud_fails(folder: Path) -> None:
    runtime = runtime_of({}, folder)
    with pytest.raises(AuthenticationError, match="no Scaleway secret key"):
        runtime.cloud(runtime.settings.scopes[0])
    assert isinstance(runtime.engine(), PulumiEngine)


def test_a_configured_command_is_found_by_its_path(folder: Path) -> None:
    tools = folder / "tools"
    tools.mkdir()
    (tools / "pulumi").write_text("#!/bin/sh\necho v3.274.1\n")
    (tools / "pulumi").chmod(0o755)
    runtime = runtime_of({"PATH": "/bin"}, folder, f'{CONFIG}\n[pulumi]\ncommand = "{tools}/pulumi"\n')
    assert runtime.engine().info().cli_path == str(tools / "pulumi")


def test_a_sqlite_database_is_made_on_first_use_and_not_before(folder: Path) -> None:
    runtime = runtime_of({}, folder)
    assert runtime.schema() is None
    assert not (folder / "x.db").exists()
    runtime.store()
    assert f"has schema {HEAD}" in (runtime.schema() or "")
    runtime.close()


def test_a_database_that_is_down_is_a_store_error(folder: Path) -> None:
    runtime = runtime_of({"RECONCILER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/x"}, folder)
    with pytest.raises(StoreError):
        runtime.store()


def test_a_url_that_is_none_is_a_configuration_error(folder: Path) -> None:
    runtime = runtime_of({"RECONCILER_DATABASE_URL": "mysql://x"}, folder)
    with pytest.raises(ConfigError):
        runtime.store()


def test_the_holder_of_a_lease_is_read_without_taking_it(folder: Path) -> None:
    runtime = runtime_of({}, folder)
    scope, store = runtime.settings.scopes[0], runtime.store()
    assert runtime.lease(scope) is None
    taken = store.acquire_lease(lease_name(scope), holder=holder(), ttl_seconds=60)
    assert runtime.lease(scope) == taken
    store.release_lease(taken)
    assert runtime.lease(scope) is None
    runtime.close()


def test_the_lease_is_the_one_that_the_apply_room_takes() -> None:
    scope = scope_named("demo")
    taken = runner.Applier._lease_name(_Scoped(scope))  # type: ignore[arg-type]  # it asks for the scope only
    assert lease_name(scope) == taken


class _Scoped:
    def __init__(self, scope: object) -> None:
        self.scope = scope

"""What `make setup` does on machines that lack this or that; with executables that only write down their calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.fakes import make_environment, write_executable, write_tool
from tools import bootstrap
from tools.bootstrap import BootstrapError


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The directory on PATH where a test installs tools."""
    (tmp_path / "machine").mkdir()
    return tmp_path / "machine"


@pytest.fixture
def environment(tmp_path: Path, machine: Path) -> dict[str, str]:
    return make_environment(tmp_path, machine)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "calls"


def write_recorder(path: Path, log: Path, *, fails: str = "") -> Path:
    """Writes its arguments down; answers --version; fails when an argument equals `fails`."""
    return write_executable(
        path,
        f'#!/bin/sh\necho "{path.name} $*" >> {log}\n[ "$1" != --version ] || echo "{path.name} 0.13.9"\n'
        f'for word in "$@"; do [ "$word" != "{fails}" ] || exit 1; done\n',
    )


def calls(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if not line.endswith("--version")]


def test_an_old_python3_is_passed_over_for_a_newer_one(machine: Path, environment: dict[str, str]) -> None:
    write_tool(machine / "python3", "Python 3.9.2")
    newer = write_tool(machine / "python3.12", "Python 3.12.4")
    assert bootstrap.find_python(environment) == str(newer)


def test_a_shim_of_uv_that_fails_is_passed_over_for_the_private_one(
    machine: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    write_executable(machine / "uv", "#!/bin/sh\nexit 127\n")
    private = write_tool(tmp_path / "home" / ".cache" / "reconciler" / "uv" / "bin" / "uv", "uv 0.13.9")
    assert bootstrap.find_uv(environment) == str(private)


def test_a_missing_uv_is_installed_into_the_cache_and_nowhere_else(
    machine: Path, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = """#!/bin/sh
[ "$3" != --version ] || { echo "pip 25.0"; exit 0; }
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/bin"
printf '#!/bin/sh\\necho uv 0.13.9\\n' > "$2/bin/uv"
chmod +x "$2/bin/uv"
"""
    monkeypatch.setattr("sys.executable", str(write_executable(machine / "python3", pip)))
    # The fake interpreter needs mkdir and chmod.
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    found = Path(bootstrap.find_uv(environment))
    assert found == tmp_path / "home" / ".cache" / "reconciler" / "uv" / "bin" / "uv"
    assert [path.name for path in found.parents[2].iterdir()] == ["uv"]


def test_a_python_without_pip_and_venv_says_what_to_install(
    machine: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(write_executable(machine / "python3", "#!/bin/sh\nexit 1\n")))
    with pytest.raises(BootstrapError, match="python3-venv") as caught:
        bootstrap.find_uv(environment)
    assert caught.value.code == "RC8021"


def test_the_environment_is_what_the_lock_says_with_the_machines_python(
    machine: Path, environment: dict[str, str], log: Path, tmp_path: Path
) -> None:
    python = write_tool(machine / "python3", "Python 3.11.7")
    uv = write_recorder(machine / "uv", log)
    bootstrap.sync(str(uv), environment, tmp_path)
    assert calls(log) == [f"uv sync --locked --all-extras --group dev --python {python}"]


def test_an_environment_that_is_there_keeps_its_python(
    machine: Path, environment: dict[str, str], log: Path, tmp_path: Path
) -> None:
    write_tool(machine / "python3", "Python 3.13.0")
    write_tool(tmp_path / ".venv" / "bin" / "python", "Python 3.11.7")
    bootstrap.sync(str(write_recorder(machine / "uv", log)), environment, tmp_path)
    assert calls(log) == ["uv sync --locked --all-extras --group dev"]


def test_a_failing_sync_is_tried_once_more_and_then_reported(
    machine: Path, environment: dict[str, str], log: Path, tmp_path: Path
) -> None:
    write_tool(machine / "python3", "Python 3.11.7")
    uv = write_recorder(machine / "uv", log, fails="sync")
    with pytest.raises(BootstrapError) as caught:
        bootstrap.sync(str(uv), environment, tmp_path)
    assert (caught.value.code, len(calls(log))) == ("RC8022", 2)


def test_without_any_new_python_the_error_names_python_and_not_packages(
    machine: Path, environment: dict[str, str], log: Path, tmp_path: Path
) -> None:
    uv = write_recorder(machine / "uv", log, fails="sync")
    with pytest.raises(BootstrapError, match=r"Python 3\.11") as caught:
        bootstrap.sync(str(uv), environment, tmp_path)
    assert caught.value.code == "RC8020"


def test_another_active_environment_is_left_alone(machine: Path, environment: dict[str, str], tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    uv = write_executable(machine / "uv", f'#!/bin/sh\necho "[$VIRTUAL_ENV][$UV_PROJECT_ENVIRONMENT]" > {seen}\n')
    active = {**environment, "VIRTUAL_ENV": "/elsewhere", "UV_PROJECT_ENVIRONMENT": "/elsewhere"}
    bootstrap.sync(str(uv), active, tmp_path)
    assert seen.read_text() == "[][]\n"


def test_without_root_the_command_that_installs_postgresql_is_named_and_not_run(
    machine: Path, environment: dict[str, str], log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_recorder(machine / "apt-get", log)
    bootstrap.install_postgres(environment, root=False)
    assert not log.exists()
    assert "sudo apt-get install -y postgresql" in capsys.readouterr().err


def test_root_on_debian_gets_the_programs_without_a_running_server(
    machine: Path, environment: dict[str, str], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = tmp_path / "etc" / "createcluster.conf"
    monkeypatch.setattr(bootstrap, "_DEBIAN_CLUSTER", configuration)
    write_recorder(machine / "apt-get", log)
    bootstrap.install_postgres(environment, root=True)
    assert [line.split()[1] for line in calls(log)] == ["install"]
    assert configuration.read_text() == "create_main_cluster = false\n"


def test_stale_package_lists_are_renewed_and_a_failure_only_costs_the_tests_of_postgresql(
    machine: Path,
    environment: dict[str, str],
    log: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bootstrap, "_DEBIAN_CLUSTER", tmp_path / "createcluster.conf")
    write_recorder(machine / "apt-get", log, fails="install")
    bootstrap.install_postgres(environment, root=True)
    assert [line.split()[1] for line in calls(log)] == ["install", "update", "install"]
    assert "will be skipped" in capsys.readouterr().err

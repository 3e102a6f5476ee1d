"""The stand-in for Pulumi's Python language host, without an engine: its interpreter, its life, its plugins."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc  # type: ignore[import-untyped]
import pytest
from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from tests.tools.fakes import write_executable
from tools.language_program import user_traceback, wrong_interpreter
from tools.pins import TREE

LAUNCHER = TREE / "tools" / "bin" / "pulumi-language-python"
ECHO = '#!/bin/sh\necho "$0" "$@"\n'


def launch(directory: Path, **variables: str) -> list[str]:
    """What the launcher starts from this directory: interpreter, -u, script, arguments."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_")}
    done = subprocess.run(
        [LAUNCHER, "127.0.0.1:1"], cwd=directory, env={**clean, **variables}, capture_output=True, text=True
    )
    return done.stdout.split()


def test_the_interpreter_is_the_one_that_the_variable_names(tmp_path: Path) -> None:
    python = write_executable(tmp_path / "python", ECHO)
    script = str(TREE / "tools" / "language_host.py")
    assert launch(tmp_path, RECONCILER_TOOLCHAIN_PYTHON=str(python)) == [str(python), "-u", script, "127.0.0.1:1"]


@pytest.mark.parametrize("written", ["envs/one", '"envs/one"', "'envs/one'  # ours"])
def test_the_interpreter_is_that_of_the_projects_virtualenv(tmp_path: Path, written: str) -> None:
    project, below = tmp_path / "project", tmp_path / "project" / "stacks"
    below.mkdir(parents=True)
    (project / "Pulumi.yaml").write_text(f"name: x\nruntime:\n  name: python\n  options:\n    virtualenv: {written}\n")
    python = write_executable(project / "envs" / "one" / "bin" / "python", ECHO)
    write_executable(project / ".venv" / "bin" / "python", "#!/bin/sh\necho wrong\n")
    assert launch(below)[0] == str(python)


def test_without_a_virtualenv_the_interpreter_is_that_of_the_nearest_dot_venv(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "Pulumi.yaml").write_text("name: x\nruntime: python\n")
    python = write_executable(tmp_path / ".venv" / "bin" / "python", ECHO)
    assert launch(tmp_path / "a" / "b")[0] == str(python)


def test_a_link_to_the_launcher_finds_the_tree_that_it_leads_to(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    python = write_executable(tree / ".venv" / "bin" / "python", ECHO)
    launcher = write_executable(tree / "tools" / "bin" / LAUNCHER.name, LAUNCHER.read_text())
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin" / LAUNCHER.name
    link.symlink_to(launcher)
    done = subprocess.run([link], cwd="/", env={"PATH": os.environ["PATH"]}, capture_output=True, text=True)
    assert done.stdout.split() == [str(python), "-u", str(tree / "tools" / "language_host.py")]


def test_an_interpreter_that_is_not_there_is_said_with_a_way_out(tmp_path: Path) -> None:
    done = subprocess.run(
        [LAUNCHER],
        env={**os.environ, "RECONCILER_TOOLCHAIN_PYTHON": str(tmp_path / "none")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.split(":")[0]) == (1, "error[RC8030]")
    assert "make setup" in done.stderr


class Engine:
    """As much of the engine as the host looks for: a port that accepts connections."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"


@pytest.fixture
def engine() -> Iterator[Engine]:
    listening = Engine()
    yield listening
    listening.socket.close()


@contextmanager
def host_for(address: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [LAUNCHER, address],
        env={**os.environ, "RECONCILER_TOOLCHAIN_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def connect(process: subprocess.Popen[str]) -> language_pb2_grpc.LanguageRuntimeStub:
    assert process.stdout is not None
    return language_pb2_grpc.LanguageRuntimeStub(grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}"))


def test_the_host_prints_its_port_and_answers(engine: Engine) -> None:
    with host_for(engine.address) as process:
        about = connect(process).About(language_pb2.AboutRequest())
    assert about.version == ".".join(map(str, sys.version_info[:3]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_host_stops_quietly_when_the_engine_says_so(engine: Engine, number: signal.Signals) -> None:
    with host_for(engine.address) as process:
        connect(process).GetPluginInfo(empty_pb2.Empty())
        process.send_signal(number)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")


def test_a_host_whose_engine_is_gone_before_it_starts_ends() -> None:
    with host_for("127.0.0.1:1") as process:
        assert process.wait() == 1


def test_a_host_whose_engine_dies_ends(engine: Engine) -> None:
    # A shell between us and the host plays the engine; the host's stdout ends when the host does.
    parent = subprocess.Popen(
        ["/bin/sh", "-c", '"$@" & read _', "engine", LAUNCHER, engine.address],
        env={**os.environ, "RECONCILER_TOOLCHAIN_PYTHON": sys.executable},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline().strip().isdigit()
    parent.kill()
    assert parent.stdout.read() == ""
    parent.communicate()


def plugin_request(directory: Path, **fields: Any) -> Any:
    info = language_pb2.ProgramInfo(root_directory=str(directory), program_directory=str(directory), entry_point=".")
    return language_pb2.RunPluginRequest(pwd=str(directory), info=info, **fields)


def outputs(responses: Any) -> list[tuple[str, bytes | int]]:
    return [(kind, getattr(one, kind)) for one in responses if (kind := one.WhichOneof("output"))]


def test_a_plugin_gets_its_arguments_and_its_exit_code_comes_last(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text("import os, sys\nprint(sys.argv[1:], os.environ['WORD'])\nsys.exit(2)\n")
    request = plugin_request(tmp_path, kind="tool", args=["drift", "-o"], env=["WORD=a=b"])
    with host_for(engine.address) as process:
        found = outputs(connect(process).RunPlugin(request))
    assert found == [("stdout", b"['drift', '-o'] a=b\n"), ("exitcode", 2)]


def test_a_policy_pack_is_run_by_its_own_environment_through_the_policy_module(engine: Engine, tmp_path: Path) -> None:
    write_executable(tmp_path / "venv" / "bin" / "python", '#!/bin/sh\necho "$@"\necho trouble >&2\n')
    request = plugin_request(tmp_path, kind="analyzer", args=["127.0.0.1:9"])
    with host_for(engine.address) as process:
        found = outputs(connect(process).RunPlugin(request))
    assert ("stdout", f"-u -m pulumi.policy 127.0.0.1:9 {tmp_path}\n".encode()) in found
    assert ("stderr", b"trouble\n") in found
    assert found[-1] == ("exitcode", 0)


def test_a_plugin_that_cannot_be_run_says_why(engine: Engine, tmp_path: Path) -> None:
    with host_for(engine.address) as process:
        found = outputs(connect(process).RunPlugin(plugin_request(tmp_path, kind="tool")))
    assert [kind for kind, _ in found] == ["stderr", "exitcode"]
    assert b"neither __main__.py nor pyproject.toml" in bytes(found[0][1])


@pytest.mark.parametrize("end", ["cancel", "interrupt"])
def test_a_running_plugin_ends_with_the_call_and_with_the_host(engine: Engine, tmp_path: Path, end: str) -> None:
    # The plugin holds a pipe open: it ends when the plugin does.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "__main__.py").write_text(
        f"import signal\nheld = open({str(pipe)!r}, 'w')\nheld.write('begun')\nheld.flush()\nsignal.pause()\n"
    )
    with host_for(engine.address) as process:
        call = connect(process).RunPlugin(plugin_request(tmp_path, kind="tool"))
        with pipe.open() as reader:
            assert reader.read(5) == "begun"
            call.cancel() if end == "cancel" else process.send_signal(signal.SIGINT)
            assert reader.read() == ""


def run_request(root: Path, **options: str) -> Any:
    info = language_pb2.ProgramInfo(root_directory=str(root), program_directory=str(root), entry_point=".")
    info.options.update(options)
    return SimpleNamespace(info=info)


def test_a_project_that_names_another_virtualenv_is_told_instead_of_run_in_the_wrong_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECONCILER_TOOLCHAIN_PYTHON", raising=False)
    assert wrong_interpreter(run_request(tmp_path)) is None
    assert wrong_interpreter(run_request(tmp_path, virtualenv=sys.prefix)) is None
    assert str(tmp_path / "other") in str(wrong_interpreter(run_request(tmp_path, virtualenv="other")))


def test_a_traceback_begins_with_the_program_and_not_with_the_host(tmp_path: Path) -> None:
    program = tmp_path / "__main__.py"
    program.write_text("def fail():\n    raise ValueError('no such fleet')\n\nfail()\n")
    shown = ""
    try:
        exec(compile(program.read_text(), str(program), "exec"), {})
    except ValueError:
        shown = user_traceback(str(tmp_path))
    assert shown.splitlines()[1].strip().startswith(f'File "{program}", line 4')
    assert "test_language_host" not in shown
    assert shown.endswith("ValueError: no such fleet\n")

"""Programs through the real engine: what a user of `pulumi` in a shell sees of the language host."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine

PROJECT = """
name: proof
runtime:
  name: python
  options:
    virtualenv: {prefix}
main: stacks/
"""


class Project:
    """A project with one stack in a backend of its own."""

    def __init__(self, root: Path, program: str) -> None:
        self.root = root
        for name in ("home", "state", "stacks"):
            (root / name).mkdir()
        (root / "Pulumi.yaml").write_text(PROJECT.format(prefix=sys.prefix))
        (root / "stacks" / "__main__.py").write_text(program)
        self.environment = {
            **os.environ,
            "NO_COLOR": "1",
            "PULUMI_BACKEND_URL": f"file://{root / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "x",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_HOME": str(root / "home"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }
        self.run("stack", "init", "dev")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        process = self.start(*arguments)
        output, _ = process.communicate()
        return process.returncode, output


@pytest.fixture
def root(tmp_path: Path) -> Path:
    if shutil.which("pulumi") is None:
        pytest.skip("no pulumi on PATH: `make test` brings one")
    return tmp_path


SEES = """
import os
import pulumi

config = pulumi.Config()
print("stack", pulumi.get_stack(), "project", pulumi.get_project(), "organization", pulumi.get_organization())
print("word", config.require("word"), "root", pulumi.get_root_directory(), "in", os.getcwd())
pulumi.export("word", config.require("word"))
pulumi.export("hush", config.require_secret("hush"))
"""


def test_a_program_gets_its_stack_configuration_secrets_and_directories(root: Path) -> None:
    project = Project(root, SEES)
    project.run("config", "set", "word", "hello")
    project.run("config", "set", "--secret", "hush", "very-secret")
    status, output = project.run("up", "--yes", "--skip-preview")
    assert status == 0, output
    assert "stack dev project proof organization organization" in output
    assert f"word hello root {root} in {root / 'stacks'}" in output
    assert "very-secret" not in output
    assert "Traceback" not in output
    assert project.run("stack", "output", "word")[1].splitlines()[-1] == "hello"


FAILS = """
import pulumi

def fleet():
    raise ValueError("no such image")

pulumi.Output.from_input(1).apply(lambda _: fleet()) if LATE else fleet()
"""


@pytest.mark.parametrize("late", [False, True], ids=["at once", "in an apply"])
def test_an_exception_of_the_program_is_shown_once_with_its_place(root: Path, late: bool) -> None:
    status, output = Project(root, FAILS.replace("LATE", str(late))).run("preview")
    assert status != 0
    assert "Program failed with an unhandled exception" in output
    assert f'File "{root / "stacks" / "__main__.py"}", line 5, in fleet' in output
    # The engine prints its events while they come and once more in the summary.
    assert output.count("ValueError: no such image") <= 2
    assert "language_host" not in output


def test_a_program_that_exits_with_a_status_fails_the_deployment(root: Path) -> None:
    status, output = Project(root, "import sys\nsys.exit(3)\n").run("preview")
    assert status != 0
    assert "exit code: 3" in output


def test_a_missing_program_is_named(root: Path) -> None:
    project = Project(root, "")
    (root / "stacks" / "__main__.py").unlink()
    status, output = project.run("preview")
    assert status != 0
    assert "unable to find main python program" in output


HOLDS = """
import signal
held = open("{pipe}", "w")
held.write("begun")
held.flush()
signal.sigwait([signal.SIGUSR2])
"""


def test_a_killed_engine_leaves_no_program_running(root: Path) -> None:
    pipe = root / "pipe"
    os.mkfifo(pipe)
    engine = Project(root, HOLDS.format(pipe=pipe)).start("preview")
    try:
        with pipe.open() as reader:
            assert reader.read(5) == "begun"
            engine.send_signal(signal.SIGKILL)
            assert reader.read() == ""  # ends when nobody holds the pipe any more
    finally:
        engine.kill()
        engine.communicate()


def test_a_tool_plugin_in_a_directory_gets_its_arguments_and_passes_its_status_on(root: Path) -> None:
    project = Project(root, "")
    plugin = root / "plugin"
    plugin.mkdir()
    (plugin / "PulumiPlugin.yaml").write_text(f"runtime:\n  name: python\n  options:\n    virtualenv: {sys.prefix}\n")
    (plugin / "__main__.py").write_text("import sys\nprint('got', sys.argv[1:])\nsys.exit(2)\n")
    status, output = project.run("plugin", "run", str(plugin), "--", "drift", "-o", "json")
    assert (status, "got ['drift', '-o', 'json" in output) == (2, True), output

"""The environment of the policy pack for tests: `python -m tools.policy_env` prints its directory.

pulumi_policy pins protobuf 5, so the pack cannot run in `.venv`. The environment is made from policies/requirements.txt
into the cache directory, once for each text of that file and each Python, under the lock of the toolchain; `uv` is
taken from PATH, else pip. Nothing in the source tree is written.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.console import ToolError, say
from tools.pins import cache_directory
from tools.shelf import Shelf

REQUIREMENTS = Path(__file__).resolve().parent.parent / "policies" / "requirements.txt"
PYTHON = "bin/python"
DEADLINE_SECONDS = 300


def ensure(environment: Mapping[str, str]) -> Path:
    """The directory of the environment, made if it is not there. Raises ToolError RC0850."""
    key = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    name = f"policy-{key}"
    shelf = Shelf(cache_directory(environment))
    if not shelf.has(name, (PYTHON,)):
        with shelf.locked():
            if not shelf.has(name, (PYTHON,)):
                say("policy pack: its environment (about 10 s)")
                shelf.make(name, lambda part: _fill(part, shelf, environment))
    return shelf.entry(name)


def _fill(part: Path, shelf: Shelf, environment: Mapping[str, str]) -> None:
    """Only `bin/python` is ever run from it, which does not mind that the directory is renamed afterwards."""
    python = str(part / PYTHON)
    uv = shutil.which("uv", path=environment.get("PATH"))
    if uv is not None:
        _run([uv, "venv", "--allow-existing", "--python", sys.executable, str(part)], shelf, environment)
        install = [uv, "pip", "install", "--python", python]
    else:
        _run([sys.executable, "-m", "venv", str(part)], shelf, environment)
        install = [python, "-m", "pip", "install", "--disable-pip-version-check"]
    _run([*install, "--quiet", "-r", str(REQUIREMENTS)], shelf, environment)


def _run(command: list[str], shelf: Shelf, environment: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(
            command,
            env=dict(environment),
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            pass_fds=shelf.inherited,
            check=False,
        )
        reason = done.stderr.strip().splitlines()[-1:] if done.returncode else None
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = [type(error).__name__]
    if reason is not None:
        raise ToolError(
            f"the policy pack's environment cannot be made: {' '.join(reason)}",
            code="RC0850",
            hint="It needs a package index; see policies/requirements.txt.",
        )


if __name__ == "__main__":
    try:
        print(ensure(os.environ))
    except ToolError as failure:
        sys.exit(failure.report())

"""What `make` needs before anything else: `uv`, the environment `.venv`, PostgreSQL's server for the tests.

Run by whatever `python3` the machine has, so this file is written for 3.7 and looks for a newer one first.
Nothing is installed into the system's Python: a missing `uv` goes to the cache directory.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
DOWNLOADED = "3.12"  # what uv fetches where there is no Python that is new enough
STDERR = 2  # what other programs print is progress, not our result
OLDEST_UV = (0, 8)
PYTHONS = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"]
TREE = Path(__file__).resolve().parent.parent
SYNC = ["sync", "--locked", "--all-extras", "--group", "dev"]
_DEBIAN_CLUSTER = Path("/etc/postgresql-common/createcluster.conf")


class BootstrapError(Exception):
    """`code` is RC80 and two digits."""

    def __init__(self, message: str, code: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


def say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def version_of(command: list[str]) -> tuple[int, ...] | None:
    """The first dotted number in the command's output; None if it fails, as a version manager's shim may."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"(\d+(?:\.\d+)+)", done.stdout.decode("utf-8", "replace"))
    if done.returncode != 0 or not found:
        return None
    return tuple(int(part) for part in found.group(1).split("."))


def find_python(environment: dict[str, str]) -> str | None:
    """A Python on PATH that is new enough, or None."""
    for name in PYTHONS:
        path = shutil.which(name, path=environment.get("PATH"))
        if path and (version_of([path, "--version"]) or (0,)) >= OLDEST:
            return path
    return None


def cache_directory(environment: dict[str, str]) -> Path:
    base = Path(environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME") or "~") / ".cache")
    return base.expanduser() / "reconciler"


def find_uv(environment: dict[str, str]) -> str:
    """`uv` from PATH, from an earlier run, or installed now. Raises BootstrapError RC8021."""
    private = cache_directory(environment) / "uv" / "bin" / "uv"
    on_path = shutil.which("uv", path=environment.get("PATH"))
    for candidate in [on_path, str(private)]:
        if candidate and (version_of([candidate, "--version"]) or (0,)) >= OLDEST_UV:
            return candidate
    say(f"uv is not here: installing it into {private.parent.parent} (about 10 s)")
    _install_uv(sys.executable, private.parent.parent)
    if version_of([str(private), "--version"]) is None:
        raise _no_uv("it was installed but does not answer")
    return str(private)


def _no_uv(reason: str) -> BootstrapError:
    return BootstrapError(
        f"uv could not be installed: {reason}",
        "RC8021",
        "install it by hand (https://docs.astral.sh/uv/getting-started/installation/) and run make again",
    )


def _install_uv(python: str, target: Path) -> None:
    """With pip into a directory of its own; where pip is missing, with that of a throw-away environment."""
    part = target.with_name(f"uv.part-{os.getpid()}")
    pip = [python, "-m", "pip"]
    try:
        if version_of([*pip, "--version"]) is None:
            scratch = part / "venv"
            if subprocess.run([python, "-m", "venv", str(scratch)], stdout=subprocess.DEVNULL).returncode != 0:
                raise _no_uv("this Python has neither pip nor venv (Debian: `apt-get install -y python3-venv`)")
            pip = [str(scratch / "bin" / "python"), "-m", "pip"]
        install = [*pip, "install", "--quiet", "--disable-pip-version-check", "--target", str(part / "uv"), "uv"]
        quiet = dict(os.environ, PIP_ROOT_USER_ACTION="ignore")
        if subprocess.run(install, env=quiet, stdout=STDERR).returncode != 0:
            raise _no_uv("pip failed, see above")
        shutil.rmtree(str(target), ignore_errors=True)
        (part / "uv").rename(target)
    finally:
        shutil.rmtree(str(part), ignore_errors=True)


def sync(uv: str, environment: dict[str, str], tree: Path) -> None:
    """Bring `.venv` to what uv.lock says. Raises BootstrapError RC8020 (no Python) or RC8022."""
    # Another active environment, or one that the user's shell names, is not ours to change.
    others = ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT")
    clean = {name: value for name, value in environment.items() if name not in others}
    command = [uv, *SYNC]
    fresh = (version_of([str(tree / ".venv" / "bin" / "python"), "--version"]) or (0,)) < OLDEST
    python = find_python(environment)
    if fresh:
        command += ["--python", python or DOWNLOADED]
        say("making .venv (first time: about a minute for downloads)")
    if subprocess.run(command, cwd=str(tree), env=clean, stdout=STDERR).returncode == 0:
        return
    # uv brings its own list of authorities; behind a company's proxy only the system's knows that company's.
    say("trying again with the certificates of this system")
    clean.update(UV_SYSTEM_CERTS="true", UV_NATIVE_TLS="true")
    if subprocess.run(command, cwd=str(tree), env=clean, stdout=STDERR).returncode == 0:
        return
    if fresh and python is None:
        raise BootstrapError(
            "Python 3.11 or newer is needed: none is on PATH, and uv could not download one",
            "RC8020",
            "install one (for example `apt-get install -y python3.12`) and run make again",
        )
    raise BootstrapError(
        f"`uv {' '.join(SYNC)}` failed, see above",
        "RC8022",
        "if packages could not be downloaded, check the network or UV_INDEX_URL; then run make again",
    )


def has_postgres(environment: dict[str, str], tree: Path) -> bool:
    """Whether the tests will find PostgreSQL's server programs."""
    code = "import sys; from tools.postgres import find_server; sys.exit(find_server() is None)"
    python = str(tree / ".venv" / "bin" / "python")
    return subprocess.run([python, "-c", code], cwd=str(tree), env=environment).returncode == 0


def install_postgres(environment: dict[str, str], root: bool) -> None:
    """Install the server programs if that needs no question; otherwise say how to. Never fails."""
    apt = shutil.which("apt-get", path=environment.get("PATH"))
    if not root or apt is None:
        say("no PostgreSQL server here: its tests will be skipped (Debian: `sudo apt-get install -y postgresql`)")
        return
    say("installing PostgreSQL for the tests with apt-get (about a minute)")
    if not _apt(apt, environment):
        say("apt-get could not install postgresql: its tests will be skipped")


def _apt(apt: str, environment: dict[str, str]) -> bool:
    if not _DEBIAN_CLUSTER.exists():
        # The package would start a server of its own for the whole machine; the tests only want the programs.
        _DEBIAN_CLUSTER.parent.mkdir(parents=True, exist_ok=True)
        _DEBIAN_CLUSTER.write_text("create_main_cluster = false\n")
    quiet = dict(environment, DEBIAN_FRONTEND="noninteractive")
    options = ["-y", "-qq", "-o", "Dpkg::Options::=--force-confold", "-o", "DPkg::Lock::Timeout=120"]
    install = [apt, "install", "--no-install-recommends", *options, "postgresql"]
    for command in (install, [apt, "update", "-qq"], install):
        done = subprocess.run(command, env=quiet, stdin=subprocess.DEVNULL, stdout=STDERR)
        if command is install and done.returncode == 0:
            return True
    return False


def main(environment: dict[str, str]) -> int:
    try:
        sync(find_uv(environment), environment, TREE)
        if not has_postgres(environment, TREE):
            install_postgres(environment, os.geteuid() == 0)
    except BootstrapError as error:
        print(f"error[{error.code}]: {error}\nhint: {error.hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(dict(os.environ)))
